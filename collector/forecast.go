package collector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

const (
	// policyCheck is how often the forecast looks whether settings changed.
	policyCheck = 30 * time.Second
	// workPerForecast bounds what one forecast may cost: PGs times simulations.
	workPerForecast = 2_000_000
	leastSeeds      = 3
)

type forecastConfig struct {
	seeds int
	zone  string
}

func forecastSpec() Spec {
	return Spec{
		Name:      "forecast",
		Help:      "PGs that will be late with their scrubs in 1, 3 and 7 days, and how fast scrubs would have to be",
		Roles:     RoleCluster,
		Interval:  10 * time.Minute,
		Timeout:   10 * time.Minute,
		NeedsCeph: true,
		Rows:      func() []*Row { return newForecastTable().Rows() },
		Configure: func(flags FlagSet) Constructor {
			c := &forecastConfig{}
			flags.Flag("collector.forecast.seeds", "Simulations per forecast; fewer on clusters of more than 200,000 PGs.").Default("10").IntVar(&c.seeds)
			flags.Flag("collector.forecast.timezone", "The OSDs' time zone, in which scrub hours are meant: Local, UTC, Europe/Berlin.").Default("Local").StringVar(&c.zone)
			return func(d Deps) (Poller, error) { return newForecastPoller(*c, d) }
		},
	}
}

// forecastPoller recomputes when the interval is over or a setting changed. Its
// fields belong to the polling goroutine.
type forecastPoller struct {
	cfg    forecastConfig
	deps   Deps
	client *ceph.Client
	loc    *time.Location
	table  *forecastTable
	memory *forecastMemory

	counted time.Time // instant of the last view whose completions count
	last    *forecastSnapshot
	policy  forecastPolicy
}

// forecastPolicy is what a forecast depends on beside the PGs.
type forecastPolicy struct {
	mgr      scrub.Intervals
	defaults forecast.Options
	options  map[int32]forecast.Options
	flags    []string
	pools    []ceph.Pool
}

func newForecastPoller(cfg forecastConfig, d Deps) (*forecastPoller, error) {
	if cfg.seeds < 1 {
		return nil, fmt.Errorf("--collector.forecast.seeds: %d: want at least 1", cfg.seeds)
	}
	loc, err := time.LoadLocation(cfg.zone)
	if err != nil {
		return nil, fmt.Errorf("--collector.forecast.timezone: %w", err)
	}
	return &forecastPoller{cfg: cfg, deps: d, client: &ceph.Client{Commander: d.Ceph}, loc: loc, table: newForecastTable()}, nil
}

// Pace implements Paced.
func (p *forecastPoller) Pace() (wait, interval time.Duration) {
	return min(policyCheck, p.deps.Interval), p.deps.Interval
}

// firstWait bounds the wait for the pg collector's first dump.
const firstWait = 5 * time.Minute

// Poll implements Poller.
func (p *forecastPoller) Poll(ctx context.Context, now time.Time) (Snapshot, error) {
	wait, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	view, err := p.deps.PGs.First(wait)
	if err != nil {
		return nil, err
	}
	if p.deps.Now().Sub(view.At) > expireAfter*p.deps.Interval {
		return nil, fmt.Errorf("the pg collector's last full dump is of %s", view.At.UTC().Format(time.RFC3339))
	}
	if p.last != nil && view.At.Equal(p.last.f.Now) {
		return p.last, nil
	}
	in, err := p.input(ctx, view)
	if err != nil {
		return nil, err
	}
	policy := forecastPolicy{in.Mgr, in.DefaultOptions, in.Options, in.Map.Flags, in.Map.Pools}
	if p.last != nil && in.Now.Sub(p.last.f.Now) < p.deps.Interval && p.policy.equal(&policy) {
		return p.last, nil
	}
	s, err := p.compute(view, in)
	if err != nil {
		return nil, err
	}
	p.last, p.policy = s, policy
	return s, p.memory.save(p.deps.State)
}

