package forecast

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

const day = 86400.0

// defaults are those of Ceph, with the slots given.
func defaults(slots int) Options {
	return Options{
		MaxScrubs: slots, MinInterval: day, MaxInterval: 7 * day, DeepInterval: 7 * day, RandomizeRatio: 0.5,
		DeepRandomizeRatio: 0.15, DeepIntervalCV: 0.2, BackoffRatio: 0.66,
	}
}

// busy is a cluster of 12 OSDs and 120 PGs of three copies, deep-scrubbed up to
// ten days ago, whose deep scrubs take hours.
func busy(release, slots int, change func(*Input)) *Input {
	rng := rand.New(rand.NewPCG(7, 7))
	in := &Input{
		Now: testNow, Release: release, Location: time.UTC, Measured: Measured{},
		Table:          &ceph.PGTable{Ready: true, Sets: [][]int32{{}}},
		Map:            &ceph.OSDMap{Pools: []ceph.Pool{{ID: 0, Size: 3}, {ID: 1, Size: 3}}},
		Mgr:            scrub.Intervals{Interval: [2]float64{7 * day, 7 * day}, WarnRatio: [2]float64{0.5, 0.75}},
		DefaultOptions: defaults(slots),
	}
	for i := range 120 {
		p := in.Map.Pools[i/60]
		in.addTiny(rng, p, uint32(i%60), 12)
		pg := &in.Table.PGs[i]
		pg.State, pg.DeepErrors, pg.Bytes = ceph.StateActive|ceph.StateClean, 0, 20<<30
		pg.LastDeepScrub = ceph.StampOf(testNow) - ceph.Stamp(rng.Float64()*10*day*1e6)
		pg.LastScrub = max(pg.LastDeepScrub, ceph.StampOf(testNow)-ceph.Stamp(rng.Float64()*1.5*day*1e6))
		in.Measured[pg.ID] = [2]float64{1200, 12 * 3600}
	}
	if change != nil {
		change(in)
	}
	return in
}

var days = []time.Duration{24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour}

func simulateOrFail(t *testing.T, in *Input, run Run) *Forecast {
	t.Helper()
	f, err := Simulate(in, run)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var releases = []int{16, 17, 18, 19, 20}

func TestSameSeedSameResultInWhateverOrderPGsCome(t *testing.T) {
	for _, release := range releases {
		in := busy(release, 1, nil)
		run := Run{Horizons: days, Seeds: 3, Seed: 5, RecoveryEnds: -1}
		want := simulateOrFail(t, in, run)
		if diff := cmp.Diff(want, simulateOrFail(t, in, run)); diff != "" {
			t.Errorf("release %d, again:\n%s", release, diff)
		}
		table := *in.Table
		table.PGs = append([]ceph.PG(nil), in.Table.PGs...)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(table.PGs), func(i, j int) { table.PGs[i], table.PGs[j] = table.PGs[j], table.PGs[i] })
		in.Table = &table
		if diff := cmp.Diff(want, simulateOrFail(t, in, run)); diff != "" {
			t.Errorf("release %d, shuffled:\n%s", release, diff)
		}
		run.Seed = 6
		if cmp.Equal(want, simulateOrFail(t, in, run)) {
			t.Errorf("release %d: another seed gives the same", release)
		}
	}
}

// night closes the window by day.
func night(begin, end int) func(*Input) {
	return func(in *Input) {
		in.DefaultOptions.BeginHour, in.DefaultOptions.EndHour, in.DefaultOptions.MaxInterval = begin, end, 0
	}
}

