package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

const (
	liveOSDs     = 6
	liveInterval = 2 * time.Second
	liveLoad     = 6 * time.Second
	liveFill     = 2400
)

// TestDaemonLive compares what the collector books with what the OSDs of a real
// cluster say of themselves: without background work, over a restart, under
// slowed scrubs, and during recovery. In short form one release runs; all of
// them with CEPHRISK_LONG=1.
func TestDaemonLive(t *testing.T) {
	releases := []cephtest.Release{cephtest.R18}
	if cephtest.Long() {
		releases = cephtest.Releases()
	}
	for _, release := range releases {
		t.Run(release.String(), func(t *testing.T) {
			l := startDaemonLive(t, release, liveFill, 4096, "mixed")
			t.Run("nothing beside clients", l.quiet)
			t.Run("scrub", l.scrub)
			t.Run("recovery", l.recovery)
			t.Run("restart", l.restart)
		})
	}
}

// TestDaemonLiveContrast reads large objects without, with slowed, and with
// unslowed deep scrubs beside it, in turn, and logs what docs/performance.md
// records. It runs with CEPHRISK_LONG=1.
func TestDaemonLiveContrast(t *testing.T) {
	if !cephtest.Long() {
		return
	}
	l := startDaemonLive(t, cephtest.R20, 800, 256<<10, "reads")
	for range 3 {
		p := l.during(t, 10*time.Second, nil)
		p.attributed(t, allLiveOSDs(), "none")
		p.contrast(t, "none", allLiveOSDs(), "none")
		l.beginScrubs(t, "1")
		p = l.during(t, 10*time.Second, nil)
		p.attributed(t, p.scrubbing, "scrub")
		p.contrast(t, "slowed scrub", p.scrubbing, "scrub")
		l.endScrubs(t)
		l.scrubAllTheTime(t)
	}
	l.equal(t)
}

// scrubAllTheTime asks for deep scrubs at full speed again and again.
func (l *daemonLive) scrubAllTheTime(t *testing.T) {
	t.Helper()
	l.beginScrubs(t, "0")
	ctx, cancel := context.WithCancel(l.ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			if _, err := l.c.Ceph(ctx, "osd", "pool", "deep-scrub", "load"); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	p := l.during(t, 10*time.Second, nil)
	cancel()
	asking.Wait()
	p.contrast(t, "scrub at full speed", allLiveOSDs(), "scrub")
	l.endScrubs(t)
}

// daemonLive is a cluster under load and the collector that watches it.
type daemonLive struct {
	c      *cephtest.Cluster
	ctx    context.Context
	poller *daemonPoller
	load   string             // path of the load program
	size   int                // bytes per operation
	mix    string             // "mixed" or "reads"
	base   [liveOSDs]rawOSD   // the OSDs' counters when the collector first polled
	last   map[string]float64 // series of the last poll
}

func startDaemonLive(t *testing.T, release cephtest.Release, fill, size int, mix string) *daemonLive {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	t.Cleanup(cancel)
	conf := map[string]string{
		"osd_op_queue": "wpq", "osd_scrub_chunk_min": "1", "osd_scrub_chunk_max": "5",
		"osd_scrub_load_threshold": "1000", "osd_recovery_max_active": "1", "osd_max_backfills": "2",
	}
	if release >= cephtest.R18 {
		conf["osd_shallow_scrub_chunk_min"], conf["osd_shallow_scrub_chunk_max"] = "1", "5"
	}
	l := &daemonLive{ctx: ctx, size: size, mix: mix}
	l.c = cephtest.New(t, cephtest.Options{Release: release, OSDs: liveOSDs, OSDBytes: 2 << 30,
		Conf:  map[string]map[string]string{"osd": conf},
		Pools: []cephtest.Pool{{Name: "load", PGs: 8, Size: 3}}})
	for _, flag := range []string{"noscrub", "nodeep-scrub"} {
		l.ceph(t, "osd", "set", flag)
	}
	program, err := os.ReadFile(filepath.Join("testdata", "load.py"))
	if err != nil {
		t.Fatal(err)
	}
	l.load = filepath.Join(l.c.Dir(), "load.py")
	if err := os.WriteFile(l.load, program, 0o644); err != nil {
		t.Fatal(err)
	}
	l.run(t, 0, fill)

	l.poller = newDaemonPoller(Deps{
		Log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn})), Now: time.Now,
		Interval: 5 * liveInterval, // a busy machine may delay a poll; that is no gap
		Paths:    Paths{Run: l.c.AsokDir(), Sysfs: "/sys", Rootfs: t.TempDir()},
	}, "host1", true)
	l.poller.client.Timeout = time.Minute
	t.Cleanup(func() { _ = l.poller.Close() })
	for i := range l.base {
		l.base[i] = l.raw(t, i)
	}
	l.poll(t)
	return l
}

