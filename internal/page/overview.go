package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Bounds of the lists. What is beyond them is counted and can be looked up at
// the family's own page.
const (
	maxPools   = 15
	maxOSDs    = 15
	maxRows    = 15
	maxShelves = 6
	maxSlots   = 120
	maxParts   = 10
	maxError   = 300
)

// overview is the content of /.
type overview struct {
	r   Reading
	now time.Time

	FSID, Release string
	Cards         []card
	Ages          []*ageTable // per level
	AgesNotice    []notice
	Forecast      forecast
	Running       running
	Meta          meta
	Uploads       uploads
	Shelves       shelves
	Arrays        arrays
	Collectors    []collectorRow

	pools map[string]pool   // by pool_id
	hosts map[string]string // host of an OSD
}

type pool struct{ Name, Type string }

// card is one figure at the top.
type card struct {
	Title string
	Num   *Num
	Note  string
	Ago   Instant
}

// More says how many rows a list left out, and where they are.
type More struct {
	N    int
	Href string
	What string
}

func more(n int, what, name string, labels ...string) *More {
	if n == 0 {
		return nil
	}
	return &More{N: n, What: what, Href: series(name, labels...)}
}

// notice says why something is not there, or is old.
type notice struct {
	Kind string // off, wait, failed, stale, empty
	Text string
}

func newOverview(r Reading) *overview {
	v := &overview{r: r, now: r.At(), pools: map[string]pool{}, hosts: map[string]string{}}
	v.each("cephrisk_cluster_info", func(s Sample) { v.FSID, v.Release = s.Get("fsid"), s.Get("release") })
	v.each("cephrisk_pool_info", func(s Sample) { v.pools[s.Get("pool_id")] = pool{clip(s.Get("name"), 100), s.Get("type")} })
	v.each("cephrisk_osd_info", func(s Sample) { v.hosts[s.Get("ceph_daemon")] = clip(s.Get("hostname"), 60) })
	v.Ages = []*ageTable{v.ages("deep"), v.ages("shallow")}
	v.AgesNotice = v.notices(v.r.Len("cephrisk_pool_pgs_older") > 0, "The cluster has no pool whose PGs can be judged.", "pg")
	v.Forecast = v.forecast()
	v.Running = v.running()
	v.Meta = v.meta()
	v.Uploads = v.uploads()
	v.Shelves = v.shelves()
	v.Arrays = v.arrays()
	v.Collectors = v.collectors()
	v.Cards = v.cards()
	return v
}

// HasAges reports whether there is a heat map.
func (v *overview) HasAges() bool {
	return slices.ContainsFunc(v.Ages, func(t *ageTable) bool { return len(t.Rows) > 0 })
}

func (v *overview) sections() []link {
	return []link{
		{"#ages", "Scrub ages"}, {"#forecast", "Forecast"}, {"#running", "Running"}, {"#meta", "META"}, {"#uploads", "Uploads"},
		{"#shelves", "Shelves"}, {"#arrays", "Arrays"}, {"#collectors", "Collectors"},
	}
}

func (v *overview) each(name string, f func(Sample)) {
	v.r.Each(name, func(s Sample) bool { f(s); return true })
}

// byLabel returns a family's values by one label, added up over the others.
func (v *overview) byLabel(name, label string, only ...string) map[string]float64 {
	out := map[string]float64{}
	v.each(name, func(s Sample) {
		if has(s, only) {
			out[s.Get(label)] += s.Value
		}
	})
	return out
}

// sum adds up the series with these labels; false where there is none.
func (v *overview) sum(name string, only ...string) (total float64, ok bool) {
	v.each(name, func(s Sample) {
		if has(s, only) {
			total, ok = total+s.Value, true
		}
	})
	return total, ok
}

func has(s Sample, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		if s.Get(labels[i]) != labels[i+1] {
			return false
		}
	}
	return true
}

// poolName returns what to call a pool.
func (v *overview) poolName(id string) string {
	if p := v.pools[id]; p.Name != "" {
		return p.Name
	}
	return "pool " + id
}

// notices says what is wrong with what a section shows. Where there is nothing
// to show although all collectors it needs are fine, empty says so.
func (v *overview) notices(shown bool, empty string, names ...string) []notice {
	var out []notice
	for _, c := range v.r.Collectors() {
		if !slices.Contains(names, c.Name) {
			continue
		}
		switch {
		case c.Off != "":
			if !shown || c.Name == names[0] {
				out = append(out, notice{"off", fmt.Sprintf("Collector %s does not run here: %s.", c.Name, c.Off)})
			}
		case !c.Polled:
			out = append(out, notice{"wait", fmt.Sprintf("Collector %s has not ended its first poll yet. Reload in a moment.", c.Name)})
		case c.Err != "" && c.At.IsZero():
			out = append(out, notice{"failed", fmt.Sprintf("Collector %s fails, and what it read before is too old to be shown (last success: %s): %s", c.Name, v.lastSuccess(c), clip(c.Err, maxError))})
		case c.Err != "":
			out = append(out, notice{"stale", fmt.Sprintf("The last poll of collector %s failed; its part of this is of %s, and may be incomplete: %s", c.Name, distance(c.At.Sub(v.now)), clip(c.Err, maxError))})
		case c.At.IsZero():
			out = append(out, notice{"failed", fmt.Sprintf("Collector %s has not polled for so long that what it read is too old to be shown (last success: %s).", c.Name, v.lastSuccess(c))})
		}
	}
	if len(out) == 0 && !shown {
		out = append(out, notice{"empty", empty})
	}
	return out
}

