// Package mixin holds the alerting pack's sources in jsonnet; its Go files are the
// pack's tests.
package mixin

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/formatter"
	"github.com/google/go-jsonnet/linter"
	"go.yaml.in/yaml/v3"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

type rule struct {
	Record        string            `json:"record,omitempty"`
	Alert         string            `json:"alert,omitempty"`
	Expr          string            `json:"expr"`
	For           string            `json:"for,omitempty"`
	KeepFiringFor string            `json:"keep_firing_for,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type pack struct {
	Config     map[string]any `json:"config"`
	Rules      groups         `json:"rules"`
	Alerts     groups         `json:"alerts"`
	Dashboards map[string]any `json:"dashboards"`
}

type groups struct {
	Groups []group `json:"groups"`
}

type group struct {
	Name     string `json:"name"`
	Interval string `json:"interval"`
	Rules    []rule `json:"rules"`
}

func (g groups) all() []rule {
	var out []rule
	for _, group := range g.Groups {
		out = append(out, group.Rules...)
	}
	return out
}

// evaluate gives the pack with some of its configuration replaced.
func evaluate(t *testing.T, override string) (pack, error) {
	t.Helper()
	vm := jsonnet.MakeVM()
	text, err := vm.EvaluateAnonymousSnippet("mixin_test.jsonnet", `
		local m = (import 'mixin.libsonnet') + { _config+:: `+override+` };
		{ config: m._config, rules: m.prometheusRules, alerts: m.prometheusAlerts, dashboards: m.grafanaDashboards }`)
	if err != nil {
		return pack{}, err
	}
	var p pack
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p, nil
}

func mustEvaluate(t *testing.T, override string) pack {
	t.Helper()
	p, err := evaluate(t, override)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// under lists the files below the directories, relative to the repository.
func under(t *testing.T, dirs ...string) []string {
	t.Helper()
	var out []string
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				out = append(out, strings.TrimPrefix(filepath.ToSlash(path), "../"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// alerts/ and dashboards/ hold what the sources say, and nothing else.
func TestRenderedFilesAreCurrent(t *testing.T) {
	vm := jsonnet.MakeVM()
	vm.StringOutput = true
	want, err := vm.EvaluateFileMulti("render.jsonnet")
	if err != nil {
		t.Fatal(err)
	}
	got := under(t, "alerts", "dashboards")
	if names := slices.Sorted(maps.Keys(want)); !slices.Equal(got, names) {
		t.Errorf("files are\n%q, want\n%q; run make mixin", got, names)
	}
	for name, text := range want {
		data, err := os.ReadFile(filepath.Join("..", name))
		if err == nil && string(data) != text {
			t.Errorf("%s is not what mixin/ renders to; run make mixin", name)
		}
	}
}

func TestSourcesAreFormattedAndLinted(t *testing.T) {
	for _, name := range under(t, "mixin") {
		if !strings.HasSuffix(name, "sonnet") && !strings.HasSuffix(name, "jsonnet") {
			continue
		}
		path := filepath.Join("..", name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := formatter.Format(path, string(data), formatter.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if text != string(data) {
			t.Errorf("jsonnetfmt would change %s", name)
		}
		var said strings.Builder
		if linter.LintSnippet(jsonnet.MakeVM(), &said, []linter.Snippet{{FileName: path, Code: string(data)}}) {
			t.Errorf("jsonnet-lint: %s", said.String())
		}
	}
}

// Mistakes in a configuration end the rendering, not a night's sleep.
func TestMisconfigurationFailsToRender(t *testing.T) {
	for override, want := range map[string]string{
		`{ alerts+: { CephRiskScrubStuk+: { 'for': '1h' } } }`:           "configuration for alerts that do not exist: CephRiskScrubStuk",
		`{ alerts+: { CephRiskScrubStuck+: { severity: 'page' } } }`:     "CephRiskScrubStuck: unknown severity page",
		`{ alerts+: { CephRiskScrubStuck+: { 'for': '2h' } } }`:          "for is longer than an hour",
		`{ alerts+: { CephRiskScrubFlagLeftOn+: { window: '1 day' } } }`: "not a duration: 1 day",
	} {
		if _, err := evaluate(t, override); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", override, err, want)
		}
	}
}

// jsonnet-bundler links a library that is installed from a path below its
// directory's name. Nothing else has to be found.
func TestPackWorksFromAVendorDirectory(t *testing.T) {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	vendor := t.TempDir()
	if err := os.Symlink(here, filepath.Join(vendor, "mixin")); err != nil {
		t.Fatal(err)
	}
	vm := jsonnet.MakeVM()
	vm.Importer(&jsonnet.FileImporter{JPaths: []string{vendor}})
	text, err := vm.EvaluateAnonymousSnippet("consumer.jsonnet", `
		local pack = (import 'mixin/mixin.libsonnet') + { _config+:: { clusterLabel: 'ceph_cluster', alertLabels: { team: 'storage' } } };
		std.length(pack.prometheusRules.groups) > 0 && std.length(pack.grafanaDashboards) > 0
		&& std.all([r.labels.team == 'storage' for g in pack.prometheusAlerts.groups for r in g.rules])`)
	if err != nil || text != "true\n" {
		t.Errorf("%q, error %v", text, err)
	}
}

// Ceph's own pack has alerts Ceph..., and records nothing; whatever is here begins so
// that the two can be loaded together.
func TestNamesKeepClearOfOtherPacks(t *testing.T) {
	p := mustEvaluate(t, "{}")
	for _, g := range slices.Concat(p.Rules.Groups, p.Alerts.Groups) {
		if !strings.HasPrefix(g.Name, "ceph-risk-") {
			t.Errorf("group %s", g.Name)
		}
		for _, r := range g.Rules {
			if !strings.HasPrefix(r.Record+r.Alert, "CephRisk") && !strings.HasPrefix(r.Record, "cephrisk:") {
				t.Errorf("%s%s", r.Record, r.Alert)
			}
		}
	}
}

// Debian ships Ceph's own alerts: no name of theirs is one of ours, and one
// Prometheus takes both.
func TestPackLivesBesideCephsOwnAlerts(t *testing.T) {
	cephtest.RequireTool(t, "promtool")
	cache := os.Getenv("CEPHRISK_CACHE")
	if cache == "" {
		cache = "/var/cache/ceph_risk_exporter"
	}
	theirs := filepath.Join(cache, "tools/etc/prometheus/ceph/ceph_default_alerts.yml")
	text, err := os.ReadFile(theirs)
	if err != nil {
		cephtest.SkipOrFail(t, "Ceph's own alerts, which scripts/install-deps unpacks, are not there: "+err.Error())
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct{ Record, Alert string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	names, n := map[string]bool{}, 0
	for _, g := range file.Groups {
		names[g.Name] = true
		for _, r := range g.Rules {
			names[r.Record+r.Alert] = true
			n++
		}
	}
	if n < 20 {
		t.Errorf("only %d rules in %s", n, theirs)
	}
	p := mustEvaluate(t, "{}")
	for _, g := range slices.Concat(p.Rules.Groups, p.Alerts.Groups) {
		if names[g.Name] {
			t.Errorf("both have a group %s", g.Name)
		}
		for _, r := range g.Rules {
			if names[r.Record+r.Alert] {
				t.Errorf("both have %s%s", r.Record, r.Alert)
			}
		}
	}
	promtool(t, "check", "rules", theirs, "../alerts/rules.yaml", "../alerts/alerts.yaml")
}

// An operator's own selector and cluster label are in every rule.
func TestSelectorAndClusterLabelAreUsedThroughout(t *testing.T) {
	p := mustEvaluate(t, `{ selector: 'job="ours"', clusterLabel: 'ceph_cluster' }`)
	for _, r := range append(p.Rules.all(), p.Alerts.all()...) {
		text := fmt.Sprint(r)
		if strings.Contains(text, "ceph[-_]risk") || strings.Contains(text, "(cluster") || strings.Contains(text, "cluster=%q") && !strings.Contains(text, "ceph_cluster=%q") {
			t.Errorf("%s", text)
		}
	}
}

// A drill that cannot wait for hours finds no window that it cannot shorten.
func TestEveryWindowCanBeShortened(t *testing.T) {
	p := mustEvaluate(t, `{
		step: '2s', hold: '60s',
		windows: std.mapWithKey(function(name, w) '20s', super.windows),
		alerts: std.mapWithKey(function(name, a) a { [k]: '20s' for k in ['window', 'history', 'quiet'] if std.objectHas(a, k) }, super.alerts),
	}`)
	long := regexp.MustCompile(`\[[0-9]+[mhdw][\]:]`)
	for _, r := range append(p.Rules.all(), p.Alerts.all()...) {
		if w := long.FindString(r.Expr); w != "" {
			t.Errorf("%s%s: %s is written into its expression", r.Record, r.Alert, w)
		}
	}
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	cephtest.RequireTool(t, "promtool")
	files := []string{"../alerts/rules.yaml", "../alerts/alerts.yaml", "../alerts/alerts_before_2.42.yaml"}
	promtool(t, append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, files...)...)
	old, err := os.ReadFile(files[2])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(old), "keep_firing_for") {
		t.Errorf("%s has keep_firing_for", files[2])
	}
}
