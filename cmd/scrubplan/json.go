package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

// What --json prints. Times are seconds, instants RFC 3339 in UTC; what is not
// known is left out.
type (
	jsonReport struct {
		At        time.Time      `json:"at"`
		Release   string         `json:"release"`
		PGs       int            `json:"pgs"`
		Unknown   int            `json:"pgs_unknown"`
		Blocked   int            `json:"pgs_not_clean"`
		Defaulted map[string]int `json:"pgs_with_default_durations"`
		Seeds     int            `json:"simulations"`
		Horizon   float64        `json:"horizon_seconds"`
		Before    jsonForecast   `json:"as_it_is"`
		Changes   []jsonChange   `json:"changes,omitempty"`
		After     *jsonForecast  `json:"with_the_change,omitempty"`
		Solutions []jsonSolution `json:"solutions,omitempty"`
	}
	jsonForecast struct {
		InTime bool                   `json:"nobody_late_at_the_horizon"`
		Total  map[string]jsonOutlook `json:"total"`
		Pools  []jsonPool             `json:"pools"`
		OSDs   []jsonOSD              `json:"osds"`
	}
	jsonPool struct {
		ID     int32                  `json:"id"`
		Name   string                 `json:"name"`
		Levels map[string]jsonOutlook `json:"levels"`
	}
	jsonOutlook struct {
		PGs            int         `json:"pgs"`
		LateNow        int         `json:"late_now"`
		Late           []jsonPoint `json:"late"`
		FirstLateAt    *time.Time  `json:"next_late_at,omitempty"`
		FirstLatePG    string      `json:"next_late_pg,omitempty"`
		ClearAfter     *float64    `json:"nobody_late_after_seconds,omitempty"`
		ClearBy        *float64    `json:"nobody_late_by_seconds,omitempty"` // in nine of ten simulations
		ClearShare     float64     `json:"nobody_late_at_the_horizon_ratio"`
		ScrubsPerDay   float64     `json:"scrubs_per_day"`
		Running        float64     `json:"scrubs_at_a_time"`
		BytesPerSecond float64     `json:"bytes_per_second"`
	}
	jsonPoint struct {
		After float64 `json:"after_seconds"`
		Mean  float64 `json:"mean"`
		SD    float64 `json:"standard_deviation"`
	}
	jsonOSD struct {
		ID     int32   `json:"id"`
		Slots  int     `json:"slots"`
		Busy   float64 `json:"slot_time_taken_ratio"`
		Waited float64 `json:"waits_for_others_ratio"`
	}
	jsonChange struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		Command string `json:"command"`
	}
	jsonSolution struct {
		Changes  []jsonChange `json:"changes"`
		Size     float64      `json:"size"`
		Margin   float64      `json:"margin_ratio"`
		ClearBy  *float64     `json:"nobody_late_by_seconds,omitempty"` // with scrubs that much slower
		Forecast jsonForecast `json:"forecast"`
	}
)

func (r *report) writeJSON(w io.Writer) error {
	f := r.before
	out := jsonReport{
		At: f.Now.UTC(), Release: r.state.release(), PGs: f.PGs, Unknown: f.Unknown, Blocked: f.Blocked,
		Defaulted: map[string]int{}, Seeds: f.Seeds, Horizon: r.cfg.horizon.Seconds(), Before: r.json(f), Changes: jsonChanges(r.changes),
	}
	for _, l := range levels {
		out.Defaulted[l.String()] = f.MissingDurations[l]
	}
	if r.after != nil {
		after := r.json(r.after)
		out.After = &after
	}
	for _, s := range r.solutions {
		j := jsonSolution{Changes: jsonChanges(s.changes), Size: s.size, Margin: r.cfg.margin, Forecast: r.json(s.forecast)}
		if by, ok := s.by(); ok {
			seconds := by.Seconds()
			j.ClearBy = &seconds
		}
		out.Solutions = append(out.Solutions, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func jsonChanges(changes []change) (out []jsonChange) {
	for _, c := range changes {
		out = append(out, jsonChange{c.name, c.text, c.command})
	}
	return out
}

func (r *report) json(f *forecast.Forecast) jsonForecast {
	out := jsonForecast{InTime: inTime(f), Total: jsonLevels(f, &f.Total, f.Horizons)}
	for _, p := range r.input.Map.Pools {
		if o := f.Pools[p.ID]; o != nil {
			out.Pools = append(out.Pools, jsonPool{p.ID, p.Name, jsonLevels(f, o, r.cfg.marks())})
		}
	}
	for _, o := range f.OSDs {
		out.OSDs = append(out.OSDs, jsonOSD{o.ID, o.Slots, o.Busy, o.Waited})
	}
	return out
}

// jsonLevels gives late PGs at the horizons asked for: the whole curve of the
// cluster, a few instants of its pools.
func jsonLevels(f *forecast.Forecast, o *[2]forecast.Outlook, horizons []time.Duration) map[string]jsonOutlook {
	out := map[string]jsonOutlook{}
	for _, l := range scrub.Levels {
		v := &o[l]
		j := jsonOutlook{
			PGs: v.PGs, LateNow: v.LateNow, ClearShare: float64(v.Backlog.Seeds) / float64(f.Seeds),
			ScrubsPerDay: v.ScrubsPerDay, Running: v.Running, BytesPerSecond: v.BytesPerSecond,
		}
		for h, s := range v.Late {
			if !slices.Contains(horizons, f.Horizons[h]) {
				continue
			}
			j.Late = append(j.Late, jsonPoint{f.Horizons[h].Seconds(), s.Mean, s.SD})
		}
		if v.First.Seeds > 0 {
			at := v.First.At.Time()
			j.FirstLateAt, j.FirstLatePG = &at, fmt.Sprintf("%d.%x", v.First.PG.Pool, v.First.PG.Seed)
		}
		if v.Backlog.Clear != ceph.NoStamp {
			after := v.Backlog.Clear.Time().Sub(f.Now).Seconds()
			j.ClearAfter = &after
		}
		if v.Backlog.By != ceph.NoStamp {
			by := v.Backlog.By.Time().Sub(f.Now).Seconds()
			j.ClearBy = &by
		}
		out[l.String()] = j
	}
	return out
}
