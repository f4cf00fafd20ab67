package osdperf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Counter is one performance counter: a plain number, or a sum of durations and
// how many there were.
type Counter struct {
	N     uint64 // the number; for a time average how many durations
	SumNS uint64 // the sum of durations in nanoseconds
	Avg   bool   // SumNS is known
	ok    bool
}

// OK is false for a counter that was not in the answer, or not a number that a
// counter can have.
func (c Counter) OK() bool { return c.ok }

// UnmarshalJSON reads 12 or {"avgcount":12,"sum":0.001234567,"avgtime":...}.
// What is neither leaves the counter absent: one strange counter must not cost
// the others. Sums can be nonsense while the count is right: the recovery queue
// latencies of 18 sometimes hold 1.8e10 s.
func (c *Counter) UnmarshalJSON(data []byte) error {
	*c = Counter{}
	if data[0] != '{' {
		n, err := strconv.ParseUint(string(data), 10, 64)
		*c = Counter{N: n, ok: err == nil}
		return nil
	}
	var avg struct {
		Count *uint64     `json:"avgcount"`
		Sum   json.Number `json:"sum"`
	}
	if err := json.Unmarshal(data, &avg); err != nil || avg.Count == nil {
		return nil
	}
	ns, known := nanoseconds(avg.Sum.String())
	*c = Counter{N: *avg.Count, SumNS: ns, Avg: known, ok: true}
	return nil
}

// nanoseconds reads a decimal number of seconds exactly, which a float64 cannot
// once an OSD has been up for some months.
func nanoseconds(seconds string) (uint64, bool) {
	whole, fraction, _ := strings.Cut(seconds, ".")
	if len(fraction) > 9 {
		fraction = fraction[:9]
	}
	s, err := strconv.ParseUint(whole, 10, 34) // 544 years, so ns fit 64 bits
	if err != nil {
		return 0, false
	}
	var ns uint64
	if fraction != "" {
		if ns, err = strconv.ParseUint(fraction, 10, 64); err != nil {
			return 0, false
		}
	}
	for range 9 - len(fraction) {
		ns *= 10
	}
	return s*1e9 + ns, true
}

// Counters are the counters of an OSD by section and name.
type Counters struct {
	// Plain holds the counters without labels: Plain["osd"]["op_r"].
	Plain map[string]map[string]Counter
	// Labelled holds those with labels, which only `counter dump` prints.
	Labelled []LabelledCounters
}

// LabelledCounters is one set of counters with labels.
type LabelledCounters struct {
	Section  string
	Labels   map[string]string
	Counters map[string]Counter
}

// Get returns a plain counter; one that is not there is not OK.
func (c *Counters) Get(section, name string) Counter { return c.Plain[section][name] }

// DecodePerfDump reads the named sections of the answer to `perf dump`, all
// where none is named.
func DecodePerfDump(answer []byte, sections ...string) (*Counters, error) {
	return decodeSections(answer, "perf dump", sections, func(c *Counters, section string, raw []byte) error {
		var counters map[string]Counter
		if err := json.Unmarshal(raw, &counters); err != nil {
			return err
		}
		c.Plain[section] = counters
		return nil
	})
}

// DecodeCounterDump reads the named sections of the answer to `counter dump`,
// all where none is named; a name that ends in * stands for all it begins.
func DecodeCounterDump(answer []byte, sections ...string) (*Counters, error) {
	return decodeSections(answer, "counter dump", sections, func(c *Counters, section string, raw []byte) error {
		var sets []struct {
			Labels   map[string]string  `json:"labels"`
			Counters map[string]Counter `json:"counters"`
		}
		if err := json.Unmarshal(raw, &sets); err != nil {
			return err
		}
		for _, set := range sets {
			if len(set.Labels) == 0 {
				c.Plain[section] = set.Counters
			} else {
				c.Labelled = append(c.Labelled, LabelledCounters{section, set.Labels, set.Counters})
			}
		}
		return nil
	})
}

func decodeSections(answer []byte, what string, sections []string, decode func(*Counters, string, []byte) error) (*Counters, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(answer, &all); err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	c := &Counters{Plain: map[string]map[string]Counter{}}
	for section, raw := range all {
		// Section names may repeat (one per messenger worker); none of those are
		// asked for by name.
		if !wanted(section, sections) || bytes.Equal(raw, []byte("null")) {
			continue
		}
		if err := decode(c, section, raw); err != nil {
			return nil, fmt.Errorf("decode %s: section %s: %w", what, section, err)
		}
	}
	return c, nil
}

func wanted(section string, sections []string) bool {
	for _, s := range sections {
		if stem, open := strings.CutSuffix(s, "*"); s == section || open && strings.HasPrefix(section, stem) {
			return true
		}
	}
	return len(sections) == 0
}
