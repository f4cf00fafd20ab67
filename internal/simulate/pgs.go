package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// reservingTime is how long a scrub waits for its replicas.
const reservingTime = 2e6

// view is the PG as the mgr reports it now.
func (c *Cluster) view(g *pg) ceph.PG {
	v := g.PG
	v.ScheduleAt = ceph.NoStamp
	if c.release.number < 17 {
		return v
	}
	switch {
	case g.running && c.release.number >= 20 && c.clock < g.began+reservingTime:
		v.Schedule = ceph.ScheduleReserving
	case g.running:
		v.Schedule = ceph.ScheduleRunning
		if g.ends > g.began {
			v.ObjectsScrubbed = int64(float64(g.Objects) * float64(c.clock-g.began) / float64(g.ends-g.began))
		}
	case g.pending:
		v.Schedule = ceph.ScheduleNone
	case g.nextScan <= c.clock:
		v.Schedule = ceph.ScheduleQueued
	default:
		v.Schedule = ceph.ScheduleAtTime
		v.ScheduleAt = g.nextScan
	}
	return v
}

// appendSchedule writes the text of scrub_schedule.
func (c *Cluster) appendSchedule(b []byte, g *pg, v *ceph.PG) []byte {
	level := ""
	if g.nextDeep && !g.running || g.deep && g.running {
		level = "deep "
	}
	switch v.Schedule {
	case ceph.ScheduleReserving:
		acting := c.sets[g.Acting]
		b = append(b, "Reserving. Waiting "...)
		b = strconv.AppendInt(b, int64(c.clock-g.began)/1e6, 10)
		b = append(b, "s for OSD."...)
		b = strconv.AppendInt(b, int64(acting[len(acting)-1]), 10)
		b = append(b, " ("...)
		b = strconv.AppendInt(b, int64(len(acting)-1), 10)
		b = append(b, '/')
		b = strconv.AppendInt(b, int64(len(acting)-1), 10)
		return append(b, ')')
	case ceph.ScheduleRunning:
		b = append(append(b, level...), "scrubbing for "...)
		b = strconv.AppendInt(b, int64(c.clock-g.began)/1e6, 10)
		return append(b, 's')
	case ceph.ScheduleQueued:
		return append(append(append(b, "queued for "...), level...), "scrub"...)
	case ceph.ScheduleAtTime:
		b = append(append(append(b, "periodic "...), level...), "scrub scheduled @ "...)
		return appendStamp(b, v.ScheduleAt)
	}
	return append(b, "no scrub is scheduled"...)
}

// stateNames are the tokens in the order in which pg_state_string prints them.
var stateNames = [...]struct {
	bit  ceph.State
	name string
}{
	{ceph.StateActive, "active"}, {ceph.StateClean, "clean"}, {ceph.StateRecoveryWait, "recovery_wait"},
	{ceph.StateRecovering, "recovering"}, {ceph.StateUndersized, "undersized"}, {ceph.StateDegraded, "degraded"},
	{ceph.StateRemapped, "remapped"}, {ceph.StateScrubbing, "scrubbing"}, {ceph.StateDeep, "deep"},
	{ceph.StateInconsistent, "inconsistent"}, {ceph.StateBackfillWait, "backfill_wait"},
	{ceph.StateBackfilling, "backfilling"}, {ceph.StateSnapTrim, "snaptrim"}, {ceph.StateSnapTrimWait, "snaptrim_wait"},
}

func appendState(b []byte, s ceph.State) []byte {
	n := len(b)
	for _, st := range stateNames {
		if s.Has(st.bit) {
			if len(b) > n {
				b = append(b, '+')
			}
			b = append(b, st.name...)
		}
	}
	return b
}

// appendStamp writes a utime_t as Ceph does, in UTC.
func appendStamp(b []byte, s ceph.Stamp) []byte {
	if s.Unset() {
		b = strconv.AppendInt(b, int64(s)/1e6, 10)
		return appendFraction(b, int64(s)%1e6)
	}
	t := s.Time()
	year, month, dom := t.Date()
	hour, minute, sec := t.Clock()
	b = appendPadded(b, year, 4)
	b = append(appendPadded(append(b, '-'), int(month), 2), '-')
	b = append(appendPadded(b, dom, 2), 'T')
	b = append(appendPadded(b, hour, 2), ':')
	b = append(appendPadded(b, minute, 2), ':')
	b = appendPadded(b, sec, 2)
	b = appendFraction(b, int64(t.Nanosecond()/int(time.Microsecond)))
	return append(b, "+0000"...)
}

