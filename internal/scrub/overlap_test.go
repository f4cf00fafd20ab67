package scrub

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

const clean = ceph.StateActive | ceph.StateClean

// sets is a table whose sets are given; PGs name them by index.
func sets(all [][]int32, pgs ...ceph.PG) *ceph.PGTable {
	t := table(pgs...)
	t.Sets = all
	return t
}

func at(state ceph.State, up, acting ceph.SetID) func(*ceph.PG) {
	return func(p *ceph.PG) { p.State, p.Up, p.Acting = state, up, acting }
}

func TestOverlapIsWhereAScrubAndARecoveryShareAnOSD(t *testing.T) {
	all := [][]int32{{}, {1, 2, 3}, {3, 4, 6}, {3, 4, 5}, {7, ceph.NoOSD, 8}, {8, 9, ceph.NoOSD}}
	const scrubbing, backfilling = clean | ceph.StateScrubbing | ceph.StateDeep, ceph.StateActive | ceph.StateRemapped | ceph.StateBackfilling
	for name, c := range map[string]struct {
		table *ceph.PGTable
		want  Overlap
	}{
		"one OSD scrubs and is read from for a backfill": {
			sets(all, pg(1, 1, at(scrubbing, 1, 1)), pg(2, 7, at(backfilling, 2, 3))),
			Overlap{Recovering: map[int32]int{3: 1, 4: 1, 5: 1, 6: 1}, OSDs: 1, PGs: [3]int{DoingScrub: 1, DoingRecovery: 1}},
		},
		"PGs that wait are not at work": {
			sets(all, pg(1, 1, at(scrubbing, 1, 1)), pg(2, 7, at(ceph.StateActive|ceph.StateRemapped|ceph.StateBackfillWait|ceph.StateForcedBackfill, 2, 3)),
				pg(2, 8, at(ceph.StateActive|ceph.StateDegraded|ceph.StateRecoveryWait, 3, 3)), pg(2, 9, at(ceph.StateActive|ceph.StateBackfillTooFull, 3, 3)),
				pg(2, 10, at(clean|ceph.StateRemapped, 2, 3))),
			Overlap{Recovering: map[int32]int{}},
		},
		"a PG that does both meets itself": {
			sets(all, pg(1, 1, at(ceph.StateActive|ceph.StateScrubbing|ceph.StateRecovering, 1, 1))),
			Overlap{Recovering: map[int32]int{1: 1, 2: 1, 3: 1}, OSDs: 3, PGs: [3]int{DoingBoth: 1}},
		},
		"work on other OSDs is no overlap": {
			sets(all, pg(1, 1, at(scrubbing, 1, 1)), pg(3, 0, at(ceph.StateActive|ceph.StateRecovering, 5, 5))),
			Overlap{Recovering: map[int32]int{8: 1, 9: 1}},
		},
		"a shard without an OSD is nobody": {
			sets(all, pg(3, 0, at(scrubbing, 4, 4)), pg(3, 1, at(ceph.StateActive|ceph.StateRecovering, 5, 5)), pg(3, 2, at(scrubbing, 1, 1))),
			Overlap{Recovering: map[int32]int{8: 1, 9: 1}, OSDs: 1, PGs: [3]int{DoingScrub: 1, DoingRecovery: 1}},
		},
		"a PG that the mgr has no report of does nothing": {
			sets(all, pg(1, 1, at(ceph.StateUnknown, 1, 1)), pg(2, 7, at(backfilling, 2, 3))),
			Overlap{Recovering: map[int32]int{3: 1, 4: 1, 5: 1, 6: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, FindOverlap(c.table)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
