package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

const pgSuccess = `cephrisk_collector_success{collector="pg"}`

// fault is something that happens to the cluster, and how it is undone.
type fault struct {
	name   string
	inject func(ctx context.Context, f *faultRun) error
	// hold is how long it lasts, from its first effect on.
	hold   time.Duration
	repair func(ctx context.Context, f *faultRun) error
	// fails: polls fail while it lasts.
	fails bool
	// want is what becomes of the series, in the order of seriesClasses.
	want [3]string
	// polls says of one in which polls do not fail throughout what they do.
	polls string
}

// What can become of a class of series while a fault lasts.
const (
	fresh = "fresh"             // new values keep coming
	held  = "held, then absent" // the last values for three intervals, with their instant
)

// seriesClasses are the series that share a source, with a series that tells
// the age of the class or, where there is none, its presence.
var seriesClasses = [3]struct{ name, series string }{
	{"ages, lateness, completions, flags, options (dump)", "cephrisk_pg_snapshot_timestamp_seconds"},
	{"running, stuck, inconsistent (`pg ls`)", "cephrisk_pg_activity_timestamp_seconds"},
	{"Ceph's own checks (`health`)", `cephrisk_health_check_items{name="SLOW_OPS"}`},
}

func faults(long bool) []fault {
	signal := func(daemon string, sig syscall.Signal) func(context.Context, *faultRun) error {
		return func(ctx context.Context, f *faultRun) error { return f.c.Signal(ctx, daemon, sig) }
	}
	start := func(daemon string) func(context.Context, *faultRun) error {
		return func(ctx context.Context, f *faultRun) error { return f.c.Start(ctx, daemon) }
	}
	list := []fault{
		{"mgr hangs for 10 s", signal("mgr.x", syscall.SIGSTOP), 10 * time.Second, signal("mgr.x", syscall.SIGCONT), true, [3]string{held, held, fresh}, ""},
		{"mgr killed and restarted", signal("mgr.x", syscall.SIGKILL), 10 * time.Second, start("mgr.x"), true, [3]string{held, held, fresh}, ""},
		{"mon hangs for 10 s (no quorum)", signal("mon.a", syscall.SIGSTOP), 10 * time.Second, signal("mon.a", syscall.SIGCONT), true, [3]string{held, fresh, held}, ""},
		{"mgr fails over to a standby, and back", failOver("mgr.y", "mgr.x"), 5 * time.Second, failBack, false, [3]string{fresh, fresh, fresh}, "may fail for the seconds in which no mgr is active, succeed with the new one"},
		{"one OSD killed and restarted", signal("osd.1", syscall.SIGKILL), 5 * time.Second, start("osd.1"), false, [3]string{fresh, fresh, fresh}, ""},
		{"key revoked and given back", revokeKey, 10 * time.Second, giveKeyBack, true, [3]string{held, held, held}, ""},
	}
	if long {
		list = append(list, fault{"mgr hangs for 60 s", signal("mgr.x", syscall.SIGSTOP), time.Minute, signal("mgr.x", syscall.SIGCONT), true, [3]string{held, held, fresh}, ""})
	}
	// Once more: what is left over from the first time would add up.
	return append(list, list[0])
}

// failOver starts a standby and has it take the place of the active mgr.
func failOver(standby, active string) func(context.Context, *faultRun) error {
	return func(ctx context.Context, f *faultRun) error {
		if err := f.c.Start(ctx, standby); err != nil {
			return err
		}
		return f.succeed(ctx, standby, active)
	}
}

func failBack(ctx context.Context, f *faultRun) error {
	if err := f.succeed(ctx, "mgr.x", "mgr.y"); err != nil {
		return err
	}
	return f.c.Stop(ctx, "mgr.y")
}

