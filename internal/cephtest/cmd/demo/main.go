// Command demo runs the exporter beside a real Ceph cluster on loopback, with
// some data and slowed-down scrubs, until it is interrupted. It leaves nothing
// behind but the cached root that the cluster runs in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

func main() {
	release := flag.Int("release", int(cluster.R16), "Ceph release: 16, 18 or 20. librados on this machine must be at least as new for 20")
	address := flag.String("listen", "127.0.0.1:10283", "address of the exporter; another port is taken when this one is in use")
	once := flag.Bool("once", false, "end after the series have been printed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx, cluster.Release(*release), *address, *once); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, release cluster.Release, address string, once bool) (err error) {
	say("building the exporter")
	dir, err := os.MkdirTemp("", "ceph-risk-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := build(ctx, dir)
	if err != nil {
		return err
	}
	say("preparing Ceph %s (the first time this takes some minutes)", release)
	if _, err := cluster.EnsureRoot(ctx, release, os.Stderr); err != nil {
		return err
	}
	say("starting a cluster: 1 mon, 1 mgr, 3 OSDs")
	c, err := cluster.Start(ctx, options(release), cluster.UntilReleased, "demo")
	if err != nil {
		return err
	}
	defer func() {
		say("stopping the cluster")
		limit, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, c.CloseWait(limit))
		say("nothing is left running")
	}()
	if err := prepare(ctx, c); err != nil {
		return err
	}
	e, err := startExporter(ctx, c, binary, dir, address)
	if err != nil {
		return err
	}
	defer e.stop()
	if err := e.awaitTelling(ctx); err != nil {
		return err
	}
	if err := e.show(ctx); err != nil {
		return err
	}
	if once {
		return nil
	}
	say("Ctrl-C ends the demo and removes everything it started")
	select {
	case <-ctx.Done():
		return nil
	case err := <-e.ended:
		return fmt.Errorf("the exporter ended: %w", err)
	}
}

func say(format string, args ...any) {
	fmt.Printf("==> "+format+"\n", args...)
}

// options are a cluster with something to see: several kinds of pools.
func options(r cluster.Release) cluster.Options {
	return cluster.Options{Release: r, Pools: []cluster.Pool{
		{Name: "vms", PGs: 16},
		{Name: "backup", PGs: 8, EC: true, K: 2, M: 1, Set: map[string]string{"deep_scrub_interval": "600"}},
		{Name: "archive", PGs: 8, Set: map[string]string{"noscrub": "1", "nodeep-scrub": "1"}},
	}}
}

// prepare makes PGs late within a minute and scrubs slow enough to be seen.
func prepare(ctx context.Context, c *cluster.Cluster) error {
	say("writing some data")
	for _, pool := range []string{"vms", "backup", "archive"} {
		if err := c.PutObjects(ctx, pool, 200, 64<<10); err != nil {
			return err
		}
	}
	say("slowing scrubs down and shortening the intervals, so that there is something to see")
	if err := c.SlowScrubs(ctx, 0.5); err != nil {
		return err
	}
	for option, value := range map[string]string{
		"osd_scrub_min_interval": "30", "osd_scrub_max_interval": "60", "osd_deep_scrub_interval": "60",
		"osd_scrub_load_threshold": "1000", "osd_max_scrubs": "1",
	} {
		if err := c.SetConfig(ctx, "global", option, value); err != nil {
			return err
		}
	}
	return nil
}
