// Package scrub knows Ceph's scrub rules: when a PG is late, what is being
// scrubbed, what a scrub completed. It is pure: no clock, no input or output,
// no Prometheus.
package scrub

import (
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Level is the kind of a scrub.
type Level uint8

// The two levels. A deep scrub also counts as a shallow one for Ceph's stamps.
const (
	Shallow Level = iota
	Deep
)

// Levels lists both, in the order of their constants.
var Levels = [...]Level{Shallow, Deep}

// String returns the label value.
func (l Level) String() string {
	if l == Deep {
		return "deep"
	}
	return "shallow"
}

// Stamp returns the PG's stamp of that level.
func (l Level) Stamp(pg *ceph.PG) ceph.Stamp {
	if l == Deep {
		return pg.LastDeepScrub
	}
	return pg.LastScrub
}

// Intervals are the options that Ceph's health check reads, as one daemon sees
// them, indexed by Level. Seconds.
type Intervals struct {
	// Interval is osd_scrub_max_interval and osd_deep_scrub_interval.
	Interval [2]float64
	// WarnRatio is mon_warn_pg_not_scrubbed_ratio and
	// mon_warn_pg_not_deep_scrubbed_ratio; 0 switches a check off.
	WarnRatio [2]float64
}

// PoolIntervals are a pool's own options, indexed by Level: scrub_max_interval
// and deep_scrub_interval. They count only when above zero; 0 is what an option
// that is not set amounts to.
type PoolIntervals [2]float64

// A Rule is Ceph's own judgement of lateness:
//
//	stamp < now - (1 + ratio) * interval
//
// strictly, with the pool's option before the daemon's, deep by
// deep_scrub_interval and shallow by scrub_max_interval (ceph src/mon/PGMap.cc,
// PGMap::get_health_checks, the same from 16 to 20). It asks neither flags nor
// states. The mgr computes it, so the mgr's view of the options makes the rule
// that agrees with the health check.
type Rule struct {
	daemon Intervals
	pools  map[int32]PoolIntervals
}

// NewRule returns the rule for a daemon's view and the pools that exist. As in
// Ceph, a PG of any other pool is never late.
func NewRule(daemon Intervals, pools map[int32]PoolIntervals) *Rule {
	return &Rule{daemon: daemon, pools: pools}
}

// Interval returns the interval in force for the pool, in seconds. It is false
// for an unknown pool, and where the daemon's own is not above zero.
func (r *Rule) Interval(pool int32, l Level) (float64, bool) {
	p, known := r.pools[pool]
	if !known {
		return 0, false
	}
	if p[l] > 0 {
		return p[l], true
	}
	return r.daemon.Interval[l], r.daemon.Interval[l] > 0
}

// WarnAge returns the age in seconds above which a PG of the pool is late. It
// is false where the check is switched off or the pool unknown.
func (r *Rule) WarnAge(pool int32, l Level) (float64, bool) {
	p, known := r.pools[pool]
	if !known || r.daemon.WarnRatio[l] == 0 {
		return 0, false
	}
	interval := r.daemon.Interval[l]
	if p[l] > 0 {
		interval = p[l]
	}
	return r.daemon.WarnRatio[l]*interval + interval, true
}

// Late reports whether the PG is late at that instant. A stamp that is unset
// ("0.000000") is late, as it is for Ceph; one that could not be read, and any
// stamp of a PG that the mgr has no report of, is not judged.
func (r *Rule) Late(pg *ceph.PG, l Level, now time.Time) bool {
	age, ok := r.WarnAge(pg.ID.Pool, l)
	return ok && Judged(pg, l) && olderThan(l.Stamp(pg), ceph.StampOf(now), age)
}

// Judged reports whether the PG's stamp of that level says anything.
func Judged(pg *ceph.PG, l Level) bool {
	return !pg.State.Has(ceph.StateUnknown) && l.Stamp(pg).Known()
}

// olderThan compares in microseconds, strictly.
func olderThan(stamp, now ceph.Stamp, seconds float64) bool {
	return float64(now-stamp) > seconds*1e6
}