// Up to 19 a window that is closed has one good side: only what is past its
// deadline gets through, the oldest first. On clusters at their limit that can
// weigh more than the hours, so windows are compared without a deadline.
func TestMoreSlotsAndWiderWindowsDoNotRaiseTheMeanOfLatePGs(t *testing.T) {
	for _, release := range []int{16, 18, 19, 20} {
		mean := func(slots int, change func(*Input)) *Forecast {
			return simulateOrFail(t, busy(release, slots, change), Run{Horizons: days, Seeds: 100, RecoveryEnds: -1})
		}
		steps := map[string][]*Forecast{
			"slots":           {mean(1, nil), mean(2, nil), mean(4, nil)},
			"window":          {mean(2, night(22, 2)), mean(2, night(20, 8)), mean(2, night(0, 0))},
			"during recovery": {mean(1, recovering(false)), mean(1, recovering(true))},
		}
		for name, fs := range steps {
			fell := false
			for k := 1; k < len(fs); k++ {
				for l := range scrub.Levels {
					for h := range days {
						before, after := fs[k-1].Total[l].Late[h], fs[k].Total[l].Late[h]
						// Two of them: a hundred comparisons are made.
						standardError := math.Sqrt((before.SD*before.SD + after.SD*after.SD) / 100)
						if after.Mean > before.Mean+2*standardError+1e-9 {
							t.Errorf("release %d, %s, step %d, %s, %s: %.2f late PGs rise to %.2f, standard error %.2f",
								release, name, k, scrub.Level(l), days[h], before.Mean, after.Mean, standardError)
						}
						fell = fell || after.Mean < before.Mean-1
					}
				}
			}
			if !fell {
				t.Errorf("release %d, %s: nothing fell, so nothing was shown", release, name)
			}
		}
	}
}

// recovering lets a sixth of the PGs recover, so that many OSDs are busy.
func recovering(during bool) func(*Input) {
	return func(in *Input) {
		in.DefaultOptions.DuringRecovery = during
		for i := range in.Table.PGs {
			if i%30 == 0 {
				in.Table.PGs[i].State = ceph.StateActive | ceph.StateRemapped | ceph.StateBackfilling
			}
		}
	}
}

// Where nothing is shared and all scrubs take the same, there is no anomaly:
// not a single case gets worse.
func TestOneOSDNeverGetsWorseWithMoreSlotsOrAWiderWindow(t *testing.T) {
	horizons := []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour}
	for _, release := range releases {
		for k := range 60 {
			make := func(slots, begin, end int) *Input {
				rng := rand.New(rand.NewPCG(9, uint64(k)))
				in := &Input{
					Now: testNow, Release: release, Measured: Measured{}, Map: &ceph.OSDMap{Pools: []ceph.Pool{{ID: 0, Size: 1}}},
					Table:          &ceph.PGTable{Ready: true, Sets: [][]int32{{}}},
					Mgr:            scrub.Intervals{Interval: [2]float64{day, day}, WarnRatio: [2]float64{0.5, 0.5}},
					DefaultOptions: Options{MaxScrubs: slots, MinInterval: day, DeepInterval: day, BeginHour: begin, EndHour: end},
				}
				for seed := range uint32(20) {
					in.addTiny(rng, in.Map.Pools[0], seed, 1)
					pg := &in.Table.PGs[seed]
					pg.State, pg.DeepErrors = ceph.StateActive|ceph.StateClean, 0
					pg.LastDeepScrub = ceph.StampOf(testNow) - ceph.Stamp(rng.Float64()*2*day*1e6)
					pg.LastScrub = pg.LastDeepScrub
					in.Measured[pg.ID] = [2]float64{4000, 4000}
				}
				return in
			}
			run := Run{Horizons: horizons, Seeds: 1, RecoveryEnds: -1}
			steps := [][]*Input{{make(1, 0, 0), make(2, 0, 0), make(3, 0, 0)}, {make(1, 20, 22), make(1, 20, 2), make(1, 18, 6), make(1, 0, 0)}}
			for _, s := range steps {
				before := simulateOrFail(t, s[0], run)
				for _, in := range s[1:] {
					after := simulateOrFail(t, in, run)
					for h := range horizons {
						if b, a := before.Total[0].Late[h].Mean, after.Total[0].Late[h].Mean; a > b {
							t.Errorf("release %d, case %d, %s: %v late PGs become %v", release, k, horizons[h], b, a)
						}
					}
					before = after
				}
			}
		}
	}
}

