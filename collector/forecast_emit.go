package collector

import (
	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

// forecastSnapshot is one forecast. It is immutable.
type forecastSnapshot struct {
	table     *forecastTable
	f         *forecast.Forecast
	has       [2]bool // enough is known to forecast the level
	openShare float64
	required  map[int32][2]float64 // bytes and PGs per second of open window
	achieved  map[int32][2]float64 // likewise; nil: too little was seen
	past      []pastForecast
}

// pastForecast is what was forecast for now.
type pastForecast struct {
	level   scrub.Level
	horizon int
	late    float64
}

// require computes the rates at which each pool stays in time: all of it within
// the age at which Ceph calls a PG late.
func (s *forecastSnapshot) require(in *forecast.Input) {
	s.required = make(map[int32][2]float64)
	if s.openShare == 0 {
		return
	}
	rule := scrub.NewRule(in.Mgr, scrub.PoolsFrom(in.Map))
	sums := make(map[int32][2]float64)
	for i := range in.Table.PGs {
		pg := &in.Table.PGs[i]
		if pg.State.Has(ceph.StateUnknown) {
			continue
		}
		v := sums[pg.ID.Pool]
		sums[pg.ID.Pool] = [2]float64{v[0] + float64(max(pg.Bytes, 0)), v[1] + 1}
	}
	for pool, v := range sums {
		if age, ok := rule.WarnAge(pool, scrub.Deep); ok && age > 0 {
			s.required[pool] = [2]float64{v[0] / age / s.openShare, v[1] / age / s.openShare}
		}
	}
}

// Emit implements Snapshot.
func (s *forecastSnapshot) Emit(e *Emitter) {
	t, f := s.table, s.f
	e.Emit(t.at, ceph.StampOf(f.Now).Seconds())
	e.Emit(t.pgs, float64(f.PGs-f.Blocked), "ready")
	e.Emit(t.pgs, float64(f.Blocked), "blocked")
	for _, l := range scrub.Levels {
		e.Emit(t.defaulted, float64(f.MissingDurations[l]), l.String())
		if !s.has[l] {
			continue
		}
		for pool, o := range f.Pools {
			s.emitPool(e, pool, l, &o[l])
		}
	}
	for pool, v := range s.required {
		e.Emit(t.requiredBytes, v[0], poolLabel(pool))
		e.Emit(t.requiredPGs, v[1], poolLabel(pool))
		if s.achieved != nil {
			e.Emit(t.achievedBytes, s.achieved[pool][0], poolLabel(pool))
			e.Emit(t.achievedPGs, s.achieved[pool][1], poolLabel(pool))
		}
	}
	for _, p := range s.past {
		level, horizon := p.level.String(), horizonLabel(scrub.Horizons[p.horizon])
		e.Emit(t.pastLate, p.late, level, horizon)
		e.Emit(t.error, p.late-float64(f.Total[p.level].LateNow), level, horizon)
	}
}

func (s *forecastSnapshot) emitPool(e *Emitter, id int32, l scrub.Level, o *forecast.Outlook) {
	t, pool, level := s.table, poolLabel(id), l.String()
	for h, spread := range o.Late {
		e.Emit(t.late, spread.Mean, pool, level, horizonLabel(s.f.Horizons[h]))
		e.Emit(t.deviation, spread.SD, pool, level, horizonLabel(s.f.Horizons[h]))
	}
	if 2*o.First.Seeds > s.f.Seeds {
		e.Emit(t.first, o.First.At.Seconds(), pool, level)
	}
	if 2*o.Backlog.Seeds > s.f.Seeds && o.Backlog.Clear != ceph.NoStamp {
		e.Emit(t.backlog, o.Backlog.Clear.Seconds(), pool, level)
	}
}
