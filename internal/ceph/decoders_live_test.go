package ceph_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// cliCommander asks a real cluster by way of Ceph's own command line tool,
// which puts text around some answers.
type cliCommander struct{ cluster *cephtest.Cluster }

func (c cliCommander) MonCommand(ctx context.Context, command []byte) ([]byte, error) {
	var cmd struct {
		Prefix   string
		Contents []string `json:"dumpcontents"`
		States   []string
		Pool     string `json:"poolstr"`
		Detail   string
		Who      string
	}
	if err := json.Unmarshal(command, &cmd); err != nil {
		return nil, err
	}
	args := slices.Concat(strings.Fields(cmd.Prefix), cmd.Contents, cmd.States)
	for _, arg := range []string{cmd.Detail, cmd.Pool, cmd.Who} {
		if arg != "" {
			args = append(args, arg)
		}
	}
	return c.cluster.Ceph(ctx, append(args, "--format", "json")...)
}

func (c cliCommander) MgrCommand(ctx context.Context, command []byte) ([]byte, error) {
	return c.MonCommand(ctx, command)
}

func TestEveryAnswerOfARealClusterIsDecoded(t *testing.T) {
	for _, release := range cephtest.Releases() {
		t.Run(release.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cluster := cephtest.Shared(t, release)
			c := &ceph.Client{Commander: cliCommander{cluster}}
			osds, err := c.OSDDump(ctx)
			if err != nil {
				t.Fatal(err)
			}
			livePGs(ctx, t, c, cluster, osds)
			liveOSDs(ctx, t, c, osds)
			liveConfig(ctx, t, c)
			if health, err := c.HealthDetail(ctx); err != nil || health.Status == "" {
				t.Errorf("health %+v: %v", health, err)
			}
		})
	}
}

// livePGs compares three ways to list all PGs with the pools' own numbers, and
// the decoder with the one made of encoding/json.
func livePGs(ctx context.Context, t *testing.T, c *ceph.Client, cluster *cephtest.Cluster, osds *ceph.OSDMap) {
	t.Helper()
	ways := [][]string{{"pg", "dump"}}
	if cephtest.Long() {
		ways = append(ways, []string{"pg", "dump", "pgs"}, []string{"pg", "ls"})
	}
	for _, args := range ways {
		answer, err := cluster.Ceph(ctx, append(args, "--format", "json")...)
		if err != nil {
			t.Fatal(err)
		}
		ceph.ComparePGs(t, answer)
		table, err := ceph.DecodePGs(answer)
		if err != nil || !table.Ready || table.BadCount > 0 || table.SanitisedTokens > 0 {
			t.Fatalf("%v: %v, %+v", args, err, table)
		}
		pgs := map[int32]int{}
		for i := range table.PGs {
			pg := &table.PGs[i]
			pgs[pg.ID.Pool]++
			if pg.State == 0 || pg.State.Any(ceph.StateOther) || !pg.LastScrub.Dated() || !pg.LastDeepScrub.Dated() || !pg.LastCleanScrub.Known() ||
				!pg.LastChange.Dated() || len(table.Set(pg.Acting)) == 0 || pg.Bytes < 0 || pg.Objects < 0 || pg.DeepErrors < 0 || pg.ShallowErrors < 0 || pg.SnapTrimQueue < 0 {
				t.Errorf("%v: %s: %+v", args, pg.ID, *pg)
			}
			if is16 := cluster.Release() == cephtest.R16; is16 != (pg.Schedule == ceph.ScheduleAbsent) || pg.Schedule == ceph.ScheduleOther || is16 != (pg.ObjectsScrubbed < 0) {
				t.Errorf("%v: %s: schedule %d, objects scrubbed %d", args, pg.ID, pg.Schedule, pg.ObjectsScrubbed)
			}
		}
		for _, pool := range osds.Pools {
			if pgs[pool.ID] != pool.PGNum {
				t.Errorf("%v: pool %d has %d PGs, %d listed", args, pool.ID, pool.PGNum, pgs[pool.ID])
			}
		}
	}
	table, err := c.PGLs(ctx, "incomplete")
	if err != nil || !table.Ready || len(table.PGs) != 0 {
		t.Errorf("no PG is incomplete: %v, %+v", err, table)
	}
}

