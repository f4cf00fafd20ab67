package ceph

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// releaseDirs are the folders of captured answers, one a release.
func releaseDirs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/[0-9]*")
	if err != nil || len(dirs) < 3 {
		t.Fatalf("captured answers of %v: %v", dirs, err)
	}
	return dirs
}

// Every captured PG list is read the same way by both decoders, on its own and
// again after a list of another release, whose layout differs.
func TestCapturedPGListsAreReadAsByEncodingJSON(t *testing.T) {
	for path, data := range fixtures(t, "pg ") {
		t.Run(path, func(t *testing.T) {
			comparePGs(t, data)
			doc, _, err := document(data)
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, doc, "", "    "); err != nil {
				t.Fatal(err)
			}
			comparePGs(t, pretty.Bytes())
			plain, err1 := DecodePGs(data)
			spaced, err2 := DecodePGs(pretty.Bytes())
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			plain.LayoutMisses, spaced.LayoutMisses, plain.SanitisedTokens = 0, 0, 0
			if diff := cmp.Diff(plain, spaced, cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The golden of a release is all that is read of its captured answers.
func TestCapturedAnswersAreReadWhole(t *testing.T) {
	for _, dir := range releaseDirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var b strings.Builder
			show(t, &b, dir, "osd_dump.json", DecodeOSDMap)
			show(t, &b, dir, "osd_df.json", DecodeOSDUsages)
			show(t, &b, dir, "osd_metadata.json", DecodeOSDMetadata)
			show(t, &b, dir, "health_detail.json", DecodeHealth)
			show(t, &b, dir, "config_dump.json", DecodeConfigDump)
			show(t, &b, dir, "config_show_osd.0.json", scrubOptions)
			show(t, &b, dir, "config_show_mgr.x.json", scrubOptions)
			show(t, &b, dir, "version.json", DecodeVersion)
			show(t, &b, dir, "versions.json", func(data []byte) (string, error) {
				versions, err := DecodeVersions(data)
				return fmt.Sprint(versions), err
			})
			for _, name := range []string{"pg_dump.json", "pg_dump_pgs.json", "pg_ls_by_pool.json", "pg_ls_no_match.json", "pg_ls_recovering.json", "pg_ls_scrubbing.json"} {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				showPGs(t, &b, name, data)
			}
			golden := filepath.Join(dir, "decoded.golden")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
				t.Errorf("not as in %s (go test -update rewrites it):\n%s", golden, diff)
			}
		})
	}
}

func show[T any](t *testing.T, b *strings.Builder, dir, name string, decode func([]byte) (T, error)) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "%s\n%s\n\n", name, text)
}

// scrubOptions are those of the more than 1,800 options that matter here.
func scrubOptions(data []byte) (Config, error) {
	config, err := DecodeConfigShow(data)
	for name := range config {
		if !strings.Contains(name, "scrub") {
			delete(config, name)
		}
	}
	return config, err
}

func showPGs(t *testing.T, b *strings.Builder, name string, data []byte) {
	t.Helper()
	table, err := DecodePGs(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	fmt.Fprintf(b, "%s\nready %v, %d PGs, %d bad, %d sets\n", name, table.Ready, len(table.PGs), table.BadCount, len(table.Sets))
	when := func(s Stamp) string {
		if !s.Known() {
			return "-"
		}
		return s.Time().Format("2006-01-02T15:04:05.000000")
	}
	for i := range table.PGs {
		pg := &table.PGs[i]
		fmt.Fprintf(b, "%s %s scrub %s deep %s clean %s change %s schedule %d %s bytes %d objects %d scrubbed %d errors %d %d took %d (%g) trim %d up %v %d acting %v %d\n",
			pg.ID, pg.State, when(pg.LastScrub), when(pg.LastDeepScrub), when(pg.LastCleanScrub), when(pg.LastChange), pg.Schedule, when(pg.ScheduleAt),
			pg.Bytes, pg.Objects, pg.ObjectsScrubbed, pg.ShallowErrors, pg.DeepErrors, pg.LastScrubSeconds, pg.ScrubDuration, pg.SnapTrimQueue,
			table.Set(pg.Up), pg.UpPrimary, table.Set(pg.Acting), pg.ActingPrimary)
	}
	b.WriteByte('\n')
}

func TestStatesArePrintedAsCephPrintsThem(t *testing.T) {
	for _, text := range []string{"active+clean", "active+clean+scrubbing+deep", "unknown", "stale+active+undersized+degraded+remapped+backfill_wait"} {
		if got := ParseState([]byte(text)).String(); got != text {
			t.Errorf("%s printed as %s", text, got)
		}
	}
	got := []string{State(0).String(), ParseState([]byte("clean+odd+active")).String()}
	if want := []string{"", "active+clean+other"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