// succeed fails the active mgr once the other one stands by, and waits until
// that one is active.
func (f *faultRun) succeed(ctx context.Context, standby, active string) error {
	id := func(daemon string) string { return strings.TrimPrefix(daemon, "mgr.") }
	look := func(good func(m mgrMap) bool) error {
		return f.c.Await(ctx, func(ctx context.Context) (bool, string, error) {
			out, err := f.c.Ceph(ctx, "mgr", "dump", "--format", "json")
			if err != nil {
				return false, "", err
			}
			var m mgrMap
			if err := json.Unmarshal(out, &m); err != nil {
				return false, "", err
			}
			return good(m), fmt.Sprintf("%+v", m), nil
		})
	}
	stands := func(m mgrMap) bool {
		return m.Available && slices.ContainsFunc(m.Standbys, func(s mgrStandby) bool { return s.Name == id(standby) })
	}
	if err := look(stands); err != nil {
		return fmt.Errorf("await that %s stands by: %w", standby, err)
	}
	if _, err := f.c.Ceph(ctx, "mgr", "fail", id(active)); err != nil {
		return err
	}
	if err := look(func(m mgrMap) bool { return m.Available && m.Active == id(standby) }); err != nil {
		return fmt.Errorf("await that %s is active: %w", standby, err)
	}
	return nil
}

type mgrStandby struct{ Name string }

// mgrMap is what is looked at of `mgr dump`.
type mgrMap struct {
	Available bool
	Active    string `json:"active_name"`
	Standbys  []mgrStandby
}

// revokeKey removes the key and has the connection replaced, which would
// otherwise outlive its key until its tickets expire.
func revokeKey(ctx context.Context, f *faultRun) error {
	if err := f.c.RemoveKey(ctx, "client.risk"); err != nil {
		return err
	}
	if err := f.c.Signal(ctx, "mgr.x", syscall.SIGSTOP); err != nil {
		return err
	}
	f.e.Await("a command to be given up", time.Minute, func() error {
		if s, err := f.e.TryScrape(); err != nil || s[pgSuccess] != 0 {
			return fmt.Errorf("success %v, %w", s[pgSuccess], err)
		}
		return nil
	})
	return f.c.Signal(ctx, "mgr.x", syscall.SIGCONT)
}

func giveKeyBack(ctx context.Context, f *faultRun) error {
	_, err := f.c.Ceph(ctx, "auth", "add", "client.risk", "-i", filepath.Join(f.c.Dir(), "client.risk.keyring"), "mon", "allow r", "mgr", "allow r")
	return err
}

// faultRun is one exporter that lives through all faults of a release.
type faultRun struct {
	t *testing.T
	c *cephtest.Cluster
	e *exporter.Exporter
}

// The exporter outlives whatever happens to the cluster, no scrape waits for
// Ceph, and afterwards everything is as before.
func TestExporterOutlivesTheClustersFaults(t *testing.T) {
	for _, r := range []cephtest.Release{cephtest.R16, cephtest.R20} {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 45*time.Minute)
			defer cancel()
			c := cephtest.New(t, cephtest.Options{Release: r, Pools: []cephtest.Pool{{Name: "data", PGs: 16}}})
			f := &faultRun{t: t, c: c, e: exporter.Start(t, c, "risk",
				"--ceph.timeout=2s", "--collector.pg.interval=2s", "--collector.pg.fast-interval=1s", "--collector.pg.dump-timeout=4s")}
			f.healthy()
			var levels []level
			for _, fault := range faults(cephtest.Long()) {
				f.run(ctx, fault)
				levels = append(levels, f.level())
				t.Logf("%-28s %+v", fault.name, levels[len(levels)-1])
			}
			first, last := levels[0], levels[len(levels)-1]
			if last.Descriptors > first.Descriptors+2 || last.Threads > first.Threads+4 || last.Goroutines > first.Goroutines+2 {
				t.Errorf("after the first fault %+v, after it came again %+v", first, last)
			}
			if !f.e.Alive() {
				t.Errorf("the exporter has ended:\n%s", f.e.Log())
			}
		})
	}
}

// level is what a leak would raise.
type level struct {
	Stuck, Threads, Descriptors, Goroutines int
	Resident                                int // MiB
}

