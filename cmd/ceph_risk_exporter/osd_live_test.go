package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

// osdCluster is a cluster of four OSDs whose scrubs and recovery are slow enough
// to be seen, with deep scrubs due after twenty seconds.
func osdCluster(t *testing.T, r cephtest.Release) *cephtest.Cluster {
	t.Helper()
	osd := map[string]string{
		"osd_op_queue": "wpq", "osd_scrub_sleep": "1", "osd_scrub_chunk_min": "1", "osd_scrub_chunk_max": "5", "osd_scrub_load_threshold": "1000",
		"osd_recovery_max_active": "1", "osd_max_scrubs": "1",
	}
	if r >= cephtest.R18 {
		osd["osd_shallow_scrub_chunk_min"], osd["osd_shallow_scrub_chunk_max"] = "1", "5"
	}
	return cephtest.New(t, cephtest.Options{Release: r, OSDs: 4, Pools: []cephtest.Pool{{Name: "data", PGs: 32, Size: 2}, {Name: "erasure", PGs: 8, EC: true}},
		Conf: map[string]map[string]string{"osd": osd, "global": {
			"osd_deep_scrub_interval": "20", "osd_scrub_min_interval": "10", "mon_warn_pg_not_deep_scrubbed_ratio": "0.5",
		}}})
}

// What OSDs store, where their work meets and how they boot, on one cluster per
// release, with the documented key.
func TestOSDsMETAOverlapAndBoots(t *testing.T) {
	cephtest.RequireTool(t, "prometheus")
	for _, r := range cephtest.Releases() {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 45*time.Minute)
			defer cancel()
			c := osdCluster(t, r)
			e := exporter.Start(t, c, "risk", "--collector.pg.interval=2s", "--collector.pg.fast-interval=1s", "--collector.osd.interval=1s",
				"--collector.bluestore", "--collector.bluestore.interval=1s", "--collector.bluestore.watch-interval=500ms", "--path.rootfs=/")
			for _, flag := range []string{"noscrub", "nodeep-scrub"} {
				must(t, c, ctx, "osd set "+flag)
			}
			diskUsage(t, ctx, c, e)
			bootsOfOSDs(t, ctx, c, e, r)
			joins(t, e)
			overlap(t, ctx, c, e, r)
		})
	}
}

// diskUsage writes, deletes and compacts, and compares with `ceph osd df` each time.
func diskUsage(t *testing.T, ctx context.Context, c *cephtest.Cluster, e *exporter.Exporter) {
	bench := func(args ...string) func() error {
		return func() error {
			seconds := "1"
			if cephtest.Long() {
				seconds = "30"
			}
			_, err := c.Run(ctx, "rados", append([]string{"-c", c.ConfPath(), "-p", "data", "bench", seconds, "write", "--no-cleanup", "-b", "4096", "--run-name"}, args...)...)
			return err
		}
	}
	compactions := func() float64 { return e.Scrape().Sum("cephrisk_osd_rocksdb_compactions_total") }
	compact := func() error {
		before := compactions()
		for osd := range 4 {
			if _, err := c.Ceph(ctx, "tell", fmt.Sprintf("osd.%d", osd), "compact"); err != nil {
				return err
			}
		}
		e.Await("the compactions to be counted", time.Minute, func() error {
			if n := compactions() - before; n < 4 {
				return fmt.Errorf("%v of 4", n)
			}
			return nil
		})
		return nil
	}
	remove := func(name string) func() error {
		return func() error {
			_, err := c.Run(ctx, "rados", "-c", c.ConfPath(), "-p", "data", "cleanup", "--run-name", name)
			return err
		}
	}
	type step struct {
		what string
		do   func() error
	}
	steps := []step{{"objects", bench("objects")}, {"omap", bench("omap", "--write-omap")}, {"compaction", compact}, {"objects deleted", remove("objects")}}
	if cephtest.Long() {
		steps = append(steps, step{"another compaction", compact}, step{"omap deleted", remove("omap")}, step{"objects again", bench("again")},
			step{"a third compaction", compact}, step{"all deleted", remove("again")}, step{"a last compaction", compact})
	}
	moved := map[string]bool{}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		var got exporter.Series
		begin := time.Now()
		e.Await("the series to equal `ceph osd df` after "+step.what, 2*time.Minute, func() error {
			df := must(t, c, ctx, "osd df --format json")
			got = usageSeries(e.Scrape())
			if diff := cmp.Diff(plainUsage(t, []byte(df)), got); diff != "" {
				return fmt.Errorf("differ: %s", diff)
			}
			// OSDs report every five seconds; not every step changes something.
			if moved[fmt.Sprint(got)] && time.Since(begin) < 15*time.Second {
				return fmt.Errorf("nothing has changed yet")
			}
			return nil
		})
		moved[fmt.Sprint(got)] = true
		t.Logf("after %s: META %.1f MiB, OMAP %.1f MiB, data %.1f MiB, unaccounted %.3f MiB", step.what, got.Sum("cephrisk_osd_bluestore_meta_bytes")/(1<<20),
			got.Sum("cephrisk_osd_bluestore_omap_bytes")/(1<<20), got.Sum("cephrisk_osd_bluestore_data_bytes")/(1<<20), got.Sum("cephrisk_osd_bluestore_unaccounted_bytes")/(1<<20))
	}
	if len(moved) < 3 {
		t.Errorf("only %d different pictures in %d steps", len(moved), len(steps))
	}
	// Every scrape is what the answer behind it says, also while things move.
	s := e.Scrape()
	since := time.UnixMicro(int64(math.Round(s[`cephrisk_collector_last_success_timestamp_seconds{collector="osd"}`] * 1e6)))
	for _, r := range e.Recording() {
		if r.Prefix() == "osd df" && r.Error == "" && !r.At.Before(since) {
			if diff := cmp.Diff(plainUsage(t, r.Answer), usageSeries(s)); diff != "" {
				t.Errorf("a scrape differs from the answer received (-want +got):\n%s", diff)
			}
			break
		}
	}
}

