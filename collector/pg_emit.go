package collector

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// Fixed lists of label values, so that a flag or check that is not set has a
// series that says 0.
var (
	clusterFlags = []string{"noscrub", "nodeep-scrub", "norecover", "nobackfill", "norebalance", "noout", "noin", "nodown", "noup", "nosnaptrim", "pauserd", "pausewr"}
	poolFlags    = []string{"noscrub", "nodeep-scrub"}
	healthChecks = []string{"PG_NOT_SCRUBBED", "PG_NOT_DEEP_SCRUBBED", "OSD_SCRUB_ERRORS", "PG_DAMAGED", "SLOW_OPS", "BLUEFS_SPILLOVER", "OSD_TOO_MANY_REPAIRS", "LARGE_OMAP_OBJECTS"}
)

// maxInconsistent bounds the PGs that have a series for being inconsistent.
const maxInconsistent = 1000

// pgSnapshot is what one poll of the pg collector has to export. Parts that are
// too old or were never there are nil.
type pgSnapshot struct {
	table      *pgTable
	timestamps bool
	full       *pgFull
	options    *pgOptionsView
	counts     *pgCounts
	fast       *pgFast
	progress   map[int32]*[2]scrub.Progress
	health     *ceph.Health
}

// Emit implements Snapshot.
func (s *pgSnapshot) Emit(e *Emitter) {
	if s.full != nil {
		s.emitCluster(e)
		s.emitLateness(e)
		s.emitLate(e)
		s.emitObjects(e)
		s.emitSeries(e)
		s.emitWorst(e)
		s.counts.emit(s.table, e)
	}
	if s.options != nil {
		s.options.emit(s.table, e)
	}
	if s.fast != nil {
		s.emitRunning(e)
		s.emitOverlap(e)
	}
	if s.health != nil {
		s.emitHealth(e)
	}
}

func (s *pgSnapshot) emitCluster(e *Emitter) {
	t, m := s.table, s.full.osds
	e.Emit(t.clusterInfo, 1, m.FSID, m.RequireOSDRelease)
	for _, f := range clusterFlags {
		e.EmitBool(t.clusterFlag, m.HasFlag(f), f)
	}
	for i := range m.Pools {
		p := &m.Pools[i]
		e.Emit(t.poolInfo, 1, poolLabel(p.ID), p.Name, p.Type.String())
		for _, f := range poolFlags {
			e.EmitBool(t.poolFlag, p.HasFlag(f), poolLabel(p.ID), f)
		}
		for _, l := range scrub.Levels {
			if s.full.mgr == nil {
				continue
			}
			if age, ok := s.full.mgr.WarnAge(p.ID, l); ok {
				e.Emit(t.warnInterval, age, poolLabel(p.ID), l.String())
			}
		}
	}
}

func (s *pgSnapshot) emitLateness(e *Emitter) {
	t := s.table
	e.Emit(t.snapshotStamp, ceph.StampOf(s.full.at).Seconds())
	e.Emit(t.pgsBad, float64(s.full.table.BadCount))
	e.Emit(t.sanitised, float64(s.full.table.SanitisedTokens))
	e.Emit(t.layoutMisses, float64(s.full.table.LayoutMisses))
	for id, p := range s.full.summary {
		pool := poolLabel(id)
		e.Emit(t.pgs, float64(p.PGs), pool)
		e.Emit(t.pgsUnknown, float64(p.Unknown), pool)
		e.Emit(t.neverDeep, float64(p.Level[scrub.Deep].Unset), pool)
		for _, l := range scrub.Levels {
			s.emitLevel(e, pool, l, &p.Level[l])
		}
	}
}

