package ceph

// layout walks objects of one kind, and remembers how the ones before were
// written: where each key stood, and which members nobody asks for have had the
// same value ever since. A key in its place costs a comparison instead of a
// search, and a run of constant members costs one comparison together. Since
// it compares with text that was read before, byte by byte, and reads whatever
// differs, it never changes what is read.
type layout struct {
	lookup func(key []byte) uint8 // the key's field; 0 if nobody asks for it
	next   int                    // the slot of the next member
	used   int
	stale  bool // a slot has changed since the runs were made
	slots  [128]slot
	spare  slot // for the members beyond
}

// slot is a member as it was written last, by its place in scanner.data.
type slot struct {
	from  int // behind the comma before it
	key   int // bytes up to and with the colon; 0 is an unused slot
	whole int // bytes up to and with the comma behind the value; see varies
	run   int // bytes of this and the next members, as far as they are constant
	skip  int // members in the run
	field uint8
}

// varies marks a member whose value is not constant, or is asked for, or
// stands at the end of its object.
const varies = -1

// noMember is the field at the end of an object, and after an error.
const noMember = 255

// firstMember enters the object at pos and returns the field of the first
// member that is asked for, with pos at its value.
func (s *scanner) firstMember(l *layout) uint8 {
	if !s.enter() {
		return noMember
	}
	if l.stale {
		l.join()
	}
	l.next = 0
	if s.peek() == '}' {
		s.leave()
		return noMember
	}
	return s.member(l)
}

// nextMember does the same for the member behind the value that ends at pos.
func (s *scanner) nextMember(l *layout) uint8 {
	switch s.peek() {
	case ',':
		s.pos++
		return s.member(l)
	case '}':
		s.leave()
	default:
		s.fail("no comma or end behind a value")
	}
	return noMember
}

func (s *scanner) member(l *layout) uint8 {
	for {
		m := l.slot()
		if m.run > 0 && s.repeats(m.from, m.run) {
			s.pos += m.run
			l.next += m.skip
			continue
		}
		l.next++
		from := s.pos
		if m.key > 0 && s.repeats(m.from, m.key) {
			s.pos += m.key
		} else if !s.learn(l, m) {
			return noMember
		}
		if m.field != 0 {
			return m.field
		}
		nonFinite := s.nonFinite
		if !s.value() {
			return noMember
		}
		if s.peek() != ',' {
			m.whole = varies
			return s.nextMember(l)
		}
		s.pos++
		switch size := s.pos - from; {
		case m.whole == varies:
		case from == m.from && s.nonFinite == nonFinite:
			m.whole, l.stale = size, true
		case size != m.whole || string(s.data[from:s.pos]) != string(s.data[m.from:m.from+size]):
			m.whole, l.stale = varies, true
		}
	}
}

// repeats reports whether pos is followed by the same n bytes as from.
func (s *scanner) repeats(from, n int) bool {
	end := s.pos + n
	return end <= len(s.data) && string(s.data[s.pos:end]) == string(s.data[from:from+n])
}

// learn reads a key that is not the one of its slot.
func (s *scanner) learn(l *layout, m *slot) bool {
	s.misses++
	from := s.pos
	if s.peek() != '"' {
		return s.fail("no key")
	}
	key, ok := s.text()
	if !ok {
		return false
	}
	if s.peek() != ':' {
		return s.fail("no colon behind a key")
	}
	s.pos++
	*m = slot{from: from, key: s.pos - from, field: l.lookup(key)}
	l.stale = true
	return true
}

// slot returns that of the next member.
func (l *layout) slot() *slot {
	if l.next < len(l.slots) {
		l.used = max(l.used, l.next+1)
		return &l.slots[l.next]
	}
	l.spare = slot{}
	return &l.spare
}

// join makes runs of constant members that follow one another in the text.
func (l *layout) join() {
	l.stale = false
	for i := l.used - 1; i >= 0; i-- {
		m := &l.slots[i]
		m.run, m.skip = 0, 0
		if m.whole <= 0 {
			continue
		}
		m.run, m.skip = m.whole, 1
		if i+1 < l.used && l.slots[i+1].from == m.from+m.whole {
			m.run += l.slots[i+1].run
			m.skip += l.slots[i+1].skip
		}
	}
}
