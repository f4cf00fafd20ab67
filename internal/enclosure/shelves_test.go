package enclosure

import (
	"encoding/binary"
	"fmt"
)

// The shelves of the tests are written from the standard's layouts by the code
// below, which shares nothing with the decoders. What the bytes mean is checked
// against sg_ses (sgses_test.go).

// madeType is one type header of a made-up shelf and everything its elements
// have in the other pages.
type madeType struct {
	kind         ElementType
	text         string
	subenclosure byte
	overall      Raw
	elements     []Raw
	names        []string // descriptor texts; short or nil: empty texts
	limits       []Raw    // page 05h; short or nil: zeros
	additional   [][]byte // page 0Ah descriptors, whole
}

// madeShelf is what one SES process says.
type madeShelf struct {
	name              string
	logicalID         uint64
	vendor            string
	product           string
	revision          string
	process           byte // relative ES process id
	processes         byte
	secondary         []uint64 // logical ids of further subenclosures
	generation        uint32
	conditions        byte // byte 1 of page 02h
	types             []madeType
	missing           []byte // pages it does not have
	cutLimits         int    // page 05h ends this many bytes early
	descriptorPadding int    // descriptor texts are blank-padded to this length
}

// page returns the reply to a request for a page, or nil.
func (s *madeShelf) page(code byte) []byte {
	for _, m := range s.missing {
		if m == code {
			return nil
		}
	}
	switch code {
	case PageConfiguration:
		return s.configuration()
	case PageStatus:
		var body []byte
		for _, t := range s.types {
			body = append(body, t.overall[:]...)
			for _, e := range t.elements {
				body = append(body, e[:]...)
			}
		}
		return s.reply(PageStatus, s.conditions, body)
	case PageThreshold:
		var body []byte
		for _, t := range s.types {
			body = append(body, 0, 0, 0, 0)
			for i := range t.elements {
				body = append(body, at(t.limits, i)...)
			}
		}
		return s.reply(PageThreshold, 0, body[:len(body)-s.cutLimits])
	case PageDescriptor:
		var body []byte
		for _, t := range s.types {
			body = append(body, 0, 0, 0, 0)
			for i := range t.elements {
				text := ""
				if i < len(t.names) {
					text = t.names[i]
				}
				if text != "" {
					text = fmt.Sprintf("%-*s", s.descriptorPadding, text)
				}
				body = append(body, 0, 0, byte(len(text)>>8), byte(len(text)))
				body = append(body, text...)
			}
		}
		return s.reply(PageDescriptor, 0, body)
	case PageAdditional:
		var body []byte
		for _, t := range s.types {
			for _, d := range t.additional {
				body = append(body, d...)
			}
		}
		return s.reply(PageAdditional, 0, body)
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
func (s *madeShelf) reply(code, byte1 byte, body []byte) []byte {
	b := []byte{code, byte1}
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)+4))
	b = binary.BigEndian.AppendUint32(b, s.generation)
	return append(b, body...)
}

func (s *madeShelf) configuration() []byte {
	var body, headers, texts []byte
	ids := append([]uint64{s.logicalID}, s.secondary...)
	for sub, id := range ids {
		n := 0
		for _, t := range s.types {
			if int(t.subenclosure) == sub {
				n++
			}
		}
		body = append(body, s.process<<4|s.processes, byte(sub), byte(n), 36)
		body = binary.BigEndian.AppendUint64(body, id)
		body = append(body, fmt.Sprintf("%-8s%-16s%-4s", s.vendor, s.product, s.revision)...)
	}
	for _, t := range s.types {
		headers = append(headers, byte(t.kind), byte(len(t.elements)), t.subenclosure, byte(len(t.text)))
		texts = append(texts, t.text...)
	}
	body = append(append(body, headers...), texts...)
	return s.reply(PageConfiguration, byte(len(s.secondary)), body)
}

