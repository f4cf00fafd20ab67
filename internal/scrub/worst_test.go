package scrub

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Of each pool and level those longest without scrub, the oldest first and equal
// ones by their id; with the reason of late ones that are blocked.
func TestWorstPGsAreTheOldestOfEachPoolAndLevel(t *testing.T) {
	aged := func(shallow, deep float64) func(*ceph.PG) {
		return func(p *ceph.PG) { p.LastScrub, p.LastDeepScrub = ago(shallow), ago(deep) }
	}
	tab := table(
		pg(1, 0, aged(10, 300)),
		pg(1, 1, aged(2e6, 2e6)), // late at both levels
		pg(1, 2, aged(30, 300)),
		pg(1, 3, aged(20, 400)),
		pg(1, 4, func(p *ceph.PG) { p.LastScrub, p.LastDeepScrub = 0, ceph.NoStamp }),
		pg(1, 5, func(p *ceph.PG) { p.LastDeepScrub, p.State = ago(1e7), ceph.StateUnknown }),
		pg(2, 0, aged(-5, 1)), // ahead of the clock
		pg(3, 0, func(p *ceph.PG) { p.LastScrub, p.LastDeepScrub = 0, 0 }),
	)
	rule := NewRule(defaults, map[int32]PoolIntervals{1: {}, 2: {}, 3: {}})
	gates := Gates{NoScrub: [2]bool{Deep: true}, PoolNoScrub: map[int32][2]bool{1: {}, 2: {}, 3: {}}}
	for n, want := range map[int][]string{
		0: nil,
		1: {"1.1 shallow", "1.1 deep flag", "2.0 shallow", "2.0 deep"},
		3: {"1.1 shallow", "1.2 shallow", "1.3 shallow", "1.1 deep flag", "1.3 deep", "1.0 deep", "2.0 shallow", "2.0 deep"},
		9: {"1.1 shallow", "1.2 shallow", "1.3 shallow", "1.0 shallow", "1.1 deep flag", "1.3 deep", "1.0 deep", "1.2 deep", "2.0 shallow", "2.0 deep"},
	} {
		var got []string
		for _, w := range FindLate(tab, rule, gates, testNow, n).Worst {
			text := fmt.Sprintf("%s %s", w.PG.ID, w.Level)
			if w.Blocked {
				text += " " + w.Reason.String()
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
	}
}