func (v *overview) lastSuccess(c Collector) string {
	if c.LastSuccess.IsZero() {
		return "never"
	}
	return distance(c.LastSuccess.Sub(v.now))
}

// cards picks the figures at the top from what there is.
func (v *overview) cards() []card {
	var out []card
	add := func(title, note, name string, labels ...string) {
		if total, ok := v.sum(name, labels...); ok {
			out = append(out, card{Title: title, Num: num(count(total), name, labels...).bad(total), Note: note})
		}
	}
	add("PGs late, deep", "by Ceph's own rule", "cephrisk_pool_pgs_late", "level", "deep")
	add("PGs late, shallow", "by Ceph's own rule", "cephrisk_pool_pgs_late", "level", "shallow")
	for _, c := range v.Forecast.Charts {
		if c.First != nil {
			out = append(out, card{Title: "Next PG late, " + c.Level, Num: &Num{Text: c.First.Ago, Href: c.FirstHref}, Ago: *c.First})
		} else if c.Known {
			out = append(out, card{Title: "Next PG late, " + c.Level, Num: num("none", "cephrisk_scrub_forecast_late_pgs", "level", c.Level), Note: "forecast for 7 days"})
		}
	}
	add("Scrub errors", "not repaired", "cephrisk_pool_scrub_errors")
	add("OSDs with scrub and recovery", "at the same time", "cephrisk_scrub_recovery_overlap_osds")
	add("Scrubs stuck", "without progress", "cephrisk_scrub_stuck_pgs")
	if n := v.r.Len("cephrisk_daemon_up"); n > 0 {
		up, _ := v.sum("cephrisk_daemon_up")
		out = append(out, card{Title: "OSDs of this host", Num: num(fmt.Sprintf("%s of %d", count(up), n), "cephrisk_daemon_up").bad(float64(n) - up), Note: "answer on their sockets"})
	}
	if n := v.r.Len("cephrisk_enclosure_present"); n > 0 {
		there, _ := v.sum("cephrisk_enclosure_present")
		out = append(out, card{Title: "Shelves", Num: num(fmt.Sprintf("%s of %d", count(there), n), "cephrisk_enclosure_present").bad(float64(n) - there), Note: "are there"})
	}
	add("Uploads abandoned", "multipart, still open", "cephrisk_rgw_multipart_abandoned")
	running, failing := 0, 0
	for _, c := range v.r.Collectors() {
		if c.Off == "" {
			running++
			if c.Err != "" {
				failing++
			}
		}
	}
	return append(out, card{Title: "Collectors that fail", Num: num(fmt.Sprintf("%d of %d", failing, running), "cephrisk_collector_success").bad(float64(failing))})
}

// collectorRow is one line of the list of collectors.
type collectorRow struct {
	Collector
	State    string // works, fails, waits, off
	Word     string
	Success  Instant
	Error    string
	ErrorAt  Instant
	Took     *Num
	Every    *Num
	Failures *Num
}

func (v *overview) collectors() []collectorRow {
	var out []collectorRow
	for _, c := range v.r.Collectors() {
		row := collectorRow{Collector: c, Success: at(c.LastSuccess, v.now), Error: clip(c.LastErr, maxError), ErrorAt: at(c.LastErrAt, v.now)}
		switch {
		case c.Off != "":
			row.State, row.Word = "off", "off"
		case !c.Polled:
			row.State, row.Word = "wait", "first poll under way"
		case c.Err != "":
			row.State, row.Word = "failed", "fails"
		default:
			row.State, row.Word = "ok", "works"
		}
		if c.Off == "" {
			if c.Polled {
				row.Took = num(span(c.Duration), "cephrisk_collector_duration_seconds", "collector", c.Name)
			}
			row.Every = num(span(c.Interval), "cephrisk_collector_interval_seconds", "collector", c.Name)
			row.Failures = num(count(float64(c.Failures)), "cephrisk_collector_failures_total", "collector", c.Name)
		}
		out = append(out, row)
	}
	order(out, func(a, b collectorRow) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// rank puts what needs attention first.
func rank(c collectorRow) int { return slices.Index([]string{"failed", "wait", "ok", "off"}, c.State) }

// sortedKeys returns the keys of a map in natural order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), natural)
}
