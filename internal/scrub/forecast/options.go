package forecast

import (
	"errors"
	"fmt"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Options are an OSD's options that the scheduler reads. Intervals in seconds.
type Options struct {
	MaxScrubs                int     // osd_max_scrubs
	BeginHour, EndHour       int     // osd_scrub_begin_hour, osd_scrub_end_hour
	BeginWeekDay, EndWeekDay int     // osd_scrub_begin_week_day, osd_scrub_end_week_day
	MinInterval, MaxInterval float64 // osd_scrub_min_interval, osd_scrub_max_interval
	DeepInterval             float64 // osd_deep_scrub_interval
	RandomizeRatio           float64 // osd_scrub_interval_randomize_ratio
	DeepRandomizeRatio       float64 // osd_deep_scrub_randomize_ratio, up to 19
	DeepIntervalCV           float64 // osd_deep_scrub_interval_cv, from 20 on
	BackoffRatio             float64 // osd_scrub_backoff_ratio
	DuringRecovery           bool    // osd_scrub_during_recovery
}

// OptionsFrom reads them out of what an OSD runs with: of each option the first
// of the layers that has it, such as an OSD's own options before the defaults.
// Options that a release does not have are zero.
func OptionsFrom(layers ...ceph.Config) (Options, error) {
	c := layered(layers)
	var o Options
	var problems []error
	whole := func(name string, to *int) {
		v, err := c.of(name).Int(name)
		if err != nil {
			problems = append(problems, err)
		}
		*to = v
	}
	number := func(name string, to *float64, optional bool) {
		v, err := c.of(name).Float(name)
		if err != nil && !(optional && errors.Is(err, ceph.ErrNoOption)) {
			problems = append(problems, err)
		}
		*to = v
	}
	whole("osd_max_scrubs", &o.MaxScrubs)
	whole("osd_scrub_begin_hour", &o.BeginHour)
	whole("osd_scrub_end_hour", &o.EndHour)
	whole("osd_scrub_begin_week_day", &o.BeginWeekDay)
	whole("osd_scrub_end_week_day", &o.EndWeekDay)
	number("osd_scrub_min_interval", &o.MinInterval, false)
	number("osd_scrub_max_interval", &o.MaxInterval, false)
	number("osd_deep_scrub_interval", &o.DeepInterval, false)
	number("osd_scrub_interval_randomize_ratio", &o.RandomizeRatio, false)
	number("osd_deep_scrub_randomize_ratio", &o.DeepRandomizeRatio, true)
	number("osd_deep_scrub_interval_cv", &o.DeepIntervalCV, true)
	number("osd_scrub_backoff_ratio", &o.BackoffRatio, false)
	v, err := c.of("osd_scrub_during_recovery").Bool("osd_scrub_during_recovery")
	if err != nil {
		problems = append(problems, err)
	}
	o.DuringRecovery = v
	return o, errors.Join(problems...)
}

// layered are options of which the first layer that has one decides.
type layered []ceph.Config

func (c layered) of(name string) ceph.Config {
	for _, l := range c {
		if _, ok := l[name]; ok {
			return l
		}
	}
	return nil
}

func (r *Run) validate() error {
	if len(r.Horizons) == 0 || r.Seeds < 1 {
		return errors.New("forecast: no horizon or no seed")
	}
	last := time.Duration(0)
	for _, h := range r.Horizons {
		if h <= last {
			return fmt.Errorf("forecast: horizon %s: they must ascend from above zero", h)
		}
		last = h
	}
	return nil
}

// OpenShare returns the share of the time from one instant to another in which
// scrubs may begin, by the hours and days of the options, in the OSDs' zone.
func (o *Options) OpenShare(from, to time.Time, loc *time.Location) float64 {
	all := to.Sub(from).Microseconds()
	if all <= 0 {
		return 0
	}
	open := int64(0)
	for _, s := range o.window().open(from, loc, all) {
		open += s.to - s.from
	}
	return float64(open) / float64(all)
}

// window is when scrubs may begin.
type window struct{ beginHour, endHour, beginDay, endDay int }

func (o *Options) window() window {
	return window{o.BeginHour, o.EndHour, o.BeginWeekDay, o.EndWeekDay}
}

// permits is Ceph's half-open, modular comparison; equal bounds always permit
// (ceph src/osd/scrubber/osd_scrub_sched.cc, isbetween_modulo).
func permits(from, till, p int) bool {
	if from == till {
		return true
	}
	if from < till {
		return p >= from && p < till
	}
	return p >= from || p < till
}

func (w window) always() bool { return w.beginHour == w.endHour && w.beginDay == w.endDay }

// open lists the spans in which the window is open, as microseconds after now,
// from 0 to end, ascending. Both hour and week day of local time must permit.
func (w window) open(now time.Time, loc *time.Location, end int64) []span {
	if w.always() {
		return []span{{0, end}}
	}
	var out []span
	for at := int64(0); at < end; {
		local := now.Add(time.Duration(at) * time.Microsecond).In(loc)
		next := min(end, at+untilNextHour(local))
		if permits(w.beginHour, w.endHour, local.Hour()) && permits(w.beginDay, w.endDay, int(local.Weekday())) {
			if n := len(out); n > 0 && out[n-1].to == at {
				out[n-1].to = next
			} else {
				out = append(out, span{at, next})
			}
		}
		at = next
	}
	return out
}

// untilNextHour returns the microseconds to the next full hour of local time.
func untilNextHour(local time.Time) int64 {
	in := int64(local.Minute())*60e6 + int64(local.Second())*1e6 + int64(local.Nanosecond())/1000
	return 3600e6 - in
}

// span is half-open.
type span struct{ from, to int64 }

// next returns the first instant at or after t that lies in a span. It is false
// where there is none.
func next(spans []span, t int64) (int64, bool) {
	lo, hi := 0, len(spans)
	for lo < hi {
		mid := (lo + hi) / 2
		if spans[mid].to <= t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(spans) {
		return 0, false
	}
	return max(t, spans[lo].from), true
}