func (f *faultRun) level() level {
	var l level
	// Given-up calls come back within moments of the repair; a replaced
	// connection takes its threads along a little later.
	f.e.Await("given-up calls to come back", time.Minute, func() error {
		s := f.e.Scrape()
		l = level{
			Stuck: int(s["cephrisk_ceph_commands_stuck"]), Threads: f.threads(), Descriptors: int(s["process_open_fds"]),
			Goroutines: int(s["go_goroutines"]), Resident: int(s["process_resident_memory_bytes"]) >> 20,
		}
		if l.Stuck != 0 {
			return fmt.Errorf("%d are stuck", l.Stuck)
		}
		if a, b := s["cephrisk_ceph_commands_abandoned_total"], s["cephrisk_ceph_commands_returned_total"]; a != b {
			return fmt.Errorf("%v given up, %v returned", a, b)
		}
		return nil
	})
	return l
}

func (f *faultRun) threads() int { return int(f.e.Scrape()["cephrisk_process_threads"]) }

// healthy waits for a successful poll.
func (f *faultRun) healthy() {
	f.t.Helper()
	f.e.Await("a successful poll", 3*time.Minute, func() error {
		s, err := f.e.TryScrape()
		if err != nil {
			return err
		}
		if s[pgSuccess] != 1 {
			return fmt.Errorf("success %v", s[pgSuccess])
		}
		return nil
	})
}

func (f *faultRun) run(ctx context.Context, x fault) {
	t := f.t
	before := f.e.Scrape()
	if err := x.inject(ctx, f); err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	if x.fails {
		f.e.Await("success to be 0: "+x.name, 2*time.Minute, func() error {
			if s := f.e.Scrape(); s[pgSuccess] != 0 {
				return fmt.Errorf("success %v", s[pgSuccess])
			}
			return nil
		})
	}
	f.during(x, before)
	repaired := time.Now()
	if err := x.repair(ctx, f); err != nil {
		t.Fatalf("%s: repair: %v", x.name, err)
	}
	f.healthy()
	f.e.Await("all PGs to be known and aged again: "+x.name, 3*time.Minute, func() error {
		s := f.e.Scrape()
		if got, want := len(s.With("cephrisk_pg_last_deep_scrub_age_seconds")), len(before.With("cephrisk_pg_last_deep_scrub_age_seconds")); got < want {
			return fmt.Errorf("%d of %d ages", got, want)
		}
		return nil
	})
	if x.fails {
		f.returnsWithinTwoPolls(x, repaired)
	}
}

// during scrapes while the fault lasts: every scrape answers, and what it says
// is either the truth as of a stated instant or absent.
func (f *faultRun) during(x fault, before exporter.Series) {
	t := f.t
	hold := x.hold
	if x.fails {
		// A loaded machine stretches the interval, and three of it must pass.
		interval := before[`cephrisk_collector_interval_seconds{collector="pg"}`]
		hold = max(hold, time.Duration((3*interval+3)*float64(time.Second)))
	}
	end := time.Now().Add(hold)
	half := end.Add(-hold / 2)
	var atHalf, last exporter.Series
	for time.Now().Before(end) {
		last = f.e.Scrape() // fails the test where it does not answer
		if time.Now().Before(half) {
			atHalf = last
		}
		_, dump := last["cephrisk_pg_snapshot_timestamp_seconds"]
		if ages := len(last.With("cephrisk_pg_last_deep_scrub_age_seconds")); !dump && ages > 0 {
			t.Errorf("%s: %d ages without a dump", x.name, ages)
		}
		if dump && last.Sum("cephrisk_pool_pgs") < before.Sum("cephrisk_pool_pgs") {
			t.Errorf("%s: %v PGs", x.name, last.Sum("cephrisk_pool_pgs"))
		}
		if dump && last.Sum("cephrisk_scrub_completions_total") < before.Sum("cephrisk_scrub_completions_total") {
			t.Errorf("%s: a counter fell", x.name)
		}
		if n, limit := last["cephrisk_ceph_commands_stuck"], last["cephrisk_ceph_commands_stuck_limit"]; n > limit {
			t.Errorf("%s: %v commands stuck, the bound is %v", x.name, n, limit)
		}
		time.Sleep(200 * time.Millisecond)
	}
	// The interval in force grows with what a dump takes on a loaded machine, and
	// what is held goes after three of it, whenever that is; what is fresh comes
	// once in it.
	f.e.Await("what is held to go and what is fresh to come: "+x.name, 5*time.Minute, func() error {
		last = f.e.Scrape()
		for i, class := range seriesClasses {
			is, has := last[class.series]
			was, had := atHalf[class.series]
			switch {
			case has && x.want[i] == held:
				return fmt.Errorf("%s is still there", class.series)
			case x.want[i] == fresh && (!has || had && is == was && strings.Contains(class.series, "timestamp")):
				return fmt.Errorf("%s stays %v, there: %t", class.series, is, has)
			}
		}
		return nil
	})
	for i, class := range seriesClasses {
		was, had := atHalf[class.series]
		is, has := last[class.series]
		got := "held"
		switch {
		case !has:
			got = held
		case !had || is > was || !strings.Contains(class.series, "timestamp"):
			got = fresh
		}
		if got != x.want[i] {
			t.Errorf("%s: %s: %s, want %s", x.name, class.name, got, x.want[i])
		}
	}
}

