package collector

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// forecastBench is a made-up cluster on a clock of its own, with a pg and a
// forecast collector that share a feed.
type forecastBench struct {
	t        *testing.T
	now      time.Time
	deps     Deps
	pg       *pgPoller
	forecast *forecastPoller
	cluster  *simulate.Cluster
}

func newForecastBench(t *testing.T, release int, dir *state.Dir) *forecastBench {
	t.Helper()
	b := &forecastBench{t: t, now: testNow.Add(-10 * 24 * time.Hour)}
	clock := func() time.Time { return b.now }
	c, err := simulate.New(simulate.Config{PGs: 60, OSDs: 4, Seed: 2, Release: release, NoRecovery: true, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	b.cluster = c
	b.deps = testDeps(t, testNow)
	b.deps.Now, b.deps.Ceph, b.deps.State = clock, c, dir
	b.now = testNow
	b.start()
	return b
}

// start makes the collectors anew, as a restart of the exporter does.
func (b *forecastBench) start() {
	b.t.Helper()
	b.deps.PGs = NewPGFeed()
	var err error
	if b.pg, err = newPGPoller(pgConfig{fastInterval: time.Second, dumpTimeout: time.Minute, stuckAfter: time.Hour, seriesLimit: 100, seriesTop: 10}, b.deps); err != nil {
		b.t.Fatal(err)
	}
	d := b.deps
	d.Interval = 10 * time.Minute
	if b.forecast, err = newForecastPoller(forecastConfig{seeds: 3, zone: "UTC"}, d); err != nil {
		b.t.Fatal(err)
	}
}

// poll lets both poll and returns what the forecast says.
func (b *forecastBench) poll() string {
	b.t.Helper()
	b.pg.nextFull = time.Time{}
	if _, err := b.pg.Poll(b.t.Context(), b.now); err != nil {
		b.t.Fatal(err)
	}
	return pollText(b.t, b.forecast.table.Rows(), b.forecast, b.now)
}

func TestForecastOfAMadeUpCluster(t *testing.T) {
	b := newForecastBench(t, simulate.Reef, nil)
	if err := b.cluster.SetFlag("nodeep-scrub", true); err != nil { // so that there is something to tell
		t.Fatal(err)
	}
	golden(t, "forecast_18.txt", b.poll())
}

// forecastFamilies returns the names that an exposition has samples of.
func forecastFamilies(text string) (names []string) {
	for _, line := range strings.Split(text, "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE cephrisk_scrub_forecast_"); ok {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	return names
}

// A release that does not tell how long scrubs take is not forecast before some
// were seen; what is needed is known at once, what is achieved is not.
func TestNothingIsForecastBeforeThereIsEnoughToGoOn(t *testing.T) {
	b := newForecastBench(t, simulate.Pacific, nil)
	want := []string{"pgs", "pgs_default_duration", "required_bytes_per_second", "required_pgs_per_second", "timestamp_seconds"}
	if diff := cmp.Diff(want, forecastFamilies(b.poll())); diff != "" {
		t.Error(diff)
	}
	for range 24 * 60 { // a poll a minute
		b.now = b.now.Add(time.Minute)
		if got := forecastFamilies(b.poll()); len(got) > len(want) {
			if v := b.deps.PGs.Latest(); len(v.Seconds) == 0 {
				t.Errorf("forecast without any duration: %s", got)
			}
			return
		}
	}
	t.Error("nothing was forecast in a day in which scrubs were seen")
}

// What had to be watched is kept: after a restart the forecast goes on at once.
func TestWatchedDurationsSurviveARestart(t *testing.T) {
	b := newForecastBench(t, simulate.Pacific, state.Open(t.TempDir(), testDeps(t, testNow).Log))
	b.poll()
	for k := 0; !b.forecast.last.has[scrub.Deep]; k++ {
		if k == 48*60 {
			t.Fatal("no deep scrub was seen in two days")
		}
		b.now = b.now.Add(time.Minute)
		b.poll()
	}
	before := b.forecast.last.f.MissingDurations
	b.start()
	b.now = b.now.Add(time.Minute)
	b.poll()
	if v := b.deps.PGs.Latest(); len(v.Seconds) != 0 {
		t.Fatal("the restart is none")
	}
	if after := b.forecast.last.f.MissingDurations; !b.forecast.last.has[scrub.Deep] || after != before {
		t.Errorf("PGs without a duration before and after a restart: %v, %v", before, after)
	}
}

// Forecasts are compared with what came, rates are those of the last day, and
// both survive a restart.
func TestPastForecastsAndRatesSurviveARestart(t *testing.T) {
	dir := state.Open(t.TempDir(), testDeps(t, testNow).Log)
	b := newForecastBench(t, simulate.Reef, dir)
	first := forecastFamilies(b.poll())
	var text string
	for range 27 {
		b.now = b.now.Add(time.Hour)
		text = b.poll()
	}
	want := append([]string{"achieved_bytes_per_second", "achieved_pgs_per_second"}, first...)
	want = append(want, "past_error_pgs", "past_late_pgs")
	slices.Sort(want)
	if diff := cmp.Diff(want, forecastFamilies(text)); diff != "" {
		t.Errorf("after a day (-want +got):\n%s", diff)
	}
	done := 0.0
	for _, v := range b.forecast.last.achieved {
		done += v[1] * 86400
	}
	if v := b.deps.PGs.Latest(); done < 3 || done > float64(len(v.Table.PGs)) {
		t.Errorf("%v deep scrubs a day are achieved of %d PGs", done, len(v.Table.PGs))
	}
	before := b.forecast.last
	b.start()
	b.now = b.now.Add(time.Minute)
	b.poll()
	after := b.forecast.last
	if diff := cmp.Diff(before.achieved, after.achieved); diff != "" {
		t.Errorf("rates after a restart:\n%s", diff)
	}
	if len(after.past) != 2 || after.past[0].horizon != 0 || after.past[1].level != scrub.Deep {
		t.Errorf("past forecasts after a restart: %+v", after.past)
	}
}

// Between two forecasts the last one is served, until a setting changes.
func TestForecastIsMadeAgainWhenASettingChanges(t *testing.T) {
	b := newForecastBench(t, simulate.Tentacle, nil)
	at := func() time.Time { b.poll(); return b.forecast.last.f.Now }
	first := at()
	b.now = b.now.Add(5 * time.Minute)
	if got := at(); !got.Equal(first) {
		t.Errorf("forecast again at %s although nothing changed", got)
	}
	if err := b.cluster.SetFlag("nodeep-scrub", true); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Minute)
	if got := at(); !got.Equal(b.now) {
		t.Errorf("not forecast again at %s after a flag was set, but of %s", b.now, got)
	}
	if f := b.forecast.last.f; f.Total[scrub.Deep].ScrubsPerDay > 1 {
		t.Errorf("%v deep scrubs a day in spite of nodeep-scrub", f.Total[scrub.Deep].ScrubsPerDay)
	}
	b.now = b.now.Add(10 * time.Minute)
	if got := at(); !got.Equal(b.now) {
		t.Errorf("not forecast again at %s after the interval, but of %s", b.now, got)
	}
}

func TestForecastSaysWhatItLacks(t *testing.T) {
	b := newForecastBench(t, simulate.Reef, nil)
	poll := func(want string) {
		t.Helper()
		s, err := b.forecast.Poll(t.Context(), b.now)
		if err == nil || err.Error() != want || s != nil {
			t.Errorf("poll: %v, %v, want the error %q", s, err, want)
		}
	}
	b.forecast.deps.PGs = nil
	poll("the pg collector, which this one needs, is not running")
	b.forecast.deps.PGs = NewPGFeed()
	poll("the pg collector, which this one needs, is not running")
	b.forecast.deps.PGs.expect()
	b.forecast.deps.PGs.fail(errNotReady)
	poll("no full dump from the pg collector yet: mgr has no reports of the OSDs yet (pg_ready is false)")
	b.start()
	b.poll()
	b.now = b.now.Add(31 * time.Minute)
	poll("the pg collector's last full dump is of 2026-11-30T18:10:00Z")
	v := b.deps.PGs.Latest()
	incomplete := *v
	incomplete.At, incomplete.Mgr = b.now, nil
	b.deps.PGs.publish(&incomplete)
	poll("the pg collector does not know the options yet")
	incomplete.Mgr = ceph.Config{}
	b.deps.PGs.publish(&incomplete)
	poll("the mgr's options: option osd_scrub_max_interval: no such option\noption mon_warn_pg_not_scrubbed_ratio: no such option\n" +
		"option osd_deep_scrub_interval: no such option\noption mon_warn_pg_not_deep_scrubbed_ratio: no such option")
}

func TestForecastOfAnotherClusterIsForgotten(t *testing.T) {
	m := &forecastMemory{FSID: "a", Made: []madeEntry{{}}, Done: []doneEntry{{}}, seen: map[int32]DeepScrubs{}}
	m.of("a")
	if len(m.Made) != 1 || m.seen == nil {
		t.Error("the same cluster was forgotten")
	}
	m.of("b")
	if diff := cmp.Diff(&forecastMemory{FSID: "b"}, m, cmp.AllowUnexported(forecastMemory{})); diff != "" {
		t.Error(diff)
	}
}
