package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

// solution is a change that makes nobody late, with its price.
type solution struct {
	changes  []change
	size     float64 // how much is turned: the smaller the better
	forecast *forecast.Forecast
	slower   *forecast.Forecast // with scrubs that take longer
}

// The steps that a search takes.
const (
	mostSlots    = 10
	hoursPerStep = 2
)

// intervalSteps are factors of the deep-scrub interval.
var intervalSteps = [...]float64{1.25, 1.5, 2, 3, 4}

// search looks for the smallest change of slots, of the window and of the
// interval alone; of slots and window together where neither does alone; and of
// either with the interval where nothing else does. It returns what it found,
// the smallest first.
func (c *config) search(ctx context.Context, in *forecast.Input, now *forecast.Forecast, p *progress) ([]solution, error) {
	if inTime(now) {
		return nil, nil
	}
	s := &searcher{c: c, in: in, p: p, ctx: ctx}
	slots, windows, intervals := s.slots(), s.windows(), s.intervals()
	for _, steps := range [][]step{slots, windows} {
		if err := s.first(steps); err != nil {
			return nil, err
		}
	}
	if len(s.found) == 0 {
		if err := s.pairs(slots, windows); err != nil {
			return nil, err
		}
	}
	if err := s.first(intervals); err != nil {
		return nil, err
	}
	if len(s.found) == 0 {
		for _, steps := range [][]step{slots, windows} {
			if err := s.pairs(steps, intervals); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(s.found, func(a, b solution) int { return cmp.Compare(a.size, b.size) })
	return s.found, nil
}

type searcher struct {
	c     *config
	in    *forecast.Input
	p     *progress
	ctx   context.Context
	found []solution
	tried int
}

// step is a candidate: settings as in --set, and how much they turn.
type step struct {
	sets []string
	size float64
}

func (s *searcher) slots() (out []step) {
	now := s.in.DefaultOptions.MaxScrubs
	for n := now + 1; n <= mostSlots; n++ {
		out = append(out, step{[]string{fmt.Sprintf("osd_max_scrubs=%d", n)}, float64(n)/float64(max(1, now)) - 1})
	}
	return out
}

func (s *searcher) intervals() (out []step) {
	for _, f := range intervalSteps {
		out = append(out, s.interval(f))
	}
	return out
}

// interval raises the deep-scrub interval, and that of the pools with their own.
func (s *searcher) interval(factor float64) step {
	out := step{size: 4 * (factor - 1)} // it gives up a promise, and so comes last
	raise := func(name string, v float64) {
		out.sets = append(out.sets, fmt.Sprintf("%s=%.0f", name, v*factor))
	}
	raise("osd_deep_scrub_interval", s.in.DefaultOptions.DeepInterval)
	for _, p := range s.in.Map.Pools {
		if v := p.Options.DeepScrubInterval; v != nil && *v > 0 {
			raise("pool."+p.Name+".deep_scrub_interval", *v)
		}
	}
	return out
}

// windows widens the window by two hours at a time, first at its end, then at
// its begin, and last to the whole day and week.
func (s *searcher) windows() []step {
	o := s.in.DefaultOptions
	var out []step
	begin, end := o.BeginHour%24, o.EndHour%24
	if begin != end {
		open := (end - begin + 24) % 24
		for k, b, e := 1, begin, end; open+hoursPerStep*k < 24; k++ {
			if k%2 == 1 {
				e = (e + hoursPerStep) % 24
			} else {
				b = (b - hoursPerStep + 24) % 24
			}
			out = append(out, step{hours(begin, end, b, e), float64(hoursPerStep*k) / float64(open)})
		}
		out = append(out, step{hours(begin, end, 0, 0), 24/float64(open) - 1})
	}
	if o.BeginWeekDay != o.EndWeekDay {
		open := (o.EndWeekDay - o.BeginWeekDay + 7) % 7
		week := []string{"osd_scrub_begin_week_day=0", "osd_scrub_end_week_day=0"}
		out = append(out, step{week, 7/float64(open) - 1})
		if begin != end {
			all := append(slices.Clone(week), hours(begin, end, 0, 0)...)
			out = append(out, step{all, 7/float64(open)*24/float64((end-begin+24)%24) - 1})
		}
	}
	return out
}

// hours sets what differs.
func hours(begin, end, b, e int) (sets []string) {
	if b != begin {
		sets = append(sets, fmt.Sprintf("osd_scrub_begin_hour=%d", b))
	}
	if e != end {
		sets = append(sets, fmt.Sprintf("osd_scrub_end_hour=%d", e))
	}
	return sets
}

// first tries steps until one suffices.
func (s *searcher) first(steps []step) error {
	for _, st := range steps {
		if found, err := s.try(st); err != nil || found {
			return err
		}
	}
	return nil
}

// pairs tries one step of each kind together, the smallest pairs first, unless
// not even the largest suffices.
func (s *searcher) pairs(a, b []step) error {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	together := func(x, y step) step { return step{append(slices.Clone(x.sets), y.sets...), x.size + y.size} }
	if f, err := s.suffices(together(a[len(a)-1], b[len(b)-1])); err != nil || f == nil {
		return err
	}
	var all []step
	for _, x := range a {
		for _, y := range b {
			all = append(all, together(x, y))
		}
	}
	slices.SortStableFunc(all, func(x, y step) int { return cmp.Compare(x.size, y.size) })
	return s.first(all)
}

// try keeps a candidate if it suffices.
func (s *searcher) try(st step) (bool, error) {
	found, err := s.suffices(st)
	if err != nil || found == nil {
		return false, err
	}
	s.found = append(s.found, *found)
	return true, nil
}

// suffices simulates a candidate. It does if nobody is late at the horizon, and
// nobody would be if scrubs took longer than they are expected to: what only
// just suffices leaves a last few PGs late for long.
func (s *searcher) suffices(st step) (*solution, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	changes, err := parseChanges(st.sets, s.in)
	if err != nil {
		return nil, err
	}
	s.tried++
	what := fmt.Sprintf("search, step %d: %s", s.tried, strings.Join(st.sets, " "))
	out := &solution{changes: changes, size: st.size}
	changed := apply(s.in, changes)
	if out.slower, err = s.c.forecastSlower(changed, s.c.margin, s.p, what); err != nil || !inTime(out.slower) {
		return nil, err
	}
	if out.forecast, err = s.c.forecast(changed, s.p, what); err != nil || !inTime(out.forecast) {
		return nil, err
	}
	return out, nil
}

// by is when nobody is late any more, of either level, in nine of ten
// simulations in which scrubs take longer; false where nobody ever was late.
func (s *solution) by() (time.Duration, bool) {
	last := ceph.NoStamp
	for _, o := range s.slower.Total {
		if by := o.Backlog.By; by != ceph.NoStamp && (last == ceph.NoStamp || by > last) {
			last = by
		}
	}
	if last == ceph.NoStamp {
		return 0, false
	}
	return last.Time().Sub(s.slower.Now), true
}
