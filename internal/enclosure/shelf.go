package enclosure

import (
	"fmt"
	"strconv"
)

// Report is what one SES process said: its status as of this poll, the other
// pages as of the last time they were read. A page that the shelf does not have
// is nil.
type Report struct {
	Config      *Config
	Status      *StatusPage
	Thresholds  *ThresholdPage
	Descriptors *DescriptorPage
	Additional  *AdditionalPage
}

// Shelf is one enclosure as all its SES processes together see it.
type Shelf struct {
	ID         uint64
	Vendor     string
	Product    string
	Revision   string
	Conditions Conditions
	Overall    []Overall
	Elements   []Element
}

// Overall is the overall element of one type header.
type Overall struct {
	Type   ElementType
	Header int
	Raw    Raw
}

// Element is one element. Index counts the elements of its type over all type
// headers, so that those of subenclosures do not collide.
type Element struct {
	Type   ElementType
	Index  int
	Raw    Raw
	Name   string
	Limits *Thresholds // nil: the shelf gave none
	Slot   *Slot       // nil: not a slot
}

// Slot is where a slot is and what the shelf sees in it.
type Slot struct {
	Number int
	// Label is the number, with a suffix where the shelf numbers two slots alike.
	Label string
	// Addresses are those of the disk's ports, one per IOM.
	Addresses []uint64

	numbered bool // the shelf gave the number
}

// elementKey is what an element is found by in the reports of several IOMs.
type elementKey struct {
	kind  ElementType
	index int
}

// Merge makes one shelf of the reports of its SES processes, element by
// element. Each report needs a configuration and a status page. The order of
// the reports decides only where they are equally good.
func Merge(reports []*Report) *Shelf {
	primary := reports[0].Config.Subenclosures[0]
	s := &Shelf{ID: primary.LogicalID, Vendor: primary.Vendor, Product: primary.Product, Revision: primary.Revision}
	at := map[elementKey]int{}
	for _, r := range reports {
		s.Conditions = s.Conditions.or(r.Status.Conditions)
		s.addOverall(r)
		s.addElements(r, at)
	}
	s.numberSlots()
	return s
}

// addOverall merges the overall elements.
func (s *Shelf) addOverall(r *Report) {
	for h, ty := range r.Status.Types {
		if ty.Overall == nil {
			continue
		}
		kind, known := r.Config.Types[h].Type, false
		for i := range s.Overall {
			if o := &s.Overall[i]; o.Header == h && o.Type == kind {
				o.Raw, known = better(kind, o.Raw, *ty.Overall), true
			}
		}
		if !known {
			s.Overall = append(s.Overall, Overall{Type: kind, Header: h, Raw: *ty.Overall})
		}
	}
}

// addElements merges the elements of one report.
func (s *Shelf) addElements(r *Report, at map[elementKey]int) {
	next := map[ElementType]int{}
	for h, header := range r.Config.Types {
		for i, raw := range r.Status.Types[h].Elements {
			key := elementKey{header.Type, next[header.Type] + i}
			n, known := at[key]
			if !known {
				n = len(s.Elements)
				at[key] = n
				e := Element{Type: header.Type, Index: key.index, Raw: raw}
				if header.Type.IsSlot() {
					e.Slot = &Slot{Number: -1}
				}
				s.Elements = append(s.Elements, e)
			}
			e := &s.Elements[n]
			e.Raw = better(header.Type, e.Raw, raw)
			e.describe(r, h, i)
		}
		next[header.Type] += header.Count
	}
}

// describe adds what the rarely read pages of a report say of an element, where
// no earlier report did.
func (e *Element) describe(r *Report, header, i int) {
	if d := r.Descriptors; d != nil && e.Name == "" && i < len(d.Types[header].Elements) {
		e.Name = ElementName(e.Type, d.Types[header].Elements[i])
	}
	if t := r.Thresholds; t != nil && e.Limits == nil && i < len(t.Types[header]) {
		limits := t.Types[header][i]
		e.Limits = &limits
	}
	if e.Slot == nil || r.Additional == nil {
		return
	}
	d := r.Additional.Types[header][i]
	if d == nil {
		return
	}
	if d.Slot >= 0 && !e.Slot.numbered {
		e.Slot.Number, e.Slot.numbered = d.Slot, true
	}
	for _, phy := range d.Phys {
		if phy.Address != 0 {
			e.Slot.Addresses = append(e.Slot.Addresses, phy.Address)
		}
	}
}

// better picks between two IOMs' words on one element. One that may access it
// beats one that may not; of two that know, the worse word wins, so that no
// IOM hides what the other one sees. A part that one of them sees is there.
func better(kind ElementType, a, b Raw) Raw {
	ra, rb := rank(kind, a), rank(kind, b)
	if rb > ra {
		return b
	}
	return a
}

// rank orders the words on an element by how much they matter.
func rank(kind ElementType, r Raw) int {
	order := [16]int{
		StatusNoAccess: 0, StatusUnsupported: 1, StatusNotAvailable: 2, StatusUnknown: 3, StatusNotInstalled: 4,
		StatusOK: 5, StatusNoncritical: 6, StatusCritical: 7, StatusUnrecoverable: 8,
	}
	const flags = 64 // more than a status byte's worth of flags
	n := order[r.Status()] * flags
	n += len(r.Flags(kind))
	if kind.IsSlot() && (r.FaultSensed() || r.FaultRequested()) {
		n++
	}
	return n
}

// numberSlots gives every slot a number and a label that no other slot has.
// Empty slots often have no number from the shelf: where the others' numbers run
// along with their order (from 0, from 1), theirs follow from it. The kernel
// counts them from 0 over all slots, whatever their type.
func (s *Shelf) numberSlots() {
	offset, constant, position := 0, true, 0
	first := true
	for i := range s.Elements {
		slot := s.Elements[i].Slot
		if slot == nil {
			continue
		}
		if slot.numbered {
			if !first && slot.Number-position != offset {
				constant = false
			}
			offset, first = slot.Number-position, false
		}
		position++
	}
	if !constant {
		offset = 0
	}
	taken := map[int]int{}
	position = 0
	for i := range s.Elements {
		slot := s.Elements[i].Slot
		if slot == nil {
			continue
		}
		if !slot.numbered {
			slot.Number = max(position+offset, 0)
		}
		position++
		slot.Label = strconv.Itoa(slot.Number)
		if n := taken[slot.Number]; n > 0 {
			slot.Label = fmt.Sprintf("%d-%d", slot.Number, n)
		}
		taken[slot.Number]++
	}
}

// SlotAt returns the slot with a number; nil where none or more than one has it.
func (s *Shelf) SlotAt(number int) *Slot {
	var found *Slot
	for i := range s.Elements {
		if slot := s.Elements[i].Slot; slot != nil && slot.Number == number {
			if found != nil {
				return nil
			}
			found = slot
		}
	}
	return found
}

// SlotOf returns the slot that holds the disk with a port of that address.
func (s *Shelf) SlotOf(address uint64) *Slot {
	for i := range s.Elements {
		if slot := s.Elements[i].Slot; slot != nil {
			for _, a := range slot.Addresses {
				if a == address {
					return slot
				}
			}
		}
	}
	return nil
}

// FormatID writes a logical identifier as labels have it: 16 hex digits.
func FormatID(id uint64) string { return fmt.Sprintf("%016x", id) }

// ParseID reads a logical identifier with or without 0x.
func ParseID(s string) (uint64, error) {
	if len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		s = s[2:]
	}
	id, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parse enclosure id %q: want up to 16 hex digits", s)
	}
	return id, nil
}