func (s *pgSnapshot) emitLevel(e *Emitter, pool string, l scrub.Level, v *scrub.LevelSummary) {
	t, level := s.table, l.String()
	e.Emit(t.pgsUnreadable, float64(v.Unreadable), pool, level)
	e.Emit(t.pgsInFuture, float64(v.InFuture), pool, level)
	e.Emit(t.scrubErrors, float64(v.Errors), pool, level)
	if v.Oldest.Dated() {
		e.Emit(t.oldest, v.Oldest.Seconds(), pool, level)
	}
	if s.full.mgr == nil {
		return // without the mgr's options there is no rule to judge by
	}
	e.Emit(t.late, float64(v.Late), pool, level)
	e.Emit(t.lateByOSD, float64(v.LateByOSDInterval), pool, level)
	e.Emit(t.overdue, float64(v.Overdue), pool, level)
	if v.BytesUnknown == 0 {
		e.Emit(t.bytesLate, float64(v.BytesLate), pool, level)
	}
	for i, step := range scrub.OlderSteps {
		e.Emit(t.older, float64(v.Older[i]), pool, level, strconv.FormatFloat(step, 'f', -1, 64))
	}
	for i, h := range scrub.Horizons {
		e.Emit(t.lateWithin, float64(v.LateWithin[i]), pool, level, horizonLabel(h))
	}
}

// horizonLabel writes whole days as in "3d".
func horizonLabel(h time.Duration) string {
	return strconv.Itoa(int(h/(24*time.Hour))) + "d"
}

// emitSeries emits the per-PG rows in bulk, once per dump: the polls in between
// reuse them. Whole seconds are as fine as anybody needs, and half the bytes of
// a scrape.
func (s *pgSnapshot) emitSeries(e *Emitter) {
	e.Emit(s.table.seriesDropped, float64(s.full.dropped))
	if s.full.bulk != nil {
		e.BulkAgain(s.full.bulk)
		return
	}
	chosen, pgs := s.full.chosen, s.full.table.PGs
	now := s.full.at
	labels := []BulkLabel{
		func(b []byte, i int) []byte { return pgs[chosen[i]].ID.Append(b) },
		func(b []byte, i int) []byte { return pgs[chosen[i]].ID.AppendPool(b) },
	}
	columns := []BulkColumn{{s.table.deepAge, func(i int) float64 {
		if age, ok := scrub.Age(&pgs[chosen[i]], scrub.Deep, now); ok {
			return age
		}
		return math.NaN()
	}}}
	if s.timestamps {
		columns = append(columns,
			BulkColumn{s.table.deepStamp, func(i int) float64 { return math.Floor(instant(pgs[chosen[i]].LastDeepScrub)) }},
			BulkColumn{s.table.scrubStamp, func(i int) float64 { return math.Floor(instant(pgs[chosen[i]].LastScrub)) }})
	}
	s.full.bulk = e.Bulk(len(chosen), labels, columns...)
}

// emitWorst names the PGs that alerts and dashboards name, so that none of them
// has to look for these among the series of all PGs.
func (s *pgSnapshot) emitWorst(e *Emitter) {
	for _, w := range s.full.late.Worst {
		age, ok := scrub.Age(w.PG, w.Level, s.full.at)
		if !ok {
			continue
		}
		id, pool := w.PG.ID.String(), poolLabel(w.PG.ID.Pool)
		e.Emit(s.table.worstAge, age, id, pool, w.Level.String())
		if w.Blocked {
			e.Emit(s.table.worstBlocked, 1, id, pool, w.Level.String(), w.Reason.String())
		}
	}
}

// instant returns the stamp in seconds, NaN where there is no date.
func instant(s ceph.Stamp) float64 {
	if !s.Dated() {
		return math.NaN()
	}
	return s.Seconds()
}

