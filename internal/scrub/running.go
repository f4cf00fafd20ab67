package scrub

import (
	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Phase is how far a scrub is. Ceph sets the state "scrubbing" before the
// replicas have agreed to take part (16.2.11 and newer).
type Phase uint8

// The phases. PhaseUnknown: the release does not tell (16, in part 17 to 19).
const (
	PhaseUnknown Phase = iota
	PhaseReserving
	PhaseRunning
)

// Phases lists them in the order of their constants.
var Phases = [...]Phase{PhaseUnknown, PhaseReserving, PhaseRunning}

// String returns the label value.
func (p Phase) String() string {
	switch p {
	case PhaseReserving:
		return "reserving"
	case PhaseRunning:
		return "running"
	default:
		return "unknown"
	}
}

// Scrubbing reports whether the PG is being scrubbed, and at which level. Of a
// PG that the mgr has no report of nothing is said.
func Scrubbing(pg *ceph.PG) (Level, bool) {
	if !pg.State.Has(ceph.StateScrubbing) {
		return Shallow, false
	}
	if pg.State.Has(ceph.StateDeep) {
		return Deep, true
	}
	return Shallow, true
}

// PhaseOf tells how far the scrub of a scrubbing PG is, from what its release
// shows: the schedule text, or objects already scrubbed.
func PhaseOf(pg *ceph.PG) Phase {
	switch pg.Schedule {
	case ceph.ScheduleRunning, ceph.ScheduleBlocked:
		return PhaseRunning
	case ceph.ScheduleReserving, ceph.ScheduleQueued:
		return PhaseReserving
	}
	if pg.ObjectsScrubbed > 0 {
		return PhaseRunning
	}
	return PhaseUnknown
}

// Role is the part an OSD has in a PG's scrub.
type Role uint8

// The roles.
const (
	Primary Role = iota
	Replica
)

// Roles lists both.
var Roles = [...]Role{Primary, Replica}

// String returns the label value.
func (r Role) String() string {
	if r == Primary {
		return "primary"
	}
	return "replica"
}

// Occupancy counts the scrubs in which an OSD takes part, by level and role.
type Occupancy [2][2]int

// Running is what is being scrubbed at one moment.
type Running struct {
	// Pools counts scrubs by pool, level and phase.
	Pools map[int32]*[2][len(Phases)]int
	// OSDs counts them by OSD.
	OSDs map[int32]*Occupancy
}

// FindRunning counts the scrubs of a table, which may hold other PGs, too. An
// OSD takes part when it is in the acting set; ceph.NoOSD is nobody.
func FindRunning(t *ceph.PGTable) Running {
	r := Running{Pools: make(map[int32]*[2][len(Phases)]int), OSDs: make(map[int32]*Occupancy)}
	for i := range t.PGs {
		pg := &t.PGs[i]
		level, ok := Scrubbing(pg)
		if !ok {
			continue
		}
		p := r.Pools[pg.ID.Pool]
		if p == nil {
			p = new([2][len(Phases)]int)
			r.Pools[pg.ID.Pool] = p
		}
		p[level][PhaseOf(pg)]++
		for _, osd := range t.Set(pg.Acting) {
			if osd < 0 || osd == ceph.NoOSD {
				continue
			}
			o := r.OSDs[osd]
			if o == nil {
				o = new(Occupancy)
				r.OSDs[osd] = o
			}
			role := Replica
			if osd == pg.ActingPrimary {
				role = Primary
			}
			o[level][role]++
		}
	}
	return r
}
