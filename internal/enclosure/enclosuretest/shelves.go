// Package enclosuretest makes shelves and hosts up for tests: the pages that SES
// processes would send, and the directory trees that the kernel, udev and Ceph
// would show. It shares nothing with the decoders that it is there to test.
package enclosuretest

import (
	"encoding/binary"
	"fmt"
)

// Page codes.
const (
	pageConfiguration = 0x01
	pageStatus        = 0x02
	pageThreshold     = 0x05
	pageDescriptor    = 0x07
	pageAdditional    = 0x0a
)

// Raw is an element as the status page has it.
type Raw = [4]byte

// Type is one type header of a made-up shelf and everything its elements
// have in the other pages.
type Type struct {
	Kind         byte
	Text         string
	Subenclosure byte
	Overall      Raw
	Elements     []Raw
	Names        []string // descriptor texts; short or nil: empty texts
	Limits       []Raw    // page 05h; short or nil: zeros
	Additional   [][]byte // page 0Ah descriptors, whole
}

// Shelf is what one SES process says.
type Shelf struct {
	Name              string
	LogicalID         uint64
	Vendor            string
	Product           string
	Revision          string
	Process           byte // relative ES process id
	Processes         byte
	Secondary         []uint64 // logical ids of further subenclosures
	Generation        uint32
	Conditions        byte // byte 1 of page 02h
	Types             []Type
	Missing           []byte // pages it does not have
	CutLimits         int    // page 05h ends this many bytes early
	DescriptorPadding int    // descriptor texts are blank-padded to this length
}

// Page returns the reply to a request for a page, or nil.
func (s *Shelf) Page(code byte) []byte {
	for _, m := range s.Missing {
		if m == code {
			return nil
		}
	}
	switch code {
	case pageConfiguration:
		return s.configuration()
	case pageStatus:
		var body []byte
		for _, t := range s.Types {
			body = append(body, t.Overall[:]...)
			for _, e := range t.Elements {
				body = append(body, e[:]...)
			}
		}
		return s.reply(pageStatus, s.Conditions, body)
	case pageThreshold:
		var body []byte
		for _, t := range s.Types {
			body = append(body, 0, 0, 0, 0)
			for i := range t.Elements {
				body = append(body, at(t.Limits, i)...)
			}
		}
		return s.reply(pageThreshold, 0, body[:len(body)-s.CutLimits])
	case pageDescriptor:
		var body []byte
		for _, t := range s.Types {
			body = append(body, 0, 0, 0, 0)
			for i := range t.Elements {
				text := ""
				if i < len(t.Names) {
					text = t.Names[i]
				}
				if text != "" {
					text = fmt.Sprintf("%-*s", s.DescriptorPadding, text)
				}
				body = append(body, 0, 0, byte(len(text)>>8), byte(len(text)))
				body = append(body, text...)
			}
		}
		return s.reply(pageDescriptor, 0, body)
	case pageAdditional:
		var body []byte
		for _, t := range s.Types {
			for _, d := range t.Additional {
				body = append(body, d...)
			}
		}
		return s.reply(pageAdditional, 0, body)
	}
	return nil
}

func at(r []Raw, i int) []byte {
	if i < len(r) {
		return r[i][:]
	}
	return []byte{0, 0, 0, 0}
}

// reply puts a header in front of a page's body.
func (s *Shelf) reply(code, byte1 byte, body []byte) []byte {
	b := []byte{code, byte1}
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)+4))
	b = binary.BigEndian.AppendUint32(b, s.Generation)
	return append(b, body...)
}

func (s *Shelf) configuration() []byte {
	var body, headers, texts []byte
	ids := append([]uint64{s.LogicalID}, s.Secondary...)
	for sub, id := range ids {
		n := 0
		for _, t := range s.Types {
			if int(t.Subenclosure) == sub {
				n++
			}
		}
		body = append(body, s.Process<<4|s.Processes, byte(sub), byte(n), 36)
		body = binary.BigEndian.AppendUint64(body, id)
		body = append(body, fmt.Sprintf("%-8s%-16s%-4s", s.Vendor, s.Product, s.Revision)...)
	}
	for _, t := range s.Types {
		headers = append(headers, byte(t.Kind), byte(len(t.Elements)), t.Subenclosure, byte(len(t.Text)))
		texts = append(texts, t.Text...)
	}
	body = append(append(body, headers...), texts...)
	return s.reply(pageConfiguration, byte(len(s.Secondary)), body)
}

// Repeat returns n copies of an element.
func Repeat(n int, r Raw) []Raw {
	out := make([]Raw, n)
	for i := range out {
		out[i] = r
	}
	return out
}

