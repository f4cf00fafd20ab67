package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
)

// growthEnv makes the test binary a child that polls and scrapes that many PGs.
const growthEnv = "CEPHRISK_GROWTH_PGS"

// growth is what such a child measured.
type growth struct {
	PGs, OSDs   int
	PeakMiB     float64 // largest resident set, the made-up cluster included
	ClusterMiB  float64 // of which the made-up cluster
	PollSeconds float64 // CPU, of the polls, without making the answers
	FirstScrape float64 // CPU, compression included
	Scrape      float64
	WireBytes   int64
	Steady      []float64 // heap bytes per PG after each poll, without the made-up cluster
}

// TestMain lets the test binary be that child.
func TestMain(m *testing.M) {
	if n := os.Getenv(growthEnv); n != "" {
		pgs, err := strconv.Atoi(n)
		if err == nil {
			err = growthChild(pgs)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func growthChild(pgs int) error {
	g := growth{PGs: pgs, OSDs: max(3, pgs/33)}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	cluster, err := simulate.New(simulate.Config{PGs: pgs, OSDs: g.OSDs, Seed: 1, Now: clock})
	if err != nil {
		return err
	}
	base := liveHeap()
	g.ClusterMiB = float64(base) / (1 << 20)

	commander := &timed{Commander: cluster}
	cfg := pgConfig{fastInterval: 15 * time.Second, dumpTimeout: 10 * time.Minute, stuckAfter: time.Hour, seriesLimit: pgs, timestamps: true}
	deps := Deps{Log: discardLog(), Ceph: commander, Now: clock, Interval: time.Minute}
	poller, err := newPGPoller(cfg, deps)
	if err != nil {
		return err
	}
	spec := pgSpec()
	set := NewSet(clock, Member{Spec: spec, Poller: poller, Deps: deps})
	h := NewHandler(set, nil, HandlerOpts{})
	const polls = 4
	for i := range polls {
		begin, asked := cpu(), commander.spent
		for _, r := range set.runners {
			r.pollOnce(context.Background())
			if r.status.err != nil {
				return r.status.err
			}
		}
		g.PollSeconds += (cpu() - begin - (commander.spent - asked)).Seconds() / polls
		begin = cpu()
		g.WireBytes = scrapeOnce(h, accepts[2], "gzip")
		if took := (cpu() - begin).Seconds(); i == 0 {
			g.FirstScrape = took
		} else {
			g.Scrape = took
		}
		g.Steady = append(g.Steady, float64(liveHeap()-base)/float64(pgs))
		now = now.Add(poller.interval) // the next poll is a full one
	}
	runtime.KeepAlive(h) // and with it all that was measured
	if g.PeakMiB, err = peakRSS(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(g)
}

// timed adds up the CPU time that making the answers takes.
type timed struct {
	ceph.Commander
	spent time.Duration
}

func (c *timed) MonCommand(ctx context.Context, command []byte) ([]byte, error) {
	begin := cpu()
	defer func() { c.spent += cpu() - begin }()
	return c.Commander.MonCommand(ctx, command)
}

func (c *timed) MgrCommand(ctx context.Context, command []byte) ([]byte, error) {
	begin := cpu()
	defer func() { c.spent += cpu() - begin }()
	return c.Commander.MgrCommand(ctx, command)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// peakRSS is the largest resident set of this process so far.
func peakRSS() (float64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(data), "VmHWM:")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 1 {
		return 0, fmt.Errorf("no VmHWM in /proc/self/status")
	}
	kb, err := strconv.ParseFloat(fields[0], 64)
	return kb / 1024, err
}

func measureGrowth(t testing.TB, pgs int) growth {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", growthEnv, pgs))
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var g growth
	if err := json.Unmarshal(out.Bytes(), &g); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	t.Logf("%+v", g)
	return g
}

// TestMemoryGrowsWithTheNumberOfPGsAndNoFaster polls and scrapes whole clusters
// with series for every PG, three each, in child processes. The short form, which
// runs under the race detector too, looks only at what stays between polls; in
// it what does not grow with PGs, the series of OSDs above all, weighs 60 bytes per PG.
func TestMemoryGrowsWithTheNumberOfPGsAndNoFaster(t *testing.T) {
	type limit struct {
		peakMiB, perPG float64
	}
	limits := map[int]limit{20_000: {math.Inf(1), 370}}
	if cephtest.Long() {
		limits = map[int]limit{100_000: {1 << 10, 300}, 400_000: {3 << 10, 300}, 1_000_000: {8 << 10, 300}}
	}
	for pgs, limit := range limits {
		t.Run(strconv.Itoa(pgs), func(t *testing.T) {
			g := measureGrowth(t, pgs)
			if g.PeakMiB > limit.peakMiB {
				t.Errorf("peak %.0f MiB, limit %.0f MiB", g.PeakMiB, limit.peakMiB)
			}
			if perSeries := float64(g.WireBytes) / float64(3*pgs); perSeries > 9 {
				t.Errorf("%.1f bytes per series on the wire", perSeries)
			}
			if last := g.Steady[len(g.Steady)-1]; last > limit.perPG {
				t.Errorf("%.0f bytes per PG between polls (%v)", last, g.Steady)
			}
		})
	}
}

// BenchmarkGrowth shows the CPU time of polls and scrapes for clusters of
// several sizes: per PG it stays level.
func BenchmarkGrowth(b *testing.B) {
	for _, pgs := range []int{10_000, 100_000, 500_000} {
		b.Run(strconv.Itoa(pgs), func(b *testing.B) {
			for b.Loop() {
				g := measureGrowth(b, pgs)
				b.ReportMetric(g.PollSeconds*1e6/float64(pgs), "poll-us/pg")
				b.ReportMetric(g.FirstScrape*1e3, "first-scrape-ms")
				b.ReportMetric(g.Scrape*1e3, "scrape-ms")
				b.ReportMetric(g.PeakMiB, "peak-MiB")
				b.ReportMetric(g.Steady[len(g.Steady)-1], "steady-bytes/pg")
			}
		})
	}
}
