package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

// report is what a run found out.
type report struct {
	cfg       *config
	state     *state
	input     *forecast.Input
	changes   []change
	before    *forecast.Forecast
	after     *forecast.Forecast // nil: no changes
	solved    bool
	solutions []solution
}

// levels in the order of a report: deep scrubs are what people fight with.
var levels = [...]scrub.Level{scrub.Deep, scrub.Shallow}

// mostOSDs bounds what the table shows; JSON has all.
const mostOSDs = 5

func (r *report) writeText(w io.Writer) error {
	b := &strings.Builder{}
	r.head(b)
	r.summary(b)
	r.pools(b)
	r.osds(b)
	if r.cfg.plot {
		r.plot(b)
	}
	if len(r.changes) > 0 {
		b.WriteString("\nto make this change:\n")
		commands(b, r.changes)
	}
	if r.solved {
		r.solutionsText(b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) head(b *strings.Builder) {
	f := r.before
	release := r.state.release()
	fmt.Fprintf(b, "%d PGs on %d OSDs, release %s, as of %s, %s ahead, %d simulations\n",
		f.PGs, len(f.OSDs), release, f.Now.In(r.cfg.location).Format("2006-01-02 15:04 MST"), span(r.cfg.horizon), f.Seeds)
	note := func(text string, n int) {
		if n > 0 {
			fmt.Fprintf(b, "note: %s: %d\n", text, n)
		}
	}
	note("PGs that the mgr has no report of, in no figure", f.Unknown)
	note("PGs not active and clean, not scrubbed before recovery ends (--recovery-ends)", f.Blocked)
	for _, l := range levels {
		note("PGs in pools of which no "+l.String()+" scrub was measured, by default durations", f.MissingDurations[l])
	}
	if r.state.version.Major < 17 && f.MissingDurations != [2]int{} {
		b.WriteString("note: release 16 does not tell how long scrubs took: --observe=30m watches them first\n")
	}
	if r.state.mixed {
		fmt.Fprintf(b, "note: OSDs of several releases; all are taken to schedule as %s does\n", release)
	}
	if n := r.state.upOSDs - r.state.asked; n > 0 && r.state.asked > 0 {
		note("OSDs not asked for options of their own", n)
	}
}

// at returns the index of a horizon.
func (r *report) at(h time.Duration) int {
	i, _ := slices.BinarySearch(r.before.Horizons, h)
	return i
}

func (r *report) columns() []*forecast.Forecast {
	if r.after != nil {
		return []*forecast.Forecast{r.before, r.after}
	}
	return []*forecast.Forecast{r.before}
}

func (r *report) summary(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	title := "\n\tas it is"
	if r.after != nil {
		title += "\twith the change"
	}
	fmt.Fprintln(t, title)
	line := func(name string, value func(*forecast.Forecast) string) {
		fmt.Fprintf(t, "%s", name)
		for _, f := range r.columns() {
			fmt.Fprintf(t, "\t%s", value(f))
		}
		fmt.Fprintln(t)
	}
	for _, l := range levels {
		line(l.String()+" scrubs: PGs late now", func(f *forecast.Forecast) string { return fmt.Sprint(f.Total[l].LateNow) })
		for _, h := range r.cfg.marks() {
			line("  late in "+span(h), func(f *forecast.Forecast) string { return spread(f.Total[l].Late[r.at(h)]) })
		}
		line("  next one late", func(f *forecast.Forecast) string { return r.first(f, l) })
		line("  nobody late", func(f *forecast.Forecast) string { return r.backlog(f, l) })
		line("  scrubs a day", func(f *forecast.Forecast) string { return fmt.Sprintf("%.0f", f.Total[l].ScrubsPerDay) })
		line("  scrubs at a time", func(f *forecast.Forecast) string { return fmt.Sprintf("%.1f", f.Total[l].Running) })
		if l == scrub.Deep {
			line("  bytes a second", func(f *forecast.Forecast) string { return byteRate(f.Total[l].BytesPerSecond) })
		}
	}
	t.Flush()
}

func (r *report) first(f *forecast.Forecast, l scrub.Level) string {
	o := f.Total[l].First
	if o.Seeds == 0 {
		return "none"
	}
	text := fmt.Sprintf("in %s (pg %d.%x)", span(o.At.Time().Sub(f.Now)), o.PG.Pool, o.PG.Seed)
	if o.Seeds < f.Seeds {
		text += fmt.Sprintf(", in %d of %d", o.Seeds, f.Seeds)
	}
	return text
}

func (r *report) backlog(f *forecast.Forecast, l scrub.Level) string {
	o := f.Total[l].Backlog
	switch {
	case o.Seeds == 0:
		return "not within " + span(r.cfg.horizon)
	case o.Clear == ceph.NoStamp && o.Seeds == f.Seeds:
		return "all the time"
	}
	text := "all the time"
	if o.Clear != ceph.NoStamp {
		text = "after " + span(o.Clear.Time().Sub(f.Now))
		if o.By != ceph.NoStamp {
			text += ", 9 in 10 by " + span(o.By.Time().Sub(f.Now))
		}
	}
	if o.Seeds < f.Seeds {
		text += fmt.Sprintf(", in %d of %d", o.Seeds, f.Seeds)
	}
	return text
}

func (r *report) pools(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\npool\tPGs\tdeep late now\tin %s\t", span(r.cfg.horizon))
	if r.after != nil {
		fmt.Fprint(t, "changed\t")
	}
	fmt.Fprint(t, "shallow late now\tin "+span(r.cfg.horizon)+"\t")
	if r.after != nil {
		fmt.Fprint(t, "changed\t")
	}
	fmt.Fprintln(t)
	last := len(r.before.Horizons) - 1
	for _, p := range r.input.Map.Pools {
		before := r.before.Pools[p.ID]
		if before == nil {
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t", p.Name, before[0].PGs)
		for _, l := range levels {
			fmt.Fprintf(t, "%d\t%s\t", before[l].LateNow, spread(before[l].Late[last]))
			if r.after != nil {
				fmt.Fprintf(t, "%s\t", spread(r.after.Pools[p.ID][l].Late[last]))
			}
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// osds lists those that are at their limit: what a scrub waits for.
func (r *report) osds(b *strings.Builder) {
	f := r.before
	if r.after != nil {
		f = r.after
	}
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nmost occupied\tslots\tslot time taken\twaits for others\t\n")
	for _, o := range f.OSDs[:min(mostOSDs, len(f.OSDs))] {
		fmt.Fprintf(t, "osd.%d\t%d\t%.0f%%\t%.0f%%\t\n", o.ID, o.Slots, 100*o.Busy, 100*o.Waited)
	}
	t.Flush()
}

func commands(b *strings.Builder, changes []change) {
	for _, c := range changes {
		fmt.Fprintf(b, "  %s\n", c.command)
	}
}

func (r *report) solutionsText(b *strings.Builder) {
	base := r.before
	if r.after != nil {
		base = r.after
	}
	if inTime(base) {
		b.WriteString("\nNobody is late at the horizon: there is nothing to solve.\n")
		return
	}
	if len(r.solutions) == 0 {
		fmt.Fprintf(b, "\nNo change of slots (up to %d), window or interval makes nobody late within %s, scrubs %.0f%% slower included.\n", mostSlots, span(r.cfg.horizon), 100*r.cfg.margin)
		return
	}
	for i, s := range r.solutions {
		what := "or else"
		if i == 0 {
			what = "the smallest change that makes nobody late"
		}
		t := s.forecast.Total
		fmt.Fprintf(b, "\n%s:\n", what)
		commands(b, s.changes)
		fmt.Fprintf(b, "  nobody late: deep %s, shallow %s\n", r.backlog(s.forecast, scrub.Deep), r.backlog(s.forecast, scrub.Shallow))
		if by, ok := s.by(); ok && r.cfg.margin > 0 {
			fmt.Fprintf(b, "  with scrubs %.0f%% slower: nobody late, 9 in 10 by %s\n", 100*r.cfg.margin, span(by))
		}
		fmt.Fprintf(b, "  price: %.1f scrubs at a time instead of %.1f, %s a second read by deep ones instead of %s\n",
			t[0].Running+t[1].Running, base.Total[0].Running+base.Total[1].Running,
			byteRate(t[1].BytesPerSecond), byteRate(base.Total[1].BytesPerSecond))
	}
}

// spread writes a mean, with its deviation where there is one.
func spread(s forecast.Spread) string {
	if s.SD < 0.05 {
		return fmt.Sprintf("%.0f", s.Mean)
	}
	return fmt.Sprintf("%.1f ±%.1f", s.Mean, s.SD)
}

// span writes a time in its two largest units.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	for _, u := range []struct {
		big, small   time.Duration
		name, second string
	}{{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		if d < u.big {
			continue
		}
		text := fmt.Sprintf("%d%s", d/u.big, u.name)
		if rest := d % u.big / u.small; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, u.second)
		}
		return text
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

func byteRate(v float64) string {
	const units = "kMGTPE"
	i := -1
	for ; v >= 1000 && i < len(units)-1; i++ {
		v /= 1000
	}
	if i < 0 {
		return fmt.Sprintf("%.0f B", v)
	}
	return fmt.Sprintf("%.1f %cB", v, units[i])
}

// plot draws late PGs of either level over time, one row per step of the count.
func (r *report) plot(b *strings.Builder) {
	for _, l := range levels {
		top := 0.0
		for _, f := range r.columns() {
			for _, s := range f.Total[l].Late {
				top = max(top, s.Mean)
			}
		}
		fmt.Fprintf(b, "\nPGs late with their %s scrubs, %s ahead", l, span(r.cfg.horizon))
		if r.after != nil {
			b.WriteString(" (* as it is, o with the change, @ both)")
		}
		b.WriteString("\n")
		const rows = 10
		step := max(1, math.Ceil(top/rows))
		for row := rows; row >= 0; row-- {
			line := &strings.Builder{}
			fmt.Fprintf(line, "%8.0f |", float64(row)*step)
			for _, h := range r.cfg.curve() {
				line.WriteByte(r.dot(l, r.at(h), row, step))
			}
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
		fmt.Fprintf(b, "%8s +%s\n", "", strings.Repeat("-", points))
	}
}

func (r *report) dot(l scrub.Level, h, row int, step float64) byte {
	at := func(f *forecast.Forecast) bool { return int(math.Round(f.Total[l].Late[h].Mean/step)) == row }
	before, after := at(r.before), r.after != nil && at(r.after)
	switch {
	case before && after:
		return '@'
	case before:
		return '*'
	case after:
		return 'o'
	}
	return ' '
}
