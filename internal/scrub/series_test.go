package scrub

import (
	"slices"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// aged returns n PGs of pool 1, whose ages rank them in the order of their seed
// shifted by rotate, and three of pool 2, one without a date.
func aged(n, rotate int) *ceph.PGTable {
	var pgs []ceph.PG
	for i := range n {
		rank := (i + n - rotate) % n // 0: the oldest
		pgs = append(pgs, pg(1, uint32(i), func(p *ceph.PG) { p.LastDeepScrub = ago(float64(10000 - rank)) }))
	}
	pgs = append(pgs, pg(2, 0, nil), pg(2, 1, func(p *ceph.PG) { p.LastDeepScrub = 0 }),
		pg(2, 2, func(p *ceph.PG) { p.State = ceph.StateUnknown }))
	return table(pgs...)
}

func TestSeriesLimitHasHysteresis(t *testing.T) {
	s := &SeriesLimit{Limit: 100, Top: 10}
	for _, step := range []struct{ n, series, dropped int }{
		{97, 98, 0},  // 100 PGs in all, two of them without an age
		{98, 11, 88}, // over the limit: the top 10 of pool 1 and all of pool 2
		{97, 11, 87},
		{88, 11, 78},
		{87, 88, 0}, // at nine tenths of the limit
		{97, 98, 0},
	} {
		got, dropped := s.Select(aged(step.n, 0))
		if len(got) != step.series || dropped != step.dropped || !slices.IsSorted(got) {
			t.Errorf("%d PGs: %d series (sorted %v), %d dropped, want %d, %d", step.n, len(got), slices.IsSorted(got), dropped, step.series, step.dropped)
		}
	}
}

func TestTopPGLeavesOnlyBelowTwiceItsRank(t *testing.T) {
	s := &SeriesLimit{Limit: 1, Top: 10}
	seeds := func(tab *ceph.PGTable) []uint32 {
		chosen, dropped := s.Select(tab)
		var out []uint32
		for _, i := range chosen {
			if tab.PGs[i].ID.Pool == 1 {
				out = append(out, tab.PGs[i].ID.Seed)
			}
		}
		if len(out)+dropped != 200 {
			t.Errorf("%d series and %d dropped of 200", len(out), dropped)
		}
		return out
	}
	span := func(from, to uint32) (out []uint32) {
		for i := from; i < to; i++ {
			out = append(out, i)
		}
		return out
	}
	if got := seeds(aged(200, 0)); !slices.Equal(got, span(0, 10)) {
		t.Errorf("at first: %v", got)
	}
	// Ten older PGs come in: the first ten drop to ranks 10 to 19 and stay.
	if got := seeds(aged(200, 190)); !slices.Equal(got, append(span(0, 10), span(190, 200)...)) {
		t.Errorf("shifted by ten: %v", got)
	}
	// One more: the last of them is at rank 20 and leaves.
	if got := seeds(aged(200, 189)); !slices.Equal(got, append(span(0, 9), span(189, 200)...)) {
		t.Errorf("shifted by eleven: %v", got)
	}
}
