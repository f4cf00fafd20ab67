package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/prometheus"
)

// startPrometheus runs a Prometheus that scrapes the exporter every second, and
// returns a function that asks it: value by label ceph_daemon.
func startPrometheus(t *testing.T, e *exporter.Exporter) (query func(expr string) (map[string]float64, error)) {
	t.Helper()
	s := prometheus.Start(t, prometheus.Options{Config: map[string]any{
		"global": map[string]string{"scrape_interval": "1s", "scrape_timeout": "1s"},
		"scrape_configs": []any{map[string]any{
			"job_name":       "risk",
			"static_configs": []any{map[string]any{"targets": []string{strings.TrimPrefix(e.URL, "http://")}}},
		}},
	}})
	return func(expr string) (map[string]float64, error) {
		samples, err := s.Query(expr)
		if err != nil {
			return nil, err
		}
		values := map[string]float64{}
		for _, one := range samples {
			values[one.Labels["ceph_daemon"]+" "+one.Labels["device_class"]+one.Labels["role"]] = one.Value
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
