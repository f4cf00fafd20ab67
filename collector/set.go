package collector

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	expo "github.com/ceph-risk/ceph_risk_exporter/internal/exposition"
)

// Set is the collectors of this process. It implements prometheus.Gatherer:
// a gather renders nothing and asks nobody, it hands out what the last polls
// left.
type Set struct {
	runners []*runner
	self    *selfTable
	now     func() time.Time
}

// selfTable is what the wrapper says about every collector.
type selfTable struct {
	Table
	success, duration, lastSuccess, interval, polls, failures, panics, dropped, refused *Row
}

func newSelfTable() *selfTable {
	const per, source = "one per collector", "the exporter itself"
	t := &selfTable{}
	label := []string{"collector"}
	add := func(name, help string, kind Kind) *Row {
		return t.Add(Row{Name: "cephrisk_collector_" + name, Help: help, Kind: kind, Labels: label, Cardinality: per, Source: source})
	}
	t.success = add("success", "1 when the last poll of the collector succeeded, 0 when it failed; absent before the first poll has ended", Gauge)
	t.duration = add("duration_seconds", "Wall time of the last poll", Gauge)
	t.lastSuccess = add("last_success_timestamp_seconds", "Instant of the last successful poll; absent when there was none", Gauge)
	t.interval = add("interval_seconds", "Poll interval in force: the configured one, or longer where a poll takes more than a tenth of it. Series older than three intervals are dropped", Gauge)
	t.polls = add("polls_total", "Polls by their outcomes, good or bad; one that did not return in time counts then and, when it returns, again", Counter)
	t.failures = add("failures_total", "Polls that failed, counted like cephrisk_collector_polls_total", Counter)
	t.panics = add("panics_total", "Polls that ended in a panic, which is a bug of the exporter", Counter)
	t.dropped = add("dropped_samples_total", "Samples that were not exported because they contradicted their own declaration, which is a bug of the exporter", Counter)
	t.refused = add("refused_samples_total", "Samples that were not exported because a source names more things than any real one has, or makes one look like another", Counter)
	return t
}

// SelfRows returns the rows that exist for every collector.
func SelfRows() []*Row { return newSelfTable().Rows() }

// Member is one collector of a set.
type Member struct {
	Spec   Spec
	Poller Poller
	Deps   Deps
}

// NewSet prepares the collectors; Run starts them.
func NewSet(now func() time.Time, members ...Member) *Set {
	s := &Set{self: newSelfTable(), now: now}
	for _, m := range members {
		s.runners = append(s.runners, newRunner(m.Spec, m.Poller, m.Deps))
	}
	slices.SortFunc(s.runners, func(a, b *runner) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	return s
}

// Run polls all collectors until ctx is done and every one of them has ended.
func (s *Set) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, r := range s.runners {
		wg.Go(func() { r.run(ctx) })
	}
	wg.Wait()
}

// Polled waits until every collector has ended its first poll, whatever came of
// it, or ctx is done.
func (s *Set) Polled(ctx context.Context) error {
	for _, r := range s.runners {
		select {
		case <-r.first:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Status is the state of one collector, for pages and exit codes.
type Status struct {
	Name        string
	Help        string
	Polled      bool  // its first poll has ended
	Err         error // of the last poll
	LastErr     error // of the last poll that failed; nil: none did
	LastErrAt   time.Time
	At          time.Time // of the snapshot being served; zero: there is none
	Duration    time.Duration
	LastSuccess time.Time // zero: never
	Interval    time.Duration
	Failures    uint64
}

// Status returns the state of every collector, in name order.
func (s *Set) Status() []Status {
	out := make([]Status, 0, len(s.runners))
	for _, r := range s.runners {
		published, st := r.snapshot(s.now())
		status := Status{
			Name: r.spec.Name, Help: r.spec.Help, Polled: st.polled, Err: st.err, LastErr: st.lastErr, LastErrAt: st.lastErrAt,
			Duration: st.duration, LastSuccess: st.lastSuccess, Interval: st.interval, Failures: st.failures,
		}
		if published != nil {
			status.At = published.at
		}
		out = append(out, status)
	}
	return out
}

// Gather returns the families of all collectors and their self metrics, bulk
// families included: complete, and slow where there are many PGs. Scrapes are
// served by NewHandler.
func (s *Set) Gather() ([]*dto.MetricFamily, error) {
	families, bulk := s.collect()
	return mergeFamilies(append(families, expandBulk(bulk)...)), nil
}

// collect returns the families of all collectors and their self metrics, and
// the bulk families.
func (s *Set) collect() ([]*dto.MetricFamily, []*expo.Family) {
	now := s.now()
	e := newEmitter(s.self.Rows())
	var out []*dto.MetricFamily
	var bulk []*expo.Family
	for _, r := range s.runners {
		published, st := r.snapshot(now)
		if published != nil {
			out = append(out, published.families...)
			bulk = append(bulk, published.bulk...)
		}
		s.emitSelf(e, r.spec.Name, st)
	}
	return mergeFamilies(append(out, e.result()...)), bulk
}

func (s *Set) emitSelf(e *Emitter, name string, st pollStatus) {
	if st.polled {
		e.EmitBool(s.self.success, st.success, name)
		e.Emit(s.self.duration, st.duration.Seconds(), name)
	}
	if !st.lastSuccess.IsZero() {
		e.Emit(s.self.lastSuccess, float64(st.lastSuccess.UnixMicro())/1e6, name)
	}
	e.Emit(s.self.interval, st.interval.Seconds(), name)
	e.Emit(s.self.polls, float64(st.polls), name)
	e.Emit(s.self.failures, float64(st.failures), name)
	e.Emit(s.self.panics, float64(st.panics), name)
	e.Emit(s.self.dropped, float64(st.dropped), name)
	e.Emit(s.self.refused, float64(st.refused), name)
}

// mergeFamilies sorts by name and joins families that several collectors feed.
// The families of a publication are shared with other scrapes and stay as they
// are.
func mergeFamilies(in []*dto.MetricFamily) []*dto.MetricFamily {
	slices.SortStableFunc(in, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	out := in[:0]
	shared := true
	for _, f := range in {
		if len(out) == 0 || out[len(out)-1].GetName() != f.GetName() {
			out, shared = append(out, f), true
			continue
		}
		last := out[len(out)-1]
		if shared {
			last = &dto.MetricFamily{Name: last.Name, Help: last.Help, Type: last.Type, Metric: slices.Clone(last.Metric)}
			out[len(out)-1], shared = last, false
		}
		last.Metric = append(last.Metric, f.Metric...)
	}
	return out
}
