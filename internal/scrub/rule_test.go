package scrub

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

var testNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// ago returns the stamp that many seconds before testNow.
func ago(seconds float64) ceph.Stamp {
	return ceph.StampOf(testNow) - ceph.Stamp(seconds*1e6)
}

func pg(pool int32, seed uint32, change func(*ceph.PG)) ceph.PG {
	p := ceph.PG{
		ID: ceph.PGID{Pool: pool, Seed: seed}, State: ceph.StateActive | ceph.StateClean,
		LastScrub: ago(3600), LastDeepScrub: ago(7200), LastCleanScrub: ago(3600), LastChange: ago(3600),
		ScheduleAt: ceph.NoStamp, Bytes: 1000, Objects: 10, ObjectsScrubbed: -1, LastScrubSeconds: -1,
	}
	if change != nil {
		change(&p)
	}
	return p
}

func table(pgs ...ceph.PG) *ceph.PGTable {
	return &ceph.PGTable{Ready: true, PGs: pgs, Sets: [][]int32{{0, 1, 2}, {1, ceph.NoOSD, 2}}}
}

var defaults = Intervals{Interval: [2]float64{604800, 604800}, WarnRatio: [2]float64{0.5, 0.75}}

// Ceph's rule with pool options: an option counts only when above zero, deep
// uses deep_scrub_interval and ratio 0.75, shallow scrub_max_interval and 0.5,
// and the comparison is strict.
func TestLateIsStrictAndPoolOptionsWinWhenAboveZero(t *testing.T) {
	rule := NewRule(defaults, map[int32]PoolIntervals{
		1: {}, 2: {Shallow: 86400, Deep: 1209600}, 3: {Shallow: 0, Deep: 0}, 4: {Shallow: -5, Deep: -1},
	})
	off := defaults
	off.WarnRatio = [2]float64{}
	for _, c := range []struct {
		rule  *Rule
		pool  int32
		level Level
		age   float64
		want  bool
	}{
		{rule, 1, Deep, 1058399, false}, {rule, 1, Deep, 1058400, false}, {rule, 1, Deep, 1058400.000001, true}, {rule, 1, Deep, 1058401, true},
		{rule, 2, Deep, 1058401, false}, {rule, 2, Deep, 2116799, false}, {rule, 2, Deep, 2116800, false}, {rule, 2, Deep, 2116801, true},
		{rule, 3, Deep, 1058399, false}, {rule, 3, Deep, 1058400.000001, true}, {rule, 4, Deep, 1058400, false}, {rule, 4, Deep, 1058401, true},
		{rule, 1, Shallow, 907200, false}, {rule, 1, Shallow, 907200.000001, true},
		{rule, 2, Shallow, 129600, false}, {rule, 2, Shallow, 129601, true},
		{rule, 4, Shallow, 907200, false}, {rule, 4, Shallow, 907201, true},
		{rule, 9, Deep, 1e9, false}, // no such pool: Ceph passes it over
		{NewRule(off, map[int32]PoolIntervals{1: {}}), 1, Deep, 1e8, false},
		{NewRule(off, map[int32]PoolIntervals{1: {}}), 1, Shallow, 1e8, false},
	} {
		p := pg(c.pool, 0, func(p *ceph.PG) {
			if c.level == Deep {
				p.LastDeepScrub = ago(c.age)
			} else {
				p.LastScrub = ago(c.age)
			}
		})
		if got := c.rule.Late(&p, c.level, testNow); got != c.want {
			t.Errorf("pool %d %s age %f: late %v, want %v", c.pool, c.level, c.age, got, c.want)
		}
	}
}

