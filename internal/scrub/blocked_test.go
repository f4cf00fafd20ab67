package scrub

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// One late PG in each case: the first reason that applies counts, alone.
func TestALatePGIsBlockedByTheFirstReasonThatApplies(t *testing.T) {
	const (
		other      = 0x10 // seed of the PG that is not late
		recovering = ceph.StateActive | ceph.StateDegraded | ceph.StateRecovering
		backfill   = ceph.StateActive | ceph.StateRemapped | ceph.StateBackfilling
	)
	all := [][]int32{{}, {0, 1, 2}, {3, 0, 4}, {3, 1, 4}}
	late := func(change func(*ceph.PG)) ceph.PG {
		return pg(1, 0, func(p *ceph.PG) {
			p.Up, p.Acting, p.ActingPrimary = 1, 1, 0
			p.LastDeepScrub = ago(2e6)
			if change != nil {
				change(p)
			}
		})
	}
	beside := func(state ceph.State, up, acting ceph.SetID, primary int32) ceph.PG {
		return pg(1, other, func(p *ceph.PG) { at(state, up, acting)(p); p.ActingPrimary = primary })
	}
	day := OSDGates{MaxScrubs: 1, MaxInterval: 604800}
	with := func(change func(*OSDGates)) *OSDGates { g := day; change(&g); return &g }
	night := with(func(g *OSDGates) { g.Window = Window{BeginHour: 22, EndHour: 6} }) // testNow is noon
	shut := func(release int) Gates { return Gates{Release: release, OSD: func(int32) *OSDGates { return night }} }
	scrubbing := clean | ceph.StateScrubbing
	const none = "none"
	for _, c := range []struct {
		name  string
		gates Gates
		pg    ceph.PG
		more  []ceph.PG
		want  string
	}{
		{name: "nothing is in its way", want: none},
		{name: "it is being scrubbed, whatever the flags", gates: Gates{NoScrub: [2]bool{true, true}}, pg: late(func(p *ceph.PG) { p.State = scrubbing }), want: none},
		{name: "nodeep-scrub", gates: Gates{NoScrub: [2]bool{Deep: true}}, want: "flag"},
		{name: "noscrub alone leaves deep scrubs alone", gates: Gates{NoScrub: [2]bool{Shallow: true}}, want: none},
		{name: "the pool's nodeep-scrub", gates: Gates{PoolNoScrub: map[int32][2]bool{1: {Deep: true}}}, want: "flag"},
		{name: "another pool's", gates: Gates{PoolNoScrub: map[int32][2]bool{2: {Deep: true}}}, want: none},
		{name: "a flag comes before a PG that is not clean", gates: Gates{NoScrub: [2]bool{true, true}}, pg: late(func(p *ceph.PG) { p.State = recovering }), want: "flag"},
		{name: "it recovers", pg: late(func(p *ceph.PG) { p.State = recovering }), want: "not_clean"},
		{name: "it waits to", pg: late(func(p *ceph.PG) { p.State = ceph.StateActive | ceph.StateRemapped | ceph.StateBackfillWait }), want: "not_clean"},
		{name: "it is down and has no primary", pg: late(func(p *ceph.PG) { p.State = ceph.StateDown; p.ActingPrimary = -1 }), want: "not_clean"},
		{name: "clean and remapped is clean", pg: late(func(p *ceph.PG) { p.State = clean | ceph.StateRemapped }), want: none},
		{name: "its primary recovers another PG", more: []ceph.PG{beside(recovering, 2, 2, 3)}, want: "recovery"},
		{name: "its primary is filled", more: []ceph.PG{beside(backfill, 2, 3, 3)}, want: "recovery"},
		{name: "its primary is only read from in a backfill", more: []ceph.PG{beside(backfill, 3, 2, 3)}, want: none},
		{name: "only a replica recovers", more: []ceph.PG{beside(recovering, 3, 3, 3)}, want: none},
		{name: "its primary waits to recover", more: []ceph.PG{beside(ceph.StateActive|ceph.StateRecoveryWait, 2, 2, 3)}, want: none},
		{name: "osd_scrub_during_recovery", more: []ceph.PG{beside(recovering, 2, 2, 3)},
			gates: Gates{OSD: func(int32) *OSDGates { return with(func(g *OSDGates) { g.DuringRecovery = true }) }}, want: none},
		{name: "it waits to trim snapshots", gates: Gates{Release: 18}, pg: late(func(p *ceph.PG) { p.State = clean | ceph.StateSnapTrimWait }), want: "snaptrim"},
		{name: "16 scrubs while it trims", gates: Gates{Release: 16}, pg: late(func(p *ceph.PG) { p.State = clean | ceph.StateSnapTrim }), want: none},
		{name: "recovery comes before trimming", gates: Gates{Release: 18}, pg: late(func(p *ceph.PG) { p.State = clean | ceph.StateSnapTrim }), more: []ceph.PG{beside(recovering, 2, 2, 3)}, want: "recovery"},
		{name: "outside of the hours", gates: shut(18), want: "window"},
		{name: "past the deadline the hours do not count", gates: shut(18), pg: late(func(p *ceph.PG) { p.LastScrub = ago(604801) }), want: none},
		{name: "20 knows no deadline", gates: shut(20), pg: late(func(p *ceph.PG) { p.LastScrub = ago(604801) }), want: "window"},
		{name: "a stamp that cannot be read is no deadline", gates: shut(18), pg: late(func(p *ceph.PG) { p.LastScrub = ceph.BadStamp }), want: "window"},
		{name: "the pool's maximum interval makes the deadline", gates: Gates{Release: 18, OSD: shut(18).OSD, PoolMaxInterval: map[int32]float64{1: 3000}}, want: none},
		{name: "its primary scrubs another PG", gates: Gates{Release: 20}, more: []ceph.PG{beside(scrubbing, 1, 1, 0)}, want: "slots"},
		{name: "up to 18 roles share the slots", gates: Gates{Release: 18}, more: []ceph.PG{beside(scrubbing, 2, 2, 3)}, want: "slots"},
		{name: "from 19 on a primary's slots are its own", gates: Gates{Release: 20}, more: []ceph.PG{beside(scrubbing, 2, 2, 3)}, want: none},
		{name: "a replica has no slot left", gates: Gates{Release: 20}, more: []ceph.PG{beside(scrubbing, 3, 3, 3)}, want: "slots"},
		{name: "a slot is left", gates: Gates{Release: 20, OSD: func(int32) *OSDGates { return with(func(g *OSDGates) { g.MaxScrubs = 2 }) }}, more: []ceph.PG{beside(scrubbing, 1, 1, 0)}, want: none},
		{name: "options that are not known are no reason", gates: Gates{Release: 20, OSD: func(int32) *OSDGates { return nil }}, more: []ceph.PG{beside(scrubbing, 1, 1, 0)}, want: none},
		{name: "but for recovery, which is by default", gates: Gates{Release: 20, OSD: func(int32) *OSDGates { return nil }}, more: []ceph.PG{beside(recovering, 2, 2, 3)}, want: "recovery"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.pg == (ceph.PG{}) {
				c.pg = late(nil)
			}
			if c.gates.OSD == nil {
				c.gates.OSD = func(int32) *OSDGates { return &day }
			}
			if c.gates.PoolNoScrub == nil {
				c.gates.PoolNoScrub = map[int32][2]bool{}
			}
			if _, ok := c.gates.PoolNoScrub[1]; !ok {
				c.gates.PoolNoScrub[1] = [2]bool{}
			}
			rule := NewRule(defaults, map[int32]PoolIntervals{1: {}})
			got := FindLate(sets(all, append([]ceph.PG{c.pg}, c.more...)...), rule, c.gates, testNow, 0)
			want := [2][numReasons]int{}
			for _, r := range Reasons {
				if r.String() == c.want {
					want[Deep][r] = 1
				}
			}
			if diff := cmp.Diff(want, *got.Blocked[1]); diff != "" {
				t.Error(diff)
			}
			osds := map[int32]*[2]int{0: {Deep: 1}}
			if c.pg.ActingPrimary < 0 {
				osds = map[int32]*[2]int{}
			}
			if diff := cmp.Diff(osds, got.OSDs); diff != "" {
				t.Errorf("late PGs by primary: %s", diff)
			}
		})
	}
}