func (a *forecastPolicy) equal(b *forecastPolicy) bool {
	return a.mgr == b.mgr && a.defaults == b.defaults && maps.Equal(a.options, b.options) && slices.Equal(a.flags, b.flags) &&
		slices.EqualFunc(a.pools, b.pools, func(x, y ceph.Pool) bool {
			return x.ID == y.ID && slices.Equal(x.Flags, y.Flags) && sameValue(x.Options.ScrubMinInterval, y.Options.ScrubMinInterval) &&
				sameValue(x.Options.ScrubMaxInterval, y.Options.ScrubMaxInterval) && sameValue(x.Options.DeepScrubInterval, y.Options.DeepScrubInterval)
		})
}

func sameValue(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// input puts together what the pg collector saw and which release schedules.
func (p *forecastPoller) input(ctx context.Context, view *PGView) (*forecast.Input, error) {
	if view.Mgr == nil || view.Defaults == nil {
		return nil, errors.New("the pg collector does not know the options yet")
	}
	versions, err := p.client.Versions(ctx)
	if err != nil {
		return nil, err
	}
	if len(versions["osd"]) == 0 {
		return nil, errors.New("mon versions: it names no OSD")
	}
	oldest := slices.SortedFunc(maps.Keys(versions["osd"]), ceph.Version.Compare)[0]
	in := &forecast.Input{
		Now: view.At, Table: view.Table, Map: view.OSDs, Release: oldest.Major, Location: p.loc,
		Options: make(map[int32]forecast.Options, len(view.OSDOptions)), Measured: view.Seconds,
	}
	if in.Mgr, err = scrub.IntervalsFrom(view.Mgr); err != nil {
		return nil, fmt.Errorf("the mgr's options: %w", err)
	}
	if in.DefaultOptions, err = forecast.OptionsFrom(view.Defaults); err != nil {
		return nil, fmt.Errorf("an OSD's options: %w", err)
	}
	for id, own := range view.OSDOptions {
		if in.Options[id], err = forecast.OptionsFrom(own, view.Defaults); err != nil {
			return nil, fmt.Errorf("options of osd.%d: %w", id, err)
		}
	}
	return in, nil
}

// compute simulates, compares with what was forecast before, and remembers.
func (p *forecastPoller) compute(view *PGView, in *forecast.Input) (*forecastSnapshot, error) {
	if p.memory == nil {
		m, err := loadForecastMemory(p.deps.State)
		if err != nil {
			p.deps.Log.Warn("the forecast begins anew", "err", err)
		}
		p.memory = m
	}
	p.memory.of(view.OSDs.FSID)
	if in.Release < 17 {
		in.Measured = p.memory.durations(view.Seconds, view.Table)
	}
	seeds := max(leastSeeds, min(p.cfg.seeds, workPerForecast/max(1, len(view.Table.PGs))))
	f, err := forecast.Simulate(in, forecast.Run{
		Horizons: scrub.Horizons[:], Seeds: min(p.cfg.seeds, seeds), Seed: 1, RecoveryEnds: -1,
	})
	if err != nil {
		return nil, err
	}
	s := &forecastSnapshot{table: p.table, f: f, openShare: in.DefaultOptions.OpenShare(in.Now, in.Now.AddDate(0, 0, 7), p.loc)}
	for l := range s.has {
		s.has[l] = f.PGs > 0 && 2*f.MissingDurations[l] < f.PGs
	}
	s.require(in)
	share := 0.0
	if !p.counted.IsZero() {
		share = in.DefaultOptions.OpenShare(p.counted, in.Now, p.loc)
	}
	p.memory.count(p.counted, in.Now, share, view.Done)
	p.counted = in.Now
	s.achieved = p.memory.achieved()
	for _, l := range scrub.Levels {
		for h := range scrub.Horizons {
			if v, ok := p.memory.due(in.Now, l, h); ok {
				s.past = append(s.past, pastForecast{l, h, v})
			}
		}
	}
	p.memory.remember(f, s.has)
	return s, nil
}
