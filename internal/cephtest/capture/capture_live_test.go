package capture

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

// TestSceneIsCaptured plays the scene on each release and looks for all that
// it promises in what was captured.
func TestSceneIsCaptured(t *testing.T) {
	cephtest.SkipUnlessLong(t)
	for _, r := range cluster.Releases() {
		t.Run(r.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			c, err := Scene(ctx, r)
			if errors.Is(err, cluster.ErrUnavailable) {
				cephtest.SkipOrFail(t, err.Error())
			}
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := Write(ctx, c, dir, []string{"osd.0", "rgw.a"}); err != nil {
				t.Error(err)
			}
			if err := c.CloseWait(ctx); err != nil {
				t.Error(err)
			}
			for file, want := range map[string]string{
				"pg_ls_scrubbing.json":                    "scrubbing+deep",
				"pg_ls_recovering.json":                   `"pg_stats"`,
				"health_detail.json":                      "PG_NOT_DEEP_SCRUBBED",
				"osd_dump.json":                           `"deep_scrub_interval":3600`,
				"pg_ls_no_match.json":                     `{"pg_ready":true}`,
				"asok/osd.0_perf_histogram_dump.json":     "op_w_latency",
				"asok/osd.0_dump_scrub_reservations.json": "osd_max_scrubs",
			} {
				data, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil || !bytes.Contains(data, []byte(want)) {
					t.Errorf("%s: no %s in it, %v", file, want, err)
				}
				checkFixture(t, file, data)
			}
		})
	}
}
