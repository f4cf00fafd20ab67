package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
)

// change is one setting to try.
type change struct {
	name  string // as in --set, before the "="
	value float64
	text  string // the value as Ceph takes it
	// command is what sets it.
	command string
}

// knob is an option that can be tried.
type knob struct {
	name string
	// section is where `config set` belongs to: the intervals to global, since
	// the mgr warns by its own view of them.
	section  string
	duration bool
	least    float64
	most     float64
	set      func(o *forecast.Options, v float64)
	mgr      func(i *scrub.Intervals, v float64)
}

func knobs() []knob {
	const ever = math.MaxInt32
	warn := func(l scrub.Level) func(*scrub.Intervals, float64) {
		return func(i *scrub.Intervals, v float64) { i.WarnRatio[l] = v }
	}
	return []knob{
		{"osd_max_scrubs", "osd", false, 1, 1000, func(o *forecast.Options, v float64) { o.MaxScrubs = int(v) }, nil},
		{"osd_scrub_begin_hour", "osd", false, 0, 23, func(o *forecast.Options, v float64) { o.BeginHour = int(v) }, nil},
		{"osd_scrub_end_hour", "osd", false, 0, 23, func(o *forecast.Options, v float64) { o.EndHour = int(v) }, nil},
		{"osd_scrub_begin_week_day", "osd", false, 0, 6, func(o *forecast.Options, v float64) { o.BeginWeekDay = int(v) }, nil},
		{"osd_scrub_end_week_day", "osd", false, 0, 6, func(o *forecast.Options, v float64) { o.EndWeekDay = int(v) }, nil},
		{"osd_scrub_during_recovery", "osd", false, 0, 1, func(o *forecast.Options, v float64) { o.DuringRecovery = v != 0 }, nil},
		{"osd_scrub_min_interval", "osd", true, 0, ever, func(o *forecast.Options, v float64) { o.MinInterval = v }, nil},
		{"osd_scrub_max_interval", "global", true, 0, ever, func(o *forecast.Options, v float64) { o.MaxInterval = v },
			func(i *scrub.Intervals, v float64) { i.Interval[scrub.Shallow] = v }},
		{"osd_deep_scrub_interval", "global", true, 0, ever, func(o *forecast.Options, v float64) { o.DeepInterval = v },
			func(i *scrub.Intervals, v float64) { i.Interval[scrub.Deep] = v }},
		{"osd_scrub_interval_randomize_ratio", "osd", false, 0, 100, func(o *forecast.Options, v float64) { o.RandomizeRatio = v }, nil},
		{"osd_deep_scrub_randomize_ratio", "osd", false, 0, 1, func(o *forecast.Options, v float64) { o.DeepRandomizeRatio = v }, nil},
		{"osd_deep_scrub_interval_cv", "osd", false, 0, 0.4, func(o *forecast.Options, v float64) { o.DeepIntervalCV = v }, nil},
		{"osd_scrub_backoff_ratio", "osd", false, 0, 0.99, func(o *forecast.Options, v float64) { o.BackoffRatio = v }, nil},
		{"mon_warn_pg_not_scrubbed_ratio", "global", false, 0, 100, nil, warn(scrub.Shallow)},
		{"mon_warn_pg_not_deep_scrubbed_ratio", "global", false, 0, 100, nil, warn(scrub.Deep)},
	}
}

// whole are the knobs that take whole numbers only.
func whole(name string) bool {
	return name == "osd_max_scrubs" || strings.HasSuffix(name, "_hour") || strings.HasSuffix(name, "_week_day")
}

