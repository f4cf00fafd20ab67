// Package capture writes the answers of a real cluster as fixtures for
// decoders: names, addresses, keys, identities and paths replaced.
package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

// A question is one command to mon or mgr and the file for its answer.
type question struct {
	file    string
	mgr     bool
	command map[string]any
}

func questions() []question {
	mon := func(file string, command map[string]any) question { return question{file, false, command} }
	mgr := func(file string, command map[string]any) question { return question{file, true, command} }
	return []question{
		mgr("pg_ls_scrubbing", map[string]any{"prefix": "pg ls", "states": []string{"scrubbing"}}),
		mgr("pg_ls_recovering", map[string]any{"prefix": "pg ls", "states": []string{"recovering", "recovery_wait", "backfilling", "backfill_wait"}}),
		mgr("pg_ls_no_match", map[string]any{"prefix": "pg ls", "states": []string{"snaptrim_error"}}),
		mgr("pg_dump_pgs", map[string]any{"prefix": "pg dump", "dumpcontents": []string{"pgs"}}),
		mgr("pg_dump", map[string]any{"prefix": "pg dump"}),
		mgr("pg_ls_by_pool", map[string]any{"prefix": "pg ls-by-pool", "poolstr": "erasure"}),
		mon("health_detail", map[string]any{"prefix": "health", "detail": "detail"}),
		mon("osd_dump", map[string]any{"prefix": "osd dump"}),
		mgr("osd_df", map[string]any{"prefix": "osd df"}),
		mgr("osd_perf", map[string]any{"prefix": "osd perf"}),
		mon("osd_metadata", map[string]any{"prefix": "osd metadata"}),
		mon("config_dump", map[string]any{"prefix": "config dump"}),
		mgr("config_show_osd.0", map[string]any{"prefix": "config show-with-defaults", "who": "osd.0"}),
		mgr("config_show_mgr.x", map[string]any{"prefix": "config show-with-defaults", "who": "mgr.x"}),
		mon("versions", map[string]any{"prefix": "versions"}),
		mon("version", map[string]any{"prefix": "version"}),
		mon("status", map[string]any{"prefix": "status"}),
	}
}

// socketCommands are asked of every OSD's and gateway's admin socket, as far
// as the daemon knows them.
var socketCommands = [...]asok.Command{
	asok.Version, asok.Status, asok.PerfDump, asok.PerfHistogramDump, asok.CounterDump,
	asok.DumpScrubs, asok.DumpScrubReservations, asok.DumpRecoveryReservations, asok.BluefsStats,
}

// Write asks the cluster everything and writes each answer to a file below
// dir: COMMAND.json for mon and mgr, asok/DAEMON_COMMAND.json for admin
// sockets of the named daemons.
func Write(ctx context.Context, c *cluster.Cluster, dir string, daemons []string) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	clean := newCleaner(c.Dir(), c.Root(), c.FSID(), host)
	if err := os.MkdirAll(filepath.Join(dir, "asok"), 0o755); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	// Admin sockets first: what they tell of running scrubs is short-lived.
	answers := map[string][]byte{}
	for _, daemon := range daemons {
		if err := askSocket(ctx, c, daemon, answers); err != nil {
			return fmt.Errorf("capture: %s: %w", daemon, err)
		}
	}
	for _, q := range questions() {
		q.command["format"] = "json"
		command, err := json.Marshal(q.command)
		if err != nil {
			return fmt.Errorf("capture: %s: %w", q.file, err)
		}
		ask := c.MonCommand
		if q.mgr {
			ask = c.MgrCommand
		}
		answer, err := ask(ctx, command)
		if err != nil {
			return fmt.Errorf("capture: %s: %w", q.file, err)
		}
		answers[q.file+".json"] = answer
	}
	for file, answer := range answers {
		if err := os.WriteFile(filepath.Join(dir, file), clean.clean(answer), 0o644); err != nil {
			return fmt.Errorf("capture: %w", err)
		}
	}
	return nil
}

func askSocket(ctx context.Context, c *cluster.Cluster, daemon string, answers map[string][]byte) error {
	path := c.AsokPath(daemon)
	if strings.HasPrefix(daemon, "rgw.") {
		found, err := filepath.Glob(filepath.Join(c.AsokDir(), "ceph-client."+daemon+".*.asok"))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no admin socket: %w", err)
		}
		path = found[0]
	}
	var client asok.Client
	for _, command := range socketCommands {
		answer, err := client.Ask(ctx, path, command)
		var refused *asok.DaemonError
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			return err
		}
		ext := ".json"
		if !json.Valid(answer) {
			ext = ".txt"
		}
		name := daemon + "_" + strings.ReplaceAll(command.String(), " ", "_") + ext
		answers[filepath.Join("asok", name)] = answer
	}
	return nil
}