// numbered returns n names.
func numbered(n int, format string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

// SlotSAS is a page 0Ah descriptor of a slot with one SAS phy. index and slot
// below 0: without EIP. disk 0: no device.
func SlotSAS(index, slot int, eiioe byte, disk, expander uint64) []byte {
	phy := make([]byte, 28)
	if disk != 0 {
		phy[0] = 1 << 4
		phy[3] = 0x08 // SSP target
		binary.BigEndian.PutUint64(phy[4:], expander)
		binary.BigEndian.PutUint64(phy[12:], disk)
		phy[20] = 0
	}
	if index < 0 {
		return append([]byte{0x06, 2 + 28, 1, 0}, phy...)
	}
	head := []byte{0x16, 6 + 28, eiioe, byte(index), 1, 0, 0, byte(slot)}
	return append(head, phy...)
}

// SlotInvalid is a descriptor without contents, as of an empty slot.
func SlotInvalid(index int, eiioe byte) []byte {
	b := make([]byte, 8+28)
	b[0], b[1], b[2], b[3] = 0x96, 6+28, eiioe, byte(index)
	return b
}

// ExpanderSAS is the descriptor of an expander with phys phys, none connected.
func ExpanderSAS(index int, eiioe byte, address uint64, phys int) []byte {
	b := make([]byte, 16+2*phys)
	b[0], b[1], b[2], b[3] = 0x16, byte(14+2*phys), eiioe, byte(index)
	b[4], b[5] = byte(phys), 0x40
	binary.BigEndian.PutUint64(b[8:], address)
	for i := range 2 * phys {
		b[16+i] = 0xff
	}
	return b
}

// DenseShelf has the composition of a 60-bay shelf with two IOMs that own half
// of the bays each: 194 elements in 11 types, slots first, generation 0.
func DenseShelf(logicalID uint64, process byte) *Shelf {
	s := &Shelf{
		Name: fmt.Sprintf("dense-iom%d", process), LogicalID: logicalID, Process: process, Processes: 2,
		Vendor: "ACME", Product: "DENSE60", Revision: "0401", DescriptorPadding: 28,
	}
	slots := Type{Kind: 0x17, Text: "Drive bays", Overall: Raw{8}}
	for i := range 60 {
		e := Raw{1}
		if i/30 != int(process)&1 {
			e = Raw{8}
		}
		slots.Elements = append(slots.Elements, e)
		slots.Names = append(slots.Names, fmt.Sprintf("SLOT %03d,ZX%06d", i, 4711*i))
		slots.Additional = append(slots.Additional,
			SlotSAS(i, i, 0, DenseDisk(logicalID, i, process), logicalID|0x3f))
	}
	names := func(format string, n int) []string { return numbered(n, format) }
	hot := func(n int, limits Raw) []Raw { return Repeat(n, limits) }
	s.Types = []Type{
		slots,
		{Kind: 0x0e, Text: "Chassis", Elements: Repeat(1, Raw{1}), Names: []string{"ENCLOSURE"}},
		{Kind: 0x02, Text: "PSU", Elements: Repeat(2, Raw{1, 0, 0, 0xa0}), Names: names("PSU %d", 2)},
		{Kind: 0x03, Text: "Fans", Elements: Repeat(8, Raw{1, 2, 0xee, 0xa7}), Names: names("FAN %d", 8)},
		{Kind: 0x04, Text: "Temperature", Elements: Repeat(86, Raw{1, 0, 49, 0}),
			Names: names("TEMP %02d", 86), Limits: hot(86, Raw{79, 76, 28, 26})},
		{Kind: 0x07, Text: "IOM", Elements: []Raw{{1, 0, 1 - process, 0x80}, {1, 0, process, 0x80}}, Names: names("IOM %d", 2)},
		{Kind: 0x18, Text: "Expanders", Elements: Repeat(6, Raw{1}), Names: names("EXP %d", 6)},
		{Kind: 0x19, Text: "Connectors", Elements: Repeat(12, Raw{1, 5, 0xff, 0x80}), Names: names("CONN %d", 12)},
		{Kind: 0x12, Text: "Voltage", Elements: Repeat(8, Raw{1, 0, 0x04, 0xb9}),
			Names: names("VOLT %d", 8), Limits: hot(8, Raw{20, 10, 15, 20})},
		{Kind: 0x13, Text: "Current", Elements: Repeat(8, Raw{1, 0, 0x01, 0x2c}),
			Names: names("CURR %d", 8), Limits: hot(8, Raw{41, 40, 0, 0})},
		{Kind: 0x05, Text: "Cover", Elements: Repeat(1, Raw{1}), Names: []string{"COVER"}},
	}
	for i := range 6 {
		s.Types[6].Additional = append(s.Types[6].Additional, ExpanderSAS(159+i, 0, logicalID|uint64(0x30+i), 4))
	}
	return s
}

// DenseDisk is the address of a disk's port behind one IOM.
func DenseDisk(logicalID uint64, slot int, process byte) uint64 {
	return 0x5000c50000000000 | logicalID>>24&0xff<<16 | uint64(slot)<<8 | uint64(process+1)
}

// SlotsLastShelf has 24 bays behind all other types, slot numbers from 1,
// EIIOE = 1, a generation code, an empty bay with an invalid descriptor, and
// neither an expander descriptor in page 0Ah nor the end of page 05h.
func SlotsLastShelf() *Shelf {
	s := &Shelf{
		Name: "slots-last", LogicalID: 0x500a0b1122334455, Process: 1, Processes: 1,
		Vendor: "NOVA", Product: "NV24", Revision: "r12", Generation: 7, CutLimits: 8, Conditions: 0x02,
	}
	s.Types = []Type{
		{Kind: 0x02, Text: "PS", Elements: []Raw{{1, 0, 0, 0x20}, {5, 0, 0, 0}}, Names: []string{"PSU A", "PSU B"}},
		{Kind: 0x03, Text: "Cool", Elements: []Raw{{1, 0x12, 0x58, 0x23}, {0x42, 1, 0x00, 0x41}}},
		{Kind: 0x04, Elements: []Raw{{1, 0, 69}, {1, 0, 0}, {2, 0, 100, 8}},
			Limits: []Raw{{75, 70, 25, 20}, {}, {75, 0, 0, 20}}},
		{Kind: 0x07, Text: "ESC", Elements: Repeat(1, Raw{1, 0, 1, 0})},
		{Kind: 0x18, Text: "EXP", Elements: Repeat(1, Raw{1})},
	}
	before := 0
	for _, t := range s.Types {
		before += 1 + len(t.Elements)
	}
	slots := Type{Kind: 0x17, Text: "Bays", Overall: Raw{1}}
	for i := range 24 {
		index := before + 1 + i
		e, d := Raw{1}, SlotSAS(index, i+1, 1, 0x5000cca000000000|uint64(i)<<4, 0x500a0b1122334400)
		switch i {
		case 5:
			e, d = Raw{5}, SlotInvalid(index, 1)
		case 6:
			e = Raw{0x42, 0, 0, 0x40}
		case 7:
			e = Raw{1, 0, 0x02, 0x20}
		}
		slots.Elements = append(slots.Elements, e)
		slots.Additional = append(slots.Additional, d)
		slots.Names = append(slots.Names, fmt.Sprintf("Slot%02d", i+1))
	}
	s.Types = append(s.Types, slots)
	return s
}

// ManySubenclosures has 102 slots of the plain type in four subenclosures, SWAP
// set on all of them, one descriptor format without an element index, an open
// cover, and no page 07h.
func ManySubenclosures() *Shelf {
	s := &Shelf{
		Name: "subenclosures", LogicalID: 0x5000ccab04000000, Process: 1, Processes: 2,
		Secondary: []uint64{0x5000ccab04000001, 0x5000ccab04000002, 0x5000ccab04000003},
		Vendor:    "ACME", Product: "DEEP102", Revision: "3010", Generation: 0x10000, Conditions: 0x0a,
		Missing: []byte{pageDescriptor},
	}
	n := 0
	for sub, count := range []int{30, 30, 30, 12} {
		t := Type{Kind: 0x01, Text: fmt.Sprintf("Zone %d", sub), Subenclosure: byte(sub)}
		for range count {
			t.Elements = append(t.Elements, Raw{0x11, byte(n)})
			t.Additional = append(t.Additional, SlotSAS(-1, -1, 0, 0x5000039000000000|uint64(n)<<8, 0x5000ccab040000ff))
			n++
		}
		s.Types = append(s.Types, t,
			Type{Kind: 0x04, Subenclosure: byte(sub), Elements: Repeat(2, Raw{1, 0, byte(50 + sub)})})
	}
	s.Types = append(s.Types,
		Type{Kind: 0x05, Elements: []Raw{{2, 0, 0, 2}}},
		Type{Kind: 0x0e, Elements: []Raw{{2, 0, 2, 0}}})
	return s
}

// PlainShelf has neither thresholds nor page 0Ah, and a vendor's own type.
func PlainShelf() *Shelf {
	return &Shelf{
		Name: "plain", LogicalID: 0x50050cc123456789, Process: 1, Processes: 1,
		Vendor: "Plain", Product: "Box", Revision: "1", Missing: []byte{pageThreshold, pageAdditional},
		Types: []Type{
			{Kind: 0x01, Elements: Repeat(12, Raw{1}), Names: numbered(12, "Disk #%02d")},
			{Kind: 0x80, Elements: []Raw{{1, 2, 3, 4}}, Names: []string{"own"}},
			{Kind: 0x12, Elements: []Raw{{1, 0, 0xfb, 0x50}}, Names: []string{"-12V"}},
		},
	}
}

// FaultShelf has, for every type, one element per bit of its bytes, one per
// status code, and a reserved fan factor.
func FaultShelf() *Shelf {
	s := &Shelf{
		Name: "faults", LogicalID: 0x5000000000000fa1, Process: 1, Processes: 1,
		Vendor: "ACME", Product: "BROKEN", Revision: "9999", Conditions: 0x1f,
	}
	kinds := []byte{
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
		0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13,
		0x14, 0x15, 0x16, 0x17, 0x18, 0x19,
	}
	for _, k := range kinds {
		t := Type{Kind: k, Text: fmt.Sprintf("type %02x", k), Overall: Raw{0x7f, 0xff, 0xff, 0xff}}
		for bit := range 24 {
			e := Raw{2}
			e[1+bit/8] = 0x80 >> (bit % 8)
			t.Elements = append(t.Elements, e)
			t.Limits = append(t.Limits, Raw{byte(bit), byte(40 + bit), byte(2 * bit), 255 - byte(bit)})
		}
		for code := range byte(16) {
			t.Elements = append(t.Elements, Raw{code, 0, 60, 0})
		}
		for bit := range 3 {
			t.Elements = append(t.Elements, Raw{0x10<<bit | 1, 1, 2, 0})
		}
		t.Names = numbered(len(t.Elements), fmt.Sprintf("type %02x element ", k)+"%d")
		s.Types = append(s.Types, t)
	}
	return s
}

// SmallShelf has four bays, of which each IOM may access two, and one of most
// faults: a supply without mains, a stopped fan, a hot sensor, an idle sensor
// that calls itself critical, an open cover, a bay with a fault, an empty one.
func SmallShelf(logicalID uint64, process byte) *Shelf {
	s := &Shelf{
		Name: fmt.Sprintf("small-iom%d", process), LogicalID: logicalID, Process: process, Processes: 2,
		Vendor: "ACME", Product: "SMALL4", Revision: "7", Conditions: 0x0a, Generation: 3, DescriptorPadding: 20,
	}
	slots := Type{Kind: 0x17, Text: "Bays", Overall: Raw{8}}
	for i, e := range []Raw{{1}, {0x11, 0, 0x02, 0}, {0x42, 0, 0, 0x60}, {5}} {
		if i/2 != int(process)-1 {
			e = Raw{8}
		}
		slots.Elements = append(slots.Elements, e)
		slots.Names = append(slots.Names, fmt.Sprintf("SLOT %03d,ZX%06d", i, i))
		slots.Additional = append(slots.Additional, SlotSAS(i, i, 0, DenseDisk(logicalID, i, process), logicalID|0x3f))
	}
	slots.Additional[3] = SlotInvalid(3, 0)
	s.Types = []Type{
		slots,
		{Kind: 0x02, Elements: []Raw{{1, 0, 0, 0x20}, {2, 0, 0, 0x62}}, Names: []string{"PSU A", "PSU B"}},
		{Kind: 0x03, Elements: []Raw{{1, 2, 0xee, 0x27}, {2, 0, 0, 0x60}}, Names: []string{"FAN A", "FAN B"}},
		{Kind: 0x04, Elements: []Raw{{1, 0, 49}, {3, 0, 78, 4}, {5}}, Limits: Repeat(3, Raw{79, 76, 28, 26}), Names: []string{"TEMP MID", "TEMP IOM A", "TEMP IOM B"}},
		{Kind: 0x12, Elements: []Raw{{1, 0, 0x04, 0xb9}}, Names: []string{"12V"}},
		{Kind: 0x13, Elements: []Raw{{2, 0x40, 0, 0}}, Names: []string{"CURR IOM B"}},
		{Kind: 0x07, Elements: []Raw{{1, 0, 2 - process, 0x80}, {1, 0, process - 1, 0x80}}, Names: []string{"IOM A", "IOM B"}},
		{Kind: 0x05, Elements: []Raw{{2, 0, 0, 2}}, Names: []string{"COVER"}},
	}
	return s
}

// Shelves lists them all, with both their IOMs where they have two.
func Shelves() []*Shelf {
	return []*Shelf{
		DenseShelf(0x5000ccab01000000, 1), DenseShelf(0x5000ccab01000000, 2),
		SmallShelf(0x5000ccab05000000, 1), SmallShelf(0x5000ccab05000000, 2),
		SlotsLastShelf(), ManySubenclosures(), PlainShelf(), FaultShelf(),
	}
}
