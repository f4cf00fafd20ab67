package cephtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

// Names of package cluster that tests need.
type (
	Cluster = cluster.Cluster
	Options = cluster.Options
	Pool    = cluster.Pool
	Release = cluster.Release
)

// The releases a cluster can be made of.
const (
	R16 = cluster.R16 // Pacific 16.2, keys of 40 characters
	R18 = cluster.R18 // Reef 18.2
	R20 = cluster.R20 // Tentacle 20.2, keys of 60 characters
)

// Releases lists all of them, oldest first.
func Releases() []Release { return cluster.Releases() }

// startLimit bounds the wait for a cluster: its start, and other tests'
// leases on a shared one.
const startLimit = 10 * time.Minute

// Strict says whether what a test lacks is a failure: env CI is "true".
func Strict() bool { return os.Getenv("CI") == "true" }

// Long says whether live tests run in their long form: env CEPHRISK_LONG is
// "1".
func Long() bool { return os.Getenv("CEPHRISK_LONG") == "1" }

// SkipUnlessLong skips a test that has no short form.
func SkipUnlessLong(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("runs in the long form only, with CEPHRISK_LONG=1")
	}
}

// SkipOrFail ends the test: it skips on a laptop and fails where CI=true.
func SkipOrFail(t testing.TB, reason string) {
	t.Helper()
	if Strict() {
		t.Fatalf("needed where CI=true: %s", reason)
	}
	t.Skip(reason)
}

// RequireTool ends the test like SkipOrFail unless each program is in PATH.
func RequireTool(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			SkipOrFail(t, err.Error())
		}
	}
}

// New starts a cluster for this test alone, which ends with it. Where no
// cluster can run the test ends like SkipOrFail.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	c := lease(t, func(ctx context.Context) (*Cluster, error) {
		return cluster.Start(ctx, o, cluster.UntilReleased, t.Name())
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.CloseWait(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Shared leases the cluster of a release that all test packages share and
// starts it when nobody has. The lease ends with the test.
//
// The cluster has three OSDs, no gateway before EnsureRGWs, clean PGs, and the pools of
// SharedPools with a little data. A test may add pools, keys, objects and
// users of its own, named after the test, and should remove the pools. It
// must not change what others see: flags, cluster-wide options, daemons.
// SharedExclusive is for those. Do not ask for a second lease on the same
// release while the test holds one: an exclusive waiter between the two
// would wait for the first, and the second for it.
func Shared(t testing.TB, r Release) *Cluster {
	t.Helper()
	return shared(t, r, false)
}

// SharedExclusive is Shared with the cluster for this test alone until it
// ends. The test must leave the cluster as it was: daemons running, options
// and flags unset, PGs clean.
func SharedExclusive(t testing.TB, r Release) *Cluster {
	t.Helper()
	return shared(t, r, true)
}

// SharedPools describes the pools of a shared cluster: one of every kind that
// the scrub deadline depends on.
func SharedPools() []Pool {
	return []Pool{
		{Name: "replicated", PGs: 16, Objects: 64},
		{Name: "erasure", PGs: 8, EC: true, Objects: 32},
		{Name: "own-interval", PGs: 4, Set: map[string]string{"deep_scrub_interval": "3600"}},
		{Name: "interval-unset", PGs: 4, Set: map[string]string{"deep_scrub_interval": "0"}},
		{Name: "interval-negative", PGs: 4, Set: map[string]string{"scrub_max_interval": "-5"}},
		{Name: "no-scrub", PGs: 4, Set: map[string]string{"noscrub": "1"}},
	}
}

func shared(t testing.TB, r Release, exclusive bool) *Cluster {
	t.Helper()
	o := Options{Release: r, RGWOpsLog: true, RGWOpsSocket: true, Pools: SharedPools()}
	c := lease(t, func(ctx context.Context) (*Cluster, error) {
		c, err := cluster.Shared(ctx, o, exclusive, t.Name())
		if err != nil {
			return nil, err
		}
		if err := c.WaitClean(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return c, nil
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func lease(t testing.TB, start func(context.Context) (*Cluster, error)) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	c, err := start(ctx)
	if errors.Is(err, cluster.ErrUnavailable) {
		SkipOrFail(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
