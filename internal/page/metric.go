package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	maxSamples  = 200
	maxMatchers = 10
	maxName     = 200
	maxValue    = 256
)

// metricView is one family, or the series of it that have the labels asked for.
type metricView struct {
	Declared
	Known    bool // it exists now, or can
	Selector string
	Matchers []matcher
	Notices  []notice
	Labels   []string
	Samples  []sampleRow
	Total    int // series that match
	All      int // series of the family
	More     int
	Dist     bool // histogram or summary
	AllHref  string
	RawHref  string
}

type matcher struct{ Name, Value, Without string }

type sampleRow struct {
	Values []string
	Text   string // as Prometheus writes it
	Means  string // for people; empty where that adds nothing
	Count  string
	raw    []string
}

// metric makes the view. It is not known where no such family can exist.
func (h *Handler) metric(r Reading, name string, query url.Values) (metricView, bool) {
	m := metricView{All: r.Len(name), AllHref: series(clip(name, maxName)), RawHref: "metrics?" + url.Values{"name[]": {name}}.Encode()}
	m.Name = clip(name, maxName)
	d := h.declared[name]
	if d != nil {
		m.Declared, m.Known = *d, true
	}
	if help, kind, ok := r.Describe(name); ok {
		m.Known = true
		if d == nil {
			m.Help, m.Kind = help, kind
		}
	}
	if !m.Known {
		m.Notices = []notice{{"empty", "This exporter has no metric of that name."}}
		return m, false
	}
	m.match(query)
	m.collect(r)
	if m.Total == 0 {
		m.Notices = h.whyNone(r, &m)
	}
	return m, true
}

// match takes the labels to look for from the query.
func (m *metricView) match(query url.Values) {
	var names []string
	for name, values := range query {
		if name != nameParam && len(values) > 0 && len(name) <= maxName && len(values[0]) <= maxValue {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names, _ = first(names, maxMatchers)
	var parts []string
	for _, name := range names {
		without := url.Values{nameParam: {m.Name}}
		for _, other := range names {
			if other != name {
				without.Set(other, query.Get(other))
			}
		}
		m.Matchers = append(m.Matchers, matcher{name, query.Get(name), "metric?" + without.Encode()})
		parts = append(parts, name+"="+strconv.Quote(query.Get(name)))
	}
	m.Selector = m.Name
	if len(parts) > 0 {
		m.Selector += "{" + strings.Join(parts, ",") + "}"
	}
}

// collect takes the series that match: all are counted, the first are shown.
func (m *metricView) collect(r Reading) {
	r.Each(m.Name, func(s Sample) bool {
		for _, want := range m.Matchers {
			if s.Get(want.Name) != want.Value {
				return true
			}
		}
		m.Total++
		if len(m.Samples) >= maxSamples {
			// Without a filter the count is known: no need to look at every PG.
			if len(m.Matchers) == 0 {
				m.Total = m.All
				return false
			}
			return true
		}
		row := sampleRow{Text: strconv.FormatFloat(s.Value, 'g', -1, 64), raw: slices.Clone(s.Labels)}
		if s.Count != nil {
			m.Dist, row.Count = true, count(float64(*s.Count))
		}
		row.Means = meaning(m.Name, s.Value, r)
		m.Samples = append(m.Samples, row)
		return true
	})
	m.More = m.Total - len(m.Samples)
	m.columns()
}

// columns finds the labels that some sample has and sorts the rows by them.
func (m *metricView) columns() {
	for _, s := range m.Samples {
		for i := 0; i < len(s.raw); i += 2 {
			if !slices.Contains(m.Labels, s.raw[i]) {
				m.Labels = append(m.Labels, s.raw[i])
			}
		}
	}
	slices.Sort(m.Labels)
	for i := range m.Samples {
		s := &m.Samples[i]
		for _, label := range m.Labels {
			s.Values = append(s.Values, Sample{Labels: s.raw}.Get(label))
		}
	}
	order(m.Samples, func(a, b sampleRow) int {
		for i := range m.Labels {
			if c := natural(a.Values[i], b.Values[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Text, b.Text)
	})
}

// meaning says what a value is by the unit in the family's name.
func meaning(name string, value float64, r Reading) string {
	name = strings.TrimSuffix(name, "_total")
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"):
		i := at(instant(value), r.At())
		if i.Text == "" {
			return ""
		}
		return i.Text + " UTC, " + i.Ago
	case strings.HasSuffix(name, "_bytes"):
		return size(value)
	case strings.HasSuffix(name, "_bytes_per_second"):
		return size(value) + "/s"
	case strings.HasSuffix(name, "_seconds") && value >= 60 && value < 1e10:
		return span(seconds(value))
	}
	return ""
}

// whyNone says why a family, or the part of it that was asked for, has no series.
func (h *Handler) whyNone(r Reading, m *metricView) []notice {
	if m.All > 0 {
		return []notice{{"empty", "The metric has series, but none with these labels at this moment."}}
	}
	v := &overview{r: r, now: r.At()}
	return v.notices(false, "There is no series at this moment, and nothing is wrong with the collector: what the metric speaks of is not there, or not known.", m.Collector)
}

// familyList is the page that lists all families.
type familyList struct {
	Filter string
	Groups []familyGroup
	Shown  int
	All    int
}

type familyGroup struct {
	Name, ID string
	Families []familyRow
}

type familyRow struct {
	Name, Href, Help string
	Series           string
	None             bool
}

// list returns the families that can exist, and those that exist undeclared, by
// collector.
func (h *Handler) list(r Reading, filter string) familyList {
	filter = clip(strings.TrimSpace(filter), maxName)
	l := familyList{Filter: filter}
	groups := map[string]*familyGroup{}
	var names []string
	add := func(group, name, help string) {
		l.All++
		if !matches(filter, name, help) {
			return
		}
		l.Shown++
		g := groups[group]
		if g == nil {
			g = &familyGroup{Name: group, ID: "of-" + strings.ReplaceAll(group, " ", "-")}
			groups[group] = g
			names = append(names, group)
		}
		n := r.Len(name)
		g.Families = append(g.Families, familyRow{Name: name, Href: series(name), Help: help, Series: count(float64(n)), None: n == 0})
	}
	for _, d := range h.cfg.Declared {
		group := "collector " + d.Collector
		if d.Collector == "" {
			group = "the exporter"
		}
		add(group, d.Name, d.Help)
	}
	for _, name := range r.Names() {
		if h.declared[name] == nil {
			help, _, _ := r.Describe(name)
			add("Go and the process", name, help)
		}
	}
	for _, name := range names {
		slices.SortFunc(groups[name].Families, func(a, b familyRow) int { return strings.Compare(a.Name, b.Name) })
		l.Groups = append(l.Groups, *groups[name])
	}
	return l
}

// matches reports whether all words of the filter are in the name or the help.
func matches(filter, name, help string) bool {
	text := strings.ToLower(name + " " + help)
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
