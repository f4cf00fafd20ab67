package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

// solution is a change that makes nobody late, with its price.
type solution struct {
	changes  []change
	size     float64 // how much is turned: the smaller the better
	forecast *forecast.Forecast
}

// The steps that a search takes.
const (
	mostSlots    = 10
	hoursPerStep = 2
)

// intervalSteps are factors of the deep-scrub interval.
var intervalSteps = [...]float64{1.25, 1.5, 2, 3, 4}

// search looks for the smallest change of slots, of the window and of the
// interval alone, and of slots and window together where neither does alone.
// It returns what it found, the smallest first.
func (c *config) search(ctx context.Context, in *forecast.Input, now *forecast.Forecast, p *progress) ([]solution, error) {
	if inTime(now) {
		return nil, nil
	}
	s := &searcher{c: c, in: in, p: p, ctx: ctx}
	o := in.DefaultOptions
	windows := s.windows()
	for n := o.MaxScrubs + 1; n <= mostSlots; n++ {
		if found, err := s.try(s.slots(n)); err != nil || found {
			if err != nil {
				return nil, err
			}
			break
		}
	}
	for _, w := range windows {
		if found, err := s.try(w); err != nil || found {
			if err != nil {
				return nil, err
			}
			break
		}
	}
	if len(s.found) == 0 {
		if err := s.pairs(o.MaxScrubs, windows); err != nil {
			return nil, err
		}
	}
	for _, f := range intervalSteps {
		if found, err := s.try(s.interval(f)); err != nil || found {
			if err != nil {
				return nil, err
			}
			break
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

func (s *searcher) slots(n int) step {
	return step{[]string{fmt.Sprintf("osd_max_scrubs=%d", n)}, float64(n)/float64(max(1, s.in.DefaultOptions.MaxScrubs)) - 1}
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

// pairs tries slots and window together.
func (s *searcher) pairs(slots int, windows []step) error {
	for n := slots + 1; n <= mostSlots; n++ {
		for _, w := range windows {
			both := s.slots(n)
			both.sets = append(both.sets, w.sets...)
			both.size += w.size
			if found, err := s.try(both); err != nil || found {
				return err
			}
		}
	}
	return nil
}

// try simulates a candidate and keeps it if nobody is late at the horizon.
func (s *searcher) try(st step) (bool, error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	changes, err := parseChanges(st.sets, s.in)
	if err != nil {
		return false, err
	}
	s.tried++
	f, err := s.c.forecast(apply(s.in, changes), s.p, fmt.Sprintf("search, step %d: %s", s.tried, strings.Join(st.sets, " ")))
	if err != nil {
		return false, err
	}
	if !inTime(f) {
		return false, nil
	}
	s.found = append(s.found, solution{changes, st.size, f})
	return true, nil
}
