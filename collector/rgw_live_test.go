package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// TestLiveUploadsAreCountedOnce: two real gateways, a real client, and all that
// happens to logs and processes in a year: what is counted is what the client
// knows.
func TestLiveUploadsAreCountedOnce(t *testing.T) {
	operations := 160
	if cephtest.Long() {
		operations = 2000
	}
	exporter := buildExporter(t)
	for _, release := range cephtest.Releases() {
		t.Run(fmt.Sprint(release), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			r := newRGWRig(t, release, exporter)
			ready := time.Since(begin)
			r.run(operations)
			loaded := time.Since(begin) - ready
			r.check()
			t.Logf("ready after %v, load %v, checks %v", ready, loaded, time.Since(begin)-ready-loaded)
		})
	}
}

// run loads the gateways and disturbs them meanwhile.
func (r *rgwRig) run(operations int) {
	done := make(chan error, 1)
	go func() {
		if err := r.s3.copiedParts(70_000); err != nil {
			done <- err
			return
		}
		done <- r.s3.load(6, operations)
	}()
	var ended bool
	const pauses = 12
	seen := int64(0)
	r.disturb(func() {
		seen += int64(operations) / pauses
		for !ended && r.s3.serial.Load() < seen {
			select {
			case err := <-done:
				r.must(err)
				ended = true
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	if !ended {
		r.must(<-done)
	}
}

func (r *rgwRig) check() {
	t := r.t
	want := r.s3.ledger
	if r.c.Release() >= cephtest.R18 { // older ones do not log what they cannot authenticate
		want.FailedPut += want.Unauthenticated
	}
	want.Unauthenticated = 0
	var last scraped
	awaitThat(t, 90*time.Second, func() (string, bool) {
		s, err := scrapeURL(r.metrics)
		if err != nil {
			return err.Error(), false
		}
		last = s
		diff := cmp.Diff(want, s.ledger().minus(r.before.ledger()))
		return diff, diff == ""
	})
	t.Logf("as the client knows it: %+v", want)
	for name, want := range map[string]float64{
		"uploads_unsized_total": 0, "ops_log_gaps_total": 0, "ops_log_junk_bytes_total": 0, "ops_log_foreign_objects_total": 0,
	} {
		if got := last.sum(name) - r.before.sum(name); got != want {
			t.Errorf("%s grew by %v, want %v", name, got, want)
		}
	}
	if view, enabled := last.sum("multipart_view_complete"), last.sum("ops_log_enabled"); view != 1 || enabled != 2 {
		t.Errorf("view complete %v, %v ops logs enabled; want 1, 2", view, enabled)
	}
	// RGW's own counter moves for the same requests as ours (rgw.a ran through).
	grown := func(name string) float64 {
		return last.sum(name, "ceph_daemon", "rgw.a") - r.before.sum(name, "ceph_daemon", "rgw.a")
	}
	if rgw, ours := grown("own_puts_total"), grown("put_requests_total"); rgw != ours {
		t.Errorf("rgw.a counted %v puts, its ops log has %v", rgw, ours)
	}
	r.checkPrometheus(want)
	r.sockets.check(t, want)
}

// checkPrometheus looks at what a Prometheus made of it that scraped all along.
func (r *rgwRig) checkPrometheus(want s3Ledger) {
	window := strconv.Itoa(int(time.Since(r.began).Seconds())+10) + "s"
	value := func(q string) float64 {
		v, err := r.prometheus.Number(strings.ReplaceAll(q, "WINDOW", window))
		r.must(err)
		return v
	}
	var got s3Ledger
	grown := func(family, kind string) float64 {
		series := `cephrisk_rgw_` + family + `{kind="` + kind + `"}[WINDOW]`
		return value("sum(max_over_time(" + series + ") - min_over_time(" + series + "))")
	}
	awaitThat(r.t, 20*time.Second, func() (string, bool) { // the last scrape
		got = s3Ledger{
			Put: grown("uploads_completed_total", "put"), Multipart: grown("uploads_completed_total", "multipart"),
			Copy: grown("uploads_completed_total", "copy"), Post: grown("uploads_completed_total", "post"),
			PutBytes: grown("uploaded_bytes_total", "put"), MultipartBytes: grown("uploaded_bytes_total", "multipart"), PostBytes: grown("uploaded_bytes_total", "post"),
			Aborted: want.Aborted, Open: want.Open, FailedPut: want.FailedPut, FailedMultipart: want.FailedMultipart,
		}
		diff := cmp.Diff(want, got)
		return diff, diff == ""
	})
	for _, family := range []string{
		"uploads_completed_total", "uploaded_bytes_total", "upload_failures_total", "part_bytes_total", "multipart_aborted_total",
		"ops_log_records_total", "upload_size_bytes_count", "upload_size_bytes_bucket", "upload_duration_seconds_count",
	} {
		if n := value("sum(resets(cephrisk_rgw_" + family + "[WINDOW]))"); n != 0 {
			r.t.Errorf("Prometheus saw %v resets of %s", n, family)
		}
	}
}

// TestNativeHistogramsReachPrometheus: a Prometheus that knows native
// histograms takes ours.
func TestNativeHistogramsReachPrometheus(t *testing.T) {
	cephtest.RequireTool(t, "prometheus")
	dir := t.TempDir()
	var log strings.Builder
	for i := range 100 {
		log.WriteString(rgwRecord(rgwNow.Add(time.Duration(i)*time.Second), "put_obj", "PUT /photos/k HTTP/1.1", "200", 1000*(i+1), i))
	}
	if err := os.WriteFile(filepath.Join(dir, "ops-log-ceph-client.rgw.a.log"), []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	startExporter(t, buildExporter(t), address, "--path.run="+dir, "--rgw.ops-log="+filepath.Join(dir, "*.log"))
	p := startRGWPrometheus(t, address, "--enable-feature=native-histograms")
	awaitThat(t, time.Minute, func() (string, bool) {
		n, err := p.Number(`histogram_count(cephrisk_rgw_upload_size_bytes{kind="put"})`)
		return fmt.Sprint(n, err), n == 100
	})
	for q, want := range map[string][2]float64{
		`histogram_sum(cephrisk_rgw_upload_size_bytes{kind="put"})`:                 {5050e3, 5050e3},
		`histogram_quantile(0.5, cephrisk_rgw_upload_size_bytes{kind="put"})`:       {42e3, 60e3},
		`histogram_count(cephrisk_rgw_upload_duration_seconds{kind="put"})`:         {100, 100},
		`histogram_quantile(0.9, cephrisk_rgw_upload_duration_seconds{kind="put"})`: {.075, .108},
	} {
		if got, err := p.Number(q); err != nil || got < want[0] || got > want[1] {
			t.Errorf("%s = %v, %v; want %v", q, got, err, want)
		}
	}
}
