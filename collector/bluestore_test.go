package collector

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok/asoktest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// bluestoreBench is a host with OSDs that answer as told, and their logs.
type bluestoreBench struct {
	t         *testing.T
	now       time.Time
	run, root string
	state     *state.Dir
	p         *bluestorePoller
	servers   map[int]*asoktest.Server
}

func newBluestoreBench(t *testing.T) *bluestoreBench {
	t.Helper()
	b := &bluestoreBench{t: t, now: testNow, run: asoktest.Dir(t), root: t.TempDir(), servers: map[int]*asoktest.Server{}}
	b.state = state.Open(t.TempDir(), testDeps(t, testNow).Log)
	b.restart()
	return b
}

// restart begins a new exporter on the same host.
func (b *bluestoreBench) restart() {
	b.t.Helper()
	d := testDeps(b.t, testNow)
	d.Interval, d.State, d.Now = 30*time.Second, b.state, func() time.Time { return b.now }
	d.Paths = Paths{Run: b.run, Rootfs: b.root}
	var err error
	if b.p, err = newBluestorePoller(d, 2*time.Second); err != nil {
		b.t.Fatal(err)
	}
	b.p.client.Timeout = 5 * time.Second // nothing here takes long, but the machine may be busy
}

func asokFixture(t *testing.T, release, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "internal", "ceph", "testdata", release, "asok", "osd.0_"+name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// start starts a process of an OSD in that state at the bench's present.
func (b *bluestoreBench) start(id int, release, state string) {
	b.t.Helper()
	if old := b.servers[id]; old != nil {
		old.Close()
	}
	path := filepath.Join(b.run, fmt.Sprintf("ceph-osd.%d.asok", id))
	_ = os.Remove(path)
	b.servers[id] = asoktest.Serve(b.t, path, nil)
	b.become(id, release, state)
	if err := os.Chtimes(path, b.now, b.now); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bluestoreBench) become(id int, release, state string) {
	b.t.Helper()
	replies := map[string][]byte{
		"version": asokFixture(b.t, release, "version"), "perf dump": asokFixture(b.t, release, "perf_dump"),
		"config show": fmt.Appendf(nil, `{"name":"osd.%d","log_file":"/var/log/ceph/ceph-osd.%[1]d.log","log_to_file":"true"}`, id),
	}
	if state != "" {
		replies["status"] = fmt.Appendf(nil, `{"cluster_fsid":"11111111-2222-3333-4444-555555555555","whoami":%d,"state":%q}`, id, state)
	}
	b.servers[id].Handle(asoktest.Answers(replies))
}

// log appends lines, each %s an instant so many seconds after the bench's present.
func (b *bluestoreBench) log(id int, dir string, lines ...string) {
	b.t.Helper()
	path := filepath.Join(b.root, "var/log/ceph", dir, fmt.Sprintf("ceph-osd.%d.log", id))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	for _, line := range lines {
		if _, err := fmt.Fprintln(f, line); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bluestoreBench) line(after float64, text string) string {
	at := b.now.Add(time.Duration(after * float64(time.Second)))
	return at.Format("2006-01-02T15:04:05.000-0700") + " 7f1 0 " + text
}

const (
	logBanner  = "ceph version 18.2.7 (x) reef (stable), process ceph-osd, pid 7"
	logActive  = "osd.0 18 state: booting -> active"
	logStopped = "osd.0 14 *** Got signal Terminated ***"
	logRebuilt = "x::read_allocation_from_drive_on_startup::::Allocation Recovery was completed in 2.5 seconds, extent_count=9"
)

func (b *bluestoreBench) poll() map[string]float64 {
	b.t.Helper()
	s, err := b.p.Poll(context.Background(), b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.values(s)
}

func (b *bluestoreBench) values(s Snapshot) map[string]float64 {
	b.t.Helper()
	e := newEmitter(b.p.table.Rows())
	s.Emit(e)
	for _, p := range e.problems {
		b.t.Errorf("sample dropped: %v", p)
	}
	return values(b.t, e.result())
}

// boots returns the series of boots, and no others; not what estimates are made
// from, see TestBootsSeenAreTheSumsOfALine.
func boots(all map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for name, v := range all {
		if strings.HasPrefix(name, "cephrisk_osd_boot") && !strings.HasPrefix(name, "cephrisk_osd_boots_seen") && !strings.HasPrefix(name, "cephrisk_osd_boot_estimate_bytes") {
			out[strings.TrimPrefix(name, "cephrisk_osd_")] = v
		}
	}
	return out
}

func TestBluestoreCollectorOnCapturedAnswers(t *testing.T) {
	for _, release := range []string{"16", "18", "20"} {
		t.Run(release, func(t *testing.T) {
			b := newBluestoreBench(t)
			b.start(0, release, "active")
			b.log(0, "", b.line(-9, logStopped), b.line(-0.25, logBanner), b.line(3.5, logActive))
			golden(t, "bluestore_"+release+".txt", pollText(t, b.p.table.Rows(), b.p, testNow))
		})
	}
}

// Where no log tells, the socket does: not there, refusing `status`, booting,
// active.
func TestBootIsWatchedThroughTheSocketWithinAPoll(t *testing.T) {
	b := newBluestoreBench(t)
	if got := b.poll(); len(got) != 0 {
		t.Errorf("without OSDs: %v", got)
	}
	b.now = b.now.Add(2 * time.Second)
	b.start(0, "18", "")
	began := b.now
	for _, state := range []string{"", "preboot", "booting"} {
		b.now = b.now.Add(10 * time.Second)
		b.become(0, "18", state)
		want := map[string]float64{"cephrisk_osd_booting{ceph_daemon=osd.0}": 1, "cephrisk_osd_start_timestamp_seconds{ceph_daemon=osd.0}": float64(began.Unix())}
		if diff := cmp.Diff(want, b.poll()); diff != "" {
			t.Errorf("in state %q (-want +got):\n%s", state, diff)
		}
	}
	b.now = b.now.Add(time.Second)
	b.become(0, "18", "active")
	want := map[string]float64{
		"booting{ceph_daemon=osd.0}":                                     0,
		"boot_duration_seconds{ceph_daemon=osd.0,shutdown=unknown}":      31,
		"boot_estimate_seconds{ceph_daemon=osd.0,shutdown=unknown}":      31,
		"boot_estimate_observations{ceph_daemon=osd.0,shutdown=unknown}": 1,
		"boot_estimate_observations{ceph_daemon=osd.0,shutdown=clean}":   0,
		"boot_estimate_observations{ceph_daemon=osd.0,shutdown=unclean}": 0,
	}
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("active (-want +got):\n%s", diff)
	}
	// Marked down by mistake, it boots again without a new process.
	b.now = b.now.Add(time.Minute)
	b.become(0, "18", "waiting_for_healthy")
	want["booting{ceph_daemon=osd.0}"] = 1
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("marked down (-want +got):\n%s", diff)
	}
	b.now = b.now.Add(time.Minute)
	b.become(0, "18", "active")
	want["booting{ceph_daemon=osd.0}"] = 0
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("up again (-want +got):\n%s", diff)
	}
}

