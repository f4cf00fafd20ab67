package capture

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

// Scene starts a cluster in which all that the exporter looks at happens at
// once: pools of every kind with data, PGs past Ceph's own deadline, deep
// scrubs under way, and backfill.
func Scene(ctx context.Context, r cluster.Release) (*cluster.Cluster, error) {
	c, err := cluster.Start(ctx, cluster.Options{
		Release: r, OSDs: 4, RGWs: 1,
		Pools: []cluster.Pool{
			{Name: "replicated", PGs: 16},
			{Name: "erasure", PGs: 8, EC: true},
			{Name: "own-interval", PGs: 4, Set: map[string]string{"deep_scrub_interval": "3600"}},
			{Name: "no-scrub", PGs: 4, Set: map[string]string{"noscrub": "1", "scrub_max_interval": "-5"}},
			{Name: "growing", PGs: 4, Size: 2},
		},
	}, cluster.UntilReleased, "capture")
	if err != nil {
		return nil, err
	}
	if err := play(ctx, c); err != nil {
		c.Close()
		return nil, fmt.Errorf("scene: %w", err)
	}
	return c, nil
}

func play(ctx context.Context, c *cluster.Cluster) error {
	for _, pool := range []string{"replicated", "erasure", "own-interval", "growing"} {
		if err := c.PutObjects(ctx, pool, 300, 8192); err != nil {
			return err
		}
	}
	if err := c.SlowScrubs(ctx, 2); err != nil {
		return err
	}
	options := map[string]string{
		"osd_deep_scrub_interval": "30", "osd_scrub_max_interval": "40", "osd_scrub_min_interval": "20",
		"mon_warn_pg_not_deep_scrubbed_ratio": "0.5",
		"osd_recovery_sleep":                  "2", "osd_recovery_max_active": "1",
	}
	for _, option := range slices.Sorted(maps.Keys(options)) {
		if err := c.SetConfig(ctx, "global", option, options[option]); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"config", "set", "osd/class:hdd", "osd_max_scrubs", "2"},
		{"osd", "set", "noscrub"},
		{"osd", "set", "nodeep-scrub"},
	} {
		if _, err := c.Ceph(ctx, args...); err != nil {
			return err
		}
	}
	if err := c.Await(ctx, sees(c.MonCommand, `{"prefix":"health","detail":"detail","format":"json"}`, "PG_NOT_DEEP_SCRUBBED")); err != nil {
		return err
	}
	for _, pool := range []string{"replicated", "erasure"} {
		if err := c.DeepScrub(ctx, pool); err != nil {
			return err
		}
	}
	if err := c.Await(ctx, sees(c.MgrCommand, `{"prefix":"pg ls","states":["scrubbing"],"format":"json"}`, "scrubbing+deep")); err != nil {
		return err
	}
	if _, err := c.Ceph(ctx, "osd", "pool", "set", "growing", "size", "3"); err != nil {
		return err
	}
	return c.Await(ctx, sees(c.MgrCommand, `{"prefix":"pg ls","states":["backfilling","recovering"],"format":"json"}`, `"pg_stats"`))
}

// sees returns a look that ends when the command's answer has the word.
func sees(ask func(context.Context, []byte) ([]byte, error), command, word string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		answer, err := ask(ctx, []byte(command))
		return bytes.Contains(answer, []byte(word)), fmt.Sprintf("no %s in the answer to %s", word, command), err
	}
}
