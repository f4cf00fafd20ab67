package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

// startPrometheus runs a Prometheus that scrapes the exporter every second, and
// returns a function that asks it: value by label ceph_daemon.
func startPrometheus(t *testing.T, e *exporter.Exporter) (query func(expr string) (map[string]float64, error)) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	conf := fmt.Sprintf("global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: risk\n    static_configs:\n      - targets: [%q]\n", strings.TrimPrefix(e.URL, "http://"))
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus:\n%s", &out)
		}
	})
	return func(expr string) (map[string]float64, error) {
		resp, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var a struct {
			Status string `json:"status"`
			Error  string `json:"error"`
			Data   struct {
				Result []struct {
					Metric map[string]string `json:"metric"`
					Value  [2]any            `json:"value"`
				} `json:"result"`
			} `json:"data"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
			return nil, err
		}
		if a.Status != "success" {
			return nil, fmt.Errorf("%s: %s", expr, a.Error)
		}
		values := map[string]float64{}
		for _, r := range a.Data.Result {
			text, _ := r.Value[1].(string)
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, err
			}
			values[r.Metric["ceph_daemon"]+" "+r.Metric["device_class"]+r.Metric["role"]] = v
		}
		return values, nil
	}
}

// joins asks a real Prometheus for what the documents tell operators to ask.
func joins(t *testing.T, e *exporter.Exporter) {
	t.Helper()
	query := startPrometheus(t, e)
	osds := func(suffix string, value func(osd string) float64) map[string]float64 {
		out := map[string]float64{}
		for osd := range 4 {
			name := fmt.Sprintf("osd.%d", osd)
			out[name+" "+suffix] = value(name)
		}
		return out
	}
	of := func(name string) func(osd string) float64 {
		return func(osd string) float64 { return e.Scrape()[name+labelText("ceph_daemon", osd)] }
	}
	for expr, want := range map[string]func() map[string]float64{
		"cephrisk_osd_bluestore_meta_bytes * on (ceph_daemon) group_left (hostname, device_class) cephrisk_osd_info": func() map[string]float64 {
			return osds("hdd", of("cephrisk_osd_bluestore_meta_bytes"))
		},
		`cephrisk_osd_bluestore_meta_bytes * on (ceph_daemon) group_right cephrisk_osd_device_info{role="block"}`: func() map[string]float64 {
			return osds("block", of("cephrisk_osd_bluestore_meta_bytes"))
		},
		"cephrisk_osd_bluestore_meta_bytes / cephrisk_osd_size_bytes < 1": func() map[string]float64 {
			return osds("", func(osd string) float64 {
				return of("cephrisk_osd_bluestore_meta_bytes")(osd) / of("cephrisk_osd_size_bytes")(osd)
			})
		},
		"cephrisk_osd_size_bytes * on (ceph_daemon) cephrisk_osd_up * on (ceph_daemon) cephrisk_osd_in": func() map[string]float64 {
			return osds("", of("cephrisk_osd_size_bytes"))
		},
		// The cluster's view of an OSD, joined with its host's and with that of PGs.
		"cephrisk_osd_size_bytes + on (ceph_daemon) (0 * sum by (ceph_daemon) (cephrisk_osd_boot_duration_seconds))": func() map[string]float64 {
			return osds("", of("cephrisk_osd_size_bytes"))
		},
		"cephrisk_osd_size_bytes + on (ceph_daemon) 0 * cephrisk_osd_bluefs_db_used_bytes + on (ceph_daemon) 0 * cephrisk_osd_recovering_pgs + on (ceph_daemon) 0 * sum by (ceph_daemon) (cephrisk_osd_late_pgs)": func() map[string]float64 {
			return osds("", of("cephrisk_osd_size_bytes"))
		},
	} {
		e.Await("Prometheus to join: "+expr, 2*time.Minute, func() error {
			got, err := query(expr)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want(), got); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return nil
		})
	}
}
