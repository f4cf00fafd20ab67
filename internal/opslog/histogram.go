package opslog

import (
	"math"
	"sort"
)

// NativeSchema is the resolution of native histograms: 2^(1/4) between bounds,
// some 19 %. See Prometheus's "native histograms" specification.
const NativeSchema = 2

// A Histogram counts values at classic bounds and, sparsely, at native ones.
// It never loses a count, so what it exposes never falls.
type Histogram struct {
	// Bounds are the inclusive upper bounds of the classic buckets, ascending.
	Bounds []float64 `json:"bounds"`
	// Counts are the values per bucket, not cumulative; one more than Bounds.
	Counts []uint64 `json:"counts"`
	Sum    float64  `json:"sum"`
	Zero   uint64   `json:"zero"` // values of 0
	// Native counts by bucket index i: (2^((i-1)/4), 2^(i/4)].
	Native map[int32]uint64 `json:"native"`
}

// NewHistogram returns an empty histogram.
func NewHistogram(bounds []float64) *Histogram {
	return &Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1), Native: map[int32]uint64{}}
}

// Observe adds a value, which must not be negative.
func (h *Histogram) Observe(v float64) {
	h.Counts[sort.SearchFloat64s(h.Bounds, v)]++
	h.Sum += v
	if v <= 0 {
		h.Zero++
		return
	}
	h.Native[nativeIndex(v)]++
}

// Count is the number of values.
func (h *Histogram) Count() uint64 {
	var n uint64
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// fits tells whether a stored histogram has these bounds and is whole.
func (h *Histogram) fits(bounds []float64) bool {
	if h == nil || len(h.Bounds) != len(bounds) || len(h.Counts) != len(bounds)+1 {
		return false
	}
	for i := range bounds {
		if h.Bounds[i] != bounds[i] {
			return false
		}
	}
	return true
}

func (h *Histogram) clone() *Histogram {
	c := *h
	c.Counts = append([]uint64(nil), h.Counts...)
	c.Native = make(map[int32]uint64, len(h.Native))
	for i, n := range h.Native {
		c.Native[i] = n
	}
	return &c
}

// nativeIndex is the smallest i with v <= 2^(i/4).
func nativeIndex(v float64) int32 {
	frac, exp := math.Frexp(v) // v = frac * 2^exp, 0.5 <= frac < 1
	// 0.5 * 2^(k/4), the bounds within the octave.
	bounds := [1 << NativeSchema]float64{0.5, 0.5946035575013605, 0.7071067811865475, 0.8408964152537144}
	index := int32(exp-1) * int32(len(bounds))
	for _, bound := range bounds {
		if frac <= bound {
			return index
		}
		index++
	}
	return index
}
