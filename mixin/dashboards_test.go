package mixin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Dashboards are what Grafana's own types say, field by field, and every panel says
// what it shows, in which unit, from series that rules record.
func TestDashboardsAreWhole(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	p := mustEvaluate(t, "{}")
	recorded := map[string]bool{}
	for _, r := range p.Rules.all() {
		recorded[r.Record] = true
	}
	for name, d := range p.Dashboards {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		//lint:ignore SA1019 the classic schema is the one that every Grafana in use imports
		var typed dashboard.Dashboard
		if err := typed.UnmarshalJSONStrict(text); err != nil && err.Error() != "" { // no findings are an error without text
			t.Errorf("%s: %v", name, err)
		}
		var plain struct {
			UID, Title, Description string
			Panels                  []struct {
				Title, Description string
				FieldConfig        struct{ Defaults struct{ Unit string } }
				Targets            []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		if plain.UID != "ceph-risk-"+strings.TrimSuffix(name, ".json") || plain.Title == "" || plain.Description == "" {
			t.Errorf("%s: uid %q, title %q, description %q", name, plain.UID, plain.Title, plain.Description)
		}
		for _, panel := range plain.Panels {
			if panel.Title == "" || panel.Description == "" || panel.FieldConfig.Defaults.Unit == "" || len(panel.Targets) == 0 {
				t.Errorf("%s: panel %q has no title, description, unit or query", name, panel.Title)
			}
			for _, target := range panel.Targets {
				for series := range selectors(parse(t, name+": "+panel.Title, target.Expr)) {
					if !recorded[series] {
						t.Errorf("%s: %s reads %s, which no rule records", name, panel.Title, series)
					}
				}
			}
		}
	}
}
