package collector

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok/asoktest"
)

// daemonRig polls fake OSDs on a clock of its own.
type daemonRig struct {
	t      testing.TB
	poller *daemonPoller
	now    time.Time
	run    string // admin sockets
	rootfs string
}

func newDaemonRig(t testing.TB, histograms bool) *daemonRig {
	t.Helper()
	rig := &daemonRig{t: t, now: time.Unix(1800000000, 0), run: asoktest.Dir(t), rootfs: t.TempDir()}
	d := Deps{
		Log:      slog.New(slog.DiscardHandler),
		Now:      func() time.Time { return rig.now },
		Interval: 10 * time.Second,
		Paths:    Paths{Run: rig.run, Sysfs: filepath.Join(rig.rootfs, "sys"), Rootfs: rig.rootfs},
	}
	rig.poller = newDaemonPoller(d, "host1", histograms)
	rig.poller.sampling.begin.Do(func() {}) // tests sample by hand
	return rig
}

func (r *daemonRig) poll() (Snapshot, error) {
	r.now = r.now.Add(10 * time.Second)
	return r.poller.Poll(context.Background(), r.now)
}

// mustPoll polls and returns the samples by series.
func (r *daemonRig) mustPoll() map[string]float64 {
	r.t.Helper()
	s, err := r.poll()
	if err != nil {
		r.t.Fatal(err)
	}
	return r.samples(s)
}

func (r *daemonRig) samples(s Snapshot) map[string]float64 {
	r.t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(exposition(r.t, r.poller.table.Rows(), s)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			r.t.Fatal(line, err)
		}
		all[name+"}"] = v
	}
	return all
}

// disk lays an OSD on a disk of the rig's host.
func (r *daemonRig) disk(osd int, link, name, rotational, cache string) {
	r.t.Helper()
	dir := filepath.Join(r.rootfs, "sys/class/block", name)
	for file, content := range map[string]string{
		"queue/rotational": rotational, "queue/write_cache": cache, "queue/scheduler": "[mq-deadline] none", "queue/nr_requests": "64", "device/queue_depth": "32",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	osdDir := filepath.Join(r.rootfs, "var/lib/ceph/osd", fmt.Sprintf("ceph-%d", osd))
	if err := os.MkdirAll(filepath.Join(r.rootfs, "dev"), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.MkdirAll(osdDir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink("/dev/"+name, filepath.Join(osdDir, link)); err != nil {
		r.t.Fatal(err)
	}
}

// count is the number of operations booked to an OSD's activity.
func count(s map[string]float64, osd, op, activity string) float64 {
	v, ok := s[fmt.Sprintf(`cephrisk_osd_op_latency_seconds_count{activity=%q,ceph_daemon=%q,op=%q}`, activity, osd, op)]
	if !ok {
		return -1
	}
	return v
}

func TestDaemonWholeOutput(t *testing.T) {
	r := newDaemonRig(t, false)
	old, reef := serveOSD(t, r.run, 0, "16"), serveOSD(t, r.run, 1, "18")
	tentacle := serveOSD(t, r.run, 12, "20")
	asoktest.Serve(t, filepath.Join(r.run, "ceph-osd.3.asok"), asoktest.ShortBody)
	asoktest.Serve(t, filepath.Join(r.run, "ceph-mon.a.asok"), asoktest.Hang)
	r.disk(0, "block", "sda", "1", "write back")
	r.disk(1, "block", "sdb", "0", "write through")
	r.disk(12, "block", "sdc", "1", "write back")
	r.disk(12, "block.db", "nvme0n1", "0", "write through")
	for _, osd := range []*fakeOSD{old, reef, tentacle} {
		osd.do(0, 1000, time.Millisecond) // before anybody looked
	}
	r.mustPoll()
	old.do(0, 10, 1200*time.Microsecond)
	old.do(2, 1, 50*time.Microsecond)
	reef.do(1, 5, 640*time.Millisecond)
	reef.doing(0, 0, 1)
	tentacle.do(0, 7, 20*time.Millisecond)
	tentacle.set("scrub_replicated_read_cnt", 1_000_000)
	s, err := r.poll()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "daemon.txt", exposition(t, r.poller.table.Rows(), s))
}

func TestHistogramsPerOSDAreThereOnlyWhenAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		r := newDaemonRig(t, asked)
		osd := serveOSD(t, r.run, 7, "18")
		r.mustPoll()
		osd.do(0, 1, 50*time.Microsecond)
		osd.do(0, 1, 1200*time.Microsecond)
		osd.do(0, 1, 640*time.Millisecond)
		s := r.mustPoll()
		got := map[string]float64{}
		for series, v := range s {
			if rest, mine := strings.CutPrefix(series, `cephrisk_osd_op_latency_distribution_seconds_bucket{activity="none",ceph_daemon="osd.7",op="read",le=`); mine {
				got[strings.Trim(rest, `"}`)] = v
			}
		}
		if !asked {
			if len(got) != 0 {
				t.Errorf("not asked for: %v", got)
			}
			continue
		}
		// Field case L2.
		for le, want := range map[string]float64{"0.0001": 1, "0.0008": 1, "0.0016": 2, "0.4096": 2, "0.8192": 3, "53687.0912": 3, "+Inf": 3} {
			if n, there := got[le]; !there || n != want {
				t.Errorf("le=%s: %v (there: %t), want %v", le, n, there, want)
			}
		}
		if len(got) != 31 {
			t.Errorf("%d buckets, want 31", len(got))
		}
	}
}

