package ceph

import "slices"

// setPool keeps each distinct set of OSDs once. The sets lie in large blocks,
// so that a set costs no allocation of its own.
type setPool struct {
	sets  [][]int32
	index []uint32 // open addressing by hash; id+1, 0 is free
	block []int32  // what is left of the last block
	last  SetID    // up and acting are mostly the same
}

// all returns the sets; the first is empty.
func (p *setPool) all() [][]int32 {
	if p.sets == nil {
		p.sets = [][]int32{{}}
	}
	return p.sets
}

// intern returns the id of the set with these OSDs, which it copies.
func (p *setPool) intern(osds []int32) SetID {
	if sets := p.all(); slices.Equal(osds, sets[p.last]) {
		return p.last
	}
	if len(osds) == 0 {
		return 0
	}
	if 2*len(p.sets) >= len(p.index) {
		p.grow()
	}
	at := p.find(osds)
	if p.index[at] == 0 {
		p.sets = append(p.sets, p.copy(osds))
		p.index[at] = uint32(len(p.sets))
	}
	p.last = SetID(p.index[at] - 1)
	return p.last
}

// find returns the place of a set in the index, or the free place for it.
func (p *setPool) find(osds []int32) uint64 {
	mask := uint64(len(p.index) - 1)
	h := uint64(len(osds))
	for _, id := range osds {
		h = (h ^ uint64(uint32(id))) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	at := h & mask
	for p.index[at] != 0 && !slices.Equal(p.sets[p.index[at]-1], osds) {
		at = (at + 1) & mask
	}
	return at
}

// grow doubles the index; the empty set is never looked up in it.
func (p *setPool) grow() {
	p.index = make([]uint32, max(1024, 2*len(p.index)))
	for id := 1; id < len(p.sets); id++ {
		p.index[p.find(p.sets[id])] = uint32(id + 1)
	}
}

func (p *setPool) copy(osds []int32) []int32 {
	if len(osds) > len(p.block) {
		p.block = make([]int32, max(len(osds), min(1<<16, 4*len(p.sets)+256)))
	}
	set := p.block[:len(osds):len(osds)]
	p.block = p.block[len(osds):]
	copy(set, osds)
	return set
}

// set decodes an array of OSD ids.
func (d *pgDecoder) set(f uint8) SetID {
	if d.peek() != '[' {
		d.unusable(f, errNotSet)
		return 0
	}
	osds, end := plainSet(d.osds[:0], d.data, d.pos+1)
	if end > 0 {
		d.pos = end
	} else {
		from := d.pos
		if !d.value() {
			return 0
		}
		raw := d.data[from:d.pos]
		var ok bool
		if osds, ok = appendOSDs(d.osds[:0], raw); !ok {
			d.note(f, raw, errNotSet)
			return 0
		}
	}
	d.osds = osds
	return d.sets.intern(osds)
}

// plainSet reads OSD ids with a single comma between each, up to the bracket,
// and returns the place behind that; 0 if there is anything else, valid or not.
func plainSet(osds []int32, data []byte, i int) ([]int32, int) {
	for {
		v, from := 0, i
		for ; i < len(data) && data[i]-'0' <= 9; i++ {
			v = v*10 + int(data[i]-'0')
		}
		if n := i - from; n == 0 || n > 10 || v > int(NoOSD) || n > 1 && data[from] == '0' || i == len(data) {
			return osds, 0
		}
		osds = append(osds, int32(v))
		switch data[i] {
		case ',':
			i++
		case ']':
			return osds, i + 1
		default:
			return osds, 0
		}
	}
}

// appendOSDs reads a valid JSON array, and reports whether it held OSD ids and
// nothing else.
func appendOSDs(osds []int32, raw []byte) ([]int32, bool) {
	for i := 1; i < len(raw); i++ {
		if c := raw[i]; c-'0' > 9 {
			if c == ',' || c == ']' && i == len(raw)-1 || isSpace(c) {
				continue
			}
			return osds, false
		}
		end := digits(raw, i)
		v, ok := wholeNumber(raw[i:end])
		if !ok || v > int64(NoOSD) {
			return osds, false
		}
		osds = append(osds, int32(v))
		i = end - 1
	}
	return osds, true
}
