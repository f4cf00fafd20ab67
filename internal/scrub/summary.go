package scrub

import (
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// OlderSteps are the multiples of a PG's own interval by which ages are
// counted, ascending.
var OlderSteps = [...]float64{0.5, 1, 1.25, 1.5, 1.75, 2, 3}

// Horizons are the times ahead for which "late if nothing were scrubbed" is
// counted, ascending.
var Horizons = [...]time.Duration{24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour}

// LevelSummary counts a pool's PGs by their age at one level. PGs that the mgr
// has no report of, and stamps that could not be read, are in none of it.
type LevelSummary struct {
	Late              int   // by the mgr's view of the intervals: Ceph's own count
	LateByOSDInterval int   // the same rule with the OSDs' view
	Overdue           int   // age above the interval itself
	BytesLate         int64 // bytes in the late PGs
	BytesUnknown      int   // late PGs whose size is unknown
	Older             [len(OlderSteps)]int
	LateWithin        [len(Horizons)]int
	Oldest            ceph.Stamp // NoStamp: no PG has a date
	Unset             int        // stamp "0.000000": never scrubbed
	Unreadable        int        // stamp missing or without a zone
	InFuture          int        // stamp ahead of now; its age counts as 0
	Errors            int64      // scrub errors of that level
}

// PoolSummary counts a pool's PGs.
type PoolSummary struct {
	PGs     int // all of them
	Unknown int // the mgr has no report
	Level   [2]LevelSummary
}

// Rules are the views under which a summary judges.
type Rules struct {
	Mgr *Rule // decides Late, Overdue, Older, LateWithin
	// OSD returns the rule as seen by an OSD, where its view is known.
	// A PG is judged by its acting primary.
	OSD func(osd int32) *Rule
}

// Summarise counts every PG of the table, by pool. It is one pass.
func Summarise(t *ceph.PGTable, rules Rules, now time.Time) map[int32]*PoolSummary {
	out := make(map[int32]*PoolSummary)
	var p *PoolSummary
	at := ceph.StampOf(now)
	for i := range t.PGs {
		pg := &t.PGs[i]
		if i == 0 || t.PGs[i-1].ID.Pool != pg.ID.Pool { // sorted by pool
			p = &PoolSummary{}
			p.Level[Shallow].Oldest, p.Level[Deep].Oldest = ceph.NoStamp, ceph.NoStamp
			out[pg.ID.Pool] = p
		}
		p.PGs++
		if pg.State.Has(ceph.StateUnknown) {
			p.Unknown++
			continue
		}
		p.Level[Shallow].Errors += int64(max(pg.ShallowErrors, 0))
		p.Level[Deep].Errors += int64(max(pg.DeepErrors, 0))
		for _, l := range Levels {
			p.Level[l].add(pg, l, rules, at)
		}
	}
	return out
}

func (s *LevelSummary) add(pg *ceph.PG, l Level, rules Rules, now ceph.Stamp) {
	stamp := l.Stamp(pg)
	if !stamp.Known() {
		s.Unreadable++
		return
	}
	switch {
	case stamp.Unset():
		s.Unset++
	case stamp > now:
		s.InFuture++
	}
	if stamp.Dated() && (s.Oldest == ceph.NoStamp || stamp < s.Oldest) {
		s.Oldest = stamp
	}
	if interval, ok := rules.Mgr.Interval(pg.ID.Pool, l); ok {
		if olderThan(stamp, now, interval) {
			s.Overdue++
		}
		for i, step := range OlderSteps {
			if !stamp.Unset() && !olderThan(stamp, now, step*interval) {
				break // the steps ascend
			}
			s.Older[i]++
		}
	}
	if warn, ok := rules.Mgr.WarnAge(pg.ID.Pool, l); ok {
		if olderThan(stamp, now, warn) {
			s.Late++
			if pg.Bytes >= 0 {
				s.BytesLate += pg.Bytes
			} else {
				s.BytesUnknown++
			}
		}
		for i, h := range Horizons {
			if olderThan(stamp, now+ceph.Stamp(h.Microseconds()), warn) {
				s.LateWithin[i]++
			}
		}
	}
	if rules.OSD == nil {
		return
	}
	if r := rules.OSD(pg.ActingPrimary); r != nil {
		if warn, ok := r.WarnAge(pg.ID.Pool, l); ok && olderThan(stamp, now, warn) {
			s.LateByOSDInterval++
		}
	}
}

// Age returns the PG's age at that level in whole seconds, never below 0. It is
// false where there is none: unknown PG, stamp unset or unreadable.
func Age(pg *ceph.PG, l Level, now time.Time) (float64, bool) {
	stamp := l.Stamp(pg)
	if pg.State.Has(ceph.StateUnknown) || !stamp.Dated() {
		return 0, false
	}
	return float64(max((ceph.StampOf(now)-stamp)/1e6, 0)), true
}
