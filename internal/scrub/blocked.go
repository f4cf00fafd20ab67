package scrub

import (
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Reason is why a late PG cannot be scrubbed now.
type Reason uint8

// The reasons, in the order in which they are asked: the first that applies
// counts. There is none for the load of a host, which the cluster does not know.
const (
	// ReasonFlag: noscrub or nodeep-scrub, of the cluster or the pool.
	ReasonFlag Reason = iota
	// ReasonNotClean: the PG is not active and clean. It recovers, waits to,
	// or cannot.
	ReasonNotClean
	// ReasonRecovery: the PG is clean, but its primary OSD holds a reservation
	// for the recovery of another, and osd_scrub_during_recovery is off.
	ReasonRecovery
	// ReasonSnapTrim: the PG trims snapshots or waits to (from 17 on).
	ReasonSnapTrim
	// ReasonWindow: the primary OSD may not begin scrubs at this time.
	ReasonWindow
	// ReasonSlots: an OSD of the PG already takes part in as many scrubs as
	// its osd_max_scrubs admits.
	ReasonSlots
	numReasons
)

// Reasons lists them in the order of their constants.
var Reasons = [...]Reason{ReasonFlag, ReasonNotClean, ReasonRecovery, ReasonSnapTrim, ReasonWindow, ReasonSlots}

// String returns the label value.
func (r Reason) String() string {
	switch r {
	case ReasonFlag:
		return "flag"
	case ReasonNotClean:
		return "not_clean"
	case ReasonRecovery:
		return "recovery"
	case ReasonSnapTrim:
		return "snaptrim"
	case ReasonWindow:
		return "window"
	default:
		return "slots"
	}
}

// OSDGates are an OSD's options that decide whether it begins a scrub.
type OSDGates struct {
	DuringRecovery bool // osd_scrub_during_recovery
	MaxScrubs      int  // osd_max_scrubs
	Window         Window
	MaxInterval    float64 // osd_scrub_max_interval, seconds
}

// Gates are what decides whether a PG can be scrubbed now.
type Gates struct {
	// Release is the major number of the release that OSDs are required to run.
	Release int
	// NoScrub are the cluster's flags noscrub and nodeep-scrub, by Level.
	NoScrub [2]bool
	// PoolNoScrub are the pools' own, and PoolMaxInterval their
	// scrub_max_interval where it is set.
	PoolNoScrub     map[int32][2]bool
	PoolMaxInterval map[int32]float64
	// OSD returns an OSD's options, nil where they are not known: what depends
	// on them is then not a reason, but for recovery, which by default is.
	OSD func(osd int32) *OSDGates
}

// NewGates reads flags, pools and release out of the map.
func NewGates(m *ceph.OSDMap, osd func(int32) *OSDGates) Gates {
	g := Gates{
		Release: releaseNumber(m.RequireOSDRelease), NoScrub: [2]bool{m.HasFlag("noscrub"), m.HasFlag("nodeep-scrub")},
		PoolNoScrub: make(map[int32][2]bool, len(m.Pools)), PoolMaxInterval: make(map[int32]float64), OSD: osd,
	}
	for i := range m.Pools {
		p := &m.Pools[i]
		g.PoolNoScrub[p.ID] = [2]bool{p.HasFlag("noscrub"), p.HasFlag("nodeep-scrub")}
		if v := p.Options.ScrubMaxInterval; v != nil && *v > 0 {
			g.PoolMaxInterval[p.ID] = *v
		}
	}
	return g
}

// releaseNumber returns the major number behind a release's name. What is not
// known is newer.
func releaseNumber(name string) int {
	for i, known := range [...]string{"luminous", "mimic", "nautilus", "octopus", "pacific", "quincy", "reef", "squid"} {
		if name == known {
			return 12 + i
		}
	}
	return 20
}

// Late is how the late PGs of a table spread.
type Late struct {
	// Blocked counts those that cannot be scrubbed now, by pool, level and the
	// first reason that applies. The rest can, or are being scrubbed.
	Blocked map[int32]*[2][numReasons]int
	// OSDs counts late PGs by their acting primary, which has to begin the
	// scrub.
	OSDs map[int32]*[2]int
	// Worst are the PGs with the oldest scrubs, late or not, by pool and level,
	// the oldest first.
	Worst []Worst
}

// FindLate looks at every PG that is late by the rule, and for the worst PGs of
// each pool and level. Only the table's own states count, so that all of it is of
// one moment; local is that moment in the zone of the OSDs.
func FindLate(t *ceph.PGTable, rule *Rule, g Gates, local time.Time, worst int) Late {
	out := Late{Blocked: make(map[int32]*[2][numReasons]int), OSDs: make(map[int32]*[2]int)}
	for pool := range g.PoolNoScrub {
		out.Blocked[pool] = new([2][numReasons]int)
	}
	j := &judge{table: t, gates: g, local: local, now: ceph.StampOf(local), recovers: reserved(t), scrubs: FindRunning(t).OSDs}
	reason := func(pg *ceph.PG, l Level) (Reason, bool) {
		if !rule.Late(pg, l, local) {
			return 0, false
		}
		return j.blocked(pg, l)
	}
	eldest := oldest{n: worst}
	for i := range t.PGs {
		pg := &t.PGs[i]
		eldest.add(pg)
		if i == len(t.PGs)-1 || t.PGs[i+1].ID.Pool != pg.ID.Pool { // sorted by pool
			out.Worst = append(out.Worst, eldest.take(reason)...)
		}
		for _, l := range Levels {
			if !rule.Late(pg, l, local) {
				continue
			}
			if isOSD(pg.ActingPrimary) {
				n := out.OSDs[pg.ActingPrimary]
				if n == nil {
					n = new([2]int)
					out.OSDs[pg.ActingPrimary] = n
				}
				n[l]++
			}
			if blocked := out.Blocked[pg.ID.Pool]; blocked != nil {
				if reason, is := j.blocked(pg, l); is {
					blocked[l][reason]++
				}
			}
		}
	}
	return out
}

// reserved returns the OSDs that hold a recovery reservation, as far as states
// show: all parts of a recovering PG; of a backfilling one the primary and the
// OSDs that are filled. A PG that waits can hold its primary's, unseen.
func reserved(t *ceph.PGTable) map[int32]bool {
	out := make(map[int32]bool)
	for i := range t.PGs {
		pg := &t.PGs[i]
		switch {
		case pg.State.Has(ceph.StateRecovering):
			eachPart(t, pg, func(osd int32) { out[osd] = true })
		case pg.State.Has(ceph.StateBackfilling):
			acting := t.Set(pg.Acting)
			eachPart(t, pg, func(osd int32) {
				if osd == pg.ActingPrimary || !contains(acting, osd) {
					out[osd] = true
				}
			})
		}
	}
	return out
}

// judge knows one moment of the cluster.
type judge struct {
	table    *ceph.PGTable
	gates    Gates
	local    time.Time
	now      ceph.Stamp
	recovers map[int32]bool
	scrubs   map[int32]*Occupancy
}

// blocked returns the first reason why the PG cannot be scrubbed at that level.
func (j *judge) blocked(pg *ceph.PG, l Level) (Reason, bool) {
	if _, running := Scrubbing(pg); running {
		return 0, false
	}
	switch {
	case j.byFlag(pg, l):
		return ReasonFlag, true
	case !pg.State.Has(ceph.StateActive | ceph.StateClean):
		return ReasonNotClean, true
	}
	var primary *OSDGates
	if j.gates.OSD != nil {
		primary = j.gates.OSD(pg.ActingPrimary)
	}
	switch {
	case j.recovers[pg.ActingPrimary] && (primary == nil || !primary.DuringRecovery):
		return ReasonRecovery, true
	case j.gates.Release >= 17 && pg.State.Any(ceph.StateSnapTrim|ceph.StateSnapTrimWait):
		return ReasonSnapTrim, true
	case primary != nil && !primary.Window.Open(j.local) && !j.pastDeadline(pg, primary):
		return ReasonWindow, true
	case j.slotsTaken(pg):
		return ReasonSlots, true
	}
	return 0, false
}

// byFlag: each flag blocks its own level. Up to 18 a PG with errors that only a
// deep scrub finds gets no scrub at all while deep ones are off.
func (j *judge) byFlag(pg *ceph.PG, l Level) bool {
	pool := j.gates.PoolNoScrub[pg.ID.Pool]
	deepOff := j.gates.NoScrub[Deep] || pool[Deep]
	if l == Shallow && deepOff && pg.DeepErrors > 0 && j.gates.Release < 19 {
		return true
	}
	return j.gates.NoScrub[l] || pool[l]
}

// pastDeadline: up to 19 a PG whose last scrub of either level is older than
// the maximum interval is scrubbed whatever the time; 20 knows no deadline.
func (j *judge) pastDeadline(pg *ceph.PG, primary *OSDGates) bool {
	limit := primary.MaxInterval
	if own, set := j.gates.PoolMaxInterval[pg.ID.Pool]; set {
		limit = own
	}
	return j.gates.Release < 20 && limit > 0 && pg.LastScrub.Known() && olderThan(pg.LastScrub, j.now, limit)
}

// slotsTaken: up to 18 an OSD's scrubs as primary and as replica share its
// slots, from 19 each role has as many.
func (j *judge) slotsTaken(pg *ceph.PG) bool {
	if j.gates.OSD == nil {
		return false
	}
	for _, osd := range j.table.Set(pg.Acting) {
		o := j.scrubs[osd]
		if o == nil || !isOSD(osd) {
			continue
		}
		gates := j.gates.OSD(osd)
		if gates == nil {
			continue
		}
		taken := o[Shallow][Primary] + o[Deep][Primary]
		asReplica := o[Shallow][Replica] + o[Deep][Replica]
		switch {
		case j.gates.Release < 19:
			taken += asReplica
		case osd != pg.ActingPrimary:
			taken = asReplica
		}
		if taken >= gates.MaxScrubs {
			return true
		}
	}
	return false
}