// Field case J6.
func TestOneBrokenSocketLeavesTheOtherOSDsComplete(t *testing.T) {
	r := newDaemonRig(t, false)
	for i := range 5 {
		serveOSD(t, r.run, i, "18")
	}
	r.mustPoll()
	whole := r.mustPoll()
	broken := newDaemonRig(t, false)
	for i := range 5 {
		if i != 3 {
			serveOSD(t, broken.run, i, "18")
		}
	}
	asoktest.Serve(t, filepath.Join(broken.run, "ceph-osd.3.asok"), asoktest.Func(func(string) []byte { return []byte(`{"osd": {"op": `) }))
	broken.mustPoll()
	got := broken.mustPoll()
	for series, v := range whole {
		switch mine := strings.Contains(series, `"osd.3"`); {
		case series == `cephrisk_daemon_up{ceph_daemon="osd.3"}`:
			if got[series] != 0 || v != 1 {
				t.Errorf("%s: %v, want 0", series, got[series])
			}
		case mine:
			if g, there := got[series]; there {
				t.Errorf("%s: %v, want none", series, g)
			}
		case strings.HasPrefix(series, "cephrisk_host_running_option_osds{"):
			if got[series] != 4 || v != 5 {
				t.Errorf("%s: %v and %v, want one OSD fewer", series, v, got[series])
			}
		default:
			if g, there := got[series]; !there || g != v {
				t.Errorf("%s: %v (there: %t), want %v", series, g, there, v)
			}
		}
	}
}

func TestHungSocketDoesNotCostTheOthersTheirIntervals(t *testing.T) {
	r := newDaemonRig(t, false)
	r.poller.client.Timeout = 50 * time.Millisecond
	osd := serveOSD(t, r.run, 0, "18")
	for i := 1; i < 9; i++ {
		asoktest.Serve(t, filepath.Join(r.run, fmt.Sprintf("ceph-osd.%d.asok", i)), asoktest.Hang)
	}
	r.mustPoll()
	osd.do(0, 4, time.Millisecond)
	s := r.mustPoll()
	if n := count(s, "osd.0", "read", "none"); n != 4 {
		t.Errorf("booked %v, want 4", n)
	}
	r.poller.took = 4 * time.Second // the polls themselves took that long
	if wait, interval := r.poller.Pace(); wait != 6*time.Second || interval != 10*time.Second {
		t.Errorf("next poll in %v, interval %v; want 6s and 10s", wait, interval)
	}
}

func TestNoAnswerAtAllIsAFailedPoll(t *testing.T) {
	r := newDaemonRig(t, false)
	if s := r.mustPoll(); len(s) != 0 {
		t.Errorf("host without OSDs: %v", s)
	}
	asoktest.Serve(t, filepath.Join(r.run, "ceph-osd.1.asok"), asoktest.CloseEarly)
	s, err := r.poll()
	if err == nil || !strings.Contains(err.Error(), "none of 1 OSD admin sockets answered") {
		t.Errorf("got %v", err)
	}
	if got := r.samples(s); len(got) != 1 || got[`cephrisk_daemon_up{ceph_daemon="osd.1"}`] != 0 {
		t.Errorf("got %v, want osd.1 down and nothing else", got)
	}
	r.poller.deps.Paths.Run = filepath.Join(r.run, "gone")
	if s, err := r.poll(); s != nil || err == nil {
		t.Errorf("no directory: got %v, %v", s, err)
	}
}

