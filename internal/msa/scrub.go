package msa

import (
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// UnknownGroup is the group of a scrub whose event does not name one.
const UnknownGroup = "unknown"

// Scrub is the latest scrub of a disk group, as the event log tells it.
type Scrub struct {
	Group    string
	Started  time.Time // zero: no start in the log
	Ended    bool      // the end of one is in the log; the fields below are of the latest
	Finished time.Time // zero where that entry has no time
	// Finding: the last one that ended did not say that no errors were found,
	// or said it with a severity above informational.
	Finding bool
	// Errors of the last one that ended; nil where its text gives no number.
	Errors *float64
}

// scrubKey identifies a group in event messages: the name may be reused, the
// serial number is not.
type scrubKey struct{ name, serial string }

var parenthesis = regexp.MustCompile(`\([^)]*\)`)

// follow takes in one event, if it is of a scrub. Events come in the order of
// time; one that is older than what is known changes nothing.
func (l *eventLog) follow(e Event) {
	if e.Code != eventScrubStarted && e.Code != eventScrubEnded {
		return
	}
	key := scrubKey{name: UnknownGroup}
	if m := scrubTarget.FindStringSubmatch(e.Message); m != nil {
		key.name = strings.TrimSpace(m[1])
	}
	if m := scrubSerial.FindStringSubmatch(e.Message); m != nil {
		key.serial = strings.ToLower(m[1])
	}
	s := l.scrubs[key]
	if s == nil {
		s = &Scrub{}
		l.scrubs[key] = s
	}
	switch {
	case e.Code == eventScrubStarted && !e.Time.Before(s.Started):
		s.Started = e.Time
	case e.Code == eventScrubEnded && !e.Time.Before(s.Finished):
		s.Ended, s.Finished = true, e.Time
		s.Finding, s.Errors = scrubResult(e)
	}
}

// scrubResult reads the end of a scrub. Everything but "no errors were found",
// from a scrub that came to its end, at informational severity, is a finding:
// a single mismatch is logged at a low severity.
func scrubResult(e Event) (finding bool, errors *float64) {
	// Without the part in parentheses: a group may be called "failover".
	said := parenthesis.ReplaceAllString(e.Message, "")
	if scrubClean.MatchString(said) && !scrubCut.MatchString(said) {
		none := 0.0
		return !benign[e.Severity], &none
	}
	var sum float64
	found := false
	for _, m := range scrubNumber.FindAllStringSubmatch(e.Message, -1) {
		digits := m[2] + m[3]
		if m[1] != "" { // a bound, not a number
			return true, nil
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return true, nil
		}
		sum += float64(n)
		found = true
	}
	if !found {
		return true, nil
	}
	return true, &sum
}

// scrubsOf returns the scrubs of the groups that the array has; nil groups: of
// all. A group that was renamed is found by its serial number.
func (l *eventLog) scrubsOf(groups []DiskGroup) []Scrub {
	bySerial, byName := map[string]string{}, map[string]string{}
	for _, g := range groups {
		byName[g.ID] = g.ID
		if g.Serial != "" {
			bySerial[strings.ToLower(g.Serial)] = g.ID
		}
	}
	merged := map[string]*Scrub{}
	for key, s := range l.scrubs {
		name, ok := bySerial[key.serial]
		if !ok {
			name, ok = byName[key.name]
		}
		if key.name == UnknownGroup && key.serial == "" || groups == nil {
			name, ok = key.name, true
		}
		if !ok {
			continue // the group has been deleted
		}
		m := merged[name]
		if m == nil {
			m = &Scrub{Group: name}
			merged[name] = m
		}
		if s.Started.After(m.Started) {
			m.Started = s.Started
		}
		if s.Ended && (!m.Ended || s.Finished.After(m.Finished)) {
			m.Ended, m.Finished, m.Finding, m.Errors = true, s.Finished, s.Finding, s.Errors
		}
	}
	list := make([]Scrub, 0, len(merged))
	for _, m := range merged {
		list = append(list, *m)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Group < list[j].Group })
	return list
}
