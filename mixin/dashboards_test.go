package mixin

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// board is as much of a dashboard as is looked at here.
type board struct {
	UID, Title, Description string
	Panels                  []struct {
		ID                       int
		Type, Title, Description string
		FieldConfig              struct {
			Defaults struct{ Unit, NoValue string }
		}
		Targets []struct {
			RefID, Expr string
			Instant     bool
		}
		Links []struct{ Title, URL string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

func boards(t *testing.T, p pack) map[string]board {
	t.Helper()
	out := map[string]board{}
	for name, d := range p.Dashboards {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var b board
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatal(err)
		}
		out[name] = b
	}
	return out
}

// chosen gives a query as Grafana sends it, with all variables as they are when a
// dashboard is opened.
func (b board) chosen(expr string) string {
	values := map[string]string{"__range": "1h", "__interval": "1m"}
	for _, v := range b.Templating.List {
		values[v.Name] = ".*"
		if v.Type == "custom" {
			values[v.Name], _, _ = strings.Cut(v.Query, ",")
		}
	}
	return regexp.MustCompile(`\$\{?(\w+)\}?`).ReplaceAllStringFunc(expr, func(s string) string {
		name := strings.Trim(s, "${}")
		if value, ok := values[name]; ok {
			return value
		}
		if regexp.MustCompile(`^[0-9]+$`).MatchString(name) {
			return s // of label_replace
		}
		return "unknown variable " + name
	})
}

// Dashboards are what Grafana's own types say, field by field.
func TestDashboardsHaveGrafanasTypes(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	for name, d := range mustEvaluate(t, "{}").Dashboards {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		//lint:ignore SA1019 the classic schema is the one that every Grafana in use imports
		var typed dashboard.Dashboard
		if err := typed.UnmarshalJSONStrict(text); err != nil && err.Error() != "" { // no findings are an error without text
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every panel says what it shows, in which unit, and why it may show nothing, from
// series that rules record.
func TestDashboardsAreWhole(t *testing.T) {
	p := mustEvaluate(t, "{}")
	recorded := map[string]bool{"ALERTS": true} // Prometheus' own
	for _, r := range p.Rules.all() {
		recorded[r.Record] = true
	}
	for name, b := range boards(t, p) {
		if b.UID != "ceph-risk-"+strings.TrimSuffix(name, ".json") || b.Title == "" || b.Description == "" {
			t.Errorf("%s: uid %q, title %q, description %q", name, b.UID, b.Title, b.Description)
		}
		check := func(where, expr string) {
			for series := range selectors(parse(t, name+": "+where, b.chosen(expr))) {
				if !recorded[series] {
					t.Errorf("%s: %s reads %s, which no rule records", name, where, series)
				}
			}
		}
		titles := map[string]bool{}
		for _, panel := range b.Panels {
			if titles[panel.Title] {
				t.Errorf("%s: two panels %q", name, panel.Title)
			}
			titles[panel.Title] = true
			if panel.Type == "row" {
				continue
			}
			defaults := panel.FieldConfig.Defaults
			if panel.Title == "" || panel.Description == "" || defaults.Unit == "" || defaults.NoValue == "" || len(panel.Targets) == 0 {
				t.Errorf("%s: panel %q has no title, description, unit, text when empty, or query", name, panel.Title)
			}
			for _, target := range panel.Targets {
				check(panel.Title, target.Expr)
			}
		}
		for _, a := range b.Annotations.List {
			check(a.Name, a.Expr)
		}
		for _, v := range b.Templating.List {
			if v.Type != "query" {
				continue
			}
			m := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(v.Query)
			if m == nil {
				t.Fatalf("%s: variable %s: query %s", name, v.Name, v.Query)
			}
			check("variable "+v.Name, m[1])
		}
	}
}

// Every alert links the panel that shows its cause, with its cluster chosen, and
// that panel links its runbook.
func TestAlertsAndPanelsLinkEachOther(t *testing.T) {
	p := mustEvaluate(t, `{ grafanaURL: 'https://grafana.example' }`)
	panels := map[string][]string{} // links of panels
	for _, b := range boards(t, p) {
		for _, panel := range b.Panels {
			at := fmt.Sprintf("https://grafana.example/d/%s?viewPanel=%d", b.UID, panel.ID)
			for _, l := range panel.Links {
				panels[at] = append(panels[at], l.URL)
			}
		}
	}
	known := map[string]bool{}
	for _, r := range p.Alerts.all() {
		known[r.Annotations["runbook_url"]] = true
		at, found := strings.CutSuffix(r.Annotations["dashboard_url"], "{{ with $labels.cluster }}&var-cluster={{ . | urlquery }}{{ end }}")
		if !found || !slices.Contains(panels[at], r.Annotations["runbook_url"]) {
			t.Errorf("%s: dashboard_url is %s, where a panel that links its runbook should be", r.Alert, r.Annotations["dashboard_url"])
		}
	}
	for _, links := range panels {
		for _, l := range links {
			if uid, own := strings.CutPrefix(l, "/d/ceph-risk-"); own {
				if !slices.Contains(slices.Collect(maps.Keys(p.Dashboards)), uid+".json") {
					t.Errorf("a panel links %s, which is no dashboard", l)
				}
			} else if !known[l] {
				t.Errorf("a panel links %s, which is no runbook", l)
			}
		}
	}
}
