package ceph

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ConfigEntry is an option that is set in the cluster's configuration.
type ConfigEntry struct {
	Section string `json:"section"` // global, mon, mgr, osd, osd.3, client, ...
	Mask    string `json:"mask"`    // "class:hdd", "host:a", both joined by "/", or empty
	Name    string `json:"name"`
	Value   string `json:"value"`
	Level   string `json:"level"` // basic, advanced, dev
}

// DecodeConfigDump decodes the answer of `config dump`: what is set, and
// nothing that is a default.
func DecodeConfigDump(data []byte) ([]ConfigEntry, error) {
	const what = "config dump"
	entries := []ConfigEntry(nil)
	if _, err := decode(what, data, &entries); err != nil {
		return nil, err
	}
	if entries == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	for i, e := range entries {
		if e.Section == "" || e.Name == "" {
			return nil, fmt.Errorf("decode %s: entry %d: %w", what, i, ErrForeign)
		}
	}
	return entries, nil
}

// Config are options in effect as one daemon sees them, as text.
type Config map[string]string

// DecodeConfigShow decodes the answer of `config show-with-defaults`, or of
// `config show`, for one daemon.
func DecodeConfigShow(data []byte) (Config, error) {
	const what = "config show"
	var raw []struct {
		Name  string  `json:"name"`
		Value *string `json:"value"`
	}
	if _, err := decode(what, data, &raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	config := make(Config, len(raw))
	for i, r := range raw {
		if r.Name == "" || r.Value == nil {
			return nil, fmt.Errorf("decode %s: entry %d: %w", what, i, ErrForeign)
		}
		config[r.Name] = *r.Value
	}
	return config, nil
}

// ErrNoOption: the daemon has no option of that name, as other releases might.
var ErrNoOption = errors.New("no such option")

// Float returns an option's number: of seconds, a ratio, a threshold.
func (c Config) Float(name string) (float64, error) {
	return option(c, name, ParseFloat)
}

// Int returns an option's whole number.
func (c Config) Int(name string) (int, error) {
	return option(c, name, ParseInt)
}

// Bool returns an option's truth value.
func (c Config) Bool(name string) (bool, error) {
	return option(c, name, ParseBool)
}

// Hour returns osd_scrub_begin_hour or osd_scrub_end_hour: 0 to 24, since
// releases before 16.2.0 took 24 for the end of the day.
func (c Config) Hour(name string) (int, error) {
	return option(c, name, func(text string) (int, error) { return parseUpTo(text, 24) })
}

// WeekDay returns osd_scrub_begin_week_day or osd_scrub_end_week_day: 0
// (Sunday) to 7, since releases before 16.2.0 took 7 for the end of the week.
func (c Config) WeekDay(name string) (int, error) {
	return option(c, name, func(text string) (int, error) { return parseUpTo(text, 7) })
}

func option[T any](c Config, name string, parse func(string) (T, error)) (T, error) {
	var zero T
	text, ok := c[name]
	if !ok {
		return zero, fmt.Errorf("option %s: %w", name, ErrNoOption)
	}
	value, err := parse(text)
	if err != nil {
		return zero, fmt.Errorf("option %s: %w", name, err)
	}
	return value, nil
}

var errBadOption = errors.New("not a value of this option")

// ParseFloat reads the text of an option that is a number: "604800.000000".
func ParseFloat(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q: %w", text, errBadOption)
	}
	return v, nil
}

// ParseInt reads the text of an option that is a whole number, which may be
// written as a float: "24", "3.000000".
func ParseInt(text string) (int, error) {
	if v, err := strconv.Atoi(text); err == nil {
		return v, nil
	}
	v, err := ParseFloat(text)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, fmt.Errorf("%q: %w", text, errBadOption)
	}
	return int(v), nil
}

// ParseBool reads the text of an option that is true or false.
func ParseBool(text string) (bool, error) {
	switch text {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q: %w", text, errBadOption)
}

func parseUpTo(text string, most int) (int, error) {
	v, err := ParseInt(text)
	if err != nil || v < 0 || v > most {
		return 0, fmt.Errorf("%q: %w", text, errBadOption)
	}
	return v, nil
}
