package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// soakResult is what a soak has seen so far. Samples are kept with it, so that
// a run that is cut short leaves figures, too.
type soakResult struct {
	Release int            `json:"release"`
	Seed    uint64         `json:"seed"`
	Planned string         `json:"planned"`
	Ran     float64        `json:"ran_seconds"`
	Ended   bool           `json:"ended"` // by itself, with every check passed
	Faults  map[string]int `json:"faults"`
	// QuietFailures are polls that failed although all was well.
	QuietFailures int `json:"quiet_failures"`
	// Slowest is the longest time from the end of a fault to all being well.
	Slowest float64 `json:"slowest_recovery_seconds"`
	// Uploads that were acknowledged, tried and counted.
	Uploaded int `json:"uploads_acknowledged"`
	Tried    int `json:"uploads_tried"`
	Counted  int `json:"uploads_counted"`

	Scrapes       int          `json:"scrapes"`
	SlowestScrape float64      `json:"slowest_scrape_seconds"`
	Peak          soakSample   `json:"peak"`
	Last          soakSample   `json:"last"`
	Quiet         []soakSample `json:"quiet"` // where nothing was wrong

	saved time.Time
}

// soakSample is one scrape.
type soakSample struct {
	At     float64 `json:"at"` // seconds from the beginning
	Quiet  bool    `json:"-"`
	Scrape float64 `json:"-"`

	Resident    float64 `json:"resident_mib"`
	Heap        float64 `json:"heap_mib"`
	Goroutines  int     `json:"goroutines"`
	Descriptors int     `json:"descriptors"`
	Threads     int     `json:"threads"`
	Stuck       int     `json:"stuck"`
	Abandoned   int     `json:"abandoned"`
	Returned    int     `json:"returned"`
	Rejected    int     `json:"rejected"`
	Polls       int     `json:"polls"`
	Failures    int     `json:"failures"`
	Bugs        int     `json:"bugs"` // panics and dropped samples
}

func (r *soakResult) add(s soakSample) {
	r.Ran = s.At
	r.Scrapes++
	r.SlowestScrape = max(r.SlowestScrape, s.Scrape)
	p := &r.Peak
	p.Resident, p.Heap = max(p.Resident, s.Resident), max(p.Heap, s.Heap)
	p.Goroutines, p.Descriptors = max(p.Goroutines, s.Goroutines), max(p.Descriptors, s.Descriptors)
	p.Threads, p.Stuck = max(p.Threads, s.Threads), max(p.Stuck, s.Stuck)
	r.Last = s
	if s.Quiet {
		r.Quiet = append(r.Quiet, s)
	}
}

func (r *soakResult) write(path string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// soakParts is into how many parts a run is cut to see what rises.
const soakParts = 6

var soakLevels = []struct {
	name   string
	digits int
	of     func(soakSample) float64
	// slack is what the last part may be above the second: the first one
	// still warms up.
	slack func(second float64) float64
}{
	{"resident memory, MiB", 0, func(s soakSample) float64 { return s.Resident }, func(v float64) float64 { return v/10 + 8 }},
	{"Go's heap in use, MiB", 1, func(s soakSample) float64 { return s.Heap }, func(v float64) float64 { return v/4 + 4 }},
	{"goroutines", 0, func(s soakSample) float64 { return float64(s.Goroutines) }, func(float64) float64 { return 4 }},
	{"descriptors", 0, func(s soakSample) float64 { return float64(s.Descriptors) }, func(float64) float64 { return 4 }},
	{"threads", 0, func(s soakSample) float64 { return float64(s.Threads) }, func(float64) float64 { return 4 }},
	{"stuck commands", 0, func(s soakSample) float64 { return float64(s.Stuck) }, func(float64) float64 { return 0 }},
}

// parts returns the median of a level in each part of the run; NaN-free: a part
// without a quiet sample is left out.
func (r *soakResult) parts(of func(soakSample) float64) []float64 {
	var out []float64
	for part := range soakParts {
		var values []float64
		for _, s := range r.Quiet {
			if int(s.At*soakParts/max(r.Ran, 1)) == part || part == soakParts-1 && s.At >= r.Ran {
				values = append(values, of(s))
			}
		}
		if len(values) > 0 {
			slices.Sort(values)
			out = append(out, values[len(values)/2])
		}
	}
	return out
}

// problems tells what a soak must not show.
func (r *soakResult) problems() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, l := range soakLevels {
		p := r.parts(l.of)
		if len(p) < soakParts {
			continue // too short to tell
		}
		if second, last := p[1], p[len(p)-1]; last > second+l.slack(second) {
			add("%s rose: %.1f", l.name, p)
		}
	}
	if r.Counted < r.Uploaded || r.Counted > r.Tried {
		add("%d uploads counted, of %d tried %d were acknowledged", r.Counted, r.Tried, r.Uploaded)
	}
	if r.Last.Bugs > 0 {
		add("%d panics and dropped samples", r.Last.Bugs)
	}
	if r.Last.Abandoned != r.Last.Returned {
		add("%d commands given up, %d came back", r.Last.Abandoned, r.Last.Returned)
	}
	if r.QuietFailures > 0 {
		add("%d polls failed although nothing was wrong", r.QuietFailures)
	}
	return out
}

