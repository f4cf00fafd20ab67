package scrub

import (
	"cmp"
	"slices"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// SeriesLimit decides which PGs have series of their own. Up to Limit PGs all
// of them have; above it only the Top PGs per pool with the highest deep-scrub
// age (within a pool that is also the order in units of their interval). Both bounds have some hysteresis, so that
// series do not come and go: the limit is left again at nine tenths, and a PG
// leaves the top only when it drops below twice that rank.
type SeriesLimit struct {
	Limit, Top int

	limited bool
	chosen  map[ceph.PGID]bool
}

// Select returns the indices of the table's PGs that have series, ascending,
// and how many PGs with an age have none. PGs without a dated deep-scrub stamp
// have no age and so neither a series nor a place among the dropped.
func (s *SeriesLimit) Select(t *ceph.PGTable) (chosen []int32, dropped int) {
	n := len(t.PGs)
	s.limited = n > s.Limit || (s.limited && n > s.Limit-s.Limit/10)
	if !s.limited {
		s.chosen = nil
		chosen = make([]int32, 0, n)
		for i := range t.PGs {
			if hasAge(&t.PGs[i]) {
				chosen = append(chosen, int32(i))
			}
		}
		return chosen, 0
	}
	next := make(map[ceph.PGID]bool)
	for begin := 0; begin < n; {
		end := begin + 1
		for end < n && t.PGs[end].ID.Pool == t.PGs[begin].ID.Pool {
			end++
		}
		ranked := rank(t, begin, end)
		kept := 0
		for r, i := range ranked {
			if r >= 2*s.Top {
				break
			}
			if id := t.PGs[i].ID; r < s.Top || s.chosen[id] {
				next[id] = true
				chosen = append(chosen, i)
				kept++
			}
		}
		dropped += len(ranked) - kept
		begin = end
	}
	s.chosen = next
	slices.Sort(chosen)
	return chosen, dropped
}

// rank returns the indices of one pool's PGs with an age, the highest first.
// Within a pool the interval is the same, so the age itself ranks.
func rank(t *ceph.PGTable, begin, end int) []int32 {
	out := make([]int32, 0, end-begin)
	for i := begin; i < end; i++ {
		if hasAge(&t.PGs[i]) {
			out = append(out, int32(i))
		}
	}
	slices.SortFunc(out, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.PGs[a].LastDeepScrub, t.PGs[b].LastDeepScrub), t.PGs[a].ID.Compare(t.PGs[b].ID))
	})
	return out
}

func hasAge(pg *ceph.PG) bool {
	return pg.LastDeepScrub.Dated() && !pg.State.Has(ceph.StateUnknown)
}
