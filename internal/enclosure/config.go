package enclosure

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxElements is how many elements a status page can hold: the longest page,
// without its header, in descriptors of four bytes. A configuration that
// announces more is garbage, and would make every other page costly to decode.
const maxElements = (0xffff + 4 - headerLen) / 4

// Config is page 01h: of what the enclosure consists. It gives all other pages
// their order.
type Config struct {
	Generation    uint32
	Subenclosures []Subenclosure // the primary one first
	Types         []TypeHeader   // in the order of the elements in other pages
}

// Subenclosure is one enclosure descriptor.
type Subenclosure struct {
	ID        byte   // 0: primary
	ProcessID byte   // relative identifier of the answering SES process
	Processes byte   // how many SES processes there are
	LogicalID uint64 // what makes two IOMs one shelf
	Vendor    string
	Product   string
	Revision  string
}

// TypeHeader announces Count elements of one type; pages hold one overall
// element in front of them.
type TypeHeader struct {
	Type         ElementType
	Count        int
	Subenclosure byte
	Text         string
}

// DecodeConfig decodes page 01h. Texts that the page cuts off stay empty;
// anything else that is missing is an error, since all other pages lean on it.
func DecodeConfig(reply []byte) (*Config, error) {
	p, err := openPage(PageConfiguration, reply)
	if err != nil {
		return nil, err
	}
	c := &Config{Generation: p.generation}
	rest, headers, err := c.subenclosures(p.body, int(p.byte1)+1)
	if err == nil {
		err = c.typeHeaders(rest, headers)
	}
	if err != nil {
		return nil, fmt.Errorf("decode configuration page: %w", err)
	}
	return c, nil
}

// subenclosures reads n enclosure descriptors and returns what follows them and
// how many type headers they announce.
func (c *Config) subenclosures(b []byte, n int) (rest []byte, headers int, err error) {
	for i := range n {
		if len(b) < 4 {
			return nil, 0, fmt.Errorf("subenclosure %d of %d is missing", i, n)
		}
		total := int(b[3]) + 4
		if total < 40 || len(b) < total {
			return nil, 0, fmt.Errorf("subenclosure %d of %d: descriptor of %d bytes in %d", i, n, total, len(b))
		}
		headers += int(b[2])
		c.Subenclosures = append(c.Subenclosures, Subenclosure{
			ProcessID: b[0] >> 4 & 7,
			Processes: b[0] & 7,
			ID:        b[1],
			LogicalID: binary.BigEndian.Uint64(b[4:]),
			Vendor:    label(b[12:20]),
			Product:   label(b[20:36]),
			Revision:  label(b[36:40]),
		})
		b = b[total:]
	}
	return b, headers, nil
}

// typeHeaders reads n type headers and the texts after them.
func (c *Config) typeHeaders(b []byte, n int) error {
	if len(b) < 4*n {
		return fmt.Errorf("%d type headers in %d bytes", n, len(b))
	}
	texts := b[4*n:]
	total := 0
	for i := range n {
		h := b[4*i:]
		size := min(int(h[3]), len(texts))
		c.Types = append(c.Types, TypeHeader{
			Type: ElementType(h[0]), Count: int(h[1]), Subenclosure: h[2], Text: label(texts[:size]),
		})
		texts = texts[size:]
		total += int(h[1]) + 1
	}
	if total > maxElements {
		return fmt.Errorf("%d elements, more than a status page can hold", total)
	}
	if n == 0 {
		return errors.New("no element types")
	}
	return nil
}

// LogicalID names the shelf: the primary subenclosure's identifier.
func (c *Config) LogicalID() uint64 { return c.Subenclosures[0].LogicalID }
