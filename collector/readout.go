package collector

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	expo "github.com/ceph-risk/ceph_risk_exporter/internal/exposition"
)

// Readout is what a scrape at one instant would show, for readers that are no
// scrape. It shares the snapshots and copies nothing.
type Readout struct {
	At       time.Time
	families map[string]*dto.MetricFamily
	bulk     map[string]*expo.Family
}

// Sample is one sample of a Readout. Of a histogram or summary Value is the sum
// and Count the number of observations.
type Sample struct {
	Labels []string // names and values in turn, in name order; valid until the next sample
	Value  float64
	Count  *uint64 // nil: a plain value
}

// Read returns what the last polls left. It asks nobody and renders nothing.
func (s *Set) Read(others prometheus.Gatherer) (*Readout, error) {
	r := &Readout{At: s.now(), families: map[string]*dto.MetricFamily{}, bulk: map[string]*expo.Family{}}
	own, bulk := s.collect()
	rest, err := others.Gather()
	for _, f := range append(own, rest...) {
		r.families[f.GetName()] = f
	}
	for _, f := range bulk {
		r.bulk[f.Name()] = f
	}
	return r, err
}

// Names returns the families that have samples, in name order.
func (r *Readout) Names() []string {
	names := slices.Collect(maps.Keys(r.families))
	for name := range r.bulk {
		if r.families[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Len returns the number of samples of a family, 0 where there is none.
func (r *Readout) Len(name string) int {
	n := len(r.families[name].GetMetric())
	if f := r.bulk[name]; f != nil {
		n += f.Len()
	}
	return n
}

// Describe returns help and type of a family that has samples.
func (r *Readout) Describe(name string) (help string, kind Kind, ok bool) {
	if f := r.families[name]; f != nil {
		for _, k := range []Kind{Gauge, Counter, Histogram, Summary} {
			if k.dto() == f.GetType() {
				kind = k
			}
		}
		return f.GetHelp(), kind, true
	}
	if f := r.bulk[name]; f != nil {
		return f.Help(), Gauge, true
	}
	return "", Gauge, false
}

// Each calls yield with every sample of a family, in no stated order, until it
// returns false.
func (r *Readout) Each(name string, yield func(*Sample) bool) {
	var labels []string
	for _, m := range r.families[name].GetMetric() {
		labels = labels[:0]
		for _, l := range m.Label {
			labels = append(labels, l.GetName(), l.GetValue())
		}
		s := sampleOf(m)
		s.Labels = labels
		if !yield(&s) {
			return
		}
	}
	if f := r.bulk[name]; f != nil {
		f.Each(func(labels []string, value float64) bool {
			return yield(&Sample{Labels: labels, Value: value})
		})
	}
}

func sampleOf(m *dto.Metric) Sample {
	switch {
	case m.Histogram != nil:
		return Sample{Value: m.Histogram.GetSampleSum(), Count: m.Histogram.SampleCount}
	case m.Summary != nil:
		return Sample{Value: m.Summary.GetSampleSum(), Count: m.Summary.SampleCount}
	case m.Counter != nil:
		return Sample{Value: m.Counter.GetValue()}
	case m.Untyped != nil:
		return Sample{Value: m.Untyped.GetValue()}
	}
	return Sample{Value: m.Gauge.GetValue()}
}
