package opslog

import "bytes"

type scanResult uint8

const (
	needMore     scanResult = iota // every byte at hand was looked at
	gotObject                      // buf[start:pos] is an object
	gotOversized                   // an object longer than MaxRecord ended at pos
	gotError                       // not JSON at pos
)

// scan looks at bytes until an object ends, something is wrong, or no byte is
// left. It accepts exactly the objects that encoding/json accepts, down to
// maxDepth levels.
func (f *Framer) scan() scanResult {
	for f.pos < len(f.buf) {
		switch f.state {
		case between:
			if !f.seek() {
				return needMore
			}
		case inString:
			if !f.scanString() {
				return gotError
			}
		case inNumber, inLiteral:
			if !f.scanScalar() {
				return gotError
			}
		default:
			c := f.buf[f.pos]
			if isSpace(c) && f.state != afterEscape && f.state != inHex {
				f.pos++
				continue
			}
			if !f.step(c) {
				return gotError
			}
			if f.depth == 0 {
				return f.objectEnd()
			}
		}
	}
	return needMore
}

func (f *Framer) objectEnd() scanResult {
	f.state = between
	if f.skipping || f.pos-f.start > f.maxRecord() {
		f.skipping = false
		return gotOversized
	}
	return gotObject
}

// seek passes separators and junk up to the next opening brace.
func (f *Framer) seek() bool {
	rest := f.buf[f.pos:]
	i := bytes.IndexByte(rest, '{')
	gap := rest
	if i >= 0 {
		gap = rest[:i]
	}
	f.countJunk(gap)
	f.pos += len(gap)
	f.start = f.pos
	if i < 0 {
		return false
	}
	f.pos++
	f.state = keyOrEnd
	f.depth = 1
	f.arrays = 0
	f.spans = [numFields]span{}
	return true
}

// countJunk counts the bytes of a gap between objects that are no separators.
func (f *Framer) countJunk(gap []byte) {
	for _, c := range gap {
		if isSpace(c) || !f.inJunk && (c == ',' || c == '[' || c == ']') {
			continue
		}
		f.addJunk()
	}
}

// step takes one byte of structure. Within strings and scalars the loops of
// scanString and scanScalar do.
func (f *Framer) step(c byte) bool {
	f.pos++
	switch f.state {
	case keyOrEnd:
		if c == '}' {
			return f.close()
		}
		return f.openString(c, true)
	case keyOnly:
		return f.openString(c, true)
	case colon:
		f.state = value
		return c == ':'
	case valueOrEnd:
		if c == ']' {
			return f.close()
		}
		return f.openValue(c)
	case value:
		return f.openValue(c)
	case commaOrEnd:
		return f.next(c)
	case afterEscape:
		return f.escape(c)
	case inHex:
		if !isHex(c) {
			return false
		}
		if f.hex--; f.hex == 0 {
			f.state = inString
		}
		return true
	}
	return false
}

// next takes what follows a value.
func (f *Framer) next(c byte) bool {
	inArray := f.arrays>>f.depth&1 == 1
	switch c {
	case ',':
		f.state = keyOnly
		if inArray {
			f.state = value
		}
		return true
	case '}':
		return !inArray && f.close()
	case ']':
		return inArray && f.close()
	}
	return false
}

func (f *Framer) openString(c byte, isKey bool) bool {
	f.state = inString
	f.isKey = isKey
	f.token = f.pos // behind the quote
	f.escaped = false
	return c == '"'
}

func (f *Framer) openValue(c byte) bool {
	switch {
	case c == '"':
		return f.openString(c, false)
	case c == '{' || c == '[':
		if f.depth == maxDepth {
			return false
		}
		f.depth++
		if c == '[' {
			f.arrays |= 1 << f.depth
			f.state = valueOrEnd
		} else {
			f.arrays &^= 1 << f.depth
			f.state = keyOrEnd
		}
		return true
	case c == '-' || c >= '0' && c <= '9':
		f.state = inNumber
	case c == 't' || c == 'f' || c == 'n':
		f.state = inLiteral
	default:
		return false
	}
	f.token = f.pos - 1
	return true
}

// close ends an object or array; what holds it has one value more.
func (f *Framer) close() bool {
	f.depth--
	f.state = commaOrEnd
	return true
}

func (f *Framer) escape(c byte) bool {
	f.state = inString
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		f.state = inHex
		f.hex = 4
		return true
	}
	return false
}

// scanString goes on to the end of the string or of the buffer.
func (f *Framer) scanString() bool {
	p := f.pos
	for p < len(f.buf) && !stringStop[f.buf[p]] {
		p++
	}
	f.pos = p
	if p == len(f.buf) {
		return true
	}
	f.pos++
	switch f.buf[p] {
	case '"':
		f.stringEnd(p)
		return true
	case '\\':
		f.escaped = true
		f.state = afterEscape
		return true
	}
	return false // a control character: JSON has them escaped
}

// stringEnd takes note of a member name or value of the top level. The closing
// quote is at end.
func (f *Framer) stringEnd(end int) {
	if f.isKey {
		f.state = colon
		if f.depth == 1 && !f.skipping {
			f.field = fieldNamed(f.buf[f.token:end], f.escaped)
			f.spans[f.field] = span{} // of a member given twice the last one counts
		}
		return
	}
	f.state = commaOrEnd
	f.keep(end)
}

// keep stores the scalar that ends at end, if it is a field of the record.
func (f *Framer) keep(end int) {
	if f.depth == 1 && !f.skipping {
		f.spans[f.field] = span{start: f.token, end: end, escaped: f.escaped}
	}
}

// scanScalar goes on to the end of a number, true, false or null. The byte
// behind it is left for step.
func (f *Framer) scanScalar() bool {
	p := f.pos
	for p < len(f.buf) && scalarByte[f.buf[p]] {
		p++
	}
	f.pos = p
	if p == len(f.buf) {
		return true
	}
	text := f.buf[f.token:p]
	ok := f.skipping // the beginning may be gone
	if f.state == inNumber {
		ok = ok || isNumber(text)
	} else {
		ok = ok || isLiteral(text)
	}
	f.escaped = false
	if f.state == inNumber {
		f.keep(p)
	}
	f.state = commaOrEnd
	return ok
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isLiteral(b []byte) bool {
	return string(b) == "true" || string(b) == "false" || string(b) == "null"
}

// isNumber is the grammar of RFC 8259, section 6.
func isNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole, ok := digits(b)
	if !ok || len(b) > 1 && b[0] == '0' && len(whole) != len(b)-1 {
		return false
	}
	b = whole
	if len(b) > 0 && b[0] == '.' {
		if b, ok = digits(b[1:]); !ok {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if b, ok = digits(b); !ok {
			return false
		}
	}
	return len(b) == 0
}

// digits cuts the leading digits off and says whether there was one.
func digits(b []byte) ([]byte, bool) {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return b[n:], n > 0
}

// stringStop marks the bytes at which the run of a string's plain bytes ends.
var stringStop = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// scalarByte marks the bytes that numbers and literals are made of.
var scalarByte = func() (t [256]bool) {
	for _, c := range "+-.0123456789Eabcdefghijklmnopqrstuvwxyz" {
		t[c] = true
	}
	return t
}()