// parseChanges reads --set. Names and values are checked against the cluster.
func parseChanges(sets []string, in *forecast.Input) ([]change, error) {
	var out []change
	var problems []error
	for _, s := range sets {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			problems = append(problems, fmt.Errorf("--set %s: want NAME=VALUE", s))
			continue
		}
		c, err := parseChange(name, value, in)
		if err != nil {
			problems = append(problems, fmt.Errorf("--set %s: %w", s, err))
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(problems...)
}

func parseChange(name, value string, in *forecast.Input) (change, error) {
	if name == "noscrub" || name == "nodeep-scrub" {
		on, err := ceph.ParseBool(value)
		if err != nil {
			return change{}, err
		}
		if on {
			return change{name, 1, "true", "ceph osd set " + name}, nil
		}
		return change{name, 0, "false", "ceph osd unset " + name}, nil
	}
	if rest, ok := strings.CutPrefix(name, "pool."); ok {
		return parsePoolChange(name, rest, value, in)
	}
	for _, k := range knobs() {
		if k.name != name {
			continue
		}
		v, err := number(value, k.duration)
		if err != nil {
			return change{}, err
		}
		if v < k.least || v > k.most || whole(name) && v != math.Trunc(v) {
			return change{}, fmt.Errorf("%q is not a value of this option", value)
		}
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if name == "osd_scrub_during_recovery" {
			text = strconv.FormatBool(v != 0)
		}
		return change{name, v, text, fmt.Sprintf("ceph config set %s %s %s", k.section, name, text)}, nil
	}
	var names []string
	for _, k := range knobs() {
		names = append(names, k.name)
	}
	return change{}, fmt.Errorf("no setting of that name is modelled; there are %s, noscrub, nodeep-scrub and, for a pool, pool.NAME.deep_scrub_interval, .scrub_min_interval, .scrub_max_interval",
		strings.Join(names, ", "))
}

func parsePoolChange(name, rest, value string, in *forecast.Input) (change, error) {
	at := strings.LastIndexByte(rest, '.') // pool names may hold dots
	if at < 0 {
		return change{}, errors.New("want pool.NAME.OPTION")
	}
	pool, option := rest[:at], rest[at+1:]
	if !slices.Contains([]string{"deep_scrub_interval", "scrub_min_interval", "scrub_max_interval"}, option) {
		return change{}, fmt.Errorf("a pool has no %s here", option)
	}
	if !slices.ContainsFunc(in.Map.Pools, func(p ceph.Pool) bool { return p.Name == pool }) {
		return change{}, fmt.Errorf("the cluster has no pool %q", pool)
	}
	v, err := number(value, true)
	if err != nil || v < 0 {
		return change{}, fmt.Errorf("%q: want a time such as 14d, or 0 for the cluster's own", value)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	return change{name, v, text, fmt.Sprintf("ceph osd pool set %s %s %s", pool, option, text)}, nil
}

// number reads a value; where it is a time, in seconds or as in 14d.
func number(text string, duration bool) (float64, error) {
	if b, err := ceph.ParseBool(text); err == nil && (text == "true" || text == "false") {
		return map[bool]float64{true: 1}[b], nil
	}
	if v, err := ceph.ParseFloat(text); err == nil {
		return v, nil
	}
	if duration {
		if d, err := parseDuration(text); err == nil {
			return d.Seconds(), nil
		}
		return 0, fmt.Errorf("%q: want seconds, or a time such as 14d", text)
	}
	return 0, fmt.Errorf("%q: want a number", text)
}

// parseDuration reads Go's durations, and days and weeks: 14d, 2w.
func parseDuration(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			v, err := ceph.ParseFloat(n)
			if err != nil || v < 0 || v > 36500 {
				return 0, fmt.Errorf("%q: not a time", text)
			}
			return time.Duration(v * float64(unit)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%q: below zero", text)
	}
	return d, err
}

// apply returns the input with the changes, for all OSDs and for the mgr.
func apply(in *forecast.Input, changes []change) *forecast.Input {
	out := *in
	out.Options = maps.Clone(in.Options)
	m := *in.Map
	m.Flags, m.Pools = slices.Clone(m.Flags), slices.Clone(m.Pools)
	out.Map = &m
	for _, c := range changes {
		c.apply(&out)
	}
	return &out
}

func (c *change) apply(in *forecast.Input) {
	if c.name == "noscrub" || c.name == "nodeep-scrub" {
		in.Map.Flags = slices.DeleteFunc(in.Map.Flags, func(f string) bool { return f == c.name })
		if c.value != 0 {
			in.Map.Flags = append(in.Map.Flags, c.name)
		}
		return
	}
	if rest, ok := strings.CutPrefix(c.name, "pool."); ok {
		at := strings.LastIndexByte(rest, '.')
		for i := range in.Map.Pools {
			p := &in.Map.Pools[i]
			if p.Name != rest[:at] {
				continue
			}
			v := c.value
			switch rest[at+1:] {
			case "deep_scrub_interval":
				p.Options.DeepScrubInterval = &v
			case "scrub_min_interval":
				p.Options.ScrubMinInterval = &v
			case "scrub_max_interval":
				p.Options.ScrubMaxInterval = &v
			}
		}
		return
	}
	for _, k := range knobs() {
		if k.name != c.name {
			continue
		}
		if k.set != nil {
			k.set(&in.DefaultOptions, c.value)
			for id, o := range in.Options {
				k.set(&o, c.value)
				in.Options[id] = o
			}
		}
		if k.mgr != nil {
			k.mgr(&in.Mgr, c.value)
		}
	}
}
