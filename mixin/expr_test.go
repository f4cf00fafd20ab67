package mixin

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

// tableMetrics reads the metrics of all collectors, with their labels, from the
// document that is generated from the tables. What Prometheus itself adds is there
// too.
func tableMetrics(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("(?m)^### `([a-z0-9_]+)(?:\\{(.*)\\})?`\n\n.*\n\n(?:Type: )?")
	suffixes := map[string][]string{"Type: histogram": {"_bucket", "_sum", "_count"}, "Type: summary": {"_sum", "_count"}}
	out := map[string][]string{"up": {"job", "instance"}}
	for _, section := range strings.Split(string(data), "\n### ")[1:] {
		m := heading.FindStringSubmatch("### " + section + "\n\n.\n\n")
		if m == nil {
			t.Fatalf("not a metric: %.100s", section)
		}
		labels := append(strings.Split(m[2], ", "), "job", "instance")
		names := []string{""}
		for kind, s := range suffixes {
			if strings.Contains(section, "\n"+kind) {
				names = s
				labels = append(labels, "le")
			}
		}
		for _, s := range names {
			out[m[1]+s] = labels
		}
	}
	return out
}

func parse(t *testing.T, where, expr string) metricsql.Expr {
	t.Helper()
	e, err := metricsql.Parse(expr)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return &metricsql.NumberExpr{}
	}
	return e
}

// selectors gives each series that an expression names, with its label filters.
func selectors(e metricsql.Expr) map[string][]string {
	out := map[string][]string{}
	metricsql.VisitAll(e, func(e metricsql.Expr) {
		m, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		for _, filters := range m.LabelFilterss {
			name := ""
			var labels []string
			for _, f := range filters {
				if f.Label == "__name__" {
					name = f.Value
				} else {
					labels = append(labels, f.Label)
				}
			}
			out[name] = append(out[name], labels...)
		}
	})
	return out
}

// Rules read what collectors export, with labels that are there; alerts and their
// texts read what rules record, so that a pair of exporters counts once.
func TestEverySeriesExists(t *testing.T) {
	p := mustEvaluate(t, "{}")
	tables := tableMetrics(t)
	recorded := map[string]string{} // by group
	for _, g := range p.Rules.Groups {
		for _, r := range g.Rules {
			if recorded[r.Record] != "" {
				t.Errorf("%s is recorded twice", r.Record)
			}
			recorded[r.Record] = g.Name
		}
	}
	for _, g := range p.Rules.Groups {
		before := map[string]bool{} // of its own group; others run beside it
		for _, r := range g.Rules {
			for name, labels := range selectors(parse(t, r.Record, r.Expr)) {
				known, isRaw := tables[name]
				if !isRaw && (recorded[name] == "" || recorded[name] == g.Name && !before[name]) {
					t.Errorf("%s reads %s, which no table has and no rule before it records", r.Record, name)
				}
				for _, l := range labels {
					if isRaw && !slices.Contains(known, l) {
						t.Errorf("%s: %s has no label %s", r.Record, name, l)
					}
				}
			}
			before[r.Record] = true
		}
	}
	used := regexp.MustCompile(`cephrisk[:_][a-z0-9_:]+`)
	for _, r := range p.Alerts.all() {
		for name := range selectors(parse(t, r.Alert, r.Expr)) {
			if recorded[name] == "" {
				t.Errorf("%s reads %s, which no rule records", r.Alert, name)
			}
		}
		for _, name := range used.FindAllString(fmt.Sprint(r.Annotations), -1) {
			if _, raw := tables[name]; !raw && recorded[name] == "" {
				t.Errorf("a text of %s names %s, which does not exist", r.Alert, name)
			}
		}
	}
}

// What is recorded is read: by an alert or its texts, a panel, another rule, or as a
// query in the documents. Each costs an evaluation, on large clusters of thousands
// of series.
func TestEveryRecordedSeriesIsRead(t *testing.T) {
	p := mustEvaluate(t, "{}")
	var text strings.Builder
	for _, name := range under(t, "alerts", "dashboards", "docs") {
		data, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name != "docs/performance.md" {
			text.Write(data)
		}
	}
	read := map[string]int{}
	for _, name := range regexp.MustCompile(`cephrisk:[a-z0-9_:]+`).FindAllString(text.String(), -1) {
		read[strings.TrimRight(name, ":")]++
	}
	for _, r := range p.Rules.all() {
		const own = 2 // in rules.yaml and in prometheusrule.yaml
		if read[r.Record] <= own {
			t.Errorf("nobody reads %s", r.Record)
		}
	}
}

// literals gives numbers and durations of an expression in the order of its text; 0
// and 1 of comparisons with a state are no thresholds.
func literals(t *testing.T, r rule) []string {
	t.Helper()
	var out []string
	metricsql.VisitAll(parse(t, r.Alert, r.Expr), func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.NumberExpr:
			out = append(out, strconv.FormatFloat(e.N, 'g', -1, 64))
		case *metricsql.RollupExpr:
			for _, d := range []*metricsql.DurationExpr{e.Window, e.Step, e.Offset} {
				if d != nil {
					out = append(out, string(d.AppendString(nil)))
				}
			}
		}
	})
	return append(out, "for "+r.For)
}

// shifted changes every number and duration of a configuration.
func shifted(v any) any {
	switch v := v.(type) {
	case float64:
		if v > 1e6 {
			return v + 1e6 // bytes, which are written as whole numbers
		}
		return v + 0.125
	case string:
		if m := regexp.MustCompile(`^(\d+)([smhdw])$`).FindStringSubmatch(v); m != nil {
			n, _ := strconv.Atoi(m[1])
			seconds := n * map[string]int{"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[m[2]]
			return strconv.Itoa(seconds-seconds/8+1) + "s"
		}
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = shifted(e)
		}
		return out
	}
	return v
}

// Whatever number or duration an alert holds changes with the configuration: none
// is written into an expression. 0 and 1 stay where they are states, not amounts.
func TestThresholdsComeFromTheConfiguration(t *testing.T) {
	before := mustEvaluate(t, "{}")
	config := shifted(before.Config).(map[string]any)
	config["worstPGs"], config["share"] = before.Config["worstPGs"], 0.5
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	after := mustEvaluate(t, string(text)).Alerts.all()
	for i, r := range before.Alerts.all() {
		a, b := literals(t, r), literals(t, after[i])
		if len(a) != len(b) {
			t.Errorf("%s: %q became %q", r.Alert, a, b)
			continue
		}
		for k := range a {
			if a[k] == b[k] && a[k] != "0" && a[k] != "1" {
				t.Errorf("%s: %s does not come from the configuration", r.Alert, a[k])
			}
		}
	}
}
