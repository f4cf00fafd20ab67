package msa

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep objects nest. Real answers nest three deep
// (enclosure, power supply, fan).
const maxDepth = 16

// ErrNotAPI says that the answer is not one of the XML API: a web page, or
// nothing.
var ErrNotAPI = errors.New("not an answer of the XML API")

// A Response is one decoded answer: the tree of its objects.
type Response struct {
	Objects []*Object
}

// An Object is one OBJECT element: its properties by name, and the objects
// nested in it.
type Object struct {
	// Basetype names the class: "drives", "disk-groups", "status".
	Basetype string
	// Objects are nested ones: controllers and power supplies in an enclosure.
	Objects []*Object

	properties map[string]property
}

// property is one PROPERTY element.
type property struct {
	text  string
	units string
}

// Decode reads an answer. Bytes that are not UTF-8 or that XML forbids become
// U+FFFD, as firmware has put both into descriptions; what follows the closing
// RESPONSE is ignored; an answer that ends before it is an error.
func Decode(answer []byte) (*Response, error) {
	d := xml.NewDecoder(bytes.NewReader(clean(answer)))
	// The bytes are UTF-8 by now, whatever the declaration says.
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("decode: empty: %w", ErrNotAPI)
		}
		if err != nil {
			return nil, fmt.Errorf("decode: %w: %w", ErrNotAPI, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.EqualFold(start.Name.Local, "RESPONSE") {
			return nil, fmt.Errorf("decode: root element is not RESPONSE: %w", ErrNotAPI)
		}
		root, err := decodeObject(d, start, 0)
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		return &Response{Objects: root.Objects}, nil
	}
}

// decodeObject reads up to the end element that belongs to start.
func decodeObject(d *xml.Decoder, start xml.StartElement, depth int) (*Object, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("objects nest deeper than %d", maxDepth)
	}
	o := &Object{Basetype: attribute(start, "basetype"), properties: map[string]property{}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.EndElement:
			return o, nil
		case xml.StartElement:
			if err := o.decodeChild(d, t, depth); err != nil {
				return nil, err
			}
		}
	}
}

func (o *Object) decodeChild(d *xml.Decoder, start xml.StartElement, depth int) error {
	switch strings.ToUpper(start.Name.Local) {
	case "OBJECT":
		child, err := decodeObject(d, start, depth+1)
		if err != nil {
			return err
		}
		o.Objects = append(o.Objects, child)
	case "PROPERTY":
		text, err := textOf(d)
		if err != nil {
			return err
		}
		name := attribute(start, "name")
		if _, twice := o.properties[name]; !twice && name != "" {
			o.properties[name] = property{text: text, units: attribute(start, "units")}
		}
	default: // COMP and whatever may come
		return d.Skip()
	}
	return nil
}

// textOf collects the text up to the end of the current element.
func textOf(d *xml.Decoder) (string, error) {
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.StartElement:
			if err := d.Skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return strings.TrimSpace(text.String()), nil
		}
	}
}

func attribute(start xml.StartElement, name string) string {
	for _, a := range start.Attr {
		if strings.EqualFold(a.Name.Local, name) {
			return a.Value
		}
	}
	return ""
}

// clean replaces what an XML decoder refuses and skips blanks before the
// declaration.
func clean(b []byte) []byte {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n")
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= 0x20 && r <= 0xd7ff, r >= 0xe000 && r <= 0xfffd, r > 0xffff:
			return r
		}
		return utf8.RuneError
	}, b)
}

// All returns the objects of that class, at any depth, in the order of the
// answer.
func (r *Response) All(basetype string) []*Object {
	return collect(nil, r.Objects, basetype)
}

func collect(found, in []*Object, basetype string) []*Object {
	for _, o := range in {
		if o.Basetype == basetype {
			found = append(found, o)
		}
		found = collect(found, o.Objects, basetype)
	}
	return found
}
