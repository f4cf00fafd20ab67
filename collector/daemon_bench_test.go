package collector

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok/asoktest"
)

const (
	replayDirEnv     = "CEPHRISK_REPLAY_DIR"
	replayReleaseEnv = "CEPHRISK_REPLAY_RELEASE"
	replayOSDs       = 60
)

// capturedAnswers are a release's answers as an OSD gave them.
func capturedAnswers(t testing.TB, release string) map[string][]byte {
	t.Helper()
	answers := map[string][]byte{
		"version":                    fixture(t, release, "version.json"),
		"perf dump":                  fixture(t, release, "perf_dump.json"),
		"perf histogram dump":        fixture(t, release, "perf_histogram_dump.json"),
		"dump_scrub_reservations":    fixture(t, release, "dump_scrub_reservations_primary.json"),
		"dump_recovery_reservations": fixture(t, release, "dump_recovery_reservations_local.json"),
		"config show":                padded(fixture(t, release, "config_show.json"), map[string]int{"16": 64_493, "18": 72_000, "20": 77_533}[release]),
	}
	if release != "16" {
		answers["counter dump"] = fixture(t, release, "counter_dump.json")
	}
	return answers
}

// padded brings the shortened fixture to the length of the whole answer.
func padded(options []byte, size int) []byte {
	options = options[:len(options)-1]
	for i := 0; len(options) < size; i++ {
		options = fmt.Appendf(options, `,"option_that_nobody_reads_%d":"true"`, i)
	}
	return append(options, '}')
}

// TestReplayServer is no test: it is the process that serves the benchmark's
// admin sockets, so that their cost is not counted as the exporter's.
func TestReplayServer(t *testing.T) {
	dir := os.Getenv(replayDirEnv)
	if dir == "" {
		return
	}
	answers := asoktest.Answers(capturedAnswers(t, os.Getenv(replayReleaseEnv)))
	for i := range replayOSDs {
		asoktest.Serve(t, filepath.Join(dir, fmt.Sprintf("ceph-osd.%d.asok", i)), answers)
	}
	fmt.Println("serving")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
}

func startReplay(b *testing.B, release string) (dir string) {
	b.Helper()
	dir = asoktest.Dir(b)
	cmd := exec.Command(os.Args[0], "-test.run=^TestReplayServer$")
	cmd.Env = append(os.Environ(), replayDirEnv+"="+dir, replayReleaseEnv+"="+release)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "serving\n" {
		b.Fatalf("replay server: %q, %v", line, err)
	}
	return dir
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDaemonPoll is what a poll of 60 OSDs costs the exporter (cpu-ms/poll,
// user and system; rendering is part of it) and each OSD (B/OSD), and what the
// samples between polls cost where the release needs them (cpu-ms/sample).
func BenchmarkDaemonPoll(b *testing.B) {
	for _, release := range []string{"16", "18", "20"} {
		b.Run(release, func(b *testing.B) {
			now := time.Unix(1800000000, 0)
			p := newDaemonPoller(Deps{
				Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }, Interval: 10 * time.Second,
				Paths: Paths{Run: startReplay(b, release), Sysfs: b.TempDir(), Rootfs: b.TempDir()},
			}, "host1", false)
			p.sampling.begin.Do(func() {})
			poll := func() {
				now = now.Add(p.deps.Interval)
				s, err := p.Poll(context.Background(), now)
				if err != nil {
					b.Fatal(err)
				}
				e := newEmitter(p.table.Rows())
				s.Emit(e)
				e.result()
			}
			poll() // the first reads every option
			begin := cpuTime(b)
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				poll()
			}
			b.StopTimer()
			b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/1e3/float64(b.N), "cpu-ms/poll")
			b.ReportMetric(bytesAsked(b, release), "B/OSD")
			begin = cpuTime(b)
			const samples = 50
			for range samples {
				p.sample(context.Background())
			}
			b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/1e3/samples, "cpu-ms/sample")
		})
	}
}

// bytesAsked is the mean of what one OSD answers per poll, options once a
// minute included.
func bytesAsked(b *testing.B, release string) float64 {
	b.Helper()
	rig := newDaemonRig(b, false)
	srv := asoktest.Serve(b, filepath.Join(rig.run, "ceph-osd.0.asok"), asoktest.Answers(capturedAnswers(b, release)))
	rig.mustPoll()
	before := srv.BytesOut()
	const polls = 18 // three minutes
	for range polls {
		rig.mustPoll()
	}
	return float64(srv.BytesOut()-before) / polls
}