// repeat returns n copies of an element.
func repeat(n int, r Raw) []Raw {
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

// slotSAS is a page 0Ah descriptor of a slot with one SAS phy. index and slot
// below 0: without EIP. disk 0: no device.
func slotSAS(index, slot int, eiioe byte, disk, expander uint64) []byte {
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

// slotInvalid is a descriptor without contents, as of an empty slot.
func slotInvalid(index int, eiioe byte) []byte {
	b := make([]byte, 8+28)
	b[0], b[1], b[2], b[3] = 0x96, 6+28, eiioe, byte(index)
	return b
}

// expanderSAS is the descriptor of an expander with phys phys, none connected.
func expanderSAS(index int, eiioe byte, address uint64, phys int) []byte {
	b := make([]byte, 16+2*phys)
	b[0], b[1], b[2], b[3] = 0x16, byte(14+2*phys), eiioe, byte(index)
	b[4], b[5] = byte(phys), 0x40
	binary.BigEndian.PutUint64(b[8:], address)
	for i := range 2 * phys {
		b[16+i] = 0xff
	}
	return b
}

// denseShelf has the composition of a 60-bay shelf with two IOMs that own half
// of the bays each: 194 elements in 11 types, slots first, generation 0.
func denseShelf(logicalID uint64, process byte) *madeShelf {
	s := &madeShelf{
		name: fmt.Sprintf("dense-iom%d", process), logicalID: logicalID, process: process, processes: 2,
		vendor: "ACME", product: "DENSE60", revision: "0401", descriptorPadding: 28,
	}
	slots := madeType{kind: TypeArrayDeviceSlot, text: "Drive bays", overall: Raw{8}}
	for i := range 60 {
		e := Raw{1}
		if i/30 != int(process)&1 {
			e = Raw{8}
		}
		slots.elements = append(slots.elements, e)
		slots.names = append(slots.names, fmt.Sprintf("SLOT %03d,ZX%06d", i, 4711*i))
		slots.additional = append(slots.additional,
			slotSAS(i, i, 0, denseDisk(logicalID, i, process), logicalID|0x3f))
	}
	names := func(format string, n int) []string { return numbered(n, format) }
	hot := func(n int, limits Raw) []Raw { return repeat(n, limits) }
	s.types = []madeType{
		slots,
		{kind: TypeEnclosure, text: "Chassis", elements: repeat(1, Raw{1}), names: []string{"ENCLOSURE"}},
		{kind: TypePowerSupply, text: "PSU", elements: repeat(2, Raw{1, 0, 0, 0xa0}), names: names("PSU %d", 2)},
		{kind: TypeCooling, text: "Fans", elements: repeat(8, Raw{1, 2, 0xee, 0xa7}), names: names("FAN %d", 8)},
		{kind: TypeTemperature, text: "Temperature", elements: repeat(86, Raw{1, 0, 49, 0}),
			names: names("TEMP %02d", 86), limits: hot(86, Raw{79, 76, 28, 26})},
		{kind: TypeController, text: "IOM", elements: []Raw{{1, 0, 1 - process, 0x80}, {1, 0, process, 0x80}}, names: names("IOM %d", 2)},
		{kind: TypeExpander, text: "Expanders", elements: repeat(6, Raw{1}), names: names("EXP %d", 6)},
		{kind: TypeConnector, text: "Connectors", elements: repeat(12, Raw{1, 5, 0xff, 0x80}), names: names("CONN %d", 12)},
		{kind: TypeVoltage, text: "Voltage", elements: repeat(8, Raw{1, 0, 0x04, 0xb9}),
			names: names("VOLT %d", 8), limits: hot(8, Raw{20, 10, 15, 20})},
		{kind: TypeCurrent, text: "Current", elements: repeat(8, Raw{1, 0, 0x01, 0x2c}),
			names: names("CURR %d", 8), limits: hot(8, Raw{41, 40, 0, 0})},
		{kind: TypeDoor, text: "Cover", elements: repeat(1, Raw{1}), names: []string{"COVER"}},
	}
	for i := range 6 {
		s.types[6].additional = append(s.types[6].additional, expanderSAS(159+i, 0, logicalID|uint64(0x30+i), 4))
	}
	return s
}

// denseDisk is the address of a disk's port behind one IOM.
func denseDisk(logicalID uint64, slot int, process byte) uint64 {
	return 0x5000c50000000000 | logicalID&0xff<<16 | uint64(slot)<<8 | uint64(process+1)
}

// slotsLastShelf has 24 bays behind all other types, slot numbers from 1,
// EIIOE = 1, a generation code, an empty bay with an invalid descriptor, and
// neither an expander descriptor in page 0Ah nor the end of page 05h.
func slotsLastShelf() *madeShelf {
	s := &madeShelf{
		name: "slots-last", logicalID: 0x500a0b1122334455, process: 1, processes: 1,
		vendor: "NOVA", product: "NV24", revision: "r12", generation: 7, cutLimits: 8, conditions: 0x02,
	}
	s.types = []madeType{
		{kind: TypePowerSupply, text: "PS", elements: []Raw{{1, 0, 0, 0x20}, {5, 0, 0, 0}}, names: []string{"PSU A", "PSU B"}},
		{kind: TypeCooling, text: "Cool", elements: []Raw{{1, 0x12, 0x58, 0x23}, {0x42, 1, 0x00, 0x41}}},
		{kind: TypeTemperature, elements: []Raw{{1, 0, 69}, {1, 0, 0}, {2, 0, 100, 8}},
			limits: []Raw{{75, 70, 25, 20}, {}, {75, 0, 0, 20}}},
		{kind: TypeController, text: "ESC", elements: repeat(1, Raw{1, 0, 1, 0})},
		{kind: TypeExpander, text: "EXP", elements: repeat(1, Raw{1})},
	}
	before := 0
	for _, t := range s.types {
		before += 1 + len(t.elements)
	}
	slots := madeType{kind: TypeArrayDeviceSlot, text: "Bays", overall: Raw{1}}
	for i := range 24 {
		index := before + 1 + i
		e, d := Raw{1}, slotSAS(index, i+1, 1, 0x5000cca000000000|uint64(i)<<4, 0x500a0b1122334400)
		switch i {
		case 5:
			e, d = Raw{5}, slotInvalid(index, 1)
		case 6:
			e = Raw{0x42, 0, 0, 0x40}
		case 7:
			e = Raw{1, 0, 0x02, 0x20}
		}
		slots.elements = append(slots.elements, e)
		slots.additional = append(slots.additional, d)
		slots.names = append(slots.names, fmt.Sprintf("Slot%02d", i+1))
	}
	s.types = append(s.types, slots)
	return s
}

// manySubenclosures has 102 slots of the plain type in four subenclosures, SWAP
// set on all of them, one descriptor format without an element index, an open
// cover, and no page 07h.
func manySubenclosures() *madeShelf {
	s := &madeShelf{
		name: "subenclosures", logicalID: 0x5000ccab04000000, process: 1, processes: 2,
		secondary: []uint64{0x5000ccab04000001, 0x5000ccab04000002, 0x5000ccab04000003},
		vendor:    "ACME", product: "DEEP102", revision: "3010", generation: 0x10000, conditions: 0x0a,
		missing: []byte{PageDescriptor},
	}
	n := 0
	for sub, count := range []int{30, 30, 30, 12} {
		t := madeType{kind: TypeDeviceSlot, text: fmt.Sprintf("Zone %d", sub), subenclosure: byte(sub)}
		for range count {
			t.elements = append(t.elements, Raw{0x11, byte(n)})
			t.additional = append(t.additional, slotSAS(-1, -1, 0, 0x5000039000000000|uint64(n)<<8, 0x5000ccab040000ff))
			n++
		}
		s.types = append(s.types, t,
			madeType{kind: TypeTemperature, subenclosure: byte(sub), elements: repeat(2, Raw{1, 0, byte(50 + sub)})})
	}
	s.types = append(s.types,
		madeType{kind: TypeDoor, elements: []Raw{{2, 0, 0, 2}}},
		madeType{kind: TypeEnclosure, elements: []Raw{{2, 0, 2, 0}}})
	return s
}

// plainShelf has neither thresholds nor page 0Ah, and a vendor's own type.
func plainShelf() *madeShelf {
	return &madeShelf{
		name: "plain", logicalID: 0x50050cc123456789, process: 1, processes: 1,
		vendor: "Plain", product: "Box", revision: "1", missing: []byte{PageThreshold, PageAdditional},
		types: []madeType{
			{kind: TypeDeviceSlot, elements: repeat(12, Raw{1}), names: numbered(12, "Disk #%02d")},
			{kind: ElementType(0x80), elements: []Raw{{1, 2, 3, 4}}, names: []string{"own"}},
			{kind: TypeVoltage, elements: []Raw{{1, 0, 0xfb, 0x50}}, names: []string{"-12V"}},
		},
	}
}

// faultShelf has, for every type, one element per bit of its bytes, one per
// status code, and a reserved fan factor.
func faultShelf() *madeShelf {
	s := &madeShelf{
		name: "faults", logicalID: 0x5000000000000fa1, process: 1, processes: 1,
		vendor: "ACME", product: "BROKEN", revision: "9999", conditions: 0x1f,
	}
	kinds := []ElementType{
		TypeDeviceSlot, TypePowerSupply, TypeCooling, TypeTemperature, TypeDoor, TypeAlarm, TypeController,
		0x08, 0x09, 0x0a, TypeUPS, 0x0c, 0x0d, TypeEnclosure, TypePort, 0x10, 0x11, TypeVoltage, TypeCurrent,
		TypeTargetPort, TypeInitiatorPort, TypeSubenclosure, TypeArrayDeviceSlot, TypeExpander, TypeConnector,
	}
	for _, k := range kinds {
		t := madeType{kind: k, text: k.String(), overall: Raw{0x7f, 0xff, 0xff, 0xff}}
		for bit := range 24 {
			e := Raw{2}
			e[1+bit/8] = 0x80 >> (bit % 8)
			t.elements = append(t.elements, e)
			t.limits = append(t.limits, Raw{byte(bit), byte(40 + bit), byte(2 * bit), 255 - byte(bit)})
		}
		for code := range byte(16) {
			t.elements = append(t.elements, Raw{code, 0, 60, 0})
		}
		for bit := range 3 {
			t.elements = append(t.elements, Raw{0x10<<bit | 1, 1, 2, 0})
		}
		t.names = numbered(len(t.elements), k.String()+" %d")
		s.types = append(s.types, t)
	}
	return s
}

// madeShelves lists them all; the dense one with both its IOMs.
func madeShelves() []*madeShelf {
	return []*madeShelf{
		denseShelf(0x5000ccab01000000, 1), denseShelf(0x5000ccab01000000, 2),
		slotsLastShelf(), manySubenclosures(), plainShelf(), faultShelf(),
	}
}
