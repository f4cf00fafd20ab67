package forecast

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

var testNow = time.Date(2026, 11, 30, 12, 7, 0, 0, time.UTC)

const second = int64(1e6)

// tiny makes up a cluster small enough to be simulated second by second, in
// which nothing is left to chance: no coins, no random part in intervals.
func tiny(rng *rand.Rand, release int) *Input {
	osds := 1 + rng.IntN(5)
	in := &Input{
		Now: testNow, Release: release, Location: time.UTC, Measured: Measured{},
		Table: &ceph.PGTable{Ready: true, Sets: [][]int32{{}}},
		Map:   &ceph.OSDMap{},
		Mgr:   scrub.Intervals{Interval: [2]float64{900, 1200}, WarnRatio: [2]float64{0.5, 0.25}},
		DefaultOptions: Options{
			MaxScrubs: 1 + rng.IntN(3), MinInterval: float64(200 + rng.IntN(600)), MaxInterval: float64(rng.IntN(3) * 700),
			DeepInterval: float64(300 + rng.IntN(1200)),
		},
	}
	if rng.IntN(2) == 0 {
		in.DefaultOptions.BeginHour, in.DefaultOptions.EndHour = 12+rng.IntN(2), 13+rng.IntN(2)
	}
	if rng.IntN(3) == 0 {
		in.Map.Flags = []string{[]string{"noscrub", "nodeep-scrub"}[rng.IntN(2)]}
	}
	for pool := range int32(1 + rng.IntN(2)) {
		p := ceph.Pool{ID: pool, Size: 1 + rng.IntN(min(3, osds))}
		if rng.IntN(3) == 0 {
			v := float64(300 + rng.IntN(900))
			p.Options.DeepScrubInterval = &v
		}
		in.Map.Pools = append(in.Map.Pools, p)
		for seed := range uint32(2 + rng.IntN(9)) {
			in.addTiny(rng, p, seed, osds)
		}
	}
	return in
}

func (in *Input) addTiny(rng *rand.Rand, p ceph.Pool, seed uint32, osds int) {
	set := make([]int32, 0, p.Size)
	for _, o := range rng.Perm(osds)[:p.Size] {
		set = append(set, int32(o))
	}
	in.Table.Sets = append(in.Table.Sets, set)
	id := ceph.SetID(len(in.Table.Sets) - 1)
	deep := ceph.StampOf(testNow) - ceph.Stamp(rng.Int64N(2000)*second)
	pg := ceph.PG{
		ID: ceph.PGID{Pool: p.ID, Seed: seed}, State: ceph.StateActive | ceph.StateClean,
		LastDeepScrub: deep, LastScrub: min(ceph.StampOf(testNow), deep+ceph.Stamp(rng.Int64N(600)*second)),
		LastChange: ceph.NoStamp, ScheduleAt: ceph.NoStamp, LastScrubSeconds: -1,
		Up: id, Acting: id, UpPrimary: set[0], ActingPrimary: set[0],
	}
	switch rng.IntN(12) {
	case 0:
		pg.State |= ceph.StateBackfilling
		pg.State &^= ceph.StateClean
	case 1:
		pg.DeepErrors = 1
	}
	in.Table.PGs = append(in.Table.PGs, pg)
	in.Measured[pg.ID] = [2]float64{float64(1 + rng.IntN(60)), float64(30 + rng.IntN(200))}
}

// brute is a scheduler that walks every second and every PG, written without
// queues, events or wake-ups.
type brute struct {
	in           *Input
	now          int64 // seconds
	pgs          []brutePG
	local        map[int32]int
	remote       map[int32]int
	queue        map[int32][]int // PGs that wait at a replica, from 19 on
	recoveryEnds int64
}

type brutePG struct {
	pg        *ceph.PG
	primary   int32
	replicas  []int32
	last      [2]int64
	running   bool
	reserving int // replicas still to ask, -1 when it runs
	level     scrub.Level
	ends      int64
	min, max  int64
	deep      int64
	warn      [2]int64
	recovers  bool
	ok        [2]bool
}

