package mixin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// unitTest is as much of a promtool test file as is looked at here.
type unitTest struct {
	Tests []struct {
		Name   string
		Alerts []struct {
			Name string `yaml:"alertname"`
			Want []any  `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

// Every alert has a file of tests of its own: it fires, not before its time, it
// resolves, and stays quiet in a case beside it. And it has a runbook.
func TestEveryAlertHasTestsAndARunbook(t *testing.T) {
	p := mustEvaluate(t, "{}")
	var tests, runbooks []string
	for _, r := range p.Alerts.all() {
		tests = append(tests, "mixin/tests/"+r.Alert+".yaml")
		runbooks = append(runbooks, "docs/runbooks/"+r.Alert+".md")
		checkUnitTest(t, r.Alert)
		checkRunbook(t, r.Alert)
		if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/runbooks/"+r.Alert+".md") {
			t.Errorf("%s: runbook_url is %s", r.Alert, r.Annotations["runbook_url"])
		}
	}
	slices.Sort(tests)
	slices.Sort(runbooks)
	if got := under(t, "mixin/tests"); !slices.Equal(got, tests) {
		t.Errorf("tests are\n%q, want\n%q", got, tests)
	}
	if got := under(t, "docs/runbooks"); !slices.Equal(got, runbooks) {
		t.Errorf("runbooks are\n%q, want\n%q", got, runbooks)
	}
}

func checkUnitTest(t *testing.T, alert string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("tests", alert+".yaml"))
	if err != nil {
		t.Error(err)
		return
	}
	var file unitTest
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var whole, quiet bool
	for _, test := range file.Tests {
		var fires, before, after bool
		for _, a := range test.Alerts {
			switch {
			case a.Name != alert:
				t.Errorf("%s: its tests ask for %s", alert, a.Name)
			case len(a.Want) > 0:
				fires = true
			case fires:
				after = true
			default:
				before = true
			}
		}
		whole = whole || before && fires && after
		quiet = quiet || strings.HasPrefix(test.Name, "must not fire: ") && before && !fires
	}
	if !whole {
		t.Errorf("%s: no test shows it quiet, firing and resolved", alert)
	}
	if !quiet {
		t.Errorf(`%s: no test "must not fire: ..."`, alert)
	}
}

func checkRunbook(t *testing.T, alert string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "docs", "runbooks", alert+".md"))
	if err != nil {
		t.Error(err)
		return
	}
	var headings []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			headings = append(headings, strings.TrimSpace(line))
		}
	}
	want := []string{"# " + alert, "## Meaning", "## Impact", "## Diagnose", "## Mitigate", "## Tune", "## Silence"}
	if !slices.Equal(headings, want) {
		t.Errorf("runbook of %s has the headings %q, want %q", alert, headings, want)
	}
}

// only keeps of the groups what the alert and its texts read, over any number of
// recorded series. promtool evaluates every rule for every simulated minute.
func (p pack) only(t *testing.T, alert string) groups {
	t.Helper()
	keep := map[string]bool{}
	used := regexp.MustCompile(`cephrisk:[a-z0-9_:]+`)
	var need func(r rule)
	need = func(r rule) {
		for _, name := range used.FindAllString(r.Expr+" "+fmt.Sprint(r.Annotations), -1) {
			if !keep[name] {
				keep[name] = true
				for _, other := range p.Rules.all() {
					if other.Record == name {
						need(other)
					}
				}
			}
		}
	}
	for _, r := range p.Alerts.all() {
		if r.Alert == alert {
			keep[alert] = true
			need(r)
		}
	}
	var out groups
	for _, g := range slices.Concat(p.Rules.Groups, p.Alerts.Groups) {
		g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r rule) bool { return !keep[r.Record+r.Alert] })
		if len(g.Rules) > 0 {
			out.Groups = append(out.Groups, g)
		}
	}
	return out
}

// The files can be given to promtool as they are, with all rules; here each is run
// with the rules that its alert depends on, which takes a fraction of the time.
func TestAlertsFireAndResolveAsTheirTestsSay(t *testing.T) {
	cephtest.RequireTool(t, "promtool")
	p := mustEvaluate(t, "{}")
	for _, alert := range p.Alerts.all() {
		t.Run(alert.Alert, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("tests", alert.Alert+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var test map[string]any
			if err := yaml.Unmarshal(data, &test); err != nil {
				t.Fatal(err)
			}
			if want := []any{"../../alerts/rules.yaml", "../../alerts/alerts.yaml"}; !slices.Equal(test["rule_files"].([]any), want) {
				t.Errorf("rule_files are %v, want %v", test["rule_files"], want)
			}
			dir := t.TempDir()
			test["rule_files"] = []string{"rules.yaml"}
			for name, content := range map[string]any{"rules.yaml": p.only(t, alert.Alert), "test.yaml": test} {
				text, err := json.Marshal(content) // JSON is YAML
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			promtool(t, "test", "rules", filepath.Join(dir, "test.yaml"))
		})
	}
}