// An OSD that was active before the exporter came, and whose log is gone, has no
// boot: neither a duration nor an observation.
func TestABootThatNobodySawIsAbsent(t *testing.T) {
	b := newBluestoreBench(t)
	b.start(0, "20", "active")
	b.now = b.now.Add(time.Hour)
	want := map[string]float64{
		"booting{ceph_daemon=osd.0}":                                     0,
		"boot_estimate_observations{ceph_daemon=osd.0,shutdown=clean}":   0,
		"boot_estimate_observations{ceph_daemon=osd.0,shutdown=unclean}": 0,
		"boot_estimate_observations{ceph_daemon=osd.0,shutdown=unknown}": 0,
	}
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// The log knows the kind; estimates follow from the boots of each kind, survive
// the exporter, and are there while an OSD boots.
func TestEstimatesComeFromTheBootsOfTheirOwnKindAndSurviveARestart(t *testing.T) {
	b := newBluestoreBench(t)
	b.start(0, "18", "active")
	b.start(1, "18", "active")
	b.log(0, "", b.line(-9, logStopped), b.line(0, logBanner), b.line(20, logActive))
	// In containers the log folder has the cluster's id on the host.
	b.log(1, "11111111-2222-3333-4444-555555555555", b.line(-9, logStopped), b.line(0, logBanner), b.line(40, logActive))
	b.now = b.now.Add(time.Hour)
	want := map[string]float64{}
	for _, osd := range []string{"osd.0", "osd.1"} {
		want["booting{ceph_daemon="+osd+"}"] = 0
		want["boot_allocation_rebuild_seconds{ceph_daemon="+osd+"}"] = 0
		want["boot_estimate_observations{ceph_daemon="+osd+",shutdown=clean}"] = 2
		want["boot_estimate_observations{ceph_daemon="+osd+",shutdown=unclean}"] = 0
		want["boot_estimate_observations{ceph_daemon="+osd+",shutdown=unknown}"] = 0
		want["boot_estimate_seconds{ceph_daemon="+osd+",shutdown=clean}"] = 30
	}
	want["boot_duration_seconds{ceph_daemon=osd.0,shutdown=clean}"] = 20
	want["boot_duration_seconds{ceph_daemon=osd.1,shutdown=clean}"] = 40
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("two clean boots (-want +got):\n%s", diff)
	}
	b.restart()
	if err := os.RemoveAll(filepath.Join(b.root, "var/log/ceph/11111111-2222-3333-4444-555555555555")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("after a restart of the exporter (-want +got):\n%s", diff)
	}
	// Killed: it comes back with a rebuild. Meanwhile its last boot and its
	// estimates stay, also for an exporter that has just started.
	b.now = b.now.Add(time.Second)
	b.start(0, "18", "")
	b.restart()
	want["booting{ceph_daemon=osd.0}"] = 1
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("booting (-want +got):\n%s", diff)
	}
	b.log(0, "", b.line(0, logBanner), b.line(3, logRebuilt), b.line(90, logActive))
	b.now = b.now.Add(91 * time.Second)
	b.become(0, "18", "active")
	want["booting{ceph_daemon=osd.0}"] = 0
	delete(want, "boot_duration_seconds{ceph_daemon=osd.0,shutdown=clean}")
	want["boot_duration_seconds{ceph_daemon=osd.0,shutdown=unclean}"] = 90
	want["boot_allocation_rebuild_seconds{ceph_daemon=osd.0}"] = 2.5
	want["boot_estimate_observations{ceph_daemon=osd.0,shutdown=unclean}"] = 1
	want["boot_estimate_seconds{ceph_daemon=osd.0,shutdown=unclean}"] = 90
	// Of osd.1 it is not known whether it would have to rebuild, too.
	if diff := cmp.Diff(want, boots(b.poll())); diff != "" {
		t.Errorf("back (-want +got):\n%s", diff)
	}
}