func newBrute(in *Input, recoveryEnds int64) *brute {
	b := &brute{in: in, local: map[int32]int{}, remote: map[int32]int{}, queue: map[int32][]int{}, recoveryEnds: recoveryEnds}
	o := in.DefaultOptions
	for i := range in.Table.PGs {
		pg := &in.Table.PGs[i]
		set := in.Table.Set(pg.Acting)
		pool := in.Map.Pools[pg.ID.Pool]
		p := brutePG{pg: pg, primary: set[0], replicas: slices.Sorted(slices.Values(set[1:])),
			min: int64(o.MinInterval), max: int64(o.MaxInterval), deep: int64(o.DeepInterval), recovers: !pg.State.Has(ceph.StateClean),
			last: [2]int64{int64(pg.LastScrub-ceph.StampOf(in.Now)) / second, int64(pg.LastDeepScrub-ceph.StampOf(in.Now)) / second}}
		p.warn = [2]int64{1350, 1500}
		if v := pool.Options.DeepScrubInterval; v != nil {
			p.deep = int64(*v)
			p.warn[1] = int64(*v * 1.25 * 1e6)
		} else {
			p.warn[1] *= second
		}
		p.warn[0] *= second
		p.ok = [2]bool{!in.Map.HasFlag("noscrub"), !in.Map.HasFlag("nodeep-scrub")}
		if in.Release < 19 && !p.ok[1] && pg.DeepErrors > 0 {
			p.ok[0] = false
		}
		b.pgs = append(b.pgs, p)
	}
	return b
}

func (b *brute) free(osd int32, primary bool) bool {
	n := b.in.DefaultOptions.MaxScrubs
	if b.in.Release < 19 {
		return b.local[osd]+b.remote[osd] < n
	}
	if primary {
		return b.local[osd] < n
	}
	return b.remote[osd] < n
}

func (b *brute) open() bool {
	o := b.in.DefaultOptions
	return permits(o.BeginHour, o.EndHour, b.in.Now.Add(time.Duration(b.now)*time.Second).Hour())
}

func (b *brute) recovering(osd int32) bool {
	if b.now >= b.recoveryEnds {
		return false
	}
	for i := range b.pgs {
		if p := &b.pgs[i]; p.recovers && (p.primary == osd || slices.Contains(p.replicas, osd)) {
			return true
		}
	}
	return false
}

// wants lists when the PG's targets are due; up to 19 the one job stands at
// shallow.
func (b *brute) wants(p *brutePG) (due [2]int64, is [2]bool) {
	due = [2]int64{p.last[0] + p.min, p.last[1] + p.deep}
	is = p.ok
	if b.in.Release < 20 {
		is[1] = false
		if !p.ok[0] && p.ok[1] {
			due[0], is[0] = max(due[0], due[1]), true
		}
	}
	return due, is
}

// step is one second: what ends, then each OSD begins one scrub at most.
func (b *brute) step() {
	for i := range b.pgs {
		p := &b.pgs[i]
		if !p.running || p.reserving >= 0 || p.ends != b.now {
			continue
		}
		p.running = false
		p.last[0] = b.now
		if p.level == scrub.Deep {
			p.last[1] = b.now
		}
		b.local[p.primary]--
		for _, r := range p.replicas {
			b.remote[r]--
			b.grant(r)
		}
	}
	osds := map[int32]bool{}
	for i := range b.pgs {
		osds[b.pgs[i].primary] = true
	}
	for osd := int32(0); osd < 5; osd++ {
		if osds[osd] && b.free(osd, true) && !b.recovering(osd) && !b.isReserving(osd) {
			b.begin(osd)
		}
	}
}

func (b *brute) isReserving(osd int32) bool {
	for i := range b.pgs {
		if p := &b.pgs[i]; p.running && p.reserving >= 0 && p.primary == osd {
			return true
		}
	}
	return false
}

// grant lets the first PG that waits for the replica go on.
func (b *brute) grant(r int32) {
	for len(b.queue[r]) > 0 && b.free(r, false) {
		i := b.queue[r][0]
		b.queue[r] = b.queue[r][1:]
		b.remote[r]++
		b.pgs[i].reserving++
		b.reserve(i)
	}
}