func (l *daemonLive) ceph(t *testing.T, args ...string) {
	t.Helper()
	if _, err := l.c.Ceph(l.ctx, args...); err != nil {
		t.Fatal(err)
	}
}

// run does the load and returns how many operations it was.
func (l *daemonLive) run(t *testing.T, length time.Duration, fill int) map[string]float64 {
	t.Helper()
	stop := l.begin(t, length, fill)
	return stop()
}

// begin starts the load; the function it returns waits for its end.
func (l *daemonLive) begin(t *testing.T, length time.Duration, fill int) func() map[string]float64 {
	t.Helper()
	cmd := l.c.Command(l.ctx, "python3", l.load, l.c.ConfPath(), "load", fmt.Sprint(length.Seconds()), "8", strconv.Itoa(fill), strconv.Itoa(l.size), l.mix)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() map[string]float64 {
		t.Helper()
		var done map[string]float64
		if err := cmd.Wait(); err != nil {
			t.Fatalf("load: %v: %s", err, problems.String())
		}
		if err := json.Unmarshal(out.Bytes(), &done); err != nil {
			t.Fatalf("load: %v: %q", err, out.String())
		}
		return done
	}
}

func (l *daemonLive) poll(t *testing.T) {
	t.Helper()
	s, err := l.poller.Poll(l.ctx, time.Now())
	if err != nil {
		t.Logf("poll: %v", err)
	}
	l.last = (&daemonRig{t: t, poller: l.poller}).samples(s)
}

// phase is what happened while a load ran.
type phase struct {
	done          map[string]float64 // by the client
	before, after [liveOSDs]rawOSD
	booked        map[string]float64 // growth of the collector's series
	// always are the OSDs that the test itself saw hold a scrub reservation,
	// or a recovery one, at every look.
	scrubbing, recovering []int
}

// during runs a load, polls at the interval and looks at reservations twice as
// often, until the load is over and two polls agree.
func (l *daemonLive) during(t *testing.T, length time.Duration, midway func()) *phase {
	t.Helper()
	p := &phase{booked: map[string]float64{}}
	l.settle(t)
	start := l.last
	for i := range p.before {
		p.before[i] = l.raw(t, i)
	}
	l.poll(t) // the phase begins with a poll, as an interval does
	var scrub, recovery [liveOSDs]int
	looks := 0
	wait := l.begin(t, length, 0)
	tick := time.NewTicker(liveInterval / 2)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < length; <-tick.C {
		if looks++; looks%2 == 0 {
			l.poll(t)
		}
		if midway != nil && looks == 3 {
			midway()
		}
		for i := range liveOSDs {
			s, r := l.reservations(i)
			scrub[i] += s
			recovery[i] += r
		}
	}
	p.done = wait()
	if err := l.c.AwaitUp(l.ctx); err != nil {
		t.Fatal(err)
	}
	l.settle(t)
	for i := range p.after {
		p.after[i] = l.raw(t, i)
		if scrub[i] == looks {
			p.scrubbing = append(p.scrubbing, i)
		}
		if recovery[i] == looks {
			p.recovering = append(p.recovering, i)
		}
	}
	for series, v := range l.last {
		p.booked[series] = v - start[series]
	}
	return p
}

