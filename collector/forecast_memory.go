package collector

import (
	"errors"
	"slices"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

const (
	forecastStateName    = "forecast"
	forecastStateVersion = 1
	// keepEvery is the pace at which forecasts and completions are remembered.
	keepEvery = time.Hour
	// rateOver is the time over which a rate is taken, rateNeeds the least of it.
	rateOver  = 24 * time.Hour
	rateNeeds = 6 * time.Hour
)

// forecastMemory is what survives a restart: what was forecast, to be compared
// with what came, and what was scrubbed.
type forecastMemory struct {
	FSID string      `json:"fsid"`
	Made []madeEntry `json:"made"`
	Done []doneEntry `json:"done"`
	// Seconds is how long scrubs took by PG and level, where the release does
	// not tell (16) and so it had to be watched.
	Seconds map[string][2]float64 `json:"seconds,omitempty"`

	seen map[int32]DeepScrubs // counters of the last view, of this process
}

// madeEntry is one forecast for the whole cluster.
type madeEntry struct {
	At   time.Time                       `json:"at"`
	Late [2][len(scrub.Horizons)]float64 `json:"late"` // by level and horizon
	Has  [2]bool                         `json:"has"`  // the level was forecast
}

// doneEntry is what was deep-scrubbed in a span of time, by pool.
type doneEntry struct {
	From  time.Time            `json:"from"`
	To    time.Time            `json:"to"`
	Open  float64              `json:"open_seconds"` // thereof, scrubs could begin
	Pools map[int32]DeepScrubs `json:"pools"`
}

func loadForecastMemory(d *state.Dir) (*forecastMemory, error) {
	m := &forecastMemory{}
	if _, err := d.Load(forecastStateName, forecastStateVersion, m); err != nil {
		return &forecastMemory{}, err
	}
	return m, nil
}

func (m *forecastMemory) save(d *state.Dir) error {
	if err := d.Save(forecastStateName, forecastStateVersion, m); !errors.Is(err, state.ErrDisabled) {
		return err
	}
	return nil
}

// of forgets everything where it is about another cluster.
func (m *forecastMemory) of(fsid string) {
	if m.FSID != fsid {
		*m = forecastMemory{FSID: fsid}
	}
}

// durations adds what this process has seen of the table's PGs to what was seen
// before, and returns both.
func (m *forecastMemory) durations(seen forecast.Measured, t *ceph.PGTable) forecast.Measured {
	out := make(forecast.Measured, len(m.Seconds)+len(seen))
	for text, v := range m.Seconds {
		if id, err := ceph.ParsePGID(text); err == nil && t.Find(id) != nil {
			out[id] = v
		}
	}
	for id, v := range seen {
		before := out[id]
		for l := range v {
			if v[l] > 0 {
				before[l] = v[l]
			}
		}
		out[id] = before
	}
	m.Seconds = make(map[string][2]float64, len(out))
	for id, v := range out {
		m.Seconds[id.String()] = v
	}
	return out
}

// remember adds a forecast, one an hour, and drops those beyond the longest
// horizon.
func (m *forecastMemory) remember(f *forecast.Forecast, has [2]bool) (added bool) {
	m.Made = slices.DeleteFunc(m.Made, func(e madeEntry) bool {
		return e.At.After(f.Now) || f.Now.Sub(e.At) > scrub.Horizons[len(scrub.Horizons)-1]+2*keepEvery
	})
	if n := len(m.Made); n > 0 && f.Now.Sub(m.Made[n-1].At) < keepEvery {
		return false
	}
	e := madeEntry{At: f.Now, Has: has}
	for l := range e.Late {
		for h := range e.Late[l] {
			e.Late[l][h] = f.Total[l].Late[h].Mean
		}
	}
	m.Made = append(m.Made, e)
	return true
}

// due returns what was forecast for now, one horizon ago: by the two entries
// around that instant. It is false where there are none.
func (m *forecastMemory) due(now time.Time, l scrub.Level, h int) (float64, bool) {
	at := now.Add(-scrub.Horizons[h])
	for k := 1; k < len(m.Made); k++ {
		a, b := &m.Made[k-1], &m.Made[k]
		if b.At.Before(at) || a.At.After(at) {
			continue
		}
		gap := b.At.Sub(a.At)
		if gap > 3*keepEvery || !a.Has[l] || !b.Has[l] {
			return 0, false
		}
		share := float64(at.Sub(a.At)) / float64(gap)
		return a.Late[l][h]*(1-share) + b.Late[l][h]*share, true
	}
	return 0, false
}

// count adds what was deep-scrubbed since the last view.
func (m *forecastMemory) count(from, to time.Time, openShare float64, done map[int32]DeepScrubs) {
	before := m.seen
	m.seen = done
	if before == nil || !to.After(from) {
		return
	}
	if n := len(m.Done); n == 0 || m.Done[n-1].To.Sub(m.Done[n-1].From) >= keepEvery || !m.Done[n-1].To.Equal(from) {
		m.Done = append(m.Done, doneEntry{From: from, Pools: map[int32]DeepScrubs{}})
	}
	e := &m.Done[len(m.Done)-1]
	e.To = to
	e.Open += to.Sub(from).Seconds() * openShare
	for pool, n := range done {
		sum := e.Pools[pool]
		sum.PGs += n.PGs - before[pool].PGs
		sum.Bytes += n.Bytes - before[pool].Bytes
		e.Pools[pool] = sum
	}
	m.Done = slices.DeleteFunc(m.Done, func(e doneEntry) bool { return to.Sub(e.To) > rateOver || e.From.After(to) })
}

// achieved returns the rates per second of open window by pool; nil where too
// little was seen, or scrubs could hardly begin.
func (m *forecastMemory) achieved() map[int32][2]float64 {
	seconds, open := 0.0, 0.0
	sums := map[int32]DeepScrubs{}
	for _, e := range m.Done {
		seconds += e.To.Sub(e.From).Seconds()
		open += e.Open
		for pool, n := range e.Pools {
			s := sums[pool]
			s.PGs += n.PGs
			s.Bytes += n.Bytes
			sums[pool] = s
		}
	}
	if seconds < rateNeeds.Seconds() || open < time.Minute.Seconds() {
		return nil
	}
	out := make(map[int32][2]float64, len(sums))
	for pool, n := range sums {
		out[pool] = [2]float64{float64(n.Bytes) / open, float64(n.PGs) / open}
	}
	return out
}