func TestBootsSeenAreTheSumsOfALine(t *testing.T) {
	b := newBluestoreBench(t)
	b.start(0, "18", "active")
	b.start(1, "18", "active")
	b.log(0, "", b.line(-9, logStopped), b.line(0, logBanner), b.line(20, logActive))
	b.log(1, "", b.line(0, logBanner), b.line(3, logRebuilt), b.line(90, logActive))
	b.now = b.now.Add(time.Hour)
	size := 0.0
	got := map[string]float64{}
	for name, v := range b.poll() {
		if strings.HasPrefix(name, "cephrisk_osd_boots_seen") {
			got[strings.TrimPrefix(name, "cephrisk_osd_boots_seen")] = v
		}
		if strings.HasPrefix(name, "cephrisk_osd_bluefs_db_used_bytes{ceph_daemon=osd.0") {
			size = v
		}
	}
	want := map[string]float64{}
	for kind, seconds := range map[string]float64{"{allocation_file=any,release=18,shutdown=clean}": 20, "{allocation_file=yes,release=18,shutdown=unclean}": 90} {
		for name, v := range map[string]float64{
			"": 1, "_seconds": seconds, "_bytes": size, "_bytes_squared": size * size, "_byte_seconds": size * seconds,
			"_smallest_bytes": size, "_largest_bytes": size,
		} {
			want[name+kind] = v
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || size == 0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The line that ends a boot may reach the log a moment after the socket says so.
func TestBootWaitsForALogThatIsBehind(t *testing.T) {
	b := newBluestoreBench(t)
	b.poll()
	b.now = b.now.Add(time.Second)
	b.start(0, "18", "active")
	b.start(1, "18", "active")
	for id := range 2 {
		b.log(id, "", b.line(-9, logStopped), b.line(0, logBanner))
	}
	booted := b.line(1.5, logActive)
	b.now = b.now.Add(2 * time.Second)
	for name := range boots(b.poll()) {
		if strings.HasPrefix(name, "boot_duration") {
			t.Errorf("%s before the log is there", name)
		}
	}
	b.log(0, "", booted)
	b.now = b.now.Add(2 * time.Second)
	got := boots(b.poll())
	if v := got["boot_duration_seconds{ceph_daemon=osd.0,shutdown=clean}"]; v != 1.5 {
		t.Errorf("%v seconds from the log: %v", v, got)
	}
	// A log that never has it leaves what was watched.
	b.now = b.now.Add(time.Minute)
	if v := boots(b.poll())["boot_duration_seconds{ceph_daemon=osd.1,shutdown=unknown}"]; v != 2 {
		t.Errorf("%v seconds watched", v)
	}
}

// One broken socket costs its own OSD only.
func TestBrokenSocketsDoNotTouchTheOtherOSDs(t *testing.T) {
	const lone = `{"osd": {"op": `
	for name, broken := range map[string]asoktest.Handler{
		"hangs": asoktest.Hang, "closes early": asoktest.CloseEarly, "short body": asoktest.ShortBody, "100 MB of junk": asoktest.Junk(100 << 20),
		"half an answer": func(c net.Conn, _ []byte) { asoktest.Answer(c, []byte(lone)) },
		"no JSON":        func(c net.Conn, _ []byte) { asoktest.Answer(c, bytes.Repeat([]byte{0xff, 0xfe}, 99)) },
		"null":           func(c net.Conn, _ []byte) { asoktest.Answer(c, []byte("null")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBluestoreBench(t)
			for id := range 5 {
				b.start(id, "18", "active")
			}
			b.p.client.Timeout = time.Second
			whole := b.poll()
			b.servers[3].Handle(broken)
			b.now = b.now.Add(time.Minute)
			want := map[string]float64{}
			for series, v := range whole {
				estimates := strings.Contains(series, "boot_estimate") // of the next boot
				if !strings.Contains(series, "ceph_daemon=osd.3") || estimates {
					want[series] = v
				}
			}
			if diff := cmp.Diff(want, b.poll()); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

// A log of BlueFS that was never compacted (more than 50 GiB) keeps an OSD from
// starting; one of a GiB does not.
func TestBlueFSLogAndCompactionsAreTheOSDsOwnNumbers(t *testing.T) {
	for _, c := range [][2]uint64{{639122546688, 0}, {8388608, 3}, {1073741824, 0}} {
		b := newBluestoreBench(t)
		b.start(0, "20", "active")
		b.servers[0].Handle(asoktest.Answers(map[string][]byte{
			"version": asokFixture(t, "20", "version"), "status": []byte(`{"state":"active"}`), "config show": []byte(`{"log_file":""}`),
			"perf dump": fmt.Appendf(nil, `{"bluefs":{"log_bytes":%d,"log_compactions":%d,"db_used_bytes":-1}}`, c[0], c[1]),
		}))
		want := map[string]float64{
			"cephrisk_osd_booting{ceph_daemon=osd.0}":                      0,
			"cephrisk_osd_start_timestamp_seconds{ceph_daemon=osd.0}":      float64(testNow.Unix()),
			"cephrisk_osd_bluefs_log_bytes{ceph_daemon=osd.0}":             float64(c[0]),
			"cephrisk_osd_bluefs_log_compactions_total{ceph_daemon=osd.0}": float64(c[1]),
		}
		if diff := cmp.Diff(want, b.poll()); diff != "" {
			t.Errorf("series (-want +got):\n%s", diff)
		}
	}
}
