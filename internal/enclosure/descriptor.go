package enclosure

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// TypeNames are the texts of one type header's elements. Elements is shorter
// than the header's count where the page ends early.
type TypeNames struct {
	Overall  string
	Elements []string
}

// DescriptorPage is page 07h: a text for every element, as the shelf has it but
// without its padding. ElementName makes a label of it.
type DescriptorPage struct {
	Generation uint32
	Types      []TypeNames
	Short      bool
}

// DecodeDescriptors decodes page 07h in the order that the configuration gives.
func DecodeDescriptors(c *Config, reply []byte) (*DescriptorPage, error) {
	p, err := openPage(PageDescriptor, reply)
	if err != nil {
		return nil, err
	}
	d := &DescriptorPage{Generation: p.generation, Types: make([]TypeNames, len(c.Types))}
	b := p.body
	next := func() (string, bool) {
		if len(b) < 4 || len(b) < 4+int(binary.BigEndian.Uint16(b[2:])) {
			d.Short = true
			return "", false
		}
		n := 4 + int(binary.BigEndian.Uint16(b[2:]))
		text := label(b[4:n])
		b = b[n:]
		return text, true
	}
	for i, h := range c.Types {
		overall, ok := next()
		if !ok {
			break
		}
		d.Types[i].Overall = overall
		for range h.Count {
			text, ok := next()
			if !ok {
				break
			}
			d.Types[i].Elements = append(d.Types[i].Elements, text)
		}
	}
	return d, nil
}

// maxLabel bounds what a shelf can make of a label value, in bytes. A descriptor
// may be 65,531 bytes long.
const maxLabel = 64

// label makes a fixed field or descriptor fit for a label: padding trimmed,
// control bytes and broken UTF-8 replaced, length bounded.
func label(b []byte) string {
	if len(b) > 4*maxLabel {
		b = b[:4*maxLabel]
	}
	s := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b), "\uFFFD"))
	s = strings.TrimSpace(s)
	for len(s) > maxLabel {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return strings.TrimSpace(s)
}

// ElementName is the part of a descriptor that stays the same when the part in
// the bay is swapped: some shelves write the serial number behind a comma.
func ElementName(t ElementType, descriptor string) string {
	head, tail, found := strings.Cut(descriptor, ",")
	if found && (t.IsSlot() || looksLikeSerial(strings.TrimSpace(tail))) {
		return strings.TrimSpace(head)
	}
	return descriptor
}

// looksLikeSerial: one word of capitals and digits, with a digit, six or longer.
func looksLikeSerial(s string) bool {
	digit := false
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digit = true
		case r >= 'A' && r <= 'Z', r == '-':
		default:
			return false
		}
	}
	return digit && len(s) >= 6
}