// settle polls until two polls agree on the operations.
func (l *daemonLive) settle(t *testing.T) {
	t.Helper()
	err := l.c.Await(l.ctx, func(context.Context) (bool, string, error) {
		var sums [2]float64
		for i := range sums {
			if i > 0 {
				time.Sleep(liveInterval) // an interval of the collector
			}
			l.poll(t)
			for series, v := range l.last {
				if strings.HasPrefix(series, "cephrisk_osd_op_latency_seconds_count") || strings.HasPrefix(series, "cephrisk_osd_unattributed_ops_total") {
					sums[i] += v
				}
			}
		}
		return sums[0] == sums[1], fmt.Sprintf("operations %v", sums), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (l *daemonLive) quiet(t *testing.T) {
	p := l.during(t, liveLoad, nil)
	l.equal(t)
	p.attributed(t, allLiveOSDs(), "none")
	p.contrast(t, "none", allLiveOSDs(), "none")
	for op, n := range p.done {
		var did float64
		for i := range liveOSDs {
			did += float64(p.after[i].count[op] - p.before[i].count[op])
		}
		// Ceph's own modules do a few operations, too.
		if did < n || did > n+0.02*n+20 {
			t.Errorf("%s: the client did %v operations, the OSDs %v", op, n, did)
		}
	}
}

// An OSD that is restarted under load loses the interval in which it was and no
// more, and nothing is booked that no client did.
func (l *daemonLive) restart(t *testing.T) {
	const victim = "osd.1"
	var dying rawOSD
	var restarted sync.WaitGroup
	t.Cleanup(restarted.Wait)
	p := l.during(t, liveLoad, func() {
		dying = l.raw(t, 1)
		restarted.Go(func() { // polls go on meanwhile
			if err := l.c.Restart(l.ctx, victim); err != nil {
				t.Error(err)
			}
		})
	})
	for reason, want := range map[string]float64{"reset": 1, "gap": 0} {
		series := fmt.Sprintf(`cephrisk_osd_unattributed_intervals_total{ceph_daemon=%q,reason=%q}`, victim, reason)
		if v := p.booked[series]; v != want {
			t.Errorf("%s: %v, want %v", series, v, want)
		}
	}
	var known, unattributed, did, old, atMost float64
	for series, v := range p.booked {
		switch {
		case strings.HasPrefix(series, "cephrisk_osd_op_latency_seconds_count"):
			known += v
			if strings.Contains(series, victim) {
				old += v
			}
		case strings.HasPrefix(series, "cephrisk_osd_unattributed_ops_total"):
			known, unattributed = known+v, unattributed+v
			if !strings.Contains(series, victim) && v != 0 {
				t.Errorf("%s: %v", series, v)
			}
		}
	}
	for op, n := range p.done {
		did += n
		old -= float64(p.after[1].count[op]) // all of the new process is known
		atMost += float64(dying.count[op] - p.before[1].count[op])
	}
	old += unattributed
	// A few more operations end between the look at the dying process and its
	// death, and Ceph's own modules do some.
	if known > did+0.02*did+20 || old < 0 || old > atMost+0.02*did+20 {
		t.Errorf("clients did %v operations, known are %v; of the %v of the old process %v", did, known, atMost, old)
	}
	t.Logf("clients did %v operations; not known are %v, the last of the old process, of whose %v %v are booked", did, did-known, atMost, old)
}

func (l *daemonLive) recovery(t *testing.T) {
	l.set(t, "osd_recovery_sleep", "0.2")
	l.ceph(t, "osd", "out", "5")
	l.awaitHeld(t, "recovery", func(osd int) bool { _, r := l.reservations(osd); return r > 0 })
	p := l.during(t, liveLoad, nil)
	l.equal(t)
	p.attributed(t, p.recovering, "recovery")
	p.contrast(t, "recovery", p.recovering, "recovery")
}

func (l *daemonLive) scrub(t *testing.T) {
	l.beginScrubs(t, "0.5")
	p := l.during(t, liveLoad, nil)
	l.equal(t)
	p.attributed(t, p.scrubbing, "scrub")
	p.contrast(t, "scrub", p.scrubbing, "scrub")
	l.endScrubs(t)
}

// beginScrubs asks for slowed deep scrubs of all PGs and waits until some run.
func (l *daemonLive) beginScrubs(t *testing.T, sleep string) {
	t.Helper()
	l.set(t, "osd_scrub_sleep", sleep)
	for _, flag := range []string{"noscrub", "nodeep-scrub"} {
		l.ceph(t, "osd", "unset", flag)
	}
	l.ceph(t, "osd", "pool", "deep-scrub", "load")
	if sleep != "0" {
		l.awaitHeld(t, "scrub", func(osd int) bool { s, _ := l.reservations(osd); return s > 0 })
	}
}

// endScrubs lets them finish at full speed.
func (l *daemonLive) endScrubs(t *testing.T) {
	t.Helper()
	l.set(t, "osd_scrub_sleep", "0")
	for _, flag := range []string{"noscrub", "nodeep-scrub"} {
		l.ceph(t, "osd", "set", flag)
	}
	if err := l.c.Await(l.ctx, func(context.Context) (bool, string, error) {
		held := 0
		for i := range liveOSDs {
			s, _ := l.reservations(i)
			held += s
		}
		return held == 0, fmt.Sprintf("%d OSDs scrub", held), nil
	}); err != nil {
		t.Fatal(err)
	}
}

func (l *daemonLive) set(t *testing.T, option, value string) {
	t.Helper()
	if err := l.c.SetConfig(l.ctx, "osd", option, value); err != nil {
		t.Fatal(err)
	}
}

func (l *daemonLive) awaitHeld(t *testing.T, what string, held func(osd int) bool) {
	t.Helper()
	if err := l.c.Await(l.ctx, func(context.Context) (bool, string, error) {
		n := 0
		for i := range liveOSDs {
			if held(i) {
				n++
			}
		}
		return n >= 2, fmt.Sprintf("%d OSDs hold a %s reservation", n, what), nil
	}); err != nil {
		t.Fatal(err)
	}
}
