package forecast

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
)

// simulated is the input that a made-up cluster gives, of an age in which its
// scheduler has found its pace.
func simulated(tb testing.TB, pgs, release int) *Input {
	tb.Helper()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c, err := simulate.New(simulate.Config{PGs: pgs, Release: release, Seed: 1, NoRecovery: true, Now: func() time.Time { return now }})
	if err != nil {
		tb.Fatal(err)
	}
	client := &ceph.Client{Commander: c}
	m, err := client.OSDDump(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	osd, err := client.ConfigShowWithDefaults(context.Background(), "osd.0")
	if err != nil {
		tb.Fatal(err)
	}
	options, err := OptionsFrom(osd)
	if err != nil {
		tb.Fatal(err)
	}
	mgr, err := scrub.IntervalsFrom(osd)
	if err != nil {
		tb.Fatal(err)
	}
	return &Input{Now: now, Table: c.Table(), Map: m, Release: release, Mgr: mgr, DefaultOptions: options}
}

// BenchmarkForecast14Days simulates fourteen days once, on one core. cpu-s/op is
// the processor time that it took, whatever else the machine was doing.
func BenchmarkForecast14Days(b *testing.B) {
	for _, release := range []int{simulate.Pacific, simulate.Reef, simulate.Tentacle} {
		for _, pgs := range []int{10_000, 400_000} {
			b.Run(fmt.Sprintf("release=%d/pgs=%d", release, pgs), func(b *testing.B) {
				in := simulated(b, pgs, release)
				run := Run{Horizons: []time.Duration{24 * time.Hour, 72 * time.Hour, 168 * time.Hour, 336 * time.Hour}, Seeds: 1, RecoveryEnds: -1}
				b.ReportAllocs()
				before := processorTime()
				for b.Loop() {
					if _, err := Simulate(in, run); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((processorTime()-before).Seconds()/float64(b.N), "cpu-s/op")
			})
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
