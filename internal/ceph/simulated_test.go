package ceph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
)

func simulated(t testing.TB, release, pgs int) *simulate.Cluster {
	t.Helper()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	cluster, err := simulate.New(simulate.Config{PGs: pgs, Release: release, Seed: 1, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// pgDump returns the answer of `pg dump pgs` of a made-up cluster.
func pgDump(t testing.TB, release, pgs int) []byte {
	t.Helper()
	answer, err := simulated(t, release, pgs).MgrCommand(context.Background(), []byte(`{"prefix":"pg dump","dumpcontents":["pgs"],"format":"json"}`))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestEveryAnswerOfASimulatedClusterIsDecoded(t *testing.T) {
	ctx := context.Background()
	for _, release := range []int{simulate.Pacific, simulate.Reef, simulate.Tentacle} {
		t.Run(fmt.Sprint(release), func(t *testing.T) {
			const pgs = 600
			tap := &ceph.Tap{Commander: simulated(t, release, pgs), Seen: func(command, answer []byte, err error) {
				if err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}}
			c := &ceph.Client{Commander: tap}
			table, err1 := c.PGDump(ctx)
			osds, err2 := c.OSDDump(ctx)
			usage, err3 := c.OSDDf(ctx)
			meta, err4 := c.OSDMetadata(ctx)
			health, err5 := c.HealthDetail(ctx)
			set, err6 := c.ConfigDump(ctx)
			mgr, err7 := c.MgrDump(ctx)
			versions, err8 := c.Versions(ctx)
			for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
				if err != nil {
					t.Fatal(err)
				}
			}
			n := 0
			for _, pool := range osds.Pools {
				n += pool.PGNum
				some, err := c.PGLsByPool(ctx, pool.Name)
				if err != nil || len(some.PGs) != pool.PGNum {
					t.Errorf("pool %s: %d PGs, want %d (%v)", pool.Name, len(some.PGs), pool.PGNum, err)
				}
			}
			if len(table.PGs) != n || table.BadCount != 0 || !table.Ready || table.SanitisedTokens != 0 {
				t.Errorf("%d PGs of %d, bad: %v", len(table.PGs), n, table.Bad)
			}
			if misses := table.LayoutMisses; misses > 250 {
				t.Errorf("%d keys out of their place", misses)
			}
			listed, err := c.PGLs(ctx, "scrubbing", "clean")
			want := slices.DeleteFunc(slices.Clone(table.PGs), func(pg ceph.PG) bool { return !pg.State.Any(ceph.StateScrubbing | ceph.StateClean) })
			if err != nil || len(listed.PGs) != len(want) || len(want) == 0 {
				t.Errorf("%d PGs listed, %d dumped (%v)", len(listed.PGs), len(want), err)
			}
			if len(usage.OSDs) != len(osds.OSDs) || len(meta) != len(osds.OSDs) || versions["osd"][ceph.Version{Major: release, Minor: 2, Patch: map[int]int{16: 15, 18: 7, 20: 4}[release]}] != len(osds.OSDs) {
				t.Errorf("%d OSDs, %d of them with sizes, %d with metadata, versions %v", len(osds.OSDs), len(usage.OSDs), len(meta), versions)
			}
			for _, who := range []string{"osd.0", "mgr." + mgr.Active} {
				config, err := c.ConfigShowWithDefaults(ctx, who)
				if err != nil {
					t.Fatal(err)
				}
				if interval, err := config.Float("osd_deep_scrub_interval"); err != nil || interval != 604800 {
					t.Errorf("%s: %v, %v", who, interval, err)
				}
			}
			if health.Status == "" || len(set) == 0 {
				t.Errorf("health %v, config %v", health, set)
			}
			ceph.ComparePGs(t, pgDump(t, release, pgs))
		})
	}
}

// BenchmarkDecodePGs compares the PG decoder with encoding/json given the same
// fields, and with one pass over the bytes. cpu-ns/PG is the median of all
// rounds, in time of all cores.
func BenchmarkDecodePGs(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 500_000} {
		data := pgDump(b, simulate.Tentacle, n)
		run := func(name string, decode func() any) {
			b.Run(fmt.Sprintf("%s/pgs=%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				var rounds []time.Duration
				for b.Loop() {
					before := cpuTime()
					decode()
					rounds = append(rounds, cpuTime()-before)
				}
				slices.Sort(rounds)
				b.ReportMetric(float64(rounds[len(rounds)/2])/float64(n), "cpu-ns/PG")
				b.ReportMetric(peakHeap(decode)/float64(len(data))+1, "peak-heap/JSON")
			})
		}
		run("own", func() any {
			table, err := ceph.DecodePGs(data)
			if err != nil || len(table.PGs) < n || table.BadCount > 0 {
				b.Fatal(err, table)
			}
			return table
		})
		if n > 100_000 { // is it linear?
			continue
		}
		run("encodingjson", func() any {
			t := ceph.Trimmed()
			if err := json.Unmarshal(data, t); err != nil {
				b.Fatal(err)
			}
			return t
		})
		run("pass", func() any {
			var sum byte
			for _, c := range data {
				sum ^= c
			}
			return sum
		})
	}
}

// cpuTime is what the process has used of all cores: other than the wall
// clock it does not count what other processes on the machine use.
func cpuTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Nano())
}

// peakHeap returns the most bytes that decode adds to the heap while it runs,
// as sampled all the time.
func peakHeap(decode func() any) float64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	done := make(chan struct{})
	peak := make(chan uint64)
	go func() {
		var most uint64
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-done:
				peak <- most
				return
			default:
			}
		}
	}()
	result := decode()
	close(done)
	most := <-peak
	runtime.KeepAlive(result)
	return float64(most) - float64(before)
}
