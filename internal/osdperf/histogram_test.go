package osdperf

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// log2Axis and linearAxis print an axis as Ceph does.
func log2Axis(name string, quant int64, steps int) Axis {
	a := Axis{Name: name, Scale: "log2", Quant: quant, Steps: steps}
	below := int64(-1)
	a.Ranges = append(a.Ranges, Range{Max: &below})
	lower := int64(0)
	for k := 1; k < steps; k++ {
		upper := quant<<(k-1) - 1
		r := Range{Min: ptr(lower)}
		if k < steps-1 {
			r.Max = &upper
		}
		a.Ranges = append(a.Ranges, r)
		lower = upper + 1
	}
	return a
}

func linearAxis(name string, steps int) Axis {
	a := Axis{Name: name, Scale: "linear", Quant: 1, Steps: steps}
	below := int64(-1)
	a.Ranges = append(a.Ranges, Range{Max: &below})
	for k := range steps - 1 {
		r := Range{Min: ptr(int64(k))}
		if k < steps-2 {
			r.Max = ptr(int64(k))
		}
		a.Ranges = append(a.Ranges, r)
	}
	return a
}

func ptr[T any](v T) *T { return &v }

func (r Range) MarshalJSON() ([]byte, error) {
	m := map[string]int64{}
	if r.Min != nil {
		m["min"] = *r.Min
	}
	if r.Max != nil {
		m["max"] = *r.Max
	}
	return json.Marshal(m)
}

func histogram(x, y Axis) *Histogram {
	h := &Histogram{Axes: []Axis{x, y}}
	for range x.Ranges {
		h.Values = append(h.Values, make([]uint64, len(y.Ranges)))
	}
	return h
}

// record counts an operation as Ceph does: latency in nanoseconds.
func record(h *Histogram, latency time.Duration, size int64) {
	at := func(a *Axis, v int64) int {
		return slices.IndexFunc(a.Ranges, func(r Range) bool {
			return (r.Min == nil || v >= *r.Min) && (r.Max == nil || v <= *r.Max)
		})
	}
	h.Values[at(&h.Axes[0], latency.Nanoseconds())][at(&h.Axes[1], size)]++
}

func opHistogram(latencies ...time.Duration) *Histogram {
	h := histogram(log2Axis("Latency (usec)", 100000, 32), log2Axis("Request size (bytes)", 512, 32))
	for i, l := range latencies {
		record(h, l, int64(i)*4096)
	}
	return h
}