func liveOSDs(ctx context.Context, t *testing.T, c *ceph.Client, osds *ceph.OSDMap) {
	t.Helper()
	for i, pool := range osds.Pools {
		if i == 0 || cephtest.Long() {
			table, err := c.PGLsByPool(ctx, pool.Name)
			if err != nil || len(table.PGs) != pool.PGNum || pool.Type.String() == "unknown" {
				t.Errorf("pool %+v: %v", pool, err)
			}
		}
		switch pool.Name {
		case "own-interval":
			if i := pool.Options.DeepScrubInterval; i == nil || *i != 3600 {
				t.Errorf("pool %+v", pool)
			}
		case "no-scrub":
			if !pool.HasFlag("noscrub") || pool.HasFlag("nodeep-scrub") {
				t.Errorf("pool %+v", pool)
			}
		case "erasure":
			if pool.Type != ceph.PoolErasure || pool.ErasureProfile == "" {
				t.Errorf("pool %+v", pool)
			}
		}
	}
	usage, err1 := c.OSDDf(ctx)
	meta, err2 := c.OSDMetadata(ctx)
	stats, err3 := c.StatFS(ctx)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if n := len(osds.OSDs); n == 0 || len(usage.OSDs) != n || len(meta) != n || len(stats) != n {
		t.Errorf("%d OSDs, %d sizes, %d with metadata, %d with statistics", n, len(usage.OSDs), len(meta), len(stats))
	}
	for i := range usage.OSDs {
		u := &usage.OSDs[i]
		if _, ok := u.Unaccounted(); !ok || !u.SizeKnown() || u.Status == "" || u.PGs == nil || u.Utilization == nil {
			t.Errorf("osd.%d: %+v", u.ID, u)
		}
	}
	for _, m := range meta {
		if m.Hostname == "" || m.ObjectStore != "bluestore" || m.Release == "" || m.Version == "" || m.DeviceClass == "" {
			t.Errorf("osd.%d: %+v", m.ID, m)
		}
	}
	for _, s := range stats {
		if s.Total == nil || s.Omap == nil || s.Meta == nil || s.Stored == nil {
			t.Errorf("osd.%d: %+v", s.OSD, s)
		}
	}
}

func liveConfig(ctx context.Context, t *testing.T, c *ceph.Client) {
	t.Helper()
	mgr, err1 := c.MgrDump(ctx)
	versions, err2 := c.Versions(ctx)
	_, err3 := c.ConfigDump(ctx)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if len(versions["osd"]) != 1 || !mgr.Available || !mgr.ActiveChange.Dated() {
		t.Errorf("versions %v, mgr %+v", versions, mgr)
	}
	for _, who := range []string{"osd.0", "mgr." + mgr.Active} {
		config, err := c.ConfigShowWithDefaults(ctx, who)
		if err != nil {
			t.Errorf("%s: %v", who, err)
			continue
		}
		for _, option := range []string{"osd_scrub_max_interval", "osd_deep_scrub_interval", "mon_warn_pg_not_scrubbed_ratio", "mon_warn_pg_not_deep_scrubbed_ratio"} {
			if v, err := config.Float(option); err != nil || v < 0 {
				t.Errorf("%s: %v, %v", who, v, err)
			}
		}
		begin, err1 := config.Hour("osd_scrub_begin_hour")
		day, err2 := config.WeekDay("osd_scrub_begin_week_day")
		if err1 != nil || err2 != nil || begin != 0 || day != 0 {
			t.Errorf("%s: %v, %v", who, err1, err2)
		}
	}
}
