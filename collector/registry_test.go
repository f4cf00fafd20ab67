package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// group is a collector's rows, or the rows that exist beside the collectors.
type group struct {
	name, help string
	rows       []*Row
}

func groups() []group {
	var out []group
	for _, s := range Specs() {
		out = append(out, group{s.Name, s.Help, s.Rows()})
	}
	return append(out,
		group{"every collector", "what the poll wrapper says about each collector", SelfRows()},
		group{"the exporter", "what the exporter says about itself", ProcessRows()})
}

// families makes one metric of each row, as the lint wants to see it.
func families(rows []*Row) []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for _, r := range rows {
		m := &dto.Metric{Gauge: &dto.Gauge{Value: proto.Float64(1)}}
		for _, l := range r.Labels {
			m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(l), Value: proto.String("x")})
		}
		switch r.Kind {
		case Counter:
			m.Gauge, m.Counter = nil, &dto.Counter{Value: proto.Float64(1)}
		case Histogram:
			m.Gauge, m.Histogram = nil, &dto.Histogram{SampleCount: proto.Uint64(1), SampleSum: proto.Float64(1)}
		case Summary:
			m.Gauge, m.Summary = nil, &dto.Summary{SampleCount: proto.Uint64(1), SampleSum: proto.Float64(1)}
		}
		out = append(out, &dto.MetricFamily{Name: proto.String(r.Name), Help: proto.String(r.Help), Type: r.Kind.dto().Enum(), Metric: []*dto.Metric{m}})
	}
	return out
}

// Units that promtool lets pass and that are no base units.
var badUnit = regexp.MustCompile(`_(percent|percentage|rpm|kb|mb|gb|ms|usec|millis|minutes|hours|days)(_|$)`)

func TestRowsAreWellFormed(t *testing.T) {
	label := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]string{}
	for _, g := range groups() {
		if len(g.rows) == 0 {
			t.Errorf("%s has no rows", g.name)
		}
		for _, r := range g.rows {
			if other, twice := seen[r.Name]; twice {
				t.Errorf("%s is in %s and in %s", r.Name, other, g.name)
			}
			seen[r.Name] = g.name
			if !strings.HasPrefix(r.Name, "cephrisk_") {
				t.Errorf("%s: prefix", r.Name)
			}
			if r.Help == "" || strings.HasSuffix(r.Help, ".") || r.Cardinality == "" || r.Source == "" {
				t.Errorf("%s: help %q (no full stop at its end), cardinality %q and source %q are to be stated", r.Name, r.Help, r.Cardinality, r.Source)
			}
			for i, l := range r.Labels {
				if !label.MatchString(l) || l == "cluster" || l == "job" || l == "instance" || l == "le" || l == "quantile" || slices.Contains(r.Labels[:i], l) {
					t.Errorf("%s: label %q", r.Name, l)
				}
			}
			// cephrisk_enclosure_fan_speed_rpm has no base unit in the field.
			if badUnit.MatchString(r.Name) && r.Name != "cephrisk_enclosure_fan_speed_rpm" && r.Name != "cephrisk_msa_fan_speed_rpm" {
				t.Errorf("%s: not a base unit", r.Name)
			}
		}
		problems, err := promlint.NewWithMetricFamilies(families(g.rows)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestSpecsAreComplete(t *testing.T) {
	app := kingpin.New("test", "")
	names := map[string]bool{}
	for _, s := range Specs() {
		if names[s.Name] {
			t.Errorf("two collectors named %s", s.Name)
		}
		names[s.Name] = true
		if s.Help == "" || s.Interval <= 0 || s.Timeout <= 0 || s.Rows == nil || s.Configure == nil {
			t.Errorf("%s: incomplete: %+v", s.Name, s)
			continue
		}
		if s.Configure(app) == nil {
			t.Errorf("%s: no constructor", s.Name)
		}
	}
}

// readmeTable is the README's table of collectors.
func readmeTable() string {
	var b strings.Builder
	b.WriteString(readmeBegin + "\n| collector | runs | tells |\n|---|---|---|\n")
	for _, s := range Specs() {
		runs := map[Role]string{RoleCluster: "once per cluster", RoleHost: "on every host", RoleCluster | RoleHost: "everywhere"}[s.Roles]
		if runs == "" {
			runs = "when asked for"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, runs, s.Help)
	}
	return b.String() + readmeEnd
}

const (
	readmeBegin = "<!-- collectors: written by a test -->"
	readmeEnd   = "<!-- end of collectors -->"
)

func TestReadmeListsTheCollectors(t *testing.T) {
	path := filepath.Join("..", "README.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, want := string(data), readmeTable()
	begin, end := strings.Index(text, readmeBegin), strings.Index(text, readmeEnd)
	if begin < 0 || end < begin {
		t.Fatal("README.md has no table of collectors")
	}
	end += len(readmeEnd)
	if *update {
		if err := os.WriteFile(path, []byte(text[:begin]+want+text[end:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, text[begin:end]); diff != "" {
		t.Errorf("README.md is not current (go test ./collector -run Readme -update writes it):\n%s", diff)
	}
}

func metricsDoc() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nGenerated from the tables in collector/ (`go test ./collector -run MetricsDoc -update`); a test keeps it current.\n" +
		"Every series is a gauge unless its type is given. A value that could not be read has no sample: absent is not zero.\n")
	for _, g := range groups() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", g.name, strings.ToUpper(g.help[:1])+g.help[1:])
		for _, r := range g.rows {
			labels := ""
			if len(r.Labels) > 0 {
				labels = "{" + strings.Join(r.Labels, ", ") + "}"
			}
			fmt.Fprintf(&b, "\n### `%s%s`\n\n", r.Name, labels)
			if r.Kind != Gauge {
				fmt.Fprintf(&b, "Type: %s. ", r.Kind)
			}
			fmt.Fprintf(&b, "%s.\n\n- Series: %s.\n- Source: %s.\n", r.Help, r.Cardinality, r.Source)
			if r.Since != "" {
				fmt.Fprintf(&b, "- Since Ceph %s.\n", r.Since)
			}
		}
	}
	return b.String()
}

func TestMetricsDocIsCurrent(t *testing.T) {
	path := filepath.Join("..", "docs", "metrics.md")
	want := metricsDoc()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/metrics.md is not current (go test ./collector -run MetricsDoc -update writes it):\n%s", diff)
	}
}