var usageFamilies = []string{"cephrisk_osd_size_bytes", "cephrisk_osd_bluestore_meta_bytes", "cephrisk_osd_bluestore_omap_bytes", "cephrisk_osd_bluestore_data_bytes", "cephrisk_osd_bluestore_unaccounted_bytes"}

func usageSeries(s exporter.Series) exporter.Series { return families(s, usageFamilies) }

func families(s exporter.Series, names []string) exporter.Series {
	out := exporter.Series{}
	for _, f := range names {
		for k, v := range s.With(f) {
			out[k] = v
		}
	}
	return out
}

func plainUsage(t *testing.T, answer []byte) exporter.Series {
	t.Helper()
	var df struct {
		Nodes []struct {
			ID   int     `json:"id"`
			Size float64 `json:"kb"`
			Used float64 `json:"kb_used"`
			Data float64 `json:"kb_used_data"`
			Omap float64 `json:"kb_used_omap"`
			Meta float64 `json:"kb_used_meta"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(answer, &df); err != nil {
		t.Fatal(err)
	}
	out := exporter.Series{}
	for _, n := range df.Nodes {
		for i, v := range []float64{n.Size, n.Meta, n.Omap, n.Data, n.Used - n.Data - n.Omap - n.Meta} {
			out[usageFamilies[i]+labelText("ceph_daemon", fmt.Sprintf("osd.%d", n.ID))] = 1024 * v
		}
	}
	return out
}

// overlap marks an OSD out while scrubs run, and compares every scrape with what
// the answers give.
func overlap(t *testing.T, ctx context.Context, c *cephtest.Cluster, e *exporter.Exporter, r cephtest.Release) {
	if err := c.PutObjects(ctx, "data", 1000, 4096); err != nil {
		t.Fatal(err)
	}
	if err := c.PutObjects(ctx, "erasure", 100, 4096); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitClean(ctx); err != nil {
		t.Fatal(err)
	}
	checks := &seriesChecks{t: t, e: e}
	// At first scrubs begin in spite of recovery, so that both meet for sure.
	set := func(option, value string) {
		if err := c.SetConfig(ctx, "osd", option, value); err != nil {
			t.Fatal(err)
		}
	}
	set("osd_recovery_sleep", "0.4")
	set("osd_scrub_during_recovery", "true")
	for _, flag := range []string{"noscrub", "nodeep-scrub"} {
		must(t, c, ctx, "osd unset "+flag)
	}
	e.Await("scrubs to run", 3*time.Minute, func() error {
		if n := checks.scrape().Sum("cephrisk_osd_scrubs_running"); n == 0 {
			return fmt.Errorf("none runs")
		}
		return nil
	})
	must(t, c, ctx, "osd out 3")
	blockedBy := func(s exporter.Series, reason string) (n float64) {
		for k, v := range s.With("cephrisk_pool_pgs_scrub_blocked") {
			if strings.Contains(k, strconv.Quote(reason)) {
				n += v
			}
		}
		return n
	}
	seen := map[string]bool{}
	look := func() {
		s := checks.scrape()
		for _, reason := range []string{"not_clean", "recovery", "slots"} {
			seen[reason] = seen[reason] || blockedBy(s, reason) > 0
		}
		seen["overlap"] = seen["overlap"] || s["cephrisk_scrub_recovery_overlap_osds"] > 0
	}
	e.Await("scrub and recovery to meet", 4*time.Minute, func() error {
		look()
		if !seen["overlap"] || !seen["not_clean"] {
			return fmt.Errorf("seen: %v", seen)
		}
		return nil
	})
	set("osd_scrub_during_recovery", "false")
	e.Await("late PGs that wait for their primary's recovery", 4*time.Minute, func() error {
		look()
		if !seen["recovery"] {
			return fmt.Errorf("seen: %v", seen)
		}
		return nil
	})
	set("osd_recovery_sleep", "0")
	set("osd_max_backfills", "8")
	e.Await("recovery and what it blocks to go", 5*time.Minute, func() error {
		look()
		s := checks.scrapes[len(checks.scrapes)-1]
		if a, b := blockedBy(s, "recovery"), blockedBy(s, "not_clean"); a+b > 0 || s.Sum("cephrisk_osd_recovering_pgs") > 0 {
			return fmt.Errorf("%v late PGs blocked by recovery, %v not clean", a, b)
		}
		return nil
	})
	t.Logf("seen: %v", seen)
	must(t, c, ctx, "osd in 3")
	checks.overlaps(r)
}

// overlaps compares every scrape's overlap and blocked PGs with what the
// recording gives.
func (c *seriesChecks) overlaps(r cephtest.Release) {
	c.t.Helper()
	recording := c.e.Recording()
	both, late := 0, 0
	every := 1
	if !cephtest.Long() {
		every = 1 + len(c.scrapes)/40
	}
	for i, s := range c.scrapes {
		if i%every != 0 && s["cephrisk_scrub_recovery_overlap_osds"] == 0 {
			continue
		}
		at := time.UnixMicro(int64(math.Round(s["cephrisk_pg_snapshot_timestamp_seconds"] * 1e6)))
		v := viewAt(c.t, recording, at)
		got := families(s, blockedFamilies)
		if got.Sum("cephrisk_osd_late_pgs") > 0 {
			late++
		}
		if diff := cmp.Diff(v.blocked(at.UnixMicro(), int(r)), got); diff != "" {
			c.t.Errorf("blocked PGs as of %s differ from the bytes received (-want +got):\n%s", at, diff)
		}
		active, ok := c.active(recording, time.UnixMicro(int64(math.Round(s["cephrisk_pg_activity_timestamp_seconds"]*1e6))))
		if !ok {
			c.t.Error("no answer behind a scrape's overlap")
			continue
		}
		got = families(s, overlapFamilies)
		if got["cephrisk_scrub_recovery_overlap_osds"] > 0 {
			both++
		}
		if diff := cmp.Diff(v.overlap(active), got); diff != "" {
			c.t.Errorf("overlap differs from the bytes received (-want +got):\n%s", diff)
		}
	}
	c.t.Logf("%d scrapes compared, %d with overlap, %d with late PGs", len(c.scrapes), both, late)
	if both == 0 || late == 0 {
		c.t.Errorf("too little to compare: %d scrapes with overlap, %d with late PGs", both, late)
	}
}

// bootsOfOSDs stops and kills OSDs, with more data each time. On 17 and newer
// their disk is passed off as flash, so that a kill costs a rebuild.
func bootsOfOSDs(t *testing.T, ctx context.Context, c *cephtest.Cluster, e *exporter.Exporter, r cephtest.Release) {
	blind := exporter.Start(t, c, "blind", "--no-collector.pg", "--no-collector.osd", "--collector.bluestore", "--collector.bluestore.interval=1s",
		"--collector.bluestore.watch-interval=500ms", "--path.rootfs="+filepath.Join(c.Dir(), "nothing-here"))
	flash := r >= cephtest.R18
	if flash {
		zero := filepath.Join(c.Dir(), "zero")
		if err := os.WriteFile(zero, []byte("0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		// In the mount namespace of this cluster alone.
		if _, err := c.Run(ctx, "sh", "-c", "for f in /sys/block/*/queue/rotational; do mount --bind "+zero+" $f; done"); err != nil {
			t.Fatal(err)
		}
	}
	rounds := []struct {
		osd  int
		kill bool
	}{{0, false}, {0, true}, {0, false}}
	if cephtest.Long() {
		rounds = slices.Concat(rounds, rounds, rounds, rounds)
	}
	kinds := map[string]int{}
	for i, round := range rounds {
		if i > 0 {
			if err := c.PutObjects(ctx, "data", 200*i, 4096); err != nil {
				t.Fatal(err)
			}
		}
		name, kind := fmt.Sprintf("osd.%d", round.osd), "clean"
		if round.kill {
			kind = "unclean"
			if err := c.Signal(ctx, name, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		} else {
			stop(t, ctx, c, name)
		}
		stored := -1.0
		if i == 0 {
			stored = objectsInStore(t, ctx, c, round.osd)
		}
		if err := c.Start(ctx, name); err != nil {
			t.Fatal(err)
		}
		kinds[kind]++
		checkBoot(t, c, e, blind, name, kind, i, flash && round.kill)
		if err := c.AwaitUp(ctx); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			continue
		}
		e.Await("the objects of "+name+" to be those in its store", 2*time.Minute, func() error {
			if got, ok := e.Scrape()["cephrisk_osd_objects"+labelText("ceph_daemon", name)]; !ok || got != stored {
				return fmt.Errorf("%v (there: %v), %v are in the store", got, ok, stored)
			}
			return nil
		})
		t.Logf("%s has %v objects", name, stored)
	}
	for kind, n := range kinds {
		series := labelText("ceph_daemon", "osd.0", "shutdown", kind)
		s := e.Scrape()
		if got := s["cephrisk_osd_boot_estimate_observations"+series]; got < float64(n) {
			t.Errorf("estimate after a shutdown %s stands on %v boots, %d were made", kind, got, n)
		}
		if v := s["cephrisk_osd_boot_estimate_seconds"+series]; v <= 0 {
			t.Errorf("estimate after a shutdown %s is %v", kind, v)
		}
	}
}

// objectsInStore counts the objects of PGs in the store of a stopped OSD.
func objectsInStore(t *testing.T, ctx context.Context, c *cephtest.Cluster, osd int) (n float64) {
	t.Helper()
	out, err := c.Run(ctx, "ceph-objectstore-tool", "--data-path", filepath.Join(c.Dir(), "osd", strconv.Itoa(osd)), "--op", "list")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		// [PG, object]. A PG's own record has no name, and what it keeps of
		// its scrubs is in a pool of temporary objects, below 0.
		var entry []json.RawMessage
		var object struct {
			Name string `json:"oid"`
			Pool int64  `json:"pool"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && len(entry) == 2 && json.Unmarshal(entry[1], &object) == nil && object.Name != "" && object.Pool >= 0 {
			n++
		}
	}
	return n
}

// stop stops an OSD the orderly way. One that has closed its store and hangs on
// its way out, as 18 can, is helped.
func stop(t *testing.T, ctx context.Context, c *cephtest.Cluster, name string) {
	t.Helper()
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := c.Stop(limited, name)
	if err == nil {
		return
	}
	t.Logf("%v; it is killed", err)
	if err := c.Signal(ctx, name, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// checkBoot compares the n-th boot with the OSD's own log.
func checkBoot(t *testing.T, c *cephtest.Cluster, e, blind *exporter.Exporter, name, kind string, n int, rebuilt bool) {
	t.Helper()
	duration := func(kind string) string {
		return "cephrisk_osd_boot_duration_seconds" + labelText("ceph_daemon", name, "shutdown", kind)
	}
	start := "cephrisk_osd_start_timestamp_seconds" + labelText("ceph_daemon", name)
	var began, took float64
	e.Await(fmt.Sprintf("boot %d of %s, after a shutdown %s, to equal its log", n, name, kind), 2*time.Minute, func() error {
		var done bool
		if began, took, done = logBoot(t, c.LogPath(name)); !done {
			return fmt.Errorf("%s is not active", name)
		}
		s := e.Scrape()
		if got, ok := s[duration(kind)]; !ok || math.Abs(got-took) > 0.0005 || math.Abs(s[start]-began) > 2 {
			return fmt.Errorf("%v; the log says %.3f s since %.3f", s.With("cephrisk_osd_boot_duration_seconds"), took, began)
		}
		if seconds, ok := s["cephrisk_osd_boot_allocation_rebuild_seconds"+labelText("ceph_daemon", name)]; !ok || (seconds > 0) != rebuilt {
			return fmt.Errorf("rebuild %v (there: %v), rebuilt: %v", seconds, ok, rebuilt)
		}
		return nil
	})
	// Without a log the socket tells when, to within a poll or two, and not how.
	const polls = 2.5
	blind.Await("the boot to be seen through the socket", 2*time.Minute, func() error {
		s := blind.Scrape()
		if got, ok := s[duration("unknown")]; !ok || math.Abs(got-took) > polls || math.Abs(s[start]-began) > 2 {
			return fmt.Errorf("%v; the log says %.3f s since %.3f", s.With("cephrisk_osd_boot_duration_seconds"), took, began)
		}
		return nil
	})
	t.Logf("%s after a shutdown %s: %.3f s, through the socket %.3f s", name, kind, took, blind.Scrape()[duration("unknown")])
}

// logBoot returns start and duration of the last boot in a log.
func logBoot(t *testing.T, path string) (began, took float64, done bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		at, err := time.Parse("2006-01-02T15:04:05.000-0700", strings.SplitN(line, " ", 2)[0])
		if err != nil {
			continue
		}
		seconds := float64(at.UnixMilli()) / 1000
		switch {
		case strings.Contains(line, "process ceph-osd, pid"):
			began, done = seconds, false
		case strings.Contains(line, "booting -> active") && !done:
			took, done = seconds-began, true
		}
	}
	return began, took, done
}
