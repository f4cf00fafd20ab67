package forecast

import "github.com/ceph-risk/ceph_risk_exporter/internal/scrub"

// reserve asks the PG's replicas that have not agreed yet. It stops at one that
// is full: that one goes on when it has a slot (19 and newer).
func (s *sim) reserve(pg int32) {
	m, p := &s.m.pgs[pg], &s.pgs[pg]
	for _, r := range s.m.others[m.from+p.granted : m.to] {
		if len(s.osds[r].waiting) > 0 || !s.slotFree(r, false) {
			s.osds[r].waiting = append(s.osds[r].waiting, pg)
			return
		}
		s.osds[r].remote++
		p.granted++
	}
	s.osds[m.osd].reserving = false
	s.begin(pg)
}

// begin runs the scrub: all its slots are taken.
func (s *sim) begin(pg int32) {
	p := &s.pgs[pg]
	p.began = s.now
	s.queue.push(event{s.now + s.m.pgs[pg].took[p.level], scrubEnds | uint64(pg)})
}

// finish ends a PG's scrub: its stamps move, its slots come free.
func (s *sim) finish(pg int32) {
	m, p := &s.m.pgs[pg], &s.pgs[pg]
	s.result.completed(s, pg)
	p.last[scrub.Shallow] = s.now
	if p.level == int8(scrub.Deep) {
		p.last[scrub.Deep] = s.now
	}
	p.active = false
	if !m.stuck || s.now >= s.m.recoveryEnds {
		s.schedule(pg, false)
	}
	took := s.now - max(0, p.began)
	s.osds[m.osd].local--
	s.osds[m.osd].busy += took
	for _, r := range s.m.others[m.from:m.to] {
		s.osds[r].remote--
		s.osds[r].busy += took
	}
	s.freed(m.osd)
	s.arm(m.osd, s.now)
	for _, r := range s.m.others[m.from:m.to] {
		s.freed(r)
		if s.m.shared {
			s.arm(r, s.now)
		}
	}
}

// freed gives a slot of the OSD to whoever waits for it.
func (s *sim) freed(i int32) {
	o := &s.osds[i]
	for len(o.waiting) > 0 && s.slotFree(i, false) {
		pg := o.waiting[0]
		o.waiting = o.waiting[:copy(o.waiting, o.waiting[1:])]
		o.remote++
		s.pgs[pg].granted++
		s.reserve(pg)
		if primary := s.m.pgs[pg].osd; !s.osds[primary].reserving {
			s.arm(primary, s.now)
		}
	}
	parked := o.parkedHere
	o.parkedHere = o.parkedHere[:0]
	for _, w := range parked {
		other := &s.osds[w]
		if n := len(other.jobs); !s.m.heads && n > 0 {
			// It has tried them round and round meanwhile.
			other.draws++
			other.position = int32(hash(s.seed, drawPosition, uint64(s.m.osds[w].id), uint64(other.draws)) % uint64(n))
		}
		s.arm(w, s.now)
	}
}

// clean is the end of recovery.
func (s *sim) clean() {
	for i := range s.osds {
		s.osds[i].recovering = false
	}
	for i := range s.m.pgs {
		if m := &s.m.pgs[i]; m.stuck && m.osd >= 0 && !s.pgs[i].active {
			s.schedule(int32(i), false)
		}
	}
	for i := range s.osds {
		s.arm(int32(i), s.now)
	}
}
