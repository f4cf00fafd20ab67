package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

var scrubPools = [...]string{"replicated", "erasure", "own-interval", "unset", "noscrub"}

// scrubCluster is a cluster with every kind of pool that the rule tells apart,
// intervals of seconds, and scrubs slow enough to be seen.
func scrubCluster(t *testing.T, ctx context.Context, r cephtest.Release) *cephtest.Cluster {
	t.Helper()
	c := cephtest.New(t, cephtest.Options{Release: r, Pools: []cephtest.Pool{
		{Name: "replicated", PGs: 16},
		{Name: "erasure", PGs: 8, EC: true, K: 2, M: 1},
		{Name: "own-interval", PGs: 8, Set: map[string]string{"deep_scrub_interval": "30"}},
		{Name: "unset", PGs: 8, Set: map[string]string{"deep_scrub_interval": "7200", "scrub_max_interval": "-5"}},
		{Name: "noscrub", PGs: 8, Set: map[string]string{"noscrub": "1"}},
	}})
	must(t, c, ctx, "osd pool set unset deep_scrub_interval 0")
	must(t, c, ctx, "osd set noscrub")
	must(t, c, ctx, "osd set nodeep-scrub")
	for _, pool := range scrubPools {
		if err := c.PutObjects(ctx, pool, 40, 4096); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SlowScrubs(ctx, 0.2); err != nil {
		t.Fatal(err)
	}
	for option, value := range map[string]string{
		"mon_health_max_detail": "10000", "osd_deep_scrub_interval": "20", "osd_scrub_max_interval": "20", "osd_scrub_min_interval": "10",
		"mon_warn_pg_not_deep_scrubbed_ratio": "0.5", "mon_warn_pg_not_scrubbed_ratio": "0.5", "osd_scrub_load_threshold": "1000",
		"osd_scrub_backoff_ratio": "0", // else two of three ticks start nothing
	} {
		if err := c.SetConfig(ctx, "global", option, value); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func must(t *testing.T, c *cephtest.Cluster, ctx context.Context, command string) string {
	t.Helper()
	out, err := c.Ceph(ctx, strings.Fields(command)...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The first thing an operator tests: our counts are Ceph's counts, and our
// series are what the exporter was told.
func TestLatenessScrubsAndCompletionsAreCephsOwn(t *testing.T) {
	for _, r := range cephtest.Releases() {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 45*time.Minute)
			defer cancel()
			c := scrubCluster(t, ctx, r)
			e := exporter.Start(t, c, "risk", "--collector.pg.interval=1s", "--collector.pg.fast-interval=1s")
			checks := &seriesChecks{t: t, e: e}
			lateness(t, ctx, c, e, checks)
			completions(t, ctx, c, e)
			checks.run()
			mgrWithoutReports(t, ctx, c, e)
		})
	}
}

// lateness drives the count of late PGs up, holds it, and brings it down, then
// compares every health answer that the exporter received with the rule.
func lateness(t *testing.T, ctx context.Context, c *cephtest.Cluster, e *exporter.Exporter, checks *seriesChecks) {
	hold := 12 * time.Second
	if cephtest.Long() {
		hold = 2 * time.Minute
	}
	lateNow := func() float64 { return checks.scrape().Sum("cephrisk_pool_pgs_late") }
	// Growing: stamps are spread by scrubbing some PGs on request, which the
	// flags do not hold back.
	must(t, c, ctx, "osd pool deep-scrub replicated")
	e.Await("all PGs to be late at both levels", 5*time.Minute, func() error {
		if n := lateNow(); n < 2*48 {
			return fmt.Errorf("%v of 96 late", n)
		}
		return nil
	})
	end := time.Now().Add(hold)
	e.Await("a while at that level", hold+time.Minute, func() error {
		lateNow()
		if time.Now().Before(end) {
			return fmt.Errorf("not over")
		}
		return nil
	})
	must(t, c, ctx, "osd unset noscrub")
	must(t, c, ctx, "osd unset nodeep-scrub")
	least := math.Inf(1)
	end = time.Now().Add(2 * hold)
	e.Await("the count to fall, and scrubs to be seen", 4*time.Minute, func() error {
		least = min(least, lateNow())
		// The mgr sees a scrub that runs while its OSD reports: at times few do.
		if least > 60 || time.Now().Before(end) || checks.busy() < 2*enoughBusy {
			return fmt.Errorf("least so far %v, %d of %d scrapes with running scrubs", least, checks.busy(), len(checks.scrapes))
		}
		return nil
	})
	compareHealth(t, e.Recording())
}

const (
	// behind is how old a health answer may be on a machine so busy that the
	// mgr judges late; nine of ten are of the last ten seconds.
	behind = 40 * time.Second
	// A dump is as old when it is received as the mgr took to make and send it.
	dumpAge = time.Second
	// PGs that become late within so short a time of each other do so in an
	// order that instants a step apart cannot tell.
	sameInstant = 50 * time.Millisecond
)

// compareHealth checks every health answer against the rule at some instant of
// the ten seconds before it, for one in ten of the time of behind. Between two
// dumps the mgr may have had either stamp of a PG, so there a PG whose two
// stamps disagree may be in or out.
func compareHealth(t *testing.T, recording []ceph.RecordedAnswer) {
	t.Helper()
	type dump struct {
		at   time.Time
		view *plainView
	}
	var dumps []dump
	for i := range recording {
		if r := &recording[i]; r.Prefix() == "pg dump" && r.Error == "" {
			dumps = append(dumps, dump{r.At, viewAt(t, recording[:i+1], r.At)})
		}
	}
	compared, raised, late := map[string]int{}, map[string]int{}, map[string]int{}
	counts := map[string][]int{}
	for i := range recording {
		r := &recording[i]
		if r.Prefix() != "health" || r.Error != "" || len(dumps) < 2 || r.At.Sub(dumps[0].at) < 10*time.Second {
			continue
		}
		for level, check := range map[string]string{"shallow": "PG_NOT_SCRUBBED", "deep": "PG_NOT_DEEP_SCRUBBED"} {
			ids, count := healthPGs(t, r.Answer, check)
			if count != len(ids) {
				t.Errorf("%s: count %d, %d PGs named", check, count, len(ids))
			}
			near, at10 := math.MaxInt, math.MaxInt
			for k := 0; k+1 < len(dumps); k++ {
				from, to := dumps[k].at, dumps[k+1].at
				for at := from.Add(-dumpAge); !at.After(to); at = at.Add(sameInstant) {
					if at.After(r.At) || r.At.Sub(at) > behind {
						continue
					}
					n := mismatch(dumps[k].view, dumps[k+1].view, level, at.UnixMicro(), ids)
					near = min(near, n)
					if r.At.Sub(at) <= 10*time.Second {
						at10 = min(at10, n)
					}
				}
			}
			if near == math.MaxInt {
				continue // no dump in that time
			}
			compared[level]++
			if at10 != 0 {
				late[level]++
			}
			counts[level] = append(counts[level], count)
			if count > 0 && at10 == 0 {
				raised[level]++
			}
			if near != 0 {
				t.Errorf("%s: health at %s names %d PGs; at no instant of the %s before it does the rule name the same (nearest: %d PGs differ)",
					check, r.At.Format("15:04:05.000"), len(ids), behind, near)
			}
		}
	}
	for _, level := range plainLevels {
		t.Logf("%s: %d health answers compared, %d of them raised and the rule's of the ten seconds before, %d older, between %d and %d PGs late", level, compared[level], raised[level], late[level],
			slices.Min(append(counts[level], math.MaxInt)), slices.Max(append(counts[level], 0)))
		if raised[level] < 10 || 10*late[level] > compared[level] {
			t.Errorf("%s: only %d health answers with late PGs are the rule's of the ten seconds before, %d are older", level, raised[level], late[level])
		}
		if len(slices.Compact(slices.Sorted(slices.Values(counts[level])))) < 4 {
			t.Errorf("%s: the count hardly moved: %v", level, counts[level])
		}
	}
}

// mismatch returns how many PGs the health answer and the rule disagree on at
// now, in Unix microseconds.
func mismatch(before, after *plainView, level string, now int64, named map[string]bool) int {
	then := now + sameInstant.Microseconds()
	later := map[string]*plainPG{}
	for i := range after.pgs {
		later[after.pgs[i].ID] = &after.pgs[i]
	}
	n := 0
	for i := range before.pgs {
		p := &before.pgs[i]
		q := later[p.ID]
		if q == nil {
			q = p
		}
		may := []bool{before.late(p, level, now), before.late(p, level, then), after.late(q, level, now), after.late(q, level, then)}
		if !slices.Contains(may, named[p.ID]) {
			n++
		}
	}
	return n
}

func healthPGs(t *testing.T, answer []byte, check string) (map[string]bool, int) {
	t.Helper()
	var h struct {
		Checks map[string]struct {
			Summary struct{ Count int }
			Detail  []struct{ Message string }
		}
	}
	decodePlain(t, answer, &h)
	ids := map[string]bool{}
	for _, d := range h.Checks[check].Detail {
		if f := strings.Fields(d.Message); len(f) > 1 && f[0] == "pg" {
			ids[f[1]] = true
		}
	}
	return ids, h.Checks[check].Summary.Count
}

// enoughBusy is how many scrapes with running scrubs are compared at least.
const enoughBusy = 5

// seriesChecks keeps scrapes, to be compared with the recording afterwards.
type seriesChecks struct {
	t       *testing.T
	e       *exporter.Exporter
	scrapes []exporter.Series
}

// scrape takes one and keeps it when it is of other polls than the last one.
func (c *seriesChecks) scrape() exporter.Series {
	s := c.e.Scrape()
	const stamp, active = "cephrisk_pg_snapshot_timestamp_seconds", "cephrisk_pg_activity_timestamp_seconds"
	if n := len(c.scrapes); n == 0 || c.scrapes[n-1][stamp] != s[stamp] || c.scrapes[n-1][active] != s[active] {
		c.scrapes = append(c.scrapes, s)
	}
	return s
}

// busy returns how many of the scrapes show running scrubs.
func (c *seriesChecks) busy() int {
	n := 0
	for _, s := range c.scrapes {
		if s.Sum("cephrisk_scrubs_running") > 0 {
			n++
		}
	}
	return n
}

// run compares every scrape with what the recording gives.
func (c *seriesChecks) run() {
	c.t.Helper()
	recording := c.e.Recording()
	for _, s := range c.scrapes {
		at := int64(math.Round(s["cephrisk_pg_snapshot_timestamp_seconds"] * 1e6))
		v := viewAt(c.t, recording, time.UnixMicro(at))
		got := exporter.Series{}
		for _, f := range latenessFamilies {
			for k, value := range s.With(f) {
				got[k] = value
			}
		}
		if diff := cmp.Diff(v.lateness(at), got); diff != "" {
			c.t.Errorf("series as of %s differ from the bytes received (-want +got):\n%s", time.UnixMicro(at), diff)
		}
		active, ok := c.active(recording, time.UnixMicro(int64(math.Round(s["cephrisk_pg_activity_timestamp_seconds"]*1e6))))
		if !ok {
			c.t.Error("no answer behind a scrape's running scrubs")
			continue
		}
		got = s.With("cephrisk_scrubs_running")
		for k, value := range s.With("cephrisk_osd_scrubs_running") {
			got[k] = value
		}
		if diff := cmp.Diff(v.running(active), got); diff != "" {
			c.t.Errorf("running scrubs differ from the bytes received (-want +got):\n%s", diff)
		}
	}
	busy := c.busy()
	c.t.Logf("%d scrapes compared, %d of them with running scrubs", len(c.scrapes), busy)
	if len(c.scrapes) < 20 || busy < enoughBusy {
		c.t.Errorf("too little to compare: %d scrapes, %d with running scrubs", len(c.scrapes), busy)
	}
}

func (c *seriesChecks) active(recording []ceph.RecordedAnswer, at time.Time) ([]plainPG, bool) {
	var last *ceph.RecordedAnswer
	for i := range recording {
		if r := &recording[i]; r.Prefix() == "pg ls" && r.Error == "" && !r.At.After(at) {
			last = r
		}
	}
	if last == nil {
		return nil, false
	}
	return plainPGs(c.t, last.Answer), true
}

var scrubOK = regexp.MustCompile(`\b([0-9]+)\.[0-9a-f]+ (deep-)?scrub ok\b`)

// clusterLogScrubs counts the completed scrubs in the cluster log by pool and
// level.
func clusterLogScrubs(t *testing.T, c *cephtest.Cluster) exporter.Series {
	t.Helper()
	f, err := os.Open(c.ClusterLogPath())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := exporter.Series{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := scrubOK.FindStringSubmatch(lines.Text()); m != nil {
			level := "shallow"
			if m[2] != "" {
				level = "deep"
			}
			out["cephrisk_scrub_completions_total"+labelText("level", level, "pool_id", m[1])]++
		}
	}
	return out
}

// completions scrubs every PG on request, round by round, and compares the
// counters with the cluster log.
func completions(t *testing.T, ctx context.Context, c *cephtest.Cluster, e *exporter.Exporter) {
	must(t, c, ctx, "osd set noscrub")
	must(t, c, ctx, "osd set nodeep-scrub")
	for option, value := range map[string]string{"osd_scrub_sleep": "0.01", "osd_max_scrubs": "5"} {
		if err := c.SetConfig(ctx, "osd", option, value); err != nil {
			t.Fatal(err)
		}
	}
	settled := func() (before exporter.Series) {
		written, which := time.Now(), ""
		e.Await("running scrubs to end", 2*time.Minute, func() error {
			s := e.Scrape()
			n := s.Sum("cephrisk_scrubs_running")
			if n == 0 {
				return nil
			}
			// A PG whose reservation was refused can be "scrubbing" until it
			// reports again, which an idle one does after minutes only.
			if time.Since(written) > 15*time.Second {
				for _, pool := range scrubPools {
					if err := c.PutObjects(ctx, pool, 40, 4096); err != nil {
						t.Fatal(err)
					}
				}
				written, which = time.Now(), must(t, c, ctx, "pg ls scrubbing")
			}
			return fmt.Errorf("%v scrubs run %s", n, which)
		})
		// Two dumps later no completion is under way between OSD and mgr:
		// OSDs report every five seconds.
		begin := e.Scrape()["cephrisk_pg_snapshot_timestamp_seconds"]
		e.Await("what has ended to arrive", time.Minute, func() error {
			if s := e.Scrape()["cephrisk_pg_snapshot_timestamp_seconds"]; s < begin+6 {
				return fmt.Errorf("dump of %v", s)
			}
			return nil
		})
		return e.Scrape().With("cephrisk_scrub_completions_total")
	}
	before, logBefore := settled(), clusterLogScrubs(t, c)
	scrubs := 0.0
	const completed = "cephrisk_scrub_completions_total"
	for _, round := range []string{"deep-scrub", "scrub", "deep-scrub"} {
		want := scrubs + 48
		for _, pool := range scrubPools {
			must(t, c, ctx, "osd pool "+round+" "+pool)
		}
		e.Await(round+" of all PGs in the cluster log", 3*time.Minute, func() error {
			scrubs = clusterLogScrubs(t, c).Sum(completed) - logBefore.Sum(completed)
			if scrubs < want {
				return fmt.Errorf("%v of %v", scrubs, want)
			}
			return nil
		})
		// A PG that is scrubbed again before its OSD reports shows one stamp
		// that moved: two scrubs that nobody can tell from one.
		e.Await(round+" of all PGs in the counters", time.Minute, func() error {
			if n := e.Scrape().Sum(completed) - before.Sum(completed); n < scrubs {
				return fmt.Errorf("%v of %v", n, scrubs)
			}
			return nil
		})
	}
	after, logAfter := settled(), clusterLogScrubs(t, c)
	got, want := exporter.Series{}, exporter.Series{}
	for k := range after {
		got[k] = after[k] - before[k]
		want[k] = logAfter[k] - logBefore[k]
	}
	t.Logf("%v completed scrubs in the cluster log, %v counted", want.Sum("cephrisk_scrub_completions_total"), got.Sum("cephrisk_scrub_completions_total"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("completions differ from the cluster log (-log +counted):\n%s", diff)
	}
	if scrubs < 100 {
		t.Errorf("only %v scrubs", scrubs)
	}
	durations := e.Scrape().Sum("cephrisk_scrub_duration_seconds_count")
	if all := e.Scrape().Sum("cephrisk_scrub_completions_total"); durations == 0 || durations > all {
		t.Errorf("%v durations of %v completions", durations, all)
	}
}

// mgrWithoutReports restarts the mgr while no OSD runs: it then invents stamps
// and sizes for PGs that it calls unknown, which must not be believed.
func mgrWithoutReports(t *testing.T, ctx context.Context, c *cephtest.Cluster, e *exporter.Exporter) {
	before := e.Scrape().With("cephrisk_scrub_completions_total")
	osds, err := c.OSDs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range osds {
		if err := c.Stop(ctx, fmt.Sprintf("osd.%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Restart(ctx, "mgr.x"); err != nil {
		t.Fatal(err)
	}
	pgs := 0.0
	e.Await("a dump full of unknown PGs", 3*time.Minute, func() error {
		s := e.Scrape()
		pgs = s.Sum("cephrisk_pool_pgs")
		if n := s.Sum("cephrisk_pool_pgs_unknown"); pgs < 48 || n != pgs {
			return fmt.Errorf("%v of %v PGs unknown", n, pgs)
		}
		return nil
	})
	s := e.Scrape()
	if n := len(s.With("cephrisk_pg_last_deep_scrub_age_seconds")); n != 0 {
		t.Errorf("%d unknown PGs have an age", n)
	}
	if n := s.Sum("cephrisk_pool_pgs_late"); n != 0 {
		t.Errorf("%v unknown PGs are judged", n)
	}
	if diff := cmp.Diff(before, s.With("cephrisk_scrub_completions_total")); diff != "" {
		t.Errorf("completions were invented:\n%s", diff)
	}
	for i := range osds {
		if err := c.Start(ctx, fmt.Sprintf("osd.%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	e.Await("the reports to come back", 3*time.Minute, func() error {
		s := e.Scrape()
		if n := s.Sum("cephrisk_pool_pgs_unknown"); n != 0 || s[`cephrisk_collector_success{collector="pg"}`] != 1 {
			return fmt.Errorf("%v PGs unknown, success %v", n, s[`cephrisk_collector_success{collector="pg"}`])
		}
		return nil
	})
	s = e.Scrape()
	if n := float64(len(s.With("cephrisk_pg_last_deep_scrub_age_seconds"))); n != pgs {
		t.Errorf("%v of %v PGs have an age again", n, pgs)
	}
	if diff := cmp.Diff(before, s.With("cephrisk_scrub_completions_total")); diff != "" {
		t.Errorf("completions were invented when the reports came back:\n%s", diff)
	}
}
