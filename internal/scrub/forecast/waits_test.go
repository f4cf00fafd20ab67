package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// waiting is a release 20 whose scrubs' durations hold waits: of pool 1 both
// levels are known, of pool 2 the deep one and a single shallow scrub, of pool 3
// (erasure-coded) the deep one, and pool 4 is on disks of a third of the pace.
// Three of four scrubs have waited, on average twelve seconds.
func waiting(rng *rand.Rand, work func(pg *ceph.PG) float64) *Input {
	in := &Input{
		Now: testNow, Release: 20,
		Table: &ceph.PGTable{Ready: true, Sets: [][]int32{{}}},
		Map: &ceph.OSDMap{Pools: []ceph.Pool{
			{ID: 1, Type: ceph.PoolReplicated}, {ID: 2, Type: ceph.PoolReplicated},
			{ID: 3, Type: ceph.PoolErasure, ErasureProfile: "k2m1", CrushRule: 1}, {ID: 4, Type: ceph.PoolReplicated},
		}},
	}
	for pool := int32(1); pool <= 4; pool++ {
		for seed := range uint32(200) {
			objects := 5 + rng.Int64N(25)
			pg := ceph.PG{ID: ceph.PGID{Pool: pool, Seed: seed}, State: ceph.StateActive | ceph.StateClean, Objects: objects, Bytes: 4096 * objects}
			pg.LastScrub = ceph.StampOf(testNow.Add(-time.Duration(1+rng.IntN(100000)) * time.Second))
			pg.LastDeepScrub = pg.LastScrub
			if shallow := pool == 1 && seed%2 == 0 || pool == 2 && seed == 0; shallow {
				pg.LastDeepScrub -= 1e9
			}
			took := work(&pg)
			if pool == 4 {
				took *= 3
			}
			if rng.IntN(4) > 0 {
				took += 12 * rng.ExpFloat64()
			}
			pg.ScrubDuration, pg.LastScrubSeconds = float32(took), int32(math.Ceil(took))
			in.Table.PGs = append(in.Table.PGs, pg)
		}
	}
	return in
}

// means are the mean durations in use by pool, in seconds.
func means(in *Input, l scrub.Level) map[int32]float64 {
	took, _ := in.durations()
	out := make(map[int32]float64)
	for i := range in.Table.PGs {
		out[in.Table.PGs[i].ID.Pool] += float64(took[l][i]) / 1e6 / 200
	}
	return out
}

func TestWorkIsFoundUnderWaits(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			in := waiting(rand.New(rand.NewPCG(seed, 1)), func(pg *ceph.PG) float64 { return 1 + 0.4*float64(pg.Objects) })
			want := make(map[int32]float64)
			for i := range in.Table.PGs {
				pg := &in.Table.PGs[i]
				w := (1 + 0.4*float64(pg.Objects)) / 200
				if pg.ID.Pool == 4 {
					w *= 3
				}
				want[pg.ID.Pool] += w
			}
			for _, l := range scrub.Levels {
				for pool, got := range means(in, l) {
					if l == scrub.Shallow && pool == 4 {
						continue // without a measure it has the pace of those alike
					}
					if math.Abs(got/want[pool]-1) > 0.2 {
						t.Errorf("pool %d, %s: %.2f s in the mean, their work %.2f s", pool, l, got, want[pool])
					}
				}
			}
		})
	}
}

func TestScrubsThatAllSlowedDownAreTakenAlone(t *testing.T) {
	in := waiting(rand.New(rand.NewPCG(3, 1)), func(pg *ceph.PG) float64 {
		pace := 0.1
		if pg.LastScrub > ceph.StampOf(testNow.Add(-30000*time.Second)) { // three of ten
			pace = 1
		}
		return pace * (1 + 0.4*float64(pg.Objects))
	})
	if got := means(in, scrub.Deep)[1]; got < 6 || got > 10 {
		t.Errorf("%.1f s in the mean, of 1.8 to 13 s at the pace of the latest, and a tenth before", got)
	}
}

// Among the lines that minimize the sum one goes through two points, or through
// one with a part that is zero: they are all tried here.
func TestQuantileIsTheBestLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		points := make([]point, 1+rng.IntN(12))
		for i := range points {
			points[i] = point{size: float64(rng.IntN(30)), took: 1 + 0.3*float64(rng.IntN(60))}
		}
		const share = 0.1
		sum := func(l line) (s float64) {
			if l.fixed < 0 || l.slope < 0 {
				return math.Inf(1)
			}
			for _, q := range points {
				d := q.took - l.at(q.size)
				s += max(share*d, (share-1)*d)
			}
			return s
		}
		best := math.Inf(1)
		for _, a := range points {
			best = min(best, sum(line{a.took, 0}))
			if a.size > 0 {
				best = min(best, sum(line{0, a.took / a.size}))
			}
			for _, b := range points {
				if a.size != b.size {
					slope := (a.took - b.took) / (a.size - b.size)
					best = min(best, sum(line{a.took - slope*a.size, slope}))
				}
			}
		}
		got, ok := quantile(points, share)
		if d := sum(got) - best; !ok || d > 1e-6 {
			t.Fatalf("%+v: %+v is %g from the best", points, got, d)
		}
	}
	if l, ok := quantile(nil, 0.1); ok || l != (line{}) {
		t.Errorf("of nothing: %+v, %t", l, ok)
	}
	// No wait is in one of six: the line is the one of the work.
	var points []point
	for i := range 600 {
		q := point{size: float64(i % 50), took: 2 + 0.5*float64(i%50)}
		if i%6 > 0 {
			q.took += float64(i%7) * 3
		}
		points = append(points, q)
	}
	got, _ := quantile(points, 0.1)
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
	if diff := cmp.Diff(line{2, 0.5}, got, cmp.AllowUnexported(line{}), near); diff != "" {
		t.Error(diff)
	}
}

func TestSlowerScrubsAreToldFromScrubsThatWaited(t *testing.T) {
	for _, tt := range []struct {
		name string
		took []float64 // the latest first; of work for which one second was expected
		want int
	}{
		{"five of another pace", []float64{44, 11, 63, 35, 46, 2.1, 1.2, 1, 1.1, 1.3, 1.8, 3.2, 0.9, 1, 1.6, 1.7, 1.4, 1.4, 1.3, 1.4, 2.9, 4.2, 1.3, 2.2, 1, 1.2, 3.8, 2.9}, 5},
		{"five that waited", []float64{3.1, 2.7, 4.4, 6.1, 3.3, 1, 1.2, 2.7, 5.1, 1, 3.4, 1.4, 1.9, 7.2, 1.1, 2.8, 4.5, 1, 2.1, 1.6, 3.9, 1.3, 6.4, 1.8}, 0},
		{"most of another pace", []float64{9, 8, 17, 8, 8, 38, 15, 9, 8, 39, 58, 8, 11, 15, 16, 1.2, 1.1, 3, 1}, 15},
		{"two", []float64{50, 60}, 0},
		{"none", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var points []point
			for _, s := range tt.took {
				points = append(points, point{took: s})
			}
			if got := slower(points, line{fixed: 1}); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}
