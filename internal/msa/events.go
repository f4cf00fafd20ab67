package msa

import (
	"sort"
	"strconv"
	"strings"
	"time"
)

// An Event is one entry of the array's event log.
type Event struct {
	Controller string // the letter in front of the number: each controller counts for itself
	Number     uint64
	Code       int
	Severity   string    // one of severities, or "other"
	Time       time.Time // zero where not given
	Message    string
}

// Events decodes the events of an answer. Entries without a usable number or
// code are left out.
func Events(answer *Response) []Event {
	var list []Event
	for _, o := range answer.All(typeEvent) {
		id := strings.ToUpper(o.First("event-id"))
		digits := strings.TrimLeft(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		number, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || len(id)-len(digits) > 1 {
			continue
		}
		code, err := strconv.Atoi(o.First("event-code"))
		if err != nil || code < 0 || code > 9999 {
			continue
		}
		e := Event{
			Controller: strings.TrimSuffix(id, digits),
			Number:     number,
			Code:       code,
			Severity:   "other",
			Time:       o.time(),
			Message:    o.First("message"),
		}
		for _, s := range severities {
			if strings.EqualFold(s, o.First("severity")) {
				e.Severity = s
			}
		}
		list = append(list, e)
	}
	return list
}

// time prefers the number of seconds; the text has no zone and is taken as UTC,
// which arrays show unless told otherwise (unverified).
func (o *Object) time() time.Time {
	if seconds, err := strconv.ParseInt(o.First("time-stamp-numeric"), 10, 64); err == nil && seconds > 0 && seconds < 1<<36 {
		return time.Unix(seconds, 0).UTC()
	}
	t, err := time.Parse(time.DateTime, o.First("time-stamp"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// EventKey is what events are counted by.
type EventKey struct {
	Code     int
	Severity string
}

// EventCount is how many events were logged since the log was first read.
type EventCount struct {
	EventKey
	Count uint64
}

// eventLog follows an array's event log: it counts new entries and keeps the
// latest scrub of each group.
type eventLog struct {
	read   bool // the whole log has been read at least once
	seen   map[string]Event
	latest time.Time
	counts map[EventKey]uint64
	shown  map[EventKey]bool
	scrubs map[scrubKey]*Scrub
}

func newEventLog() *eventLog {
	return &eventLog{
		seen:   map[string]Event{},
		counts: map[EventKey]uint64{},
		shown:  map[EventKey]bool{},
		scrubs: map[scrubKey]*Scrub{},
	}
}

// tail is how many entries are asked for once the log has been read.
const tail = 100

// hole says that entries may be missing between what is known and these, which
// are the newest of the log: it has more of them, and none is known.
func (l *eventLog) hole(events []Event) bool {
	if len(events) < tail {
		return false
	}
	for _, e := range events {
		if known, ok := l.seen[e.Controller]; ok && e.Number <= known.Number {
			return false
		}
	}
	return true
}

// add takes in entries, known or not, in any order.
func (l *eventLog) add(events []Event) {
	events = append([]Event(nil), events...)
	sort.SliceStable(events, func(i, j int) bool {
		if !events[i].Time.Equal(events[j].Time) {
			return events[i].Time.Before(events[j].Time)
		}
		return events[i].Number < events[j].Number
	})
	newest := map[string]Event{}
	for _, e := range events {
		if n, ok := newest[e.Controller]; !ok || e.Number > n.Number {
			newest[e.Controller] = e
		}
	}
	for _, e := range events {
		key := EventKey{e.Code, e.Severity}
		if _, ok := l.counts[key]; !ok {
			l.counts[key] = 0
			l.shown[key] = !l.read
		}
		if l.isNew(e, newest[e.Controller]) {
			l.counts[key]++
		}
		l.follow(e)
	}
	for controller, n := range newest {
		if known, ok := l.seen[controller]; !ok || n.Number > known.Number || n.Time.After(known.Time) {
			l.seen[controller] = n
		}
	}
	for _, e := range events {
		if e.Time.After(l.latest) {
			l.latest = e.Time
		}
	}
	l.read = true
}

// isNew: what the log holds when it is first read is old, and so is the history
// of a controller that joins later. Numbers that start again (a log was cleared, a
// controller replaced) are told by their time: newer, yet lower.
func (l *eventLog) isNew(e, newest Event) bool {
	if !l.read {
		return false
	}
	known, ok := l.seen[e.Controller]
	switch {
	case !ok:
		return e.Time.After(l.latest)
	case newest.Number < known.Number && newest.Time.After(known.Time):
		return e.Time.After(known.Time)
	}
	return e.Number > known.Number
}

// totals returns the counters. A combination that was not there before starts
// with 0, once, so that its first event is an increase.
func (l *eventLog) totals() []EventCount {
	list := make([]EventCount, 0, len(l.counts))
	for key, n := range l.counts {
		if !l.shown[key] {
			l.shown[key] = true
			n = 0
		}
		list = append(list, EventCount{key, n})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Code != list[j].Code {
			return list[i].Code < list[j].Code
		}
		return list[i].Severity < list[j].Severity
	})
	return list
}
