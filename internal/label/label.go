// Package label makes label values of names that come from outside: names of
// pools, buckets, users, slots, disks. Whoever may choose one may choose it of
// any length and of any bytes.
package label

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is how long a value may be. S3 allows buckets 63 characters and RGW
// 255; SES names have at most 64.
const MaxBytes = 256

// digestBytes is how much of a digest tells values apart that were cut: nobody
// finds two that share it.
const digestBytes = 12

const mark = '~'

// Clean returns v as a label value: valid UTF-8 without control characters, of
// at most MaxBytes. A value that had to be changed ends in ~ and a digest of
// what it was, so that two that differ stay two. Clean(Clean(v)) is Clean(v).
func Clean(v string) string {
	if len(v) <= MaxBytes && plain(v) {
		return v
	}
	sum := sha256.Sum256([]byte(v))
	const room = MaxBytes - 1 - 2*digestBytes
	// No more than can be left over is looked at.
	head := cut(v, room)
	head = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || format(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(head, "\uFFFD"))
	return cut(head, room) + string(mark) + hex.EncodeToString(sum[:digestBytes])
}

// Changed tells whether v looks like a value that Clean has changed. A name
// that was made to look so does, too.
func Changed(v string) bool {
	i := len(v) - 2*digestBytes - 1
	if i < 0 || v[i] != mark {
		return false
	}
	return strings.Trim(v[i+1:], "0123456789abcdef") == ""
}

func plain(v string) bool {
	for i, r := range v {
		switch {
		case unicode.IsControl(r), format(r):
			return false
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(v[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// format tells characters that are not seen but change what is: they reorder
// the text around them, or end a line.
func format(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u2028' || r == '\u2029'
}

// cut returns at most n bytes of v, without half a character at the end.
func cut(v string, n int) string {
	if len(v) <= n {
		return v
	}
	for n > 0 && !utf8.RuneStart(v[n]) {
		n--
	}
	return v[:n]
}