func TestRestartedOSDLosesOneIntervalAndInventsNothing(t *testing.T) {
	r := newDaemonRig(t, false)
	osd := serveOSD(t, r.run, 0, "20")
	osd.do(1, 50, time.Millisecond)
	r.mustPoll()
	osd.do(1, 3, time.Millisecond)
	r.mustPoll()
	osd.restart(t)
	osd.do(1, 200, time.Millisecond)
	r.mustPoll()
	osd.do(1, 4, time.Millisecond)
	s := r.mustPoll()
	if n, u := count(s, "osd.0", "write", "none"), s[`cephrisk_osd_unattributed_ops_total{ceph_daemon="osd.0",reason="reset"}`]; n != 7 || u != 200 {
		t.Errorf("booked %v, unattributed %v; want 7 and 200", n, u)
	}
	// Down, then up again: a gap, then intervals again.
	osd.Close()
	if s, _ := r.poll(); r.samples(s)[`cephrisk_daemon_up{ceph_daemon="osd.0"}`] != 0 {
		t.Error("a closed socket is up")
	}
	osd.restart(t)
	r.mustPoll()
	osd.do(1, 1, time.Millisecond)
	s = r.mustPoll()
	if n := count(s, "osd.0", "write", "none"); n != 8 {
		t.Errorf("booked %v, want 8", n)
	}
}

func TestOSDThatMovedAwayLosesItsSeries(t *testing.T) {
	r := newDaemonRig(t, false)
	serveOSD(t, r.run, 0, "18")
	gone := serveOSD(t, r.run, 1, "18")
	r.mustPoll()
	gone.Close()
	s := r.mustPoll()
	if v, there := s[`cephrisk_daemon_up{ceph_daemon="osd.1"}`]; !there || v != 0 {
		t.Errorf("just gone: up %v (there: %t), want 0", v, there)
	}
	r.now = r.now.Add(forgetAfter)
	for series := range r.mustPoll() {
		if strings.Contains(series, `"osd.1"`) {
			t.Errorf("still there: %s", series)
		}
	}
}

// On 16 to 19 no counter shows a replica's part in a scrub.
func TestSamplesBetweenPollsDecideTheActivity(t *testing.T) {
	r := newDaemonRig(t, false)
	old, tentacle := serveOSD(t, r.run, 0, "16"), serveOSD(t, r.run, 1, "20")
	asoktest.Serve(t, filepath.Join(r.run, "ceph-osd.2.asok"), asoktest.CloseEarly)
	r.mustPoll()
	asked := len(tentacle.Questions())
	for _, osd := range []*fakeOSD{old, tentacle} {
		osd.do(0, 5, time.Millisecond)
		osd.doing(0, 1, 0)
	}
	r.poller.sample(context.Background())
	old.doing(0, 0, 0)
	tentacle.doing(0, 0, 0)
	r.poller.sample(context.Background())
	if n := len(tentacle.Questions()); n != asked {
		t.Errorf("a release whose counters show it was asked %d times between polls", n-asked)
	}
	s := r.mustPoll()
	if n := count(s, "osd.0", "read", "scrub"); n != 5 {
		t.Errorf("booked to scrub: %v, want 5", n)
	}
	old.do(0, 6, time.Millisecond)
	if s := r.mustPoll(); count(s, "osd.0", "read", "none") != 6 {
		t.Errorf("the next interval is still a scrub's")
	}
}

func TestSampleLeavesADeafSocketAlone(t *testing.T) {
	r := newDaemonRig(t, false)
	osd := serveOSD(t, r.run, 0, "16")
	r.mustPoll()
	osd.Handle(asoktest.CloseEarly)
	before := len(osd.Questions())
	for range 3 {
		r.poller.sample(context.Background())
	}
	if n := len(osd.Questions()) - before; n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	osd.Handle(asoktest.Func(osd.answer))
	r.mustPoll()
	before = len(osd.Questions())
	r.poller.sample(context.Background())
	if n := len(osd.Questions()) - before; n != 1 {
		t.Errorf("after a good poll asked %d times, want once", n)
	}
}

func TestSamplerEndsWithItsPoller(t *testing.T) {
	r := newDaemonRig(t, false)
	serveOSD(t, r.run, 0, "16")
	r.mustPoll()
	r.poller.startSampling()
	if err := r.poller.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.poller.sampling.done:
	default:
		t.Error("still running")
	}
	if err := newDaemonRig(t, false).poller.Close(); err != nil {
		t.Errorf("never started: %v", err)
	}
}

