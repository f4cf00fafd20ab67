package collector

import (
	"errors"
	"fmt"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	expo "github.com/ceph-risk/ceph_risk_exporter/internal/exposition"
)

// BulkLabel appends the value that a label has in row i. It must consist of
// printable ASCII other than quote and backslash.
type BulkLabel func(b []byte, i int) []byte

// BulkColumn is the samples of one row of the collector's table.
type BulkColumn struct {
	Row   *Row
	Value func(i int) float64 // NaN: no sample
}

// Bulk adds one sample per column for each i from 0 to n-1: the way for families
// with a series per PG, which would be slow and large as single samples. Columns
// are gauges and share their labels, whose values come in the order of
// Row.Labels.
//
// Nothing is copied: the functions are called again for every scrape, from
// several goroutines at once, for as long as the snapshot is served. What they
// read must not change. The result can be given to BulkAgain by a later poll for
// which nothing of it has changed.
func (e *Emitter) Bulk(n int, labels []BulkLabel, columns ...BulkColumn) *Bulk {
	var usable []expo.Column
	var names []string
	for _, c := range columns {
		if names == nil {
			names = c.Row.Labels
		}
		if err := e.bulkProblem(n, names, labels, c.Row); err != nil {
			e.problem(c.Row, nil, err)
			e.dropped += max(n, 1) - 1
			continue
		}
		e.inBulk[c.Row.Name] = true
		usable = append(usable, expo.Column{Name: c.Row.Name, Help: c.Row.Help, Value: c.Value})
	}
	if len(usable) == 0 {
		return &Bulk{}
	}
	var ls []expo.Label
	for i, name := range names {
		ls = append(ls, expo.Label{Name: name, Append: labels[i]})
	}
	families, err := expo.NewFamilies(n, ls, usable)
	var refused *expo.Refused
	if errors.As(err, &refused) {
		e.problem(columns[0].Row, nil, err)
		e.dropped += refused.Rows - 1
	}
	e.bulk = append(e.bulk, families...)
	return &Bulk{families: families}
}

// Bulk is bulk families that were emitted before.
type Bulk struct{ families []*expo.Family }

// BulkAgain emits what an earlier snapshot of the same collector has emitted.
// Compressed forms that scrapes have asked for since are there already.
func (e *Emitter) BulkAgain(b *Bulk) {
	for _, f := range b.families {
		e.inBulk[f.Name()] = true
	}
	e.bulk = append(e.bulk, b.families...)
}

func (e *Emitter) bulkProblem(n int, names []string, labels []BulkLabel, row *Row) error {
	switch {
	case !e.declared[row.Name]:
		return errors.New("row is not in the collector's table")
	case row.Kind != Gauge:
		return errors.New("bulk samples for a row that is no gauge")
	case len(names) == 0 || !slices.Equal(names, row.Labels) || len(labels) != len(names):
		return fmt.Errorf("%d bulk label values for the labels %q, in a table with labels %q", len(labels), row.Labels, names)
	case n < 0 || n > math.MaxUint32:
		return fmt.Errorf("%d bulk rows", n)
	case e.inBulk[row.Name] || e.families[row.Name] != nil:
		return errors.New("samples in bulk and others in one row")
	}
	return nil
}

// expandBulk returns families as the registry knows them, for forms that the
// fast way does not render.
func expandBulk(bulk []*expo.Family) []*dto.MetricFamily {
	out := make([]*dto.MetricFamily, 0, len(bulk))
	for _, f := range bulk {
		m := &dto.MetricFamily{
			Name: proto.String(f.Name()), Help: proto.String(f.Help()), Type: dto.MetricType_GAUGE.Enum(),
			Metric: make([]*dto.Metric, 0, f.Len()),
		}
		f.Each(func(pairs []string, v float64) bool {
			metric := &dto.Metric{Gauge: &dto.Gauge{Value: proto.Float64(v)}}
			for i := 0; i+1 < len(pairs); i += 2 {
				metric.Label = append(metric.Label, &dto.LabelPair{Name: proto.String(pairs[i]), Value: proto.String(pairs[i+1])})
			}
			m.Metric = append(m.Metric, metric)
			return true
		})
		out = append(out, m)
	}
	return out
}

// warmBulk prepares the forms in which the families of the poll before were
// scraped.
func warmBulk(now []*expo.Family, before []*expo.Family) {
	for _, f := range now {
		for _, b := range before {
			if b.Name() == f.Name() && b != f {
				f.Warm(b)
			}
		}
	}
}
