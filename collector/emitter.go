package collector

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	expo "github.com/ceph-risk/ceph_risk_exporter/internal/exposition"
	"github.com/ceph-risk/ceph_risk_exporter/internal/label"
)

// maxSeries bounds the series of one row in one snapshot, those in bulk apart.
// It is the last line against a peer that makes up names without end: no real
// cluster, gateway or shelf comes near it, and what it costs is bearable.
const maxSeries = 200_000

// Emitter receives the samples of one snapshot and turns them into metric
// families, once per poll. Scrapes share the result, so it is never changed
// afterwards.
type Emitter struct {
	families map[string]*family // by row name
	declared map[string]bool    // names of the collector's rows
	inBulk   map[string]bool    // names of rows that were given in bulk
	bulk     []*expo.Family
	pairs    map[labelPair]*dto.LabelPair // shared by the samples that have them
	problems []error
	dropped  int
	overflow int // beyond maxSeries, or not told apart from another
}

type labelPair struct{ name, value string }

type family struct {
	row     *Row
	metrics map[string]*dto.Metric // by label values
}

func newEmitter(rows []*Row) *Emitter {
	e := &Emitter{families: make(map[string]*family, len(rows)), declared: make(map[string]bool, len(rows)), inBulk: map[string]bool{}, pairs: map[labelPair]*dto.LabelPair{}}
	for _, r := range rows {
		e.declared[r.Name] = true
	}
	return e
}

// Emit adds one sample of a gauge or counter row. Label values are in the order
// of row.Labels; they become what label.Clean makes of them. NaN is no sample. A
// value that could not be read must not be emitted at all. A second sample with
// the same labels is dropped and counted.
func (e *Emitter) Emit(row *Row, value float64, labels ...string) {
	if math.IsNaN(value) {
		return
	}
	m := &dto.Metric{}
	switch row.Kind {
	case Gauge:
		m.Gauge = &dto.Gauge{Value: proto.Float64(value)}
	case Counter:
		if value < 0 {
			e.problem(row, labels, fmt.Errorf("counter value %v", value))
			return
		}
		m.Counter = &dto.Counter{Value: proto.Float64(value)}
	default:
		e.problem(row, labels, fmt.Errorf("a plain value for a row of another kind"))
		return
	}
	e.add(row, m, labels)
}

// EmitBool adds 1 or 0.
func (e *Emitter) EmitBool(row *Row, value bool, labels ...string) {
	if value {
		e.Emit(row, 1, labels...)
		return
	}
	e.Emit(row, 0, labels...)
}

// EmitHistogram adds one histogram: cumulative buckets in ascending order,
// without +Inf (it is the count), and native fields where the caller has them.
// The emitter keeps h.
func (e *Emitter) EmitHistogram(row *Row, h *dto.Histogram, labels ...string) {
	if row.Kind != Histogram {
		e.problem(row, labels, fmt.Errorf("a histogram for a row of another kind"))
		return
	}
	e.add(row, &dto.Metric{Histogram: h}, labels)
}

// EmitSummary adds one summary without quantiles: sum and count.
func (e *Emitter) EmitSummary(row *Row, count uint64, sum float64, labels ...string) {
	if row.Kind != Summary {
		e.problem(row, labels, fmt.Errorf("a summary for a row of another kind"))
		return
	}
	e.add(row, &dto.Metric{Summary: &dto.Summary{SampleCount: &count, SampleSum: &sum}}, labels)
}

func (e *Emitter) add(row *Row, m *dto.Metric, labels []string) {
	if !e.declared[row.Name] {
		e.problem(row, labels, fmt.Errorf("row is not in the collector's table"))
		return
	}
	if e.inBulk[row.Name] {
		e.problem(row, labels, fmt.Errorf("samples in bulk and others in one row"))
		return
	}
	if len(labels) != len(row.Labels) {
		e.problem(row, labels, fmt.Errorf("%d label values for %d labels", len(labels), len(row.Labels)))
		return
	}
	m.Label = make([]*dto.LabelPair, len(labels))
	for i, v := range labels {
		m.Label[i] = e.pair(&row.Labels[i], v)
	}
	// The text format and the registry's checks want labels in name order.
	slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	var key strings.Builder
	for _, l := range m.Label {
		key.WriteString(l.GetValue())
		key.WriteByte(0xff) // never in valid UTF-8
	}
	f := e.families[row.Name]
	if f == nil {
		f = &family{row: row, metrics: make(map[string]*dto.Metric)}
		e.families[row.Name] = f
	}
	_, twice := f.metrics[key.String()]
	switch {
	case twice && slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return label.Changed(l.GetValue()) }):
		e.overflow++ // somebody made a name that looks like another's that was cut
		return
	case twice:
		e.problem(row, labels, fmt.Errorf("a second sample with the same labels"))
		return
	case len(f.metrics) >= maxSeries:
		e.overflow++
		return
	}
	f.metrics[key.String()] = m
}

// pair returns the label. Samples share it: with many OSDs, labels are most of
// what their series take.
func (e *Emitter) pair(name *string, value string) *dto.LabelPair {
	key := labelPair{*name, value}
	p := e.pairs[key]
	if p == nil {
		p = &dto.LabelPair{Name: name, Value: proto.String(label.Clean(value))}
		e.pairs[key] = p
	}
	return p
}

// problem records a sample that was dropped. The first few are kept for the log.
func (e *Emitter) problem(row *Row, labels []string, err error) {
	e.dropped++
	if len(e.problems) < 5 {
		e.problems = append(e.problems, fmt.Errorf("%s%.300q: %w", row.Name, labels, err))
	}
}

// result returns the families in name order, their series in label order, without the empty ones and those
// in bulk.
func (e *Emitter) result() []*dto.MetricFamily {
	out := make([]*dto.MetricFamily, 0, len(e.families))
	for name, f := range e.families {
		metrics := make([]*dto.Metric, 0, len(f.metrics))
		for _, key := range slices.Sorted(maps.Keys(f.metrics)) {
			metrics = append(metrics, f.metrics[key])
		}
		out = append(out, &dto.MetricFamily{
			Name:   proto.String(name),
			Help:   proto.String(f.row.Help),
			Type:   f.row.Kind.dto().Enum(),
			Metric: metrics,
		})
	}
	slices.SortFunc(out, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

func (k Kind) dto() dto.MetricType {
	switch k {
	case Counter:
		return dto.MetricType_COUNTER
	case Histogram:
		return dto.MetricType_HISTOGRAM
	case Summary:
		return dto.MetricType_SUMMARY
	default:
		return dto.MetricType_GAUGE
	}
}

// String returns the type's name as Prometheus writes it.
func (k Kind) String() string { return strings.ToLower(k.dto().String()) }
