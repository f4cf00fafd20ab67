package mixin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// What all rules cost in a Prometheus that scrapes a made-up cluster of 1,500 OSDs
// and 60,000 PGs from a pair of exporters, every PG with a series, and 25 hosts of 60
// OSDs. The windows of rates have to be full before it is a fair figure, so it runs
// for most of an hour and prints what it has on the way.
func TestRuleEvaluationTime(t *testing.T) {
	cephtest.SkipUnlessLong(t)
	cephtest.RequireTool(t, "prometheus")
	dir := t.TempDir()
	binary := filepath.Join(dir, "exporter")
	build := exec.Command("go", "build", "-o", binary, "../cmd/ceph_risk_exporter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	exporter, server := address(t), address(t)
	run(t, binary, "--simulate", "--simulate.pgs=60000", "--simulate.osds=1500", "--collector.pg.series-limit=100000", "--web.listen-address="+exporter)
	families, begin := hostFamilies(t), time.Now()
	hosts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		writeHost(w, families, host, int(time.Since(begin).Seconds()))
	}))
	t.Cleanup(hosts.Close)
	var conf strings.Builder
	rules, err := filepath.Abs("../alerts")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&conf, "global: {scrape_interval: 30s, scrape_timeout: 30s}\nrule_files: [%q, %q]\nscrape_configs:\n- job_name: ceph_risk_exporter\n  static_configs:\n", filepath.Join(rules, "rules.yaml"), filepath.Join(rules, "alerts.yaml"))
	for _, one := range []string{"a", "b"} {
		fmt.Fprintf(&conf, "  - {targets: [%q], labels: {cluster: c1, instance: %s, __param_of: %s}}\n", exporter, one, one)
	}
	for i := range 25 {
		fmt.Fprintf(&conf, "  - {targets: [%q], labels: {cluster: c1, instance: h%d, __metrics_path__: /%d}}\n", hosts.Listener.Addr(), i, i)
	}
	fmt.Fprintf(&conf, "- job_name: prometheus\n  static_configs: [{targets: [%q]}]\n", server)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+server)
	for time.Since(begin) < 40*time.Minute {
		time.Sleep(2 * time.Minute)
		cycles := samples(t, server, `sum(prometheus_rule_group_last_duration_seconds{job="prometheus"})[10m:1m]`, "")
		slices.Sort(cycles)
		if len(cycles) == 0 {
			continue
		}
		groups := samples(t, server, `sort_desc(prometheus_rule_group_last_duration_seconds{job="prometheus"})`, "rule_group")
		t.Logf("%4.0f min: %v series; a cycle of all rules over 10 minutes: median %.0f ms, lowest %.0f ms, highest %.0f ms; groups now, ms: %.0f",
			time.Since(begin).Minutes(), samples(t, server, "prometheus_tsdb_head_series", ""), 1000*cycles[len(cycles)/2], 1000*cycles[0], 1000*cycles[len(cycles)-1], scaled(groups))
	}
	if failures := samples(t, server, "sum(prometheus_rule_evaluation_failures_total)", ""); !slices.Equal(failures, []float64{0}) {
		t.Errorf("evaluations that failed: %v", failures)
	}
}

func scaled(seconds []float64) []float64 {
	out := slices.Clone(seconds)
	for i := range out {
		out[i] *= 1000
	}
	return out
}

func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", name, out.String())
		}
	})
}

// samples are all values of a query's answer; none while the server does not answer.
// With a label, its values are logged in the same order.
func samples(t *testing.T, server, query, label string) []float64 {
	t.Helper()
	resp, err := http.Get("http://" + server + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  []any
				Values [][]any
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil
	}
	var out []float64
	var names []string
	for _, r := range answer.Data.Result {
		for _, sample := range append(r.Values, r.Value) {
			if len(sample) == 2 {
				v, err := strconv.ParseFloat(fmt.Sprint(sample[1]), 64)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, v)
				names = append(names, filepath.Base(strings.ReplaceAll(r.Metric[label], ";", "/")))
			}
		}
	}
	if label != "" {
		t.Logf("%s", strings.Join(names, " "))
	}
	return out
}