// The table of faults in the documentation is the one that the live test
// checks.
func TestReliabilityTableIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(tableBegin + "\n| while this lasts | polls | scrapes |")
	for _, c := range seriesClasses {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n|---|---|---|---|---|---|\n")
	for _, x := range faults(true) {
		polls := "succeed"
		if x.polls != "" {
			polls = x.polls
		}
		if x.fails {
			polls = "fail (`cephrisk_collector_success` 0), succeed by the second poll after the mgr is ready"
		}
		if x.name == faults(true)[0].name && strings.Contains(b.String(), x.name) {
			continue // comes twice
		}
		fmt.Fprintf(&b, "| %s | %s | answer at once |", x.name, polls)
		for _, w := range x.want {
			b.WriteString(" " + w + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString(tableEnd)
	documented(t, tableBegin, tableEnd, b.String())
}

// documented compares a section of the documentation, which begins and ends with
// these lines, or writes it.
func documented(t *testing.T, begin, end, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "reliability.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	from, to := strings.Index(text, begin), strings.Index(text, end)
	if from < 0 || to < from {
		t.Fatalf("%s has no section %s", path, begin)
	}
	to += len(end)
	if got := text[from:to]; got != want {
		if *update {
			if err := os.WriteFile(path, []byte(text[:from]+want+text[to:]), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("%s is not current (go test ./cmd/ceph_risk_exporter -run IsCurrent -update):\n%s", path, cmp.Diff(want, got))
	}
}

const (
	tableBegin = "<!-- faults: written by a test -->"
	tableEnd   = "<!-- end of faults -->"
)

var update = flag.Bool("update", false, "rewrite generated documents")

// returnsWithinTwoPolls looks into the recording: at the second poll after the
// mgr was ready again at the latest, a whole poll succeeded.
func (f *faultRun) returnsWithinTwoPolls(x fault, repaired time.Time) {
	polls, ready := 0, false
	for _, r := range f.e.Recording() {
		if r.At.Before(repaired) {
			continue
		}
		// Every poll begins with health.
		if r.Prefix() == "health" && ready {
			polls++
		}
		if r.Prefix() == "pg ls" && r.Error == "" {
			ready = ready || readyAnswer(r)
		}
		if r.Prefix() == "pg dump" && r.Error == "" && readyAnswer(r) {
			if polls > 2 {
				f.t.Errorf("%s: the first good dump came %d polls after the mgr was ready", x.name, polls)
			}
			return
		}
	}
	f.t.Errorf("%s: no good dump after the repair", x.name)
}

func readyAnswer(r ceph.RecordedAnswer) bool {
	return strings.Contains(string(r.Answer[:min(len(r.Answer), 40)]), `"pg_ready":true`)
}