func (b *brute) reserve(i int) {
	p := &b.pgs[i]
	for ; p.reserving < len(p.replicas); p.reserving++ {
		r := p.replicas[p.reserving]
		if len(b.queue[r]) > 0 || !b.free(r, false) {
			b.queue[r] = append(b.queue[r], i)
			return
		}
		b.remote[r]++
	}
	p.reserving = -1
	p.ends = b.now + int64(b.in.Measured[p.pg.ID][p.level])
}

// begin starts the OSD's most urgent scrub that can be started.
func (b *brute) begin(osd int32) {
	type candidate struct {
		pg    int
		level int
		due   int64
	}
	var all []candidate
	for i := range b.pgs {
		p := &b.pgs[i]
		if p.primary != osd || p.running || p.recovers && b.now < b.recoveryEnds {
			continue
		}
		due, is := b.wants(p)
		for l := range due {
			if !is[l] || due[l] > b.now {
				continue
			}
			if !b.open() && (b.in.Release >= 20 || p.max <= 0 || p.last[0]+p.max >= b.now) {
				continue
			}
			all = append(all, candidate{i, l, due[l]})
		}
	}
	slices.SortFunc(all, func(x, y candidate) int {
		switch {
		case x.due != y.due:
			return int(x.due - y.due)
		case x.level != y.level:
			return y.level - x.level
		}
		return x.pg - y.pg
	})
	for _, c := range all {
		p := &b.pgs[c.pg]
		blocked := slices.ContainsFunc(p.replicas, func(r int32) bool { return !b.free(r, false) })
		if b.in.Release < 19 && blocked {
			if b.in.Release < 17 {
				return // it insists on the oldest
			}
			continue
		}
		p.running, p.reserving, p.level = true, 0, scrub.Level(c.level)
		if b.in.Release < 20 && p.ok[1] && (b.now >= p.last[1]+p.deep || p.pg.DeepErrors > 0) {
			p.level = scrub.Deep
		}
		b.local[osd]++
		b.reserve(c.pg)
		return
	}
}

// late counts late PGs by pool and level at the end of the present second.
func (b *brute) late() map[int32][2]int {
	out := map[int32][2]int{}
	for i := range b.pgs {
		p := &b.pgs[i]
		n := out[p.pg.ID.Pool]
		for l := range p.last {
			if (b.now-p.last[l])*second > p.warn[l] {
				n[l]++
			}
		}
		out[p.pg.ID.Pool] = n
	}
	return out
}

// On clusters small enough to walk through second by second, the walk and the
// simulation count the same PGs late at every minute of an hour and a half.
func TestBruteForceSchedulerAgreesExactly(t *testing.T) {
	late, scrubs := 0, 0.0
	for _, release := range []int{16, 17, 18, 19, 20} {
		for k := range 40 {
			in := tiny(rand.New(rand.NewPCG(uint64(release), uint64(k))), release)
			recoveryEnds := int64(1) << 40
			run := Run{Seeds: 1, RecoveryEnds: -1}
			if k%3 == 0 {
				recoveryEnds, run.RecoveryEnds = 1000, 1000*time.Second
			}
			for m := 1; m <= 90; m++ {
				run.Horizons = append(run.Horizons, time.Duration(m)*time.Minute)
			}
			f, err := Simulate(in, run)
			if err != nil {
				t.Fatal(err)
			}
			scrubs += f.Total[0].ScrubsPerDay/16 + f.Total[1].ScrubsPerDay/16
			b := newBrute(in, recoveryEnds)
			var want, got []string
			for ; b.now <= 90*60; b.now++ {
				b.step()
				if b.now == 0 || b.now%60 != 0 {
					continue
				}
				h := int(b.now/60) - 1
				for pool, n := range b.late() {
					late += n[0] + n[1]
					for l := range n {
						want = append(want, fmt.Sprintf("pool %d %s after %2d min: %d late", pool, scrub.Level(l), h+1, n[l]))
						got = append(got, fmt.Sprintf("pool %d %s after %2d min: %d late", pool, scrub.Level(l), h+1, int(f.Pools[pool][l].Late[h].Mean)))
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("release %d, cluster %d (-walk +simulation):\n%s", release, k, diff)
			}
		}
	}
	if late < 10000 || scrubs < 5000 {
		t.Errorf("too little to compare: %d late PGs, %.0f scrubs", late, scrubs)
	}
	t.Logf("%d late PGs and %.0f scrubs in all", late, scrubs)
}
