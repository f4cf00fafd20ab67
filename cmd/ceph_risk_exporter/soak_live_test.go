package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

// soakRun is one exporter of both roles on a live cluster that something is always
// wrong with.
type soakRun struct {
	t       *testing.T
	c       *cephtest.Cluster
	e       *exporter.Exporter
	random  *rand.Rand
	path    string // of the result; empty: not written
	result  soakResult
	last    exporter.Series
	uploads *uploader
}

// TestSoak polls ten times as often as by default, for two hours, while random
// daemons hang, die and come back. What a leak would raise is sampled where
// nothing is wrong and must be level over the run; what clients uploaded must
// have been counted; between faults no poll may fail.
//
// CEPHRISK_SOAK (2h), CEPHRISK_SOAK_RELEASE (20), CEPHRISK_SOAK_SEED (1) and
// CEPHRISK_SOAK_RESULT (path of the result, which is brought up to date every
// minute) change the run.
func TestSoak(t *testing.T) {
	cephtest.SkipUnlessLong(t)
	length, err := time.ParseDuration(envOr("CEPHRISK_SOAK", "2h"))
	if err != nil {
		t.Fatal(err)
	}
	release, err := strconv.Atoi(envOr("CEPHRISK_SOAK_RELEASE", "20"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(envOr("CEPHRISK_SOAK_SEED", "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), length+30*time.Minute)
	defer cancel()
	s := startSoak(ctx, t, cephtest.Release(release))
	s.random = rand.New(rand.NewPCG(seed, 0))
	s.result = soakResult{Release: release, Seed: seed, Planned: length.String(), Faults: map[string]int{}}
	if s.path = os.Getenv("CEPHRISK_SOAK_RESULT"); s.path == "" && *update {
		s.path = soakResultPath
	}
	defer func() { s.save() }() // also where the test fails
	s.run(ctx, length)
	s.result.Ended = !t.Failed()
	s.judge()
	t.Logf("\n%s", s.result.section())
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func startSoak(ctx context.Context, t *testing.T, release cephtest.Release) *soakRun {
	c := cephtest.New(t, cephtest.Options{
		Release: release, RGWs: 1, RGWOpsLog: true,
		// Always something being scrubbed.
		Conf: map[string]map[string]string{"global": {
			"osd_scrub_min_interval": "60", "osd_scrub_max_interval": "300", "osd_deep_scrub_interval": "240", "osd_scrub_load_threshold": "100",
		}},
		Pools: []cephtest.Pool{{Name: "data", PGs: 16, Objects: 200}},
	})
	e := exporter.Start(t, c, "risk",
		"--collector.pg.interval=6s", "--collector.pg.fast-interval=1500ms", "--collector.pg.dump-timeout=20s", "--ceph.timeout=5s",
		"--collector.osd.interval=6s", "--collector.forecast.interval=1m",
		"--collector.daemon", "--collector.daemon.interval=1s", "--collector.bluestore", "--collector.bluestore.interval=3s",
		"--collector.rgw", "--collector.rgw.interval=1500ms", "--rgw.ops-log="+filepath.Join(filepath.Dir(c.OpsLogPath(0)), "ops-log-*.log"),
		"--collector.enclosure", "--collector.enclosure.interval=3s")
	return &soakRun{t: t, c: c, e: e, uploads: startUploads(ctx, t, c)}
}

// soakFault is something that lasts for some time. hold is cut short when the
// run is.
type soakFault struct {
	name string
	do   func(ctx context.Context, s *soakRun, hold func()) error
}

func signalled(daemon string, sig syscall.Signal, undo func(context.Context, *cephtest.Cluster) error) func(context.Context, *soakRun, func()) error {
	return func(ctx context.Context, s *soakRun, hold func()) error {
		if err := s.c.Signal(ctx, daemon, sig); err != nil {
			return err
		}
		hold()
		return undo(ctx, s.c)
	}
}

func hangs(daemon string) func(context.Context, *soakRun, func()) error {
	return signalled(daemon, syscall.SIGSTOP, func(ctx context.Context, c *cephtest.Cluster) error {
		return c.Signal(ctx, daemon, syscall.SIGCONT)
	})
}

func dies(daemon string) func(context.Context, *soakRun, func()) error {
	return signalled(daemon, syscall.SIGKILL, func(ctx context.Context, c *cephtest.Cluster) error {
		return c.Start(ctx, daemon)
	})
}

func soakFaults() []soakFault {
	return []soakFault{
		{"mgr hangs", hangs("mgr.x")},
		{"mgr killed", dies("mgr.x")},
		{"mon hangs", hangs("mon.a")},
		{"mon killed", dies("mon.a")},
		{"OSD hangs", hangs("osd.1")},
		{"OSD killed", dies("osd.2")},
		{"gateway hangs", hangs("rgw.a")},
		{"gateway restarted", func(ctx context.Context, s *soakRun, hold func()) error {
			defer hold()
			return s.c.Restart(ctx, "rgw.a") // killed, it would take records of its log along
		}},
		{"ops log rotated", func(ctx context.Context, s *soakRun, hold func()) error {
			log := s.c.OpsLogPath(0)
			if err := os.Rename(log, fmt.Sprintf("%s.%d", log, time.Now().UnixNano())); err != nil {
				return err
			}
			defer hold()
			return s.c.Signal(ctx, "rgw.a", syscall.SIGHUP)
		}},
		{"key revoked while the mgr hangs", func(ctx context.Context, s *soakRun, hold func()) error {
			if err := s.c.RemoveKey(ctx, "client.risk"); err != nil {
				return err
			}
			hung := hangs("mgr.x")(ctx, s, hold)
			if err := giveKeyBack(ctx, &faultRun{c: s.c}); err != nil {
				return err
			}
			return hung
		}},
		{"200 clients that never ask", func(ctx context.Context, s *soakRun, hold func()) error {
			idle, err := dialMany(ctx, strings.TrimPrefix(s.e.URL, "http://"), 200)
			defer closeAll(idle)
			hold()
			return err
		}},
	}
}

// run injects faults until the time is up.
func (s *soakRun) run(ctx context.Context, length time.Duration) {
	began := time.Now()
	end := began.Add(length)
	list := soakFaults()
	s.healthy(ctx, began)
	for time.Now().Before(end) && ctx.Err() == nil && !s.t.Failed() {
		x := list[s.random.IntN(len(list))]
		duration := time.Duration(5+s.random.IntN(45)) * time.Second
		s.result.Faults[x.name]++
		if err := x.do(ctx, s, func() { s.watch(ctx, began, duration) }); err != nil {
			s.t.Errorf("%s: %v", x.name, err)
			return
		}
		s.healthy(ctx, began)
		quiet := s.last
		s.watch(ctx, began, time.Duration(15+s.random.IntN(20))*time.Second)
		s.result.add(s.sample(began, true))
		for series, v := range s.last.With("cephrisk_collector_failures_total") {
			if v != quiet[series] {
				s.result.QuietFailures += int(v - quiet[series])
				s.t.Logf("after %s: %v polls of %s failed although nothing was wrong", x.name, v-quiet[series], series)
			}
		}
	}
}

// watch samples for some time.
func (s *soakRun) watch(ctx context.Context, began time.Time, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		s.result.add(s.sample(began, false))
		select {
		case <-ctx.Done():
		case <-time.After(min(5*time.Second, time.Until(end))):
		}
	}
}

// healthy waits until all is well: what was given up has come back, every
// collector succeeds and every PG has its age.
func (s *soakRun) healthy(ctx context.Context, began time.Time) {
	since := time.Now()
	s.e.Await("all to be well", 10*time.Minute, func() error {
		sample := s.sample(began, false)
		s.result.add(sample)
		time.Sleep(time.Second)
		for series, v := range s.last.With("cephrisk_collector_success") {
			if v != 1 {
				return fmt.Errorf("%s is %v", series, v)
			}
		}
		ages, pgs := len(s.last.With("cephrisk_pg_last_deep_scrub_age_seconds")), int(s.last.Sum("cephrisk_pool_pgs"))
		if sample.Stuck != 0 || pgs == 0 || ages < pgs {
			return fmt.Errorf("%d stuck, %d of %d PGs aged", sample.Stuck, ages, pgs)
		}
		return ctx.Err()
	})
	s.result.Slowest = max(s.result.Slowest, time.Since(since).Seconds())
}

// sample scrapes. Scrapes always answer, and counters do not fall.
func (s *soakRun) sample(began time.Time, quiet bool) soakSample {
	at := time.Now()
	now := s.e.Scrape()
	took := time.Since(at)
	for series, before := range s.last {
		name, _, _ := strings.Cut(series, "{")
		if !slices.Contains(soakCounters(), name) {
			continue
		}
		if v, ok := now[series]; ok && v < before {
			s.t.Errorf("%s fell from %v to %v", series, before, v)
		}
	}
	s.last = now
	s.uploads.report(&s.result)
	s.result.Counted = int(now["cephrisk_rgw_uploads_completed_total"] + sumOf(now, "cephrisk_rgw_uploads_completed_total"))
	if time.Since(s.result.saved) > time.Minute {
		s.save()
	}
	return soakSample{
		At: at.Sub(began).Seconds(), Quiet: quiet, Scrape: took.Seconds(),
		Resident: now["process_resident_memory_bytes"] / (1 << 20), Heap: now["go_memstats_heap_inuse_bytes"] / (1 << 20),
		Goroutines: int(now["go_goroutines"]), Descriptors: int(now["process_open_fds"]), Threads: int(now["cephrisk_process_threads"]),
		Stuck: int(now["cephrisk_ceph_commands_stuck"]), Abandoned: int(now["cephrisk_ceph_commands_abandoned_total"]),
		Returned: int(now["cephrisk_ceph_commands_returned_total"]), Rejected: int(now["cephrisk_ceph_commands_rejected_total"]),
		Polls: int(now.Sum("cephrisk_collector_polls_total")), Failures: int(now.Sum("cephrisk_collector_failures_total")),
		Bugs: int(now.Sum("cephrisk_collector_panics_total") + now.Sum("cephrisk_collector_dropped_samples_total")),
	}
}

func sumOf(s exporter.Series, name string) float64 { return s.Sum(name) - s[name] }

func soakCounters() []string {
	return []string{
		"cephrisk_collector_polls_total", "cephrisk_collector_failures_total", "cephrisk_ceph_commands_total", "cephrisk_ceph_commands_abandoned_total",
		"cephrisk_ceph_connects_total", "cephrisk_scrub_completions_total", "cephrisk_rgw_uploads_completed_total", "cephrisk_rgw_uploaded_bytes_total",
	}
}

func (s *soakRun) save() {
	s.result.saved = time.Now()
	if s.path == "" {
		return
	}
	if err := s.result.write(s.path); err != nil {
		s.t.Error(err)
	}
}

// judge looks at the whole run.
func (s *soakRun) judge() {
	r := &s.result
	time.Sleep(3 * time.Second) // two intervals of the rgw collector
	s.e.Await("the last uploads to be counted", 5*time.Minute, func() error {
		r.add(s.sample(time.Now().Add(-time.Duration(r.Ran*float64(time.Second))), false))
		if r.Counted < r.Uploaded {
			return fmt.Errorf("%d counted, %d uploaded", r.Counted, r.Uploaded)
		}
		return nil
	})
	for _, problem := range r.problems() {
		s.t.Error(problem)
	}
	if !s.e.Alive() {
		s.t.Errorf("the exporter has ended:\n%s", s.e.Log())
	}
}

// uploader puts an object twice a second and knows what became of it.
type uploader struct {
	// done have been acknowledged; those that failed or timed out may have
	// been completed all the same.
	tried, done atomic.Int64
}

func startUploads(ctx context.Context, t *testing.T, c *cephtest.Cluster) *uploader {
	access, secret, err := c.CreateS3User(ctx, "soak")
	if err != nil {
		t.Fatal(err)
	}
	client, err := minio.NewCore(strings.TrimPrefix(c.RGWEndpoint(0), "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(access, secret, ""), Region: "default", BucketLookup: minio.BucketLookupPath, MaxRetries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(ctx, "soak", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	u := &uploader{}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			u.put(ctx, client, i)
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return u
}

func (u *uploader) put(ctx context.Context, client *minio.Core, i int) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	u.tried.Add(1)
	body := strings.Repeat("x", 1+i%5000)
	if _, err := client.PutObject(ctx, "soak", fmt.Sprint("object-", i%1000), strings.NewReader(body), int64(len(body)), "", "", minio.PutObjectOptions{}); err == nil {
		u.done.Add(1)
	}
}

func (u *uploader) report(r *soakResult) {
	r.Uploaded, r.Tried = int(u.done.Load()), int(u.tried.Load())
}
