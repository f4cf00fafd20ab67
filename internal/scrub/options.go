package scrub

import (
	"errors"
	"fmt"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// OptionKind is how an option's value reads.
type OptionKind uint8

// The kinds of options.
const (
	NumberOption OptionKind = iota // seconds, ratios, counts, hours
	BoolOption
	TextOption
)

// Option is a configuration option that has a say in scrubbing.
type Option struct {
	Name string
	Kind OptionKind
}

// The options of Ceph's lateness rule, by Level.
var (
	intervalOptions = [2]string{"osd_scrub_max_interval", "osd_deep_scrub_interval"}
	ratioOptions    = [2]string{"mon_warn_pg_not_scrubbed_ratio", "mon_warn_pg_not_deep_scrubbed_ratio"}
)

// MaxScrubsOption bounds an OSD's concurrent scrubs.
const MaxScrubsOption = "osd_max_scrubs"

// IntervalOption returns the name of the option that holds the level's interval.
func IntervalOption(l Level) string { return intervalOptions[l] }

// RatioOption returns the name of the option that holds the level's warn ratio.
func RatioOption(l Level) string { return ratioOptions[l] }

// Options lists the options that have a say in scrubbing, on any release from
// 16 to 20 (ceph src/common/options). A release without one does not name it.
func Options() []Option {
	return []Option{
		{"osd_max_scrubs", NumberOption},
		{"osd_scrub_during_recovery", BoolOption},
		{"osd_repair_during_recovery", BoolOption},
		{"osd_scrub_begin_hour", NumberOption},
		{"osd_scrub_end_hour", NumberOption},
		{"osd_scrub_begin_week_day", NumberOption},
		{"osd_scrub_end_week_day", NumberOption},
		{"osd_scrub_load_threshold", NumberOption},
		{"osd_scrub_min_interval", NumberOption},
		{"osd_scrub_max_interval", NumberOption},
		{"osd_deep_scrub_interval", NumberOption},
		{"osd_deep_scrub_interval_cv", NumberOption},
		{"osd_scrub_interval_randomize_ratio", NumberOption},
		{"osd_deep_scrub_randomize_ratio", NumberOption},
		{"osd_scrub_backoff_ratio", NumberOption},
		{"osd_scrub_chunk_min", NumberOption},
		{"osd_scrub_chunk_max", NumberOption},
		{"osd_shallow_scrub_chunk_min", NumberOption},
		{"osd_shallow_scrub_chunk_max", NumberOption},
		{"osd_scrub_sleep", NumberOption},
		{"osd_scrub_extended_sleep", NumberOption},
		{"osd_scrub_auto_repair", BoolOption},
		{"osd_scrub_auto_repair_num_errors", NumberOption},
		{"osd_scrub_priority", NumberOption},
		{"osd_requested_scrub_priority", NumberOption},
		{"osd_scrub_cost", NumberOption},
		{"osd_deep_scrub_stride", NumberOption},
		{"osd_scrub_disable_reservation_queuing", BoolOption},
		{"mon_warn_pg_not_scrubbed_ratio", NumberOption},
		{"mon_warn_pg_not_deep_scrubbed_ratio", NumberOption},
		{"osd_op_queue", TextOption},
		{"osd_mclock_profile", TextOption},
	}
}

// Value reads an option's text as a number, booleans as 1 and 0.
func (o Option) Value(text string) (float64, error) {
	switch o.Kind {
	case BoolOption:
		b, err := ceph.ParseBool(text)
		if err != nil || !b {
			return 0, err
		}
		return 1, nil
	case NumberOption:
		return ceph.ParseFloat(text)
	default:
		return 0, fmt.Errorf("option %s is a text", o.Name)
	}
}

// IntervalsFrom reads the options of the rule out of what a daemon runs with.
// The ratios are options of mon and mgr, which OSDs know of as well.
func IntervalsFrom(c ceph.Config) (Intervals, error) {
	var out Intervals
	var problems []error
	for _, l := range Levels {
		var err error
		if out.Interval[l], err = c.Float(intervalOptions[l]); err != nil {
			problems = append(problems, err)
		}
		if out.WarnRatio[l], err = c.Float(ratioOptions[l]); err != nil {
			problems = append(problems, err)
		}
	}
	return out, errors.Join(problems...)
}

// PoolsFrom reads the pools' own intervals out of the map.
func PoolsFrom(m *ceph.OSDMap) map[int32]PoolIntervals {
	out := make(map[int32]PoolIntervals, len(m.Pools))
	for _, p := range m.Pools {
		var v PoolIntervals
		if p.Options.ScrubMaxInterval != nil {
			v[Shallow] = *p.Options.ScrubMaxInterval
		}
		if p.Options.DeepScrubInterval != nil {
			v[Deep] = *p.Options.DeepScrubInterval
		}
		out[p.ID] = v
	}
	return out
}

// OSDGatesFrom reads the options that let an OSD begin a scrub; value returns
// the text of one of the OSD's options.
func OSDGatesFrom(value func(name string) (string, bool)) (*OSDGates, error) {
	own := make(ceph.Config)
	for _, name := range []string{"osd_scrub_during_recovery", MaxScrubsOption, "osd_scrub_begin_hour", "osd_scrub_end_hour",
		"osd_scrub_begin_week_day", "osd_scrub_end_week_day", intervalOptions[Shallow]} {
		if text, ok := value(name); ok {
			own[name] = text
		}
	}
	var g OSDGates
	var problems [7]error
	g.DuringRecovery, problems[0] = own.Bool("osd_scrub_during_recovery")
	g.MaxScrubs, problems[1] = own.Int(MaxScrubsOption)
	g.Window.BeginHour, problems[2] = own.Hour("osd_scrub_begin_hour")
	g.Window.EndHour, problems[3] = own.Hour("osd_scrub_end_hour")
	g.Window.BeginWeekDay, problems[4] = own.WeekDay("osd_scrub_begin_week_day")
	g.Window.EndWeekDay, problems[5] = own.WeekDay("osd_scrub_end_week_day")
	g.MaxInterval, problems[6] = own.Float(intervalOptions[Shallow])
	if err := errors.Join(problems[:]...); err != nil {
		return nil, err
	}
	return &g, nil
}