func histogramDump(t testing.TB, read, write, rw *Histogram) []byte {
	t.Helper()
	reservations := histogram(linearAxis("number of replicas", 8), log2Axis("duration", 250000, 10))
	reservations.Values[3][4] = 2
	answer, err := json.Marshal(map[string]any{
		"osd": map[string]any{
			"op_r_latency_out_bytes_histogram":  read,
			"op_w_latency_in_bytes_histogram":   write,
			"op_rw_latency_in_bytes_histogram":  rw,
			"op_rw_latency_out_bytes_histogram": rw,
			"scrub_resrv_repnum_vs_duration":    reservations,
		},
		"AsyncMessenger::Worker-0": map[string]any{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// Field case L2.
func TestLatencyAxisIsInNanoseconds(t *testing.T) {
	ops := opHistogram(50*time.Microsecond, 1200*time.Microsecond, 640*time.Millisecond)
	steps, err := DecodeHistograms(histogramDump(t, ops, opHistogram(), opHistogram()))
	if err != nil {
		t.Fatal(err)
	}
	below, count := steps[Read].Cumulative()
	got := map[float64]uint64{}
	for i, edge := range Edges() {
		got[edge] = below[i]
	}
	for edge, want := range map[float64]uint64{0.0001: 1, 0.0008: 1, 0.0016: 2, 0.4096: 2, 0.8192: 3, 53687.0912: 3} {
		if n, there := got[edge]; !there || n != want {
			t.Errorf("le=%g: %d (there: %t), want %d", edge, n, there, want)
		}
	}
	if count != 3 || steps[Read].Count() != 3 || steps[Write].Count() != 0 || steps[ReadWrite].Count() != 0 {
		t.Errorf("counts %d %d %d, want 3 0 0", count, steps[Write].Count(), steps[ReadWrite].Count())
	}
}

func TestEdgesAreTheSourcesOwn(t *testing.T) {
	axis := log2Axis("Latency (usec)", 100000, 32)
	upper, err := axis.UpperEdges()
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	for _, ns := range upper[1:] {
		want = append(want, float64(ns)/1e9)
	}
	if got := Edges(); !slices.Equal(got, want) || len(got) != 30 || got[0] != 0.0001 || got[29] != 53687.0912 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFirstAndLastStepCountAtTheEnds(t *testing.T) {
	var s Steps
	s[0], s[NumSteps-1] = 2, 5
	below, count := s.Cumulative()
	if below[0] != 2 || below[len(below)-1] != 2 || count != 7 {
		t.Errorf("first %d, last %d, count %d; want 2 2 7", below[0], below[len(below)-1], count)
	}
}

func TestScrubReservationHistogramDecodes(t *testing.T) {
	var dump struct{ OSD map[string]Histogram }
	if err := json.Unmarshal(histogramDump(t, opHistogram(), opHistogram(), opHistogram()), &dump); err != nil {
		t.Fatal(err)
	}
	h := dump.OSD["scrub_resrv_repnum_vs_duration"]
	sums, err := h.ByFirstAxis()
	if want := []uint64{0, 0, 0, 2, 0, 0, 0, 0}; err != nil || !slices.Equal(sums, want) {
		t.Errorf("got %v, %v; want %v", sums, err, want)
	}
	edges, err := h.Axes[1].UpperEdges()
	if want := []int64{0, 250000, 500000, 1000000, 2000000, 4000000, 8000000, 16000000, 32000000}; err != nil || !slices.Equal(edges, want) {
		t.Errorf("got %v, %v; want %v", edges, err, want)
	}
	if _, err := h.latencySteps(); err == nil {
		t.Error("taken for a latency histogram")
	}
}

// The shapes of real daemons are those that the other tests make up.
func TestHistogramShapesOfRealDaemons(t *testing.T) {
	seen := map[string]int{}
	for release, data := range fixtures(t, "perf_histogram_dump.json") {
		var dump struct{ OSD map[string]Histogram }
		if err := json.Unmarshal(data, &dump); err != nil {
			t.Fatalf("%s: %v", release, err)
		}
		for name, h := range dump.OSD {
			want := []Axis{log2Axis("Latency (usec)", 100000, 32), log2Axis("Request size (bytes)", 512, 32)}
			if name == "scrub_resrv_repnum_vs_duration" {
				want = []Axis{linearAxis("number of replicas", 8), log2Axis("duration", 250000, 10)}
			}
			if diff := cmp.Diff(want, h.Axes); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", release, name, diff)
			}
			if _, err := h.ByFirstAxis(); err != nil {
				t.Errorf("%s: %s: %v", release, name, err)
			}
			seen[name]++
		}
	}
	if len(seen) != 5 || seen["scrub_resrv_repnum_vs_duration"] != 1 {
		t.Errorf("got %v, want four histograms of operations everywhere and that of reservations on 20", seen)
	}
}

func TestOtherShapesAreErrors(t *testing.T) {
	wide := histogram(log2Axis("Latency (usec)", 1000000, 32), log2Axis("s", 512, 32))
	long := histogram(log2Axis("Latency (usec)", 100000, 33), log2Axis("s", 512, 32))
	ragged := opHistogram()
	ragged.Values[3] = ragged.Values[3][:7]
	fewer := opHistogram()
	fewer.Values = fewer.Values[:31]
	gap := opHistogram()
	gap.Axes[0].Ranges[5].Min = ptr(int64(1))
	closed := opHistogram()
	closed.Axes[0].Ranges[31].Max = ptr(int64(math.MaxInt64))
	flat := opHistogram()
	flat.Axes = flat.Axes[:1]
	for name, h := range map[string]*Histogram{"quantum": wide, "steps": long, "ragged": ragged, "rows": fewer, "gap": gap, "closed": closed, "one axis": flat, "empty": {}} {
		if _, err := DecodeHistograms(histogramDump(t, opHistogram(), h, opHistogram())); err == nil || !strings.Contains(err.Error(), "write operations") {
			t.Errorf("%s: got %v, want an error that names the operations", name, err)
		}
	}
	for _, answer := range []string{``, `{`, `{"osd": {"op": `, `[]`, `{"osd":{}}`, `{"osd":{"op_r_latency_out_bytes_histogram":7}}`} {
		if _, err := DecodeHistograms([]byte(answer)); err == nil {
			t.Errorf("%q: no error", answer)
		}
	}
}

// fixtures returns what real daemons answered, by release.
func fixtures(t testing.TB, name string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*", name))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(filepath.Dir(path))] = data
	}
	if len(all) == 0 {
		t.Fatalf("no testdata/*/%s", name)
	}
	return all
}

func FuzzDecodeHistograms(f *testing.F) {
	f.Add(histogramDump(f, opHistogram(time.Millisecond), opHistogram(), opHistogram()))
	for _, data := range fixtures(f, "perf_histogram_dump.json") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		steps, err := DecodeHistograms(answer)
		if (steps == nil) != (err != nil) {
			t.Fatal(fmt.Sprint(steps, err))
		}
	})
}
