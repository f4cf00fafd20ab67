package ceph

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// maxDepth bounds nesting, as encoding/json does.
const maxDepth = 10000

// errNotJSON is wrapped by every syntax error; a document that ends too early
// wraps io.ErrUnexpectedEOF instead.
var errNotJSON = errors.New("not valid JSON")

// scanner walks a JSON document without building anything from it. It accepts
// exactly what encoding/json accepts, and beside that bare nan and inf, which
// Ceph's formatter prints for floats; it counts them in nonFinite.
//
// Methods start at pos, which must be at a value's first byte unless they say
// otherwise, and leave it behind the value. They return false after an error,
// which is then in err.
type scanner struct {
	data      []byte
	pos       int
	depth     int
	nonFinite int
	escapes   int // backslashes read
	misses    int // keys that a layout did not have in their place
	err       error
}

func (s *scanner) fail(what string) bool {
	if s.err == nil {
		if s.pos >= len(s.data) {
			s.err = fmt.Errorf("cut off at byte %d: %w", len(s.data), io.ErrUnexpectedEOF)
		} else {
			s.err = fmt.Errorf("byte %d: %w: %s", s.pos, errNotJSON, what)
		}
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// space skips white space and returns the byte behind it, 0 at the end.
func (s *scanner) space() byte {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if !isSpace(c) {
			return c
		}
		s.pos++
	}
	return 0
}

// peek is space for the common case that there is none.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		if c := s.data[s.pos]; c > ' ' {
			return c
		}
	}
	return s.space()
}

// value skips a value of any kind; white space may stand before it.
func (s *scanner) value() bool {
	switch c := s.peek(); {
	case c == '"':
		_, ok := s.str()
		return ok
	case c == '-' || c-'0' <= 9:
		return s.number()
	case c == '{' || c == '[':
		return s.nested(c)
	case s.absent() || s.word("true") || s.word("false"):
		return true
	}
	for _, w := range []string{"null", "true", "false", "nan", "inf", "NaN", "Infinity"} {
		if rest := s.data[s.pos:]; len(rest) < len(w) && w[:len(rest)] == string(rest) {
			s.pos = len(s.data) // a word cut off is a document cut off
		}
	}
	return s.fail("no value")
}

// nested skips an object or array.
func (s *scanner) nested(open byte) bool {
	if !s.enter() {
		return false
	}
	end := open + 2 // ] and } stand two behind [ and { in ASCII
	if s.peek() == end {
		return s.leave()
	}
	for {
		if open == '{' && !s.key() {
			return false
		}
		if !s.value() {
			return false
		}
		switch s.peek() {
		case ',':
			s.pos++
		case end:
			return s.leave()
		default:
			return s.fail("no comma or end behind a value")
		}
	}
}

func (s *scanner) enter() bool {
	s.depth++
	if s.depth > maxDepth {
		return s.fail("nested too deeply")
	}
	s.pos++
	return true
}

func (s *scanner) leave() bool {
	s.depth--
	s.pos++
	return true
}

// key skips a key and its colon; white space may stand before it.
func (s *scanner) key() bool {
	if s.peek() != '"' {
		return s.fail("no key")
	}
	if _, ok := s.str(); !ok {
		return false
	}
	if s.peek() != ':' {
		return s.fail("no colon behind a key")
	}
	s.pos++
	return true
}

// absent consumes null, or a number that is none: nan and inf as C prints
// them, NaN and Infinity as Python does.
func (s *scanner) absent() bool {
	if s.word("null") {
		return true
	}
	from := s.pos
	if s.pos < len(s.data) && s.data[s.pos] == '-' {
		s.pos++
	}
	if s.word("nan") || s.word("inf") || s.word("NaN") || s.word("Infinity") {
		s.nonFinite++
		return true
	}
	s.pos = from
	return false
}

// word consumes that word if it stands at pos.
func (s *scanner) word(w string) bool {
	if end := s.pos + len(w); end <= len(s.data) && string(s.data[s.pos:end]) == w {
		s.pos = end
		return true
	}
	return false
}

// number skips a number, or one of the non-numbers of absent.
func (s *scanner) number() bool {
	d, i := s.data, s.pos
	if d[i] == '-' {
		if s.absent() {
			return true
		}
		i++
	}
	switch {
	case i < len(d) && d[i] == '0':
		i++
	case i < len(d) && d[i]-'1' <= 8:
		i = digits(d, i+1)
	default:
		s.pos = i
		return s.fail("number without digits")
	}
	if i < len(d) && d[i] == '.' {
		from := i + 1
		if i = digits(d, from); i == from {
			s.pos = i
			return s.fail("number without digits behind the point")
		}
	}
	if i < len(d) && d[i]|0x20 == 'e' {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		from := i
		if i = digits(d, from); i == from {
			s.pos = i
			return s.fail("number without digits in the exponent")
		}
	}
	s.pos = i
	return true
}

func digits(d []byte, i int) int {
	for i < len(d) && d[i]-'0' <= 9 {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// text skips a string and returns the bytes that it stands for; without escapes
// they are those in data.
func (s *scanner) text() ([]byte, bool) {
	escapes := s.escapes
	raw, ok := s.str()
	if ok && s.escapes != escapes {
		raw = unescape(raw)
	}
	return raw, ok
}

// unescape decodes what stands between the quotes of a valid string.
func unescape(raw []byte) []byte {
	quoted := append(append([]byte{'"'}, raw...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return raw
	}
	return []byte(text)
}

// str skips a string and returns the bytes between its quotes as written.
func (s *scanner) str() ([]byte, bool) {
	d, from := s.data, s.pos+1
	for i := from; ; {
		// Eight bytes at a time until one of them is a quote, a backslash or a
		// control character. The subtraction may carry into higher bytes, so
		// only the lowest hit is exact, and only that one is used.
		for i+8 <= len(d) {
			w := binary.LittleEndian.Uint64(d[i:])
			quote, slash := w^(ones*'"'), w^(ones*'\\')
			hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
			if hit != 0 {
				i += bits.TrailingZeros64(hit) >> 3
				break
			}
			i += 8
		}
		for i < len(d) && d[i] != '"' && d[i] != '\\' && d[i] >= ' ' {
			i++
		}
		s.pos = i
		switch {
		case i >= len(d) || d[i] < ' ':
			return nil, s.fail("control character in a string")
		case d[i] == '"':
			s.pos++
			return d[from:i], true
		case !s.escape():
			return nil, false
		}
		i = s.pos
	}
}

// escape skips the backslash at pos and what it stands for.
func (s *scanner) escape() bool {
	s.escapes++
	s.pos++
	if s.pos >= len(s.data) {
		return s.fail("")
	}
	switch s.data[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return true
	case 'u':
		for range 4 {
			s.pos++
			if s.pos >= len(s.data) || !isHex(s.data[s.pos]) {
				return s.fail("escape without four hexadecimal digits")
			}
		}
		s.pos++
		return true
	}
	return s.fail("unknown escape")
}

func isHex(c byte) bool { return c-'0' <= 9 || c|0x20-'a' <= 5 }
