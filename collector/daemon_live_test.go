package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
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
	for _, release := range cephtest.Releases() {
		t.Run(release.String(), func(t *testing.T) {
			if release != cephtest.R18 && !cephtest.Long() {
				t.Skip("runs with CEPHRISK_LONG=1")
			}
			l := startDaemonLive(t, release, liveFill, 4096, "mixed")
			t.Run("nothing beside clients", l.quiet)
			t.Run("scrub", l.scrub)
			t.Run("recovery", l.recovery)
			t.Run("restart", l.restart)
		})
	}
}

// TestDaemonLiveContrast reads large objects with and without slowed deep scrubs
// beside it, in turn, and logs what docs/performance.md records.
func TestDaemonLiveContrast(t *testing.T) {
	if !cephtest.Long() {
		t.Skip("runs with CEPHRISK_LONG=1")
	}
	l := startDaemonLive(t, cephtest.R20, 800, 256<<10, "reads")
	for range 3 {
		p := l.during(t, 10*time.Second, nil)
		p.attributed(t, allLiveOSDs(), "none")
		p.contrast(t, "none", allLiveOSDs(), "none")
		l.beginScrubs(t, "1")
		p = l.during(t, 10*time.Second, nil)
		p.attributed(t, p.scrubbing, "scrub")
		p.contrast(t, "scrub", p.scrubbing, "scrub")
		l.endScrubs(t)
	}
	l.equal(t)
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
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
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

// settle polls until two polls agree on the operations and the OSDs say the same.
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

// rawOSD is what an OSD says of itself, read without the collector's code.
type rawOSD struct {
	count map[string]uint64     // by op
	ns    map[string]int64      // by op
	steps map[string][32]uint64 // by op
}

func (l *daemonLive) raw(t *testing.T, osd int) rawOSD {
	t.Helper()
	r := rawOSD{count: map[string]uint64{}, ns: map[string]int64{}, steps: map[string][32]uint64{}}
	var perf struct {
		OSD map[string]json.RawMessage `json:"osd"`
	}
	var histograms struct {
		OSD map[string]struct{ Values [][]uint64 } `json:"osd"`
	}
	l.ask(t, osd, asok.PerfDump, &perf)
	l.ask(t, osd, asok.PerfHistogramDump, &histograms)
	for op, names := range map[string][2]string{
		"read":  {"op_r_latency", "op_r_latency_out_bytes_histogram"},
		"write": {"op_w_latency", "op_w_latency_in_bytes_histogram"},
		"rw":    {"op_rw_latency", "op_rw_latency_out_bytes_histogram"},
	} {
		var avg struct {
			Avgcount uint64
			Sum      json.Number
		}
		if err := json.Unmarshal(perf.OSD[names[0]], &avg); err != nil {
			t.Fatal(err)
		}
		ns, err := strconv.ParseInt(strings.Replace(avg.Sum.String(), ".", "", 1), 10, 64) // nine decimals
		if err != nil {
			t.Fatal(err)
		}
		var steps [32]uint64
		for k, row := range histograms.OSD[names[1]].Values {
			for _, n := range row {
				steps[k] += n
			}
		}
		r.count[op], r.ns[op], r.steps[op] = avg.Avgcount, ns, steps
	}
	return r
}

func (l *daemonLive) ask(t *testing.T, osd int, cmd asok.Command, v any) {
	t.Helper()
	var c asok.Client
	answer, err := c.Ask(l.ctx, l.c.AsokPath(fmt.Sprintf("osd.%d", osd)), cmd)
	if err == nil {
		err = json.Unmarshal(answer, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reservations are 1 where the OSD holds one now. One that does not answer
// holds none.
func (l *daemonLive) reservations(osd int) (scrub, recovery int) {
	var c asok.Client
	path := l.c.AsokPath(fmt.Sprintf("osd.%d", osd))
	var s struct {
		Local  int             `json:"scrubs_local"`
		Remote int             `json:"scrubs_remote"`
		Held   json.RawMessage `json:"remote_scrub_reservations"`
	}
	if answer, err := c.Ask(l.ctx, path, asok.DumpScrubReservations); err == nil && json.Unmarshal(answer, &s) == nil {
		if s.Local+s.Remote > 0 || bytes.Contains(s.Held, []byte(`"item"`)) {
			scrub = 1
		}
	}
	var r map[string]struct {
		InProgress []any `json:"in_progress"`
	}
	if answer, err := c.Ask(l.ctx, path, asok.DumpRecoveryReservations); err == nil && json.Unmarshal(answer, &r) == nil {
		if len(r["local_reservations"].InProgress)+len(r["remote_reservations"].InProgress) > 0 {
			recovery = 1
		}
	}
	return scrub, recovery
}

func liveSeries(name, osd, op, activity string) string {
	return fmt.Sprintf(`cephrisk_osd_op_latency_%s{activity=%q,ceph_daemon=%q,op=%q}`, name, activity, osd, op)
}

func liveActivities() []string {
	return []string{"none", "scrub", "recovery", "scrub_recovery", "other"}
}

// equal checks that over all activities the collector has the OSDs' own numbers.
func (l *daemonLive) equal(t *testing.T) {
	t.Helper()
	for i := range liveOSDs {
		osd, now := fmt.Sprintf("osd.%d", i), l.raw(t, i)
		for _, op := range []string{"read", "write", "rw"} {
			var n, sum, buckets, inHistogram float64
			for _, a := range liveActivities() {
				n += l.last[liveSeries("seconds_count", osd, op, a)]
				sum += l.last[liveSeries("seconds_sum", osd, op, a)]
				inHistogram += l.last[liveSeries("distribution_seconds_count", osd, op, a)]
				for series, v := range l.last {
					if strings.HasPrefix(series, fmt.Sprintf(`cephrisk_osd_op_latency_distribution_seconds_bucket{activity=%q,ceph_daemon=%q,op=%q,le="+Inf"`, a, osd, op)) {
						buckets += v
					}
				}
			}
			want := float64(now.count[op] - l.base[i].count[op])
			wantSum := float64(now.ns[op]-l.base[i].ns[op]) / 1e9
			if n != want || buckets != want || inHistogram != want || math.Abs(sum-wantSum) > 1e-6 {
				t.Errorf("%s %s: booked %v operations (buckets %v, count %v) in %v s; the OSD says %v in %v s", osd, op, n, buckets, inHistogram, sum, want, wantSum)
			}
		}
	}
}

// attributed checks that of what the OSDs did in a phase nearly all was booked
// to the activities given, and that the quantiles of it are the OSDs' own.
func (p *phase) attributed(t *testing.T, osds []int, activities ...string) {
	t.Helper()
	if len(osds) == 0 {
		t.Errorf("only OSDs %v were doing it all the time", osds)
	}
	var all, right float64
	for _, i := range osds {
		osd := fmt.Sprintf("osd.%d", i)
		for _, op := range []string{"read", "write", "rw"} {
			did := float64(p.after[i].count[op] - p.before[i].count[op])
			var booked float64
			var steps [32]float64
			for _, a := range activities {
				booked += p.booked[liveSeries("seconds_count", osd, op, a)]
				p.addSteps(&steps, osd, op, a)
			}
			all, right = all+did, right+booked
			if booked < 0.95*did || booked > did {
				t.Errorf("%s %s: %v of %v operations booked to %q", osd, op, booked, did, activities)
			}
			var own [32]float64
			for k := range own {
				own[k] = float64(p.after[i].steps[op][k] - p.before[i].steps[op][k])
			}
			compareQuantiles(t, osd+" "+op, own, steps)
		}
	}
	t.Logf("booked to %q: %.2f %% of %v operations, OSDs %v", activities, 100*right/all, all, osds)
}

// addSteps adds the steps of a per-OSD histogram's growth.
func (p *phase) addSteps(steps *[32]float64, osd, op, activity string) {
	below := 0.0
	for k := 1; k < 31; k++ {
		le := strconv.FormatFloat(float64(int64(100_000)<<(k-1))/1e9, 'g', -1, 64)
		v := p.booked[fmt.Sprintf(`cephrisk_osd_op_latency_distribution_seconds_bucket{activity=%q,ceph_daemon=%q,op=%q,le=%q}`, activity, osd, op, le)]
		steps[k] += v - below
		below = v
	}
}

func compareQuantiles(t *testing.T, what string, own, booked [32]float64) {
	t.Helper()
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		a, b := quantileStep(own, q), quantileStep(booked, q)
		// Step 7 ends at 6.4 ms, step 8 at 12.8.
		if a >= 8 && (b < a-1 || b > a+1) {
			t.Errorf("%s: quantile %v is in step %d, the OSD's own in %d", what, q, b, a)
		}
	}
}

func quantileStep(steps [32]float64, q float64) int {
	total := 0.0
	for _, n := range steps {
		total += n
	}
	sum := 0.0
	for k, n := range steps {
		if sum += n; total > 0 && sum >= q*total {
			return k
		}
	}
	return 0
}

// contrast logs latency by activity over all OSDs: what docs/performance.md has.
func (p *phase) contrast(t *testing.T, what string, osds []int, activities ...string) {
	t.Helper()
	for _, op := range []string{"read", "write"} {
		var n, sum float64
		var steps [32]float64
		for _, i := range osds {
			osd := fmt.Sprintf("osd.%d", i)
			for _, a := range activities {
				n += p.booked[liveSeries("seconds_count", osd, op, a)]
				sum += p.booked[liveSeries("seconds_sum", osd, op, a)]
				p.addSteps(&steps, osd, op, a)
			}
		}
		if n == 0 {
			continue
		}
		edge := func(q float64) float64 { return 1e-4 * math.Pow(2, float64(quantileStep(steps, q)-1)) * 1e3 }
		t.Logf("%s: %s %v operations, mean %.3f ms, p50 <= %.1f ms, p99 <= %.1f ms, p999 <= %.1f ms", what, op, n, sum/n*1e3, edge(0.5), edge(0.99), edge(0.999))
	}
}

func allLiveOSDs() []int {
	all := make([]int, liveOSDs)
	for i := range all {
		all[i] = i
	}
	return all
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
	l.awaitHeld(t, "scrub", func(osd int) bool { s, _ := l.reservations(osd); return s > 0 })
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