// An interval raised for the OSDs only leaves Ceph's warning in place: both
// views are counted, each under its own name.
func TestLateByTheMgrAndByTheOSDsIntervalAreKeptApart(t *testing.T) {
	pools := map[int32]PoolIntervals{1: {}, 2: {Deep: 604800}}
	raised := defaults
	raised.Interval[Deep] = 1209600
	osdRule := NewRule(raised, pools)
	rules := Rules{Mgr: NewRule(defaults, pools), OSD: func(osd int32) *Rule {
		if osd == 7 {
			return nil // not heard of yet
		}
		return osdRule
	}}
	got := Summarise(table(
		pg(1, 0, func(p *ceph.PG) { p.LastDeepScrub = ago(1123200) }),
		pg(1, 1, func(p *ceph.PG) { p.LastDeepScrub = ago(2116801) }),
		pg(1, 2, func(p *ceph.PG) { p.LastDeepScrub = ago(2116801); p.ActingPrimary = 7 }),
		pg(2, 0, func(p *ceph.PG) { p.LastDeepScrub = ago(1123200) }), // the pool's own option rules for both
	), rules, testNow)
	if d := got[1].Level[Deep]; d.Late != 3 || d.LateByOSDInterval != 1 {
		t.Errorf("pool 1: late %d, by the OSDs' interval %d, want 3 and 1", d.Late, d.LateByOSDInterval)
	}
	if d := got[2].Level[Deep]; d.Late != 1 || d.LateByOSDInterval != 1 {
		t.Errorf("pool 2: late %d, by the OSDs' interval %d, want 1 and 1", d.Late, d.LateByOSDInterval)
	}
}

func TestSummaryCountsEveryPGOnceAndInventsNothing(t *testing.T) {
	rules := Rules{Mgr: NewRule(defaults, map[int32]PoolIntervals{5: {}})}
	const week = 604800.0
	got := Summarise(table(
		pg(5, 0, func(p *ceph.PG) { p.LastDeepScrub = 0 }),                             // "0.000000": late, no age
		pg(5, 1, func(p *ceph.PG) { p.LastDeepScrub = 12_500_000 }),                    // "12.500000": likewise
		pg(5, 2, func(p *ceph.PG) { p.LastDeepScrub = ceph.BadStamp }),                 // not judged
		pg(5, 3, func(p *ceph.PG) { p.LastDeepScrub = ceph.NoStamp }),                  // not judged
		pg(5, 4, func(p *ceph.PG) { p.LastDeepScrub = ago(-60) }),                      // ahead of the clock
		pg(5, 5, func(p *ceph.PG) { p.LastDeepScrub = ago(week * 1.3); p.Bytes = -1 }), // overdue
		pg(5, 6, func(p *ceph.PG) { p.LastDeepScrub = ago(week * 1.76) }),              // late
		pg(5, 7, func(p *ceph.PG) { p.LastDeepScrub = ago(week * 4); p.Bytes = -1 }),   // late, size unknown
		pg(5, 8, func(p *ceph.PG) { p.State = ceph.StateUnknown; p.LastDeepScrub = ago(week * 9); p.DeepErrors = 5 }),
		pg(5, 9, func(p *ceph.PG) { p.ShallowErrors, p.DeepErrors = 2, 3 }),
		pg(5, 10, func(p *ceph.PG) { p.ShallowErrors, p.DeepErrors = -1, -1 }),
		pg(6, 0, func(p *ceph.PG) { p.LastDeepScrub = ago(week * 4) }), // no such pool
	), rules, testNow)
	want := map[int32]*PoolSummary{
		5: {PGs: 11, Unknown: 1, Level: [2]LevelSummary{
			Shallow: {Oldest: ago(3600), Errors: 2},
			Deep: {
				Late: 4, Overdue: 5, BytesLate: 3000, BytesUnknown: 1,
				Older: [...]int{5, 5, 5, 4, 4, 3, 3}, LateWithin: [...]int{4, 4, 5},
				Oldest: ago(week * 4), Unset: 2, Unreadable: 2, InFuture: 1, Errors: 3,
			},
		}},
		6: {PGs: 1, Level: [2]LevelSummary{Shallow: {Oldest: ago(3600)}, Deep: {Oldest: ago(week * 4)}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAgeIsWholeSecondsNeverNegativeAndAbsentWithoutADate(t *testing.T) {
	for name, c := range map[string]struct {
		stamp ceph.Stamp
		state ceph.State
		want  float64
		ok    bool
	}{
		"plain":      {ago(100.9), 0, 100, true},
		"future":     {ago(-3600), 0, 0, true},
		"unset":      {0, 0, 0, false},
		"missing":    {ceph.NoStamp, 0, 0, false},
		"unreadable": {ceph.BadStamp, 0, 0, false},
		"unknown":    {ago(100), ceph.StateUnknown, 0, false},
	} {
		p := pg(1, 0, func(p *ceph.PG) { p.LastDeepScrub = c.stamp; p.State = c.state })
		if got, ok := Age(&p, Deep, testNow); got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v, want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
}