func (s *pgSnapshot) emitRunning(e *Emitter) {
	t := s.table
	e.Emit(t.fastStamp, ceph.StampOf(s.fast.at).Seconds())
	running := scrub.FindRunning(s.fast.table)
	if s.full != nil {
		for _, p := range s.full.osds.Pools { // so that "none" is a 0
			if running.Pools[p.ID] == nil {
				running.Pools[p.ID] = new([2][len(scrub.Phases)]int)
			}
		}
		for _, o := range s.full.osds.OSDs {
			if o.Up && running.OSDs[o.ID] == nil {
				running.OSDs[o.ID] = new(scrub.Occupancy)
			}
		}
	}
	for id, p := range running.Pools {
		pool, stuck := poolLabel(id), 0
		for _, l := range scrub.Levels {
			for _, phase := range scrub.Phases {
				e.Emit(t.running, float64(p[l][phase]), pool, l.String(), phase.String())
			}
			if s.progress[id] == nil {
				continue
			}
			stuck += s.progress[id][l].Stuck
			if start := s.progress[id][l].OldestStart; start.Dated() {
				e.Emit(t.oldestStart, start.Seconds(), pool, l.String())
			}
		}
		e.Emit(t.stuck, float64(stuck), pool)
	}
	for id, o := range running.OSDs {
		for _, l := range scrub.Levels {
			for _, role := range scrub.Roles {
				e.Emit(t.osdRunning, float64(o[l][role]), osdLabel(id), l.String(), role.String())
			}
		}
	}
	n := 0
	for i := range s.fast.table.PGs {
		pg := &s.fast.table.PGs[i]
		if pg.State.Has(ceph.StateInconsistent) && n < maxInconsistent {
			e.Emit(t.inconsistent, 1, pg.ID.String(), poolLabel(pg.ID.Pool))
			n++
		}
	}
}

func (s *pgSnapshot) emitHealth(e *Emitter) {
	for _, name := range healthChecks {
		check, raised := s.health.Checks[name]
		switch {
		case !raised:
			e.Emit(s.table.healthItems, 0, name)
		case check.Count != nil:
			e.Emit(s.table.healthItems, float64(*check.Count), name)
		}
		e.EmitBool(s.table.healthMuted, check.Muted, name)
	}
}

// durationBuckets reach from a second to half a day: PGs from megabytes to
// hundreds of gigabytes.
var durationBuckets = []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200}

type poolLevel struct {
	pool  int32
	level scrub.Level
}

type completionCount struct {
	scrubs, bytes uint64
	seconds       prometheus.Histogram
}

// pgCounts are the collector's counters, since the exporter started. They are
// only touched by the polling goroutine, which also emits.
type pgCounts struct {
	by map[poolLevel]*completionCount
}

func newPGCounts() *pgCounts { return &pgCounts{by: make(map[poolLevel]*completionCount)} }

func (c *pgCounts) get(key poolLevel) *completionCount {
	n := c.by[key]
	if n == nil {
		n = &completionCount{seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Buckets: durationBuckets})}
		c.by[key] = n
	}
	return n
}

// exist makes the counters of every pool exist at 0, and those of deleted pools
// go.
func (c *pgCounts) exist(pools map[int32]*scrub.PoolSummary) {
	maps.DeleteFunc(c.by, func(key poolLevel, _ *completionCount) bool { return pools[key.pool] == nil })
	for id := range pools {
		for _, l := range scrub.Levels {
			c.get(poolLevel{id, l})
		}
	}
}

func (c *pgCounts) add(done scrub.Completion) {
	n := c.get(poolLevel{done.PG.Pool, done.Level})
	n.scrubs++
	if done.Bytes > 0 {
		n.bytes += uint64(done.Bytes)
	}
	if done.Seconds >= 0 {
		n.seconds.Observe(done.Seconds)
	}
}

func (c *pgCounts) emit(t *pgTable, e *Emitter) {
	keys := slices.SortedFunc(maps.Keys(c.by), func(a, b poolLevel) int {
		if a.pool != b.pool {
			return int(a.pool) - int(b.pool)
		}
		return int(a.level) - int(b.level)
	})
	for _, key := range keys {
		n, pool, level := c.by[key], poolLabel(key.pool), key.level.String()
		e.Emit(t.completions, float64(n.scrubs), pool, level)
		e.Emit(t.completedBytes, float64(n.bytes), pool, level)
		var m dto.Metric
		if err := n.seconds.Write(&m); err == nil {
			e.EmitHistogram(t.duration, m.Histogram, pool, level)
		}
	}
}