// section is the result for the documentation.
func (r *soakResult) section() string {
	var b strings.Builder
	ran := time.Duration(r.Ran * float64(time.Second)).Round(time.Minute)
	how := "The run ended by itself with every check passed."
	if !r.Ended {
		how = "The run was ended early or a check failed: the figures are those up to then."
	}
	faults := 0
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		faults += r.Faults[name]
		kinds = append(kinds, fmt.Sprintf("%s %d", name, r.Faults[name]))
	}
	fmt.Fprintf(&b, "%s\n", soakBegin)
	fmt.Fprintf(&b, "A cluster of release %d, both roles in one process, polling at ten times the default rate, seed %d. It ran for %s of %s. %s\n\n", r.Release, r.Seed, minutes(ran), r.plannedMinutes(), how)
	fmt.Fprintf(&b, "%d faults of 5 to 50 seconds: %s.\n\n", faults, strings.Join(kinds, ", "))
	b.WriteString("| between faults, median of each part of the run |")
	n := len(r.parts(soakLevels[0].of))
	for i := range n {
		fmt.Fprintf(&b, " %d |", i+1)
	}
	b.WriteString(" peak, faults included |\n|---|" + strings.Repeat("---|", n+1) + "\n")
	for _, l := range soakLevels {
		fmt.Fprintf(&b, "| %s |", l.name)
		for _, v := range r.parts(l.of) {
			fmt.Fprintf(&b, " %.*f |", l.digits, v)
		}
		fmt.Fprintf(&b, " %.*f |\n", l.digits, l.of(r.Peak))
	}
	l := r.Last
	fmt.Fprintf(&b, "\n- Polls: %d, of which %d failed, %d of them while nothing was wrong. Panics and dropped samples: %d.\n", l.Polls, l.Failures, r.QuietFailures, l.Bugs)
	fmt.Fprintf(&b, "- Commands given up: %d, come back since: %d, refused because too many were stuck: %d.\n", l.Abandoned, l.Returned, l.Rejected)
	fmt.Fprintf(&b, "- From the end of a fault until every collector succeeded and every PG had its age: %.0f s at most.\n", r.Slowest)
	fmt.Fprintf(&b, "- Scrapes: %d, every one answered, the slowest within %.2f s.\n", r.Scrapes, r.SlowestScrape)
	fmt.Fprintf(&b, "- Uploads: %d acknowledged, %d tried (those in between timed out or were refused at the client), %d counted. No counter fell.\n", r.Uploaded, r.Tried, r.Counted)
	b.WriteString(soakEnd)
	return b.String()
}

func (r *soakResult) plannedMinutes() string {
	d, _ := time.ParseDuration(r.Planned)
	return minutes(d)
}

func minutes(d time.Duration) string { return fmt.Sprintf("%.0f minutes", d.Minutes()) }

const (
	soakBegin      = "<!-- soak: written by a test -->"
	soakEnd        = "<!-- end of soak -->"
	soakResultPath = "testdata/soak.json"
)

// The section in the documentation is the result that was recorded.
func TestSoakSectionIsCurrent(t *testing.T) {
	data, err := os.ReadFile(soakResultPath)
	if errors.Is(err, fs.ErrNotExist) {
		documented(t, soakBegin, soakEnd, soakBegin+"\n"+soakEnd) // none has been recorded
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var r soakResult
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if problems := r.problems(); r.Ended && len(problems) > 0 {
		t.Errorf("the recorded result says that every check passed: %q", problems)
	}
	documented(t, soakBegin, soakEnd, r.section())
}

func TestSoakSeesWhatRises(t *testing.T) {
	level := func(i int) soakSample {
		return soakSample{At: float64(i), Quiet: true, Resident: 80, Heap: 10, Goroutines: 30, Descriptors: 20, Threads: 40, Polls: 10 * i, Abandoned: i, Returned: i}
	}
	run := func(change func(i int, s *soakSample)) []string {
		r := soakResult{Uploaded: 5, Counted: 6, Tried: 7}
		for i := range 601 {
			s := level(i)
			change(i, &s)
			r.add(s)
		}
		return r.problems()
	}
	for name, c := range map[string]struct {
		change func(int, *soakSample)
		want   int
	}{
		"level":                     {func(int, *soakSample) {}, 0},
		"warms up":                  {func(i int, s *soakSample) { s.Resident += float64(min(i, 90)) }, 0},
		"leaks memory":              {func(i int, s *soakSample) { s.Resident += float64(i) / 10 }, 1},
		"leaks goroutines":          {func(i int, s *soakSample) { s.Goroutines += i / 50 }, 1},
		"leaks descriptors":         {func(i int, s *soakSample) { s.Descriptors += i / 50 }, 1},
		"leaks threads":             {func(i int, s *soakSample) { s.Threads += i / 50 }, 1},
		"commands do not return":    {func(_ int, s *soakSample) { s.Returned = min(s.Returned, 590) }, 1},
		"panics":                    {func(_ int, s *soakSample) { s.Bugs = 1 }, 1},
		"two things at a time":      {func(i int, s *soakSample) { s.Threads += i / 50; s.Bugs = 1 }, 2},
		"commands stuck at the end": {func(i int, s *soakSample) { s.Stuck = i / 400 }, 1},
	} {
		if got := run(c.change); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// dialMany opens connections that say nothing.
func dialMany(ctx context.Context, address string, n int) ([]net.Conn, error) {
	var out []net.Conn
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return out, err
		}
		out = append(out, c)
	}
	return out, nil
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}