// The outlook of a cluster where one PG can be followed by hand.
func TestOutlookOfASinglePG(t *testing.T) {
	in := &Input{
		Now: testNow, Release: 18, Map: &ceph.OSDMap{Pools: []ceph.Pool{{ID: 3}}},
		Table: &ceph.PGTable{Ready: true, Sets: [][]int32{{}, {4, 2}}, PGs: []ceph.PG{{
			ID: ceph.PGID{Pool: 3, Seed: 17}, State: ceph.StateActive | ceph.StateClean, LastScrubSeconds: -1, ScheduleAt: ceph.NoStamp,
			LastScrub: stampAgo(3600), LastDeepScrub: stampAgo(9000), Up: 1, Acting: 1, UpPrimary: 4, ActingPrimary: 4, Bytes: 1 << 30, Objects: 100,
		}}},
		Mgr:            scrub.Intervals{Interval: [2]float64{4000, 6000}, WarnRatio: [2]float64{0.5, 0.75}},
		DefaultOptions: Options{MaxScrubs: 1, MinInterval: 7200, DeepInterval: 6000, BeginHour: 14, EndHour: 15},
		Measured:       Measured{{Pool: 3, Seed: 17}: {10, 600}},
	}
	got := simulateOrFail(t, in, Run{Horizons: []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour}, Seeds: 2, RecoveryEnds: -1})
	// 12:07 now. Late deep at 12:07 - 2:30 + 2:55 = 12:32 and shallow at 11:07 + 1:40 = 12:47; the scrub is
	// due at 13:07, the window opens at 14:00, the scrub is deep and ends at 14:10.
	clear := ceph.StampOf(testNow.Add(2*time.Hour + 3*time.Minute))
	one := func(firstLate time.Duration, scrubs, rate float64) Outlook {
		return Outlook{
			PGs: 1, Late: []Spread{{1, 0}, {1, 0}, {0, 0}}, First: First{2, ceph.StampOf(testNow.Add(firstLate)) + 1, ceph.PGID{Pool: 3, Seed: 17}},
			Backlog: Backlog{2, clear, clear}, ScrubsPerDay: scrubs, BytesPerSecond: rate,
		}
	}
	pool := [2]Outlook{one(40*time.Minute, 0, 0), one(25*time.Minute, 8, float64(1<<30)/10800)}
	pool[1].Running = 600.0 / 10800
	pool[0].Late, pool[1].Late = []Spread{{1, 0}, {1, 0}, {0, 0}}, []Spread{{1, 0}, {1, 0}, {0, 0}}
	for l := range pool { // the window opens at 14:00 and the scrub ends ten minutes later
		pool[l].Backlog.Clear = ceph.StampOf(time.Date(2026, 11, 30, 14, 10, 0, 0, time.UTC))
		pool[l].Backlog.By = pool[l].Backlog.Clear
	}
	want := &Forecast{
		Now: testNow, Horizons: got.Horizons, Seeds: 2, PGs: 1, Pools: map[int32]*[2]Outlook{3: &pool}, Total: pool,
		OSDs: []OSDUse{{ID: 2, Slots: 1, Busy: 600.0 / 3600}, {ID: 4, Slots: 1, Busy: 600.0 / 3600}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func stampAgo(seconds float64) ceph.Stamp {
	return ceph.StampOf(testNow) - ceph.Stamp(seconds*1e6)
}

// Hours and week days are those of the OSDs' own zone, daylight saving included.
// Nine of ten simulations have to be done with the backlog, of all there are.
func TestBacklogIsClearByTheTimeOfNineInTen(t *testing.T) {
	const minute = int64(60e6)
	now := ceph.StampOf(testNow)
	for _, c := range []struct {
		name   string
		clears []int64 // of ten seeds
		want   Backlog
	}{
		{"all end", []int64{9, 1, 8, 2, 7, 3, 6, 4, 5, 10}, Backlog{10, now + 5*ceph.Stamp(minute), now + 9*ceph.Stamp(minute)}},
		{"one does not", []int64{9, 1, 8, 2, 7, 3, 6, 4, 5}, Backlog{9, now + 5*ceph.Stamp(minute), now + 9*ceph.Stamp(minute)}},
		{"two do not", []int64{8, 1, 7, 2, 6, 3, 5, 4}, Backlog{8, now + 4*ceph.Stamp(minute), ceph.NoStamp}},
		{"nobody is late in nine", []int64{-1, -1, -1, 3, -1, -1, -1, -1, -1, -1}, Backlog{10, ceph.NoStamp, ceph.NoStamp}},
		{"none does", nil, Backlog{0, ceph.NoStamp, ceph.NoStamp}},
	} {
		v := &tally{}
		for _, at := range c.clears {
			v.clears = append(v.clears, at*minute)
		}
		if got := v.outlook(now, 10, 3600).Backlog; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// What happens on other OSDs lets an OSD look whether it may begin a scrub. The
// coin that a tick has lost or won stays as it fell, however often that is.
func TestATicksCoinIsFlippedOnce(t *testing.T) {
	for _, release := range releases {
		m, err := newModel(busy(release, 2, nil), Run{Horizons: days})
		if err != nil {
			t.Fatal(err)
		}
		s := newSim(m)
		s.reset(1)
		for i := range s.osds {
			before := s.osds[i].armed
			for at := int64(0); at < 10*tick; at += tick / 4 {
				s.now = at
				s.arm(int32(i), at)
			}
			if got := s.osds[i].armed; got != before {
				t.Errorf("release %d, OSD %d: looks after %d us, was to look after %d", release, i, got, before)
			}
		}
	}
}

// What takes ten minutes takes fifteen where scrubs are slower by half.
func TestSlowerScrubsTakeThatShareLonger(t *testing.T) {
	in := busy(18, 1, nil)
	run := Run{Horizons: []time.Duration{time.Hour}, Seeds: 1, RecoveryEnds: -1}
	as, err := newModel(in, run)
	if err != nil {
		t.Fatal(err)
	}
	run.Slower = 0.5
	slower, err := newModel(in, run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range as.pgs {
		for l, took := range as.pgs[i].took {
			if got, want := slower.pgs[i].took[l], took+int64(0.5*float64(took)); got != want {
				t.Errorf("PG %d, level %d: %d us, want %d", i, l, got, want)
			}
		}
	}
}

func TestWindowFollowsTheOSDsLocalTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	spring := time.Date(2026, 3, 28, 12, 30, 0, 0, time.UTC) // Saturday; clocks go forward in the night that follows
	for name, c := range map[string]struct {
		w    window
		now  time.Time
		loc  *time.Location
		want string
	}{
		"equal bounds always permit":    {window{5, 5, 3, 3}, spring, berlin, "0s-72h"},
		"over midnight":                 {window{22, 6, 0, 0}, testNow, time.UTC, "9h53m-17h53m 33h53m-41h53m 57h53m-65h53m"},
		"an odd zone":                   {window{13, 14, 0, 0}, testNow, time.FixedZone("XXX", 37*60), "16m-1h16m 24h16m-25h16m 48h16m-49h16m"},
		"an hour that does not exist":   {window{1, 4, 0, 0}, spring, berlin, "11h30m-13h30m 34h30m-37h30m 58h30m-61h30m"},
		"week days over the week's end": {window{0, 0, 6, 1}, spring, berlin, "0s-33h30m"},
		"both must permit":              {window{22, 2, 0, 1}, spring, berlin, "10h30m-12h30m 31h30m-33h30m"},
	} {
		if got := spansText(c.w.open(c.now, c.loc, int64(72*time.Hour/time.Microsecond))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func spansText(spans []span) string {
	short := func(v int64) string {
		s := (time.Duration(v) * time.Microsecond).String()
		s = strings.TrimSuffix(s, "0s")
		s = strings.TrimSuffix(s, "h0m") + map[bool]string{true: "h"}[strings.HasSuffix(s, "h0m")]
		if s == "" {
			return "0s"
		}
		return s
	}
	var out []string
	for _, s := range spans {
		out = append(out, short(s.from)+"-"+short(s.to))
	}
	return strings.Join(out, " ")
}

func TestFlagsOfClusterAndPoolHoldBackTheirLevel(t *testing.T) {
	for _, release := range releases {
		rates := func(change func(*Input)) [2][2]bool {
			f := simulateOrFail(t, busy(release, 3, change), Run{Horizons: days[:3], Seeds: 1, RecoveryEnds: -1})
			var out [2][2]bool
			for pool := range out {
				for l := range out[pool] {
					out[pool][l] = f.Pools[int32(pool)][l].ScrubsPerDay > 0
				}
			}
			return out
		}
		for name, c := range map[string]struct {
			change func(*Input)
			want   [2][2]bool
		}{
			"none":              {nil, [2][2]bool{{true, true}, {true, true}}},
			"noscrub":           {func(in *Input) { in.Map.Flags = []string{"noscrub"} }, [2][2]bool{{false, true}, {false, true}}},
			"nodeep-scrub":      {func(in *Input) { in.Map.Flags = []string{"nodeep-scrub"} }, [2][2]bool{{true, false}, {true, false}}},
			"both":              {func(in *Input) { in.Map.Flags = []string{"noscrub", "nodeep-scrub"} }, [2][2]bool{}},
			"pool nodeep-scrub": {func(in *Input) { in.Map.Pools[1].Flags = []string{"nodeep-scrub"} }, [2][2]bool{{true, true}, {true, false}}},
			"pool noscrub":      {func(in *Input) { in.Map.Pools[0].Flags = []string{"noscrub"} }, [2][2]bool{{false, true}, {true, true}}},
		} {
			if got := rates(c.change); got != c.want {
				t.Errorf("release %d, %s: scrubs by pool and level %v, want %v", release, name, got, c.want)
			}
		}
	}
}

// What the mgr has no report of is in no figure, and what is missing is said.
func TestInputThatSaysNothingIsRefusedOrLeftOut(t *testing.T) {
	run := Run{Horizons: days[:1], Seeds: 1, RecoveryEnds: -1}
	in := busy(18, 1, func(in *Input) {
		in.Table.PGs[0].State = ceph.StateUnknown
		in.Table.PGs[1].State = ceph.StateActive | ceph.StateUndersized
		in.Table.PGs[2].LastDeepScrub, in.Table.PGs[2].LastScrub = ceph.BadStamp, ceph.NoStamp
	})
	in.Measured = nil
	f := simulateOrFail(t, in, run)
	if f.PGs != 119 || f.Unknown != 1 || f.Blocked != 1 || f.MissingDurations != [2]int{119, 119} {
		t.Errorf("PGs %d, unknown %d, blocked %d, without durations %v", f.PGs, f.Unknown, f.Blocked, f.MissingDurations)
	}
	for name, c := range map[string]struct {
		change func(*Input, *Run)
		want   string
	}{
		"no table":        {func(in *Input, _ *Run) { in.Table = nil }, "forecast: no table, or the mgr was not ready"},
		"not ready":       {func(in *Input, _ *Run) { in.Table = &ceph.PGTable{} }, "forecast: no table, or the mgr was not ready"},
		"no map":          {func(in *Input, _ *Run) { in.Map = nil }, "forecast: no map"},
		"an old release":  {func(in *Input, _ *Run) { in.Release = 15 }, "forecast: release 15: only 16 and newer are modelled"},
		"no horizon":      {func(_ *Input, r *Run) { r.Horizons = nil }, "forecast: no horizon or no seed"},
		"no seed":         {func(_ *Input, r *Run) { r.Seeds = 0 }, "forecast: no horizon or no seed"},
		"horizons behind": {func(_ *Input, r *Run) { r.Horizons = []time.Duration{5, 5} }, "forecast: horizon 5ns: they must ascend from above zero"},
	} {
		in, run := busy(18, 1, nil), run
		c.change(in, &run)
		if _, err := Simulate(in, run); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