// Up to 18 errors that need a deep scrub stop shallow ones, too, while deep ones
// are off.
func TestDeepErrorsUnderNoDeepScrubBlockShallowScrubsUpTo18(t *testing.T) {
	for release, want := range map[int]int{16: 1, 18: 1, 19: 0, 20: 0} {
		bad := pg(1, 0, func(p *ceph.PG) { p.LastScrub = ago(2e6); p.DeepErrors = 2 })
		g := Gates{Release: release, PoolNoScrub: map[int32][2]bool{1: {Deep: true}}}
		got := FindLate(table(bad), NewRule(defaults, map[int32]PoolIntervals{1: {}}), g, testNow, 0)
		if n := got.Blocked[1][Shallow][ReasonFlag]; n != want {
			t.Errorf("%d: %d shallow-late PGs blocked by a flag, want %d", release, n, want)
		}
	}
}

func TestGatesComeFromTheMapAndTheOSDsOptions(t *testing.T) {
	minus, some := -5.0, 7200.0
	m := &ceph.OSDMap{Flags: []string{"noscrub", "sortbitwise"}, RequireOSDRelease: "reef", Pools: []ceph.Pool{
		{ID: 1, Flags: []string{"hashpspool", "nodeep-scrub"}, Options: ceph.PoolOptions{ScrubMaxInterval: &minus}},
		{ID: 2, Options: ceph.PoolOptions{ScrubMaxInterval: &some}},
	}}
	want := Gates{Release: 18, NoScrub: [2]bool{true, false}, PoolNoScrub: map[int32][2]bool{1: {false, true}, 2: {}}, PoolMaxInterval: map[int32]float64{2: 7200}}
	if diff := cmp.Diff(want, NewGates(m, nil)); diff != "" {
		t.Error(diff)
	}
	for name, n := range map[string]int{"octopus": 15, "pacific": 16, "quincy": 17, "squid": 19, "tentacle": 20, "umbrella": 20, "": 20} {
		if got := releaseNumber(name); got != n {
			t.Errorf("%q: %d, want %d", name, got, n)
		}
	}
	options := ceph.Config{"osd_scrub_during_recovery": "true", "osd_max_scrubs": "3", "osd_scrub_begin_hour": "22", "osd_scrub_end_hour": "6",
		"osd_scrub_begin_week_day": "0", "osd_scrub_end_week_day": "7", "osd_scrub_max_interval": "604800.000000"}
	value := func(name string) (string, bool) { v, ok := options[name]; return v, ok }
	g, err := OSDGatesFrom(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&OSDGates{DuringRecovery: true, MaxScrubs: 3, Window: Window{22, 6, 0, 7}, MaxInterval: 604800}, g); diff != "" {
		t.Error(diff)
	}
	for name := range options {
		lacking := func(n string) (string, bool) {
			if n == name {
				return "", false
			}
			return value(n)
		}
		if g, err := OSDGatesFrom(lacking); err == nil {
			t.Errorf("without %s: %+v", name, g)
		}
	}
}