func appendFraction(b []byte, micros int64) []byte {
	return appendPadded(append(b, '.'), int(micros), 6)
}

func appendPadded(b []byte, v, width int) []byte {
	var d [20]byte
	i := len(d)
	for ; width > 0 || v > 0; width-- {
		i--
		d[i] = byte('0' + v%10)
		v /= 10
	}
	return append(b, d[i:]...)
}

// bytesPerPG is an upper estimate of a PG's share of the answer, so that the
// buffer never has to grow.
func (c *Cluster) bytesPerPG(n int) int { return 128 + n*2900 }

// pgDump answers `pg dump` with pgs, pgs_brief or osds. As in Ceph, whose map
// is a hash table, the PGs come in no useful order.
func (c *Cluster) pgDump(cmd *command) ([]byte, error) {
	what := strings.Join(cmd.DumpContents, ",")
	n := len(c.pgs)
	stride := scatter(n)
	b := make([]byte, 0, c.bytesPerPG(n))
	switch what {
	case "pgs":
		b = append(b, `{"pg_ready":true,"pg_stats":[`...)
		for i, k := 0, 0; i < n; i, k = i+1, (k+stride)%n {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.appendPG(b, &c.pgs[k])
		}
	case "pgs_brief":
		b = append(b, `{"pg_ready":true,"pg_stats":[`...)
		for i, k := 0, 0; i < n; i, k = i+1, (k+stride)%n {
			if i > 0 {
				b = append(b, ',')
			}
			b = c.appendBrief(b, &c.pgs[k])
		}
	case "osds":
		return c.osdStats(), nil
	default:
		return nil, fmt.Errorf("dumpcontents %q: not simulated", what)
	}
	return append(b, "]}"...), nil
}

// scatter is a stride that visits all of n places and leaves none of them
// beside its neighbour.
func scatter(n int) int {
	for s := n*618/1000 + 1; s < n; s++ {
		if gcd(s, n) == 1 {
			return s
		}
	}
	return 1
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// pgLs answers `pg ls`, with PGs that are in any of the states asked for.
func (c *Cluster) pgLs(cmd *command) ([]byte, error) {
	var want ceph.State
	for _, name := range cmd.States {
		bit, ok := stateBit(name)
		if !ok && name != "all" {
			continue // a state in which no simulated PG ever is
		}
		want |= bit
	}
	all := len(cmd.States) == 0 || len(cmd.States) == 1 && cmd.States[0] == "all"
	return c.list(0, len(c.pgs), func(g *pg) bool {
		return (all || g.State.Any(want)) && (cmd.Pool == nil || int64(g.ID.Pool) == *cmd.Pool)
	}), nil
}

func stateBit(name string) (ceph.State, bool) {
	for _, st := range stateNames {
		if st.name == name {
			return st.bit, true
		}
	}
	return 0, false
}

func (c *Cluster) pgLsByPool(cmd *command) ([]byte, error) {
	for i := range c.pools {
		p := &c.pools[i]
		if p.name == cmd.PoolStr {
			return c.list(p.first, p.first+p.pgs, func(*pg) bool { return true }), nil
		}
	}
	return nil, fmt.Errorf("pool %q: no such pool", cmd.PoolStr)
}

// list is the answer with the PGs from index lo to hi that are wanted. Without
// any there is no pg_stats key, as in Ceph.
func (c *Cluster) list(lo, hi int, want func(*pg) bool) []byte {
	n := 0
	for i := lo; i < hi; i++ {
		if want(&c.pgs[i]) {
			n++
		}
	}
	b := make([]byte, 0, c.bytesPerPG(n))
	b = append(b, `{"pg_ready":true`...)
	first := true
	for i := lo; i < hi; i++ {
		g := &c.pgs[i]
		if !want(g) {
			continue
		}
		if first {
			b = append(b, `,"pg_stats":[`...)
		} else {
			b = append(b, ',')
		}
		first = false
		b = c.appendPG(b, g)
	}
	if !first {
		b = append(b, ']')
	}
	return append(b, '}')
}
