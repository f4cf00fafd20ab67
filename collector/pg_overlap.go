package collector

import "github.com/ceph-risk/ceph_risk_exporter/internal/scrub"

// emitOverlap says where scrub and recovery meet, as of the frequent question.
func (s *pgSnapshot) emitOverlap(e *Emitter) {
	t := s.table
	overlap := scrub.FindOverlap(s.fast.table)
	if s.full != nil {
		for _, o := range s.full.osds.OSDs { // so that "none" is a 0
			if _, some := overlap.Recovering[o.ID]; o.Up && !some {
				overlap.Recovering[o.ID] = 0
			}
		}
	}
	for osd, n := range overlap.Recovering {
		e.Emit(t.osdRecovering, float64(n), osdLabel(osd))
	}
	e.Emit(t.overlapOSDs, float64(overlap.OSDs))
	for _, d := range scrub.Doings {
		e.Emit(t.overlapPGs, float64(overlap.PGs[d]), d.String())
	}
}

// emitObjects says how much each OSD stores, in objects.
func (s *pgSnapshot) emitObjects(e *Emitter) {
	for _, o := range s.full.osds.OSDs {
		if n, some := s.full.objects[o.ID]; some || o.Up && !s.full.objectsUnknown[o.ID] {
			e.Emit(s.table.osdObjects, float64(n), osdLabel(o.ID))
		}
	}
}

// emitLate says who has the late PGs and what keeps them from being scrubbed.
func (s *pgSnapshot) emitLate(e *Emitter) {
	if s.full.mgr == nil {
		return // without the mgr's options there is no rule to judge by
	}
	t := s.table
	for pool, levels := range s.full.late.Blocked {
		for _, l := range scrub.Levels {
			for _, reason := range scrub.Reasons {
				needsOptions := reason == scrub.ReasonWindow || reason == scrub.ReasonSlots
				if s.full.gates || !needsOptions {
					e.Emit(t.blocked, float64(levels[l][reason]), poolLabel(pool), l.String(), reason.String())
				}
			}
		}
	}
	late := s.full.late.OSDs
	for _, o := range s.full.osds.OSDs {
		if n := late[o.ID]; n != nil || o.Up {
			if n == nil {
				n = new([2]int)
			}
			for _, l := range scrub.Levels {
				e.Emit(t.osdLate, float64(n[l]), osdLabel(o.ID), l.String())
			}
		}
	}
}
