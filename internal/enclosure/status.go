package enclosure

// Raw is one element as the status page has it: common byte, then three whose
// meaning depends on the type.
type Raw [4]byte

// Conditions are the enclosure-wide bits of the status page. They are
// independent of each other and of the elements: some shelves set CRIT without
// a critical element.
type Conditions struct {
	InvalidOperation bool
	Info             bool
	Noncritical      bool
	Critical         bool
	Unrecoverable    bool
}

// or sets what either of both IOMs reports.
func (c Conditions) or(d Conditions) Conditions {
	return Conditions{
		InvalidOperation: c.InvalidOperation || d.InvalidOperation,
		Info:             c.Info || d.Info,
		Noncritical:      c.Noncritical || d.Noncritical,
		Critical:         c.Critical || d.Critical,
		Unrecoverable:    c.Unrecoverable || d.Unrecoverable,
	}
}

// TypeStatus is what the status page says of one type header's elements.
// Elements is shorter than the header's count where the page ends early.
type TypeStatus struct {
	Overall  *Raw
	Elements []Raw
}

// StatusPage is page 02h.
type StatusPage struct {
	Generation uint32
	Conditions Conditions
	Types      []TypeStatus // as long as the configuration's
	Short      bool         // the page ended before its last element
}

// DecodeStatus decodes page 02h in the order that the configuration gives.
func DecodeStatus(c *Config, reply []byte) (*StatusPage, error) {
	p, err := openPage(PageStatus, reply)
	if err != nil {
		return nil, err
	}
	s := &StatusPage{
		Generation: p.generation,
		Conditions: Conditions{
			InvalidOperation: p.byte1&0x10 != 0,
			Info:             p.byte1&0x08 != 0,
			Noncritical:      p.byte1&0x04 != 0,
			Critical:         p.byte1&0x02 != 0,
			Unrecoverable:    p.byte1&0x01 != 0,
		},
	}
	s.Types, s.Short = quads(c, p.body)
	return s, nil
}

// quads cuts a page of four-byte descriptors: per type header one overall and
// its elements. short says that the page ended before the last one.
func quads(c *Config, b []byte) (types []TypeStatus, short bool) {
	next := func() (r Raw, ok bool) {
		if len(b) < 4 {
			short = true
			return Raw{}, false
		}
		copy(r[:], b)
		b = b[4:]
		return r, true
	}
	types = make([]TypeStatus, len(c.Types))
	for i, h := range c.Types {
		overall, ok := next()
		if !ok {
			break
		}
		types[i].Overall = &overall
		for range h.Count {
			r, ok := next()
			if !ok {
				break
			}
			types[i].Elements = append(types[i].Elements, r)
		}
	}
	return types, short
}