func TestWindowIsHalfOpenAndReachesOverMidnight(t *testing.T) {
	monday := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	open := func(w Window) (hours string) {
		for h := range 24 {
			if w.Open(monday.Add(time.Duration(h) * time.Hour)) {
				hours += "x"
			} else {
				hours += "."
			}
		}
		return hours
	}
	const always, never = "xxxxxxxxxxxxxxxxxxxxxxxx", "........................"
	for w, want := range map[Window]string{
		{}:                               always,
		{EndHour: 24, EndWeekDay: 7}:     always, // before 16.2.0
		{BeginHour: 22, EndHour: 6}:      "xxxxxx................xx",
		{BeginHour: 9, EndHour: 10}:      ".........x..............",
		{BeginHour: 9, EndHour: 9}:       always,
		{BeginWeekDay: 1, EndWeekDay: 2}: always, // Monday is 1
		{BeginWeekDay: 2, EndWeekDay: 1}: never,
		{BeginWeekDay: 6, EndWeekDay: 2}: always,
		{9, 10, 2, 1}:                    never,
		{BeginWeekDay: 0, EndWeekDay: 1}: never,
		{BeginHour: 23, EndHour: 0}:      ".......................x",
		{BeginHour: 0, EndHour: 1}:       "x.......................",
		{BeginWeekDay: 1, EndWeekDay: 7}: always,
		{BeginHour: 20, EndHour: 19}:     "xxxxxxxxxxxxxxxxxxx.xxxx",
		{22, 6, 1, 2}:                    "xxxxxx................xx",
	} {
		if got := open(w); got != want {
			t.Errorf("%+v: open %s, want %s", w, got, want)
		}
	}
}
