package mixin

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/prometheus"
)

// What all rules cost in a Prometheus that scrapes a made-up cluster of 1,500 OSDs
// and 60,000 PGs from a pair of exporters, and 25 hosts of 60 OSDs: as the exporter
// runs by default, and with a series for every PG.
//
// Windows of half an hour have to hold as many samples as with a scrape every 30 s.
// They get them in eight minutes of a scrape every 8 s; measured are the four minutes
// after that, at 30 s. Windows of an hour hold half of what they would, those of a
// day less still, but are over few series.
func TestRuleEvaluationTime(t *testing.T) {
	cephtest.SkipUnlessLong(t)
	cephtest.RequireTool(t, "prometheus")
	binary := filepath.Join(t.TempDir(), "exporter")
	build := exec.Command("go", "build", "-o", binary, "../cmd/ceph_risk_exporter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	families := hostFamilies(t)
	for name, args := range map[string][]string{"default": nil, "every PG": {"--collector.pg.series-limit=100000"}} {
		t.Run(name, func(t *testing.T) {
			begin, exporter := time.Now(), prometheus.FreeAddress(t)
			run(t, binary, append([]string{"--simulate", "--simulate.pgs=60000", "--simulate.osds=1500", "--web.listen-address=" + exporter}, args...)...)
			hosts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				host, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
				writeHost(w, families, host, int(time.Since(begin).Seconds()))
			}))
			t.Cleanup(hosts.Close)
			config := func(interval string) any {
				return evaluationConfig(t, interval, exporter, hosts.Listener.Addr().String())
			}
			s := prometheus.Start(t, prometheus.Options{Config: config("8s")})
			time.Sleep(8 * time.Minute)
			s.Reload(t, config("30s"))
			measureRules(t, s, 4*time.Minute)
		})
	}
}

// evaluationConfig scrapes a pair and the hosts, with the rules as they are shipped.
func evaluationConfig(t *testing.T, interval, exporter, hosts string) any {
	t.Helper()
	rules, err := filepath.Abs("../alerts")
	if err != nil {
		t.Fatal(err)
	}
	var targets []any
	for _, one := range []string{"a", "b"} {
		targets = append(targets, map[string]any{"targets": []string{exporter}, "labels": map[string]string{"cluster": "c1", "instance": one, "__param_of": one}})
	}
	for i := range 25 {
		targets = append(targets, map[string]any{"targets": []string{hosts}, "labels": map[string]string{"cluster": "c1", "instance": fmt.Sprintf("h%d", i), "__metrics_path__": fmt.Sprintf("/%d", i)}})
	}
	return map[string]any{
		"global":         map[string]string{"scrape_interval": interval, "scrape_timeout": interval},
		"rule_files":     []string{filepath.Join(rules, "rules.yaml"), filepath.Join(rules, "alerts.yaml")},
		"scrape_configs": []any{map[string]any{"job_name": "ceph_risk_exporter", "static_configs": targets}},
	}
}

// ruleTimes are what one rule took, by the instant of each evaluation.
type ruleTimes struct {
	group, name string
	perMinute   float64 // evaluations
	seconds     map[string]float64
}

// cost is what the rule takes in a minute, in milliseconds, by the median.
func (r *ruleTimes) cost() float64 { return 1000 * r.perMinute * median(r.seconds) }

func median(m map[string]float64) float64 { s := slices.Sorted(maps.Values(m)); return s[len(s)/2] }

// measureRules asks Prometheus how long each rule took, for some minutes, and for
// the processor time of all.
func measureRules(t *testing.T, s *prometheus.Server, window time.Duration) {
	t.Helper()
	profile := make(chan string, 1)
	go func() { profile <- ruleProfile(s.URL, t.TempDir(), window) }()
	rules := map[string]*ruleTimes{}
	for end := time.Now().Add(window); time.Now().Before(end); time.Sleep(15 * time.Second) {
		var data struct {
			Groups []struct {
				Name     string
				Interval float64
				Rules    []struct {
					Name, Health, LastError, LastEvaluation string
					EvaluationTime                          float64
				}
			}
		}
		if err := s.Get("rules", nil, &data); err != nil {
			t.Fatal(err)
		}
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.Health != "ok" {
					t.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
				}
				if rules[r.Name] == nil {
					rules[r.Name] = &ruleTimes{group: g.Name, name: r.Name, perMinute: 60 / g.Interval, seconds: map[string]float64{}}
				}
				rules[r.Name].seconds[r.LastEvaluation] = r.EvaluationTime
			}
		}
	}
	series, err := s.Number("prometheus_tsdb_head_series")
	if err != nil {
		series, err = s.Number(`count({__name__=~".+"})`)
	}
	total, groups := 0.0, map[string]float64{}
	for _, r := range rules {
		total += r.cost()
		groups[r.group] += r.cost()
	}
	t.Logf("%.0f series (%v); all %d rules take %.0f ms a minute", series, err, len(rules), total)
	for _, name := range slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return cmp.Compare(groups[b], groups[a]) }) {
		t.Logf("| %s | %.1f |", name, groups[name])
	}
	for i, r := range slices.SortedFunc(maps.Values(rules), func(a, b *ruleTimes) int { return cmp.Compare(b.cost(), a.cost()) }) {
		if i < 40 {
			t.Logf("| `%s` | %.2f | %g |", r.name, r.cost(), r.perMinute)
		}
	}
	t.Logf("processor time, as profiled for %s:\n%s", window, <-profile)
}

// ruleProfile is how much processor time Prometheus spent on rules; an error as text.
func ruleProfile(server, dir string, window time.Duration) string {
	res, err := http.Get(fmt.Sprintf("%s/debug/pprof/profile?seconds=%.0f", server, window.Seconds()))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	file := filepath.Join(dir, "profile")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err.Error()
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount=12", `-focus=rules\.\(\*Group\)\.Eval`, file).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return string(out)
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
