package osdperf

import (
	"fmt"
	"strings"
)

// An Activity is what an OSD was doing in an interval beside serving clients.
type Activity uint8

// The activities. Each interval has exactly one.
const (
	None Activity = iota
	Scrub
	Recovery // recovery or backfill, as source or target
	ScrubRecovery
	// Other is background work that is neither: deletion of PGs that moved away,
	// trimming of snapshots where the OSD says so.
	Other
	NumActivities
)

// String is the value of the label activity.
func (a Activity) String() string {
	switch a {
	case None:
		return "none"
	case Scrub:
		return "scrub"
	case Recovery:
		return "recovery"
	case ScrubRecovery:
		return "scrub_recovery"
	case Other:
		return "other"
	default:
		return fmt.Sprintf("activity %d", uint8(a))
	}
}

// Signs say which work an OSD was seen doing.
type Signs struct{ Scrub, Recovery, Other bool }

// Or is what either saw.
func (s Signs) Or(t Signs) Signs {
	return Signs{Scrub: s.Scrub || t.Scrub, Recovery: s.Recovery || t.Recovery, Other: s.Other || t.Other}
}

// Activity names what the signs amount to.
func (s Signs) Activity() Activity {
	switch {
	case s.Scrub && s.Recovery:
		return ScrubRecovery
	case s.Scrub:
		return Scrub
	case s.Recovery:
		return Recovery
	case s.Other:
		return Other
	default:
		return None
	}
}

// Add takes in what the reservations of one moment say.
func (s Signs) Add(scrub ScrubReservations, recovery RecoveryReservations) Signs {
	return s.Or(Signs{
		Scrub:    scrub.Local > 0 || scrub.Remote > 0,
		Recovery: recovery.Recovery > 0,
		Other:    recovery.Deletion > 0,
	})
}

// Work holds the counters that move only when an OSD does a kind of background
// work, added up per kind.
type Work struct{ Scrub, Recovery uint64 }

// WorkOf reads them. Which there are differs by release: scrub counters from 19
// on (from 20 also on replicas); recovery ones on every release, where 16 counts
// on replicas only that a PG's recovery has ended.
func WorkOf(c *Counters) Work {
	var w Work
	for name, counter := range c.Plain["osd"] {
		switch {
		case !counter.OK():
		case strings.Contains(name, "scrub") && isScrubWork(name):
			w.Scrub += counter.N
		case isRecoveryWork(name):
			w.Recovery += counter.N
		}
	}
	for _, name := range []string{"backfilling_latency", "recovering_latency", "reprecovering_latency"} {
		// How often a PG left a state of recovery, on primary or replica.
		if counter := c.Get("recoverystate_perf", name); counter.OK() {
			w.Recovery += counter.N
		}
	}
	for _, set := range c.Labelled {
		if !strings.HasPrefix(set.Section, "osd_scrub_") {
			continue
		}
		for name, counter := range set.Counters {
			if counter.OK() && isScrubWork(name) {
				w.Scrub += counter.N
			}
		}
	}
	return w
}

// isScrubWork leaves out gauges, which fall, and what only waits: an attempt to
// reserve is no work on a disk.
func isScrubWork(name string) bool {
	return name != "scrub_resrv_repnum_vs_duration" &&
		!strings.Contains(name, "reserv") && !strings.Contains(name, "replicas_in")
}

func isRecoveryWork(name string) bool {
	switch name {
	case "recovery_ops", "recovery_bytes", "push", "pull", "subop_push", "subop_pull":
		return true
	case "l_osd_recovery_context_queue_latency":
		return false // also peering and snapshot trimming go through that queue
	}
	return strings.HasPrefix(name, "l_osd_recovery_")
}

// Moved says which kinds of work were done between two readings. A sum that fell
// has moved, too: OSDs do not always print every counter in a way that can be read.
func (w Work) Moved(before Work) Signs {
	return Signs{Scrub: w.Scrub != before.Scrub, Recovery: w.Recovery != before.Recovery}
}

// Deleting says whether the OSD is deleting PGs that moved away.
func Deleting(c *Counters) Signs {
	return Signs{Other: c.Get("osd", "numpg_removing").N > 0}
}