func TestActivityOfEachReservation(t *testing.T) {
	for want, held := range map[string][3]int{
		"none": {0, 0, 0}, "scrub": {0, 2, 0}, "recovery": {0, 0, 1}, "scrub_recovery": {1, 0, 1},
	} {
		r := newDaemonRig(t, false)
		osd := serveOSD(t, r.run, 0, "20")
		r.mustPoll()
		osd.doing(held[0], held[1], held[2])
		osd.do(0, 3, time.Millisecond)
		s := r.mustPoll()
		if n := count(s, "osd.0", "read", want); n != 3 {
			t.Errorf("%s: booked %v, want 3", want, n)
		}
		if v := s[fmt.Sprintf(`cephrisk_osd_activity{activity=%q,ceph_daemon="osd.0"}`, want)]; v != 1 {
			t.Errorf("%s: activity %v, want 1", want, v)
		}
		if v := s[fmt.Sprintf(`cephrisk_osd_activity_seconds_total{activity=%q,ceph_daemon="osd.0"}`, want)]; v != 10 {
			t.Errorf("%s: %v s, want 10", want, v)
		}
	}
}

// A host with 60 OSDs, each with a DB on flash beside it, and two device
// classes; all that is on by default.
func TestHostOfSixtyOSDsHasLessThanTenThousandSeries(t *testing.T) {
	r := newDaemonRig(t, false)
	for i := range 60 {
		osd := serveOSD(t, r.run, i, "20")
		name, rotational := fmt.Sprintf("sd%c%c", 'a'+i/26, 'a'+i%26), "1"
		if i%10 == 0 {
			name, rotational = fmt.Sprintf("nvme%dn1", i), "0"
		}
		osd.do(0, i, time.Millisecond)
		r.disk(i, "block", name, rotational, "write back")
		r.disk(i, "block.db", "nvme99n1", "0", "write through")
	}
	r.mustPoll()
	s := r.mustPoll()
	by := map[string]int{}
	for series := range s {
		name, _, _ := strings.Cut(series, "{")
		by[name]++
	}
	if len(s) >= 10_000 || by["cephrisk_daemon_up"] != 60 {
		t.Errorf("%d series, want fewer than 10000 and 60 OSDs: %v", len(s), by)
	}
	t.Logf("%d series", len(s))
}

// countedOptions counts OSDs by the values of their options, and returns what the
// exporter has counted.
func countedOptions(series map[string]float64) (counted, exported map[string]float64) {
	counted, exported = map[string]float64{}, map[string]float64{}
	one := regexp.MustCompile(`^cephrisk_osd_running_option\{ceph_daemon=.*,option="(.*)"\}$`)
	all := regexp.MustCompile(`^cephrisk_host_running_option_osds\{hostname="host1",option="(.*)",value="(.*)"\}$`)
	for name, v := range series {
		if m := one.FindStringSubmatch(name); m != nil && !strings.Contains(m[1], "max_capacity_iops") {
			counted[fmt.Sprintf("%s=%v", m[1], v)]++
		}
		if m := all.FindStringSubmatch(name); m != nil {
			exported[m[1]+"="+m[2]] = v
		}
	}
	return counted, exported
}

func TestRunningOptionsExistOnEveryRelease(t *testing.T) {
	since := map[string]string{"osd_shallow_scrub_chunk_min": "18", "osd_shallow_scrub_chunk_max": "18", "osd_mclock_override_recovery_settings": "18"}
	for _, release := range []string{"16", "18", "20"} {
		r := newDaemonRig(t, false)
		serveOSD(t, r.run, 0, release)
		s := r.mustPoll()
		var missing []string
		for _, option := range runningOptions() {
			if _, there := s[fmt.Sprintf(`cephrisk_osd_running_option{ceph_daemon="osd.0",option=%q}`, option)]; !there && since[option] <= release {
				missing = append(missing, option)
			}
		}
		if !slices.Equal(missing, nil) {
			t.Errorf("%s: no value for %q", release, missing)
		}
		serveOSD(t, r.run, 1, release)
		if diff := cmp.Diff(countedOptions(r.mustPoll())); diff != "" {
			t.Errorf("%s: OSDs by value, counted here and as exported:\n%s", release, diff)
		}
	}
}
