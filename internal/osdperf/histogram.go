package osdperf

import (
	"encoding/json"
	"fmt"
	"math"
)

// An Op is a kind of client operation. Ceph counts each operation as exactly
// one of them.
type Op uint8

// The kinds of client operation.
const (
	Read Op = iota
	Write
	// ReadWrite both reads and writes: class methods, RBD and RGW metadata.
	ReadWrite
	NumOps
)

// String is the value of the label op.
func (o Op) String() string {
	switch o {
	case Read:
		return "read"
	case Write:
		return "write"
	case ReadWrite:
		return "rw"
	default:
		return fmt.Sprintf("op %d", uint8(o))
	}
}

// NumSteps is the number of latency steps of an OSD's histograms. Step 0 holds
// what is below zero, which a clock that is set back can cause; step k from 1
// on ends at 100 us * 2^(k-1); the last has no end.
const NumSteps = 32

// firstEdge is the width of step 1 in nanoseconds, although the axis calls
// itself "Latency (usec)".
const firstEdge = 100_000

// Steps holds operations per latency step, each step by itself.
type Steps [NumSteps]uint64

// Count is the number of operations in all steps.
func (s *Steps) Count() uint64 {
	var n uint64
	for _, v := range s {
		n += v
	}
	return n
}

// Edges returns the upper bounds in seconds of a histogram made of Steps: 0.0001,
// 0.0002 and so on. The last step has none; what is below zero counts into the
// first.
func Edges() []float64 {
	edges := make([]float64, 0, NumSteps-2)
	for k := 1; k < NumSteps-1; k++ {
		edges = append(edges, float64(int64(firstEdge)<<(k-1))/1e9)
	}
	return edges
}

// Cumulative returns the operations at or below each of Edges, and their total.
func (s *Steps) Cumulative() (below []uint64, count uint64) {
	below = make([]uint64, 0, NumSteps-2)
	n := s[0]
	for k := 1; k < NumSteps-1; k++ {
		n += s[k]
		below = append(below, n)
	}
	return below, n + s[NumSteps-1]
}

// Histogram is a two-dimensional histogram as a daemon prints it. Values[i][j]
// is not cumulative.
type Histogram struct {
	Axes   []Axis     `json:"axes"`
	Values [][]uint64 `json:"values"`
}

// Axis is one dimension of a Histogram.
type Axis struct {
	Name   string  `json:"name"`
	Scale  string  `json:"scale_type"` // linear or log2
	Min    int64   `json:"min"`
	Quant  int64   `json:"quant_size"`
	Steps  int     `json:"buckets"`
	Ranges []Range `json:"ranges"`
}

// Range is one step of an Axis, both ends inclusive. The first has no lower end,
// the last no upper one.
type Range struct {
	Min *int64 `json:"min"`
	Max *int64 `json:"max"`
}

// UpperEdges returns the exclusive upper end of each step but the last, in the
// unit of the axis.
func (a *Axis) UpperEdges() ([]int64, error) {
	if len(a.Ranges) < 2 {
		return nil, fmt.Errorf("axis %q: %d ranges", a.Name, len(a.Ranges))
	}
	last := len(a.Ranges) - 1
	edges := make([]int64, 0, last)
	for i, r := range a.Ranges[:last] {
		if r.Max == nil || *r.Max == math.MaxInt64 {
			return nil, fmt.Errorf("axis %q: range %d has no end", a.Name, i)
		}
		if i > 0 && (r.Min == nil || *r.Min != edges[i-1] || *r.Max < *r.Min) {
			return nil, fmt.Errorf("axis %q: range %d does not follow the one before", a.Name, i)
		}
		edges = append(edges, *r.Max+1)
	}
	if r := a.Ranges[last]; r.Max != nil || r.Min == nil || *r.Min != edges[last-1] {
		return nil, fmt.Errorf("axis %q: the last range is bounded", a.Name)
	}
	return edges, nil
}

// ByFirstAxis sums over the second axis.
func (h *Histogram) ByFirstAxis() ([]uint64, error) {
	if len(h.Axes) != 2 {
		return nil, fmt.Errorf("%d axes, want 2", len(h.Axes))
	}
	if len(h.Values) != len(h.Axes[0].Ranges) {
		return nil, fmt.Errorf("%d rows of values, axis has %d ranges", len(h.Values), len(h.Axes[0].Ranges))
	}
	sums := make([]uint64, len(h.Values))
	for i, row := range h.Values {
		if len(row) != len(h.Axes[1].Ranges) {
			return nil, fmt.Errorf("%d values in row %d, axis has %d ranges", len(row), i, len(h.Axes[1].Ranges))
		}
		for _, v := range row {
			sums[i] += v
		}
	}
	return sums, nil
}

// latencySteps checks that the histogram is of the one known shape, so that a
// release which changes it is an error and not a wrong latency.
func (h *Histogram) latencySteps() (*Steps, error) {
	sums, err := h.ByFirstAxis()
	if err != nil {
		return nil, err
	}
	edges, err := h.Axes[0].UpperEdges()
	if err != nil {
		return nil, err
	}
	if len(sums) != NumSteps {
		return nil, fmt.Errorf("%d latency steps, want %d", len(sums), NumSteps)
	}
	for k, edge := range edges {
		want := int64(0)
		if k > 0 {
			want = firstEdge << (k - 1)
		}
		if edge != want {
			return nil, fmt.Errorf("latency step %d ends at %d ns, want %d", k, edge, want)
		}
	}
	return (*Steps)(sums), nil
}

// DecodeHistograms reads the answer to `perf histogram dump`: the latency steps
// of each kind of operation since the daemon's start or its last `perf reset`.
func DecodeHistograms(answer []byte) (*[NumOps]Steps, error) {
	var dump struct {
		OSD struct {
			Read  *Histogram `json:"op_r_latency_out_bytes_histogram"`
			Write *Histogram `json:"op_w_latency_in_bytes_histogram"`
			// Operations that read and write are in both rw histograms, with the
			// same latency and another size.
			ReadWrite *Histogram `json:"op_rw_latency_in_bytes_histogram"`
		} `json:"osd"`
	}
	if err := json.Unmarshal(answer, &dump); err != nil {
		return nil, fmt.Errorf("decode perf histogram dump: %w", err)
	}
	var all [NumOps]Steps
	for op, h := range [NumOps]*Histogram{Read: dump.OSD.Read, Write: dump.OSD.Write, ReadWrite: dump.OSD.ReadWrite} {
		if h == nil {
			return nil, fmt.Errorf("decode perf histogram dump: none of %v operations", Op(op))
		}
		steps, err := h.latencySteps()
		if err != nil {
			return nil, fmt.Errorf("decode perf histogram dump: %v operations: %w", Op(op), err)
		}
		all[op] = *steps
	}
	return &all, nil
}
