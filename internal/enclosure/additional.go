package enclosure

import "encoding/binary"

// Protocol identifiers of page 0Ah.
const (
	protocolFCP  = 0x0
	protocolSAS  = 0x6
	protocolPCIe = 0xb
)

// Phy is one phy of a device in a slot.
type Phy struct {
	DeviceType byte   // 1: end device, 0: none attached
	Attached   uint64 // the expander's address
	Address    uint64 // the disk port's address
	ID         byte
}

// Additional is one descriptor of page 0Ah.
type Additional struct {
	Invalid  bool
	Protocol byte
	HasIndex bool // EIP: the descriptor names the element it belongs to
	// OverallCounted (EIIOE): the index counts overall elements too.
	OverallCounted bool
	Index          int
	// Slot is the device slot number; -1 where there is none.
	Slot int
	Phys []Phy
	// sasType is 0 for a slot, 1 for an expander or controller; -1: not SAS, or
	// invalid. Nothing is read of the latter kind: it only has to find its place.
	sasType int
}

// AdditionalPage is page 0Ah: one entry per element that has a descriptor.
type AdditionalPage struct {
	Generation uint32
	// Types has an entry per type header and element; nil where the page has
	// none for it.
	Types [][]*Additional
	Short bool
}

// DecodeAdditional decodes page 0Ah and gives each descriptor its element.
func DecodeAdditional(c *Config, reply []byte) (*AdditionalPage, error) {
	p, err := openPage(PageAdditional, reply)
	if err != nil {
		return nil, err
	}
	a := &AdditionalPage{Generation: p.generation, Types: make([][]*Additional, len(c.Types))}
	places := c.additionalPlaces()
	for i, h := range c.Types {
		a.Types[i] = make([]*Additional, h.Count)
	}
	b := p.body
	for len(b) > 0 && len(places) > 0 {
		if len(b) < 2 || len(b) < int(b[1])+2 {
			a.Short = true
			return a, nil
		}
		n := int(b[1]) + 2
		d := decodeAdditional(b[:n])
		b = b[n:]
		at := d.placeIn(places)
		a.Types[places[at].header][places[at].element] = d
		places = places[at+1:]
	}
	return a, nil
}

// place is an element that may have a descriptor in page 0Ah.
type place struct {
	header, element int
	kind            ElementType
	index           int // not counting overall elements
	indexOverall    int // counting them
}

// additionalPlaces lists the elements that may have a descriptor, in order.
func (c *Config) additionalPlaces() []place {
	var places []place
	index, indexOverall := 0, 0
	for i, h := range c.Types {
		indexOverall++ // the overall element
		switch h.Type {
		case TypeDeviceSlot, TypeArrayDeviceSlot, TypeExpander, TypeController, TypeTargetPort, TypeInitiatorPort:
			for e := range h.Count {
				places = append(places, place{i, e, h.Type, index + e, indexOverall + e})
			}
		}
		index += h.Count
		indexOverall += h.Count
	}
	return places
}

// placeIn picks the element of a descriptor among those not yet served.
// Descriptors come in element order, so the first is right unless a shelf left
// out some that are no slots. An index is only a hint: shelves count it in
// different ways and byte-sized indices wrap, so none moves a descriptor over a
// slot.
func (d *Additional) placeIn(places []place) int {
	for i, p := range places {
		if d.fits(p) {
			return i
		}
		if p.kind.IsSlot() {
			break
		}
	}
	return 0
}

// fits says whether nothing in the descriptor speaks against the place.
func (d *Additional) fits(p place) bool {
	if d.sasType == 0 && !p.kind.IsSlot() || d.sasType > 0 && p.kind.IsSlot() {
		return false
	}
	if !d.HasIndex || p.kind.IsSlot() {
		return true
	}
	if d.OverallCounted {
		return d.Index == p.indexOverall&0xff
	}
	return d.Index == p.index&0xff
}

// decodeAdditional reads one descriptor, header included. Parts that are cut
// off are absent.
func decodeAdditional(b []byte) *Additional {
	d := &Additional{
		Invalid: b[0]&0x80 != 0, HasIndex: b[0]&0x10 != 0, Protocol: b[0] & 0xf,
		Slot: -1, sasType: -1,
	}
	eo := 0
	if d.HasIndex {
		if len(b) < 4 {
			d.HasIndex = false
			return d
		}
		eo = 2
		d.OverallCounted = b[2]&3 == 1
		d.Index = int(b[3])
	}
	if d.Invalid {
		return d
	}
	switch d.Protocol {
	case protocolSAS:
		d.decodeSAS(b, eo)
	case protocolFCP, protocolPCIe:
		d.Slot = slotNumber(b, d.HasIndex)
	}
	return d
}

// slotNumber reads the device slot number, which only descriptors with an
// element index have. 255 is none.
func slotNumber(b []byte, hasIndex bool) int {
	if !hasIndex || len(b) < 8 || b[7] == 0xff {
		return -1
	}
	return int(b[7])
}

// decodeSAS reads the SAS part of a slot, with its phys.
func (d *Additional) decodeSAS(b []byte, eo int) {
	if len(b) < 4+eo {
		return
	}
	phys := int(b[2+eo])
	d.sasType = int(b[3+eo] >> 6)
	if d.sasType != 0 {
		return
	}
	d.Slot = slotNumber(b, d.HasIndex)
	// Two bytes more in front of the phys where the index is: flags and slot.
	for rest := b[min(len(b), 4+2*eo):]; phys > 0 && len(rest) >= 28; phys-- {
		d.Phys = append(d.Phys, Phy{
			DeviceType: rest[0] >> 4 & 7,
			Attached:   binary.BigEndian.Uint64(rest[4:]),
			Address:    binary.BigEndian.Uint64(rest[12:]),
			ID:         rest[20],
		})
		rest = rest[28:]
	}
}
