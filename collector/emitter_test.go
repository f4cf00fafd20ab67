package collector

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"

	"github.com/ceph-risk/ceph_risk_exporter/internal/label"
)

func TestEmitterWritesWhatItWasGivenAndRefusesContradictions(t *testing.T) {
	table := &Table{}
	gauge := table.Add(Row{Name: "cephrisk_b", Help: "B", Kind: Gauge, Labels: []string{"z", "a"}})
	counter := table.Add(Row{Name: "cephrisk_a_total", Help: "A", Kind: Counter})
	summary := table.Add(Row{Name: "cephrisk_c_seconds", Help: "C", Kind: Summary})
	histogram := table.Add(Row{Name: "cephrisk_d_seconds", Help: "D", Kind: Histogram})
	table.Add(Row{Name: "cephrisk_unused", Help: "No samples, no family", Kind: Gauge})
	foreign := &Row{Name: "cephrisk_foreign", Kind: Gauge}

	count, sum, edge, below := uint64(3), 1.5, 0.1, uint64(2)
	got := ""
	snapshot := emitFunc(func(e *Emitter) {
		e.Emit(gauge, 1, "z1", "a1")
		e.EmitBool(gauge, true, "z2", "\xff")
		e.Emit(gauge, math.NaN(), "z3", "") // no sample, no problem
		e.Emit(counter, 5)
		e.EmitSummary(summary, 2, 0.5)
		e.EmitHistogram(histogram, &dto.Histogram{SampleCount: &count, SampleSum: &sum,
			Bucket: []*dto.Bucket{{UpperBound: &edge, CumulativeCount: &below}}})
	})
	got = exposition(t, table.Rows(), snapshot)
	want := `# HELP cephrisk_a_total A
# TYPE cephrisk_a_total counter
cephrisk_a_total 5
# HELP cephrisk_b B
# TYPE cephrisk_b gauge
cephrisk_b{a="a1",z="z1"} 1
cephrisk_b{a="` + "\uFFFD" + `~a8100ae6aa1940d0b663bb31",z="z2"} 1
# HELP cephrisk_c_seconds C
# TYPE cephrisk_c_seconds summary
cephrisk_c_seconds_sum 0.5
cephrisk_c_seconds_count 2
# HELP cephrisk_d_seconds D
# TYPE cephrisk_d_seconds histogram
cephrisk_d_seconds_bucket{le="0.1"} 2
cephrisk_d_seconds_bucket{le="+Inf"} 3
cephrisk_d_seconds_sum 1.5
cephrisk_d_seconds_count 3
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	e := newEmitter(table.Rows())
	e.Emit(gauge, 1, "z", "\xff")
	e.Emit(gauge, 2, "z", "\xfe")        // told apart by its digest
	e.Emit(gauge, 1, "z")                // a label short
	e.Emit(foreign, 1)                   // not in the table
	e.Emit(counter, -1)                  // no counter
	e.Emit(summary, 1)                   // no plain value
	e.EmitSummary(gauge, 1, 1, "z", "a") // no summary
	if e.dropped != 5 || len(e.problems) != 5 {
		t.Errorf("dropped %d, reasons %v", e.dropped, e.problems)
	}
	if f := e.result(); len(f) != 1 || f[0].Metric[0].Gauge.GetValue() != 1 {
		t.Errorf("the first of two equal series is to stay: %v", f)
	}
}

func TestNamesFromOutsideAreBoundedInLengthAndNumber(t *testing.T) {
	row := &Row{Name: "cephrisk_test_value", Help: "x", Labels: []string{"name"}}
	e := newEmitter([]*Row{row})
	for i := range 5 * maxSeries {
		e.Emit(row, 1, strconv.Itoa(i))
	}
	if n := len(e.result()[0].Metric); n != maxSeries || e.overflow != 4*maxSeries || e.dropped != 0 {
		t.Errorf("%d series, %d refused, %d dropped", n, e.overflow, e.dropped)
	}

	e = newEmitter([]*Row{row})
	long := strings.Repeat("x", 1<<20)
	for _, name := range []string{long + "1", long + "2", "a\nb", "a\xffb", "a\xfeb"} {
		e.Emit(row, 1, name)
	}
	e.Emit(row, 2, label.Clean(long+"1")) // somebody who knows how names are cut
	metrics := e.result()[0].Metric
	if len(metrics) != 5 || e.overflow != 1 || e.dropped != 0 {
		t.Errorf("%d series, %d refused, %d dropped", len(metrics), e.overflow, e.dropped)
	}
	for _, m := range metrics {
		if v := m.Label[0].GetValue(); len(v) > label.MaxBytes || !utf8.ValidString(v) || m.Gauge.GetValue() != 1 {
			t.Errorf("%.300q %v", v, m.Gauge.GetValue())
		}
	}
}
