package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
)

var update = flag.Bool("update", false, "rewrite the goldens")

var savedAt = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// saveCluster writes what an operator would save of a cluster with more PGs than
// its OSDs can scrub in the hours that they are given.
func saveCluster(t *testing.T, pgs, osds, release int, options map[string]string) []string {
	t.Helper()
	clock := savedAt.Add(-14 * 24 * time.Hour)
	c, err := simulate.New(simulate.Config{PGs: pgs, OSDs: osds, Release: release, Seed: 3, NoRecovery: true, Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	clock = savedAt
	dir := t.TempDir()
	save := func(name, command string, ask func(context.Context, []byte) ([]byte, error), change func([]byte) []byte) string {
		answer, err := ask(t.Context(), []byte(command))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, change(answer), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	same := func(b []byte) []byte { return b }
	full := func(b []byte) []byte { // as without "pgs"
		return append(bytes.Replace(b, []byte(`"pg_stats":`), []byte(`"pg_map":{"version":1,"pg_stats":`), 1), '}')
	}
	config := func(b []byte) []byte {
		var all []map[string]any
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if v, ok := options[o["name"].(string)]; ok {
				o["value"] = v
			}
		}
		out, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return []string{
		"--pg-dump=" + save("pg-dump.json", `{"prefix":"pg dump","dumpcontents":["pgs"],"format":"json"}`, c.MgrCommand, full),
		"--osd-dump=" + save("osd-dump.json", `{"prefix":"osd dump","format":"json"}`, c.MonCommand, same),
		"--osd-config=" + save("osd-config.json", `{"prefix":"config show-with-defaults","who":"osd.0","format":"json"}`, c.MgrCommand, config),
		"--at=2026-11-30T12:00:00Z", "--timezone=UTC", "--seeds=5",
	}
}

// scrubplan runs the program.
func scrubplan(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestOutput(t *testing.T) {
	tight := saveCluster(t, 600, 8, simulate.Reef, map[string]string{"osd_max_scrubs": "1", "osd_scrub_begin_hour": "22", "osd_scrub_end_hour": "2"})
	calm := saveCluster(t, 300, 24, simulate.Tentacle, nil)
	// A round of deep scrubs takes longer than late ones are given, with ten slots as with four times the interval.
	crammed := saveCluster(t, 48, 4, simulate.Reef, map[string]string{"osd_max_scrubs": "1", "osd_scrub_min_interval": "600", "osd_deep_scrub_interval": "1800"})
	small := saveCluster(t, 16, 4, simulate.Tentacle, nil)
	for _, c := range []struct {
		name  string
		saved []string
		args  string
		code  int
	}{
		{"stand", tight, "", exitLate},
		{"stand-calm", calm, "--horizon=2d", exitInTime},
		{"set", tight, "--set osd_max_scrubs=3 --set osd_scrub_end_hour=10 --set pool.archive.deep_scrub_interval=21d --plot", exitInTime},
		{"set-interval", tight, "--set osd_deep_scrub_interval=4w --horizon=36h", exitInTime},
		{"solve", tight, "--solve", exitLate},
		{"solve-together", crammed, "--solve --horizon=2d", exitLate},
		{"solve-calm", calm, "--solve", exitInTime},
		{"json", small, "--json --horizon=1d --set osd_max_scrubs=1", exitInTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := scrubplan(t, append(strings.Fields(c.args), c.saved...)...)
			golden(t, c.name, stdout)
			if code != c.code || stderr != "" {
				t.Errorf("exit code %d, want %d; stderr: %s", code, c.code, stderr)
			}
		})
	}
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	saved := saveCluster(t, 60, 3, simulate.Pacific, nil)
	missing := strings.TrimPrefix(saved[0], "--pg-dump=")
	for _, c := range []struct{ args, want string }{
		{"--set osd_max_scrubs", "--set osd_max_scrubs: want NAME=VALUE"},
		{"--set osd_max_scrubs=1.5", `--set osd_max_scrubs=1.5: "1.5" is not a value of this option`},
		{"--set osd_scrub_begin_hour=24", `--set osd_scrub_begin_hour=24: "24" is not a value of this option`},
		{"--set osd_deep_scrub_interval=soon", `--set osd_deep_scrub_interval=soon: "soon": want seconds, or a time such as 14d`},
		{"--set pool.nowhere.deep_scrub_interval=1d", `--set pool.nowhere.deep_scrub_interval=1d: the cluster has no pool "nowhere"`},
		{"--set pool.rbd.size=2", "--set pool.rbd.size=2: a pool has no size here"},
		{"--set noscrub=perhaps --set osd_max_scrubs=0", "--set noscrub=perhaps: \"perhaps\": not a value of this option\n--set osd_max_scrubs=0: \"0\" is not a value of this option"},
		{"--horizon=never", `--horizon: "never": want a time of a minute and more, such as 14d or 36h`},
		{"--recovery-ends=soon", `--recovery-ends: "soon": want a time such as 6h, or never`},
		{"--timezone=Nowhere/Land", "--timezone: unknown time zone Nowhere/Land"},
		{"--seeds=0", "--seeds: 0: want at least 1"},
		{"--release=14", "forecast: release 14: only 16 and newer are modelled"},
		{"--osd-dump=" + missing, "decode osd dump: not the answer of this command"},
		{"--at=yesterday", `--at: parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"`},
	} {
		args := strings.Fields(c.args)
		for _, s := range saved {
			if name, _, _ := strings.Cut(s, "="); !strings.Contains(c.args, name+"=") {
				args = append(args, s)
			}
		}
		code, stdout, stderr := scrubplan(t, args...)
		stderr = strings.ReplaceAll(stderr, missing+": ", "")
		if code != exitFailed || stdout != "" || stderr != "scrubplan: "+c.want+"\n" {
			t.Errorf("%s: exit code %d, stdout %q, stderr:\n%swant:\nscrubplan: %s", c.args, code, stdout, stderr, c.want)
		}
	}
	code, _, stderr := scrubplan(t, saved[0])
	if code != exitFailed || stderr != "scrubplan: a saved cluster takes all of --pg-dump, --osd-dump and --osd-config\n" {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}

// The commands that are printed, and their section: the mgr must see intervals.
func TestCommandsNameTheRightSection(t *testing.T) {
	saved := saveCluster(t, 60, 3, simulate.Reef, nil)
	_, stdout, _ := scrubplan(t, append(saved, "--horizon=1h",
		"--set", "osd_max_scrubs=2", "--set", "osd_deep_scrub_interval=14d", "--set", "osd_scrub_max_interval=2w", "--set", "osd_scrub_min_interval=36h",
		"--set", "osd_scrub_during_recovery=true", "--set", "mon_warn_pg_not_deep_scrubbed_ratio=1", "--set", "pool.default.rgw.buckets.data.deep_scrub_interval=14d",
		"--set", "noscrub=true", "--set", "nodeep-scrub=false")...)
	_, got, _ := strings.Cut(stdout, "to make this change:\n")
	want := `  ceph config set osd osd_max_scrubs 2
  ceph config set global osd_deep_scrub_interval 1209600
  ceph config set global osd_scrub_max_interval 1209600
  ceph config set osd osd_scrub_min_interval 129600
  ceph config set osd osd_scrub_during_recovery true
  ceph config set global mon_warn_pg_not_deep_scrubbed_ratio 1
  ceph osd pool set default.rgw.buckets.data deep_scrub_interval 1209600
  ceph osd set noscrub
  ceph osd unset nodeep-scrub
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMadeUpClusterCanBePlannedFor(t *testing.T) {
	code, stdout, stderr := scrubplan(t, "--simulate", "--simulate.pgs=200", "--horizon=1d", "--seeds=2")
	if !strings.HasPrefix(stdout, "200 PGs on ") || code == exitFailed || stderr != "" {
		t.Errorf("exit code %d, stderr %s, stdout:\n%s", code, stderr, stdout)
	}
}

// A cluster of which the mgr knows nothing is not one where nobody is late.
func TestClusterWithoutReportsIsNotInTime(t *testing.T) {
	saved := saveCluster(t, 60, 3, simulate.Reef, nil)
	path := strings.TrimPrefix(saved[0], "--pg-dump=")
	dump, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(dump, []byte(`"active+clean"`), []byte(`"unknown"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := scrubplan(t, saved...)
	if want := "scrubplan: the mgr has no report of any PG (of 60), so nothing can be said of them\n"; code != exitFailed || stdout != "" || stderr != want {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
