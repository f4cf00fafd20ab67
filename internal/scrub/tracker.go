package scrub

import (
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Completion is one scrub that ended between two full dumps.
type Completion struct {
	PG    ceph.PGID
	Level Level
	// Bytes is the PG's size, -1 where it is unknown.
	Bytes int64
	// Seconds is how long the scrub took, -1 where it is unknown: from the
	// mgr where the release says so (17 and newer), else from the state's
	// change to "scrubbing", which includes the wait for the replicas.
	Seconds float64
}

// Tracker turns successive tables into events: scrubs completed, scrubs that
// make no progress. Two scrubs of one PG between two full tables are one event.
type Tracker struct {
	last    *ceph.PGTable // the last full table
	carried map[ceph.PGID]stamps
	running map[ceph.PGID]*run // as of the last table of either kind
	ended   map[ceph.PGID]*run // no longer running, completion not yet seen
}

type stamps struct{ shallow, deep ceph.Stamp }

// run is one scrub that has been seen.
type run struct {
	before   stamps // the PG's stamps while it runs
	level    Level
	pool     int32
	start    ceph.Stamp
	objects  int64
	progress ceph.Stamp // instant of the last change of objects
}

// NewTracker returns a tracker that has seen nothing: the first full table
// completes nothing.
func NewTracker() *Tracker {
	return &Tracker{carried: make(map[ceph.PGID]stamps), ended: make(map[ceph.PGID]*run)}
}

// Full takes the next full table and returns what has completed since the one
// before. A PG that the mgr has no report of carries invented stamps: it
// completes nothing, and is later compared with what was last known of it. A
// stamp from or to an unset one is no completion, nor is one that moves back.
func (t *Tracker) Full(cur *ceph.PGTable, now time.Time) []Completion {
	t.Running(cur, now)
	var out []Completion
	carried := make(map[ceph.PGID]stamps)
	var last []ceph.PG
	if t.last != nil {
		last = t.last.PGs
	}
	for i := range cur.PGs {
		pg := &cur.PGs[i]
		for len(last) > 0 && last[0].ID.Compare(pg.ID) < 0 {
			last = last[1:]
		}
		before, known := t.carried[pg.ID]
		if len(last) > 0 && last[0].ID == pg.ID && !last[0].State.Has(ceph.StateUnknown) {
			before, known = stampsOf(&last[0]), true
		}
		if pg.State.Has(ceph.StateUnknown) {
			if known {
				carried[pg.ID] = before
			}
			continue
		}
		if !known {
			continue
		}
		if level, ok := completed(before, stampsOf(pg)); ok {
			out = append(out, Completion{PG: pg.ID, Level: level, Bytes: pg.Bytes, Seconds: t.seconds(pg, level)})
		}
	}
	t.last, t.carried = cur, carried
	clear(t.ended)
	return out
}

func stampsOf(pg *ceph.PG) stamps { return stamps{shallow: pg.LastScrub, deep: pg.LastDeepScrub} }

// completed compares a PG's stamps. A deep scrub moves both of them, so where
// the deep one changed in any way the shallow one says nothing.
func completed(before, after stamps) (Level, bool) {
	if before.deep != after.deep {
		return Deep, before.deep.Dated() && after.deep.Dated() && after.deep > before.deep
	}
	return Shallow, after.deep.Known() && before.shallow.Dated() && after.shallow.Dated() && after.shallow > before.shallow
}

func (t *Tracker) seconds(pg *ceph.PG, level Level) float64 {
	if pg.LastScrubSeconds >= 0 {
		return pg.LastScrubTook()
	}
	r, seen := t.ended[pg.ID]
	if !seen || r.level != level || r.before == stampsOf(pg) {
		return -1
	}
	if d := level.Stamp(pg) - r.start; d > 0 {
		return float64(d) / 1e6
	}
	return -1
}

// Running takes a table that holds at least all PGs that are being scrubbed.
func (t *Tracker) Running(cur *ceph.PGTable, now time.Time) {
	at := ceph.StampOf(now)
	still := make(map[ceph.PGID]*run)
	for i := range cur.PGs {
		pg := &cur.PGs[i]
		level, ok := Scrubbing(pg)
		if !ok {
			continue
		}
		r := t.running[pg.ID]
		if r == nil || r.level != level || r.before != stampsOf(pg) {
			still[pg.ID] = newRun(pg, level, at)
			continue
		}
		if pg.ObjectsScrubbed != r.objects {
			r.objects, r.progress = pg.ObjectsScrubbed, at
		}
		still[pg.ID] = r
	}
	for id, r := range t.running {
		if still[id] != r {
			t.ended[id] = r
		}
	}
	t.running = still
}

func newRun(pg *ceph.PG, level Level, at ceph.Stamp) *run {
	start := at
	if pg.LastChange.Dated() && pg.LastChange < at {
		start = pg.LastChange // the state's change to "scrubbing"
	}
	return &run{
		before: stampsOf(pg), level: level, pool: pg.ID.Pool,
		start: start, objects: pg.ObjectsScrubbed, progress: start,
	}
}

// Progress is what a pool's running scrubs of one level do.
type Progress struct {
	OldestStart ceph.Stamp // NoStamp: none is running
	Stuck       int        // no progress for longer than asked
}

// Progress returns it by pool. A scrub is stuck when the objects scrubbed have
// not changed for that long; before 17, which does not show them, when it has
// been running that long.
func (t *Tracker) Progress(now time.Time, stuckAfter time.Duration) map[int32]*[2]Progress {
	out := make(map[int32]*[2]Progress)
	at := ceph.StampOf(now)
	for _, r := range t.running {
		p := out[r.pool]
		if p == nil {
			p = &[2]Progress{{OldestStart: ceph.NoStamp}, {OldestStart: ceph.NoStamp}}
			out[r.pool] = p
		}
		l := &p[r.level]
		if l.OldestStart == ceph.NoStamp || r.start < l.OldestStart {
			l.OldestStart = r.start
		}
		if at-r.progress >= ceph.Stamp(stuckAfter.Microseconds()) {
			l.Stuck++
		}
	}
	return out
}
