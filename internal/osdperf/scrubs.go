package osdperf

import "strings"

// A ScrubCounter is one of the scrub counters that releases name differently.
type ScrubCounter uint8

// The scrub counters. The durations are of whole scrubs, reserving included.
const (
	ScrubsStarted ScrubCounter = iota
	ScrubsSucceeded
	ScrubsFailed
	ScrubSecondsSucceeded // SumNS
	ScrubSecondsFailed    // SumNS
	ScrubReservationsCompleted
	ScrubReservationsFailed
	ScrubReservationsAborted
	ScrubReservationsSkipped
	ScrubPreemptions
	ScrubChunksSelected
	ScrubChunksBusy
	ScrubWritesBlocked // client writes that waited for a scrub's range
	ScrubLockedObject  // scrubs that waited for an object a client held
	NumScrubCounters
)

// name20 and name19 are the counters' names with P for the pool type; empty
// where the release has it elsewhere. From 20 on all but the last five are plain
// counters of section osd.
func (s ScrubCounter) name20() string {
	return [NumScrubCounters]string{
		ScrubsStarted:              "num_scrubs_started_P",
		ScrubsSucceeded:            "successful_scrubs_P",
		ScrubsFailed:               "failed_scrubs_P",
		ScrubSecondsSucceeded:      "successful_scrubs_P_elapsed",
		ScrubSecondsFailed:         "failed_scrubs_P_elapsed",
		ScrubReservationsCompleted: "scrub_P_scrub_reservations_completed",
		ScrubReservationsFailed:    "scrub_P_reservation_process_failure",
		ScrubReservationsAborted:   "scrub_P_reservation_process_aborted",
		ScrubReservationsSkipped:   "scrub_P_reservation_process_skipped",
	}[s]
}

func (s ScrubCounter) name19() string {
	return [NumScrubCounters]string{
		ScrubsStarted:              "num_scrubs_started",
		ScrubsSucceeded:            "successful_scrubs",
		ScrubsFailed:               "failed_scrubs",
		ScrubSecondsSucceeded:      "successful_scrubs_elapsed",
		ScrubSecondsFailed:         "failed_scrubs_elapsed",
		ScrubReservationsCompleted: "scrub_reservations_completed",
		ScrubReservationsFailed:    "reservation_process_failure",
		ScrubReservationsAborted:   "reservation_process_aborted",
		ScrubReservationsSkipped:   "reservation_process_skipped",
		ScrubPreemptions:           "preemptions",
		ScrubChunksSelected:        "chunk_selected",
		ScrubChunksBusy:            "chunk_busy",
		ScrubWritesBlocked:         "write_blocked_by_scrub",
		ScrubLockedObject:          "locked_object",
	}[s]
}

// PoolTypes are the kinds of pool that scrub counters are split by.
func PoolTypes() [2]string { return [2]string{"replicated", "ec"} }

// Scrubs holds the scrub counters by pool type, in the order of PoolTypes;
// shallow and deep are added up, as 20 no longer tells them apart. Those a
// release does not have are not OK: before 19 there is none.
type Scrubs [2][NumScrubCounters]Counter

// ScrubsOf reads them from what a release from 19 on prints.
func ScrubsOf(c *Counters) Scrubs {
	var all Scrubs
	for p, pool := range PoolTypes() {
		for s := range NumScrubCounters {
			total := &all[p][s]
			if name := s.name20(); name != "" {
				name = strings.Replace(name, "P", pool, 1)
				total.join(c.Get("osd", name))
				// One name follows no pattern.
				if s == ScrubReservationsCompleted && pool == "ec" {
					total.join(c.Get("osd", "scrub_ec_reservations_completed"))
				}
			}
			for _, set := range c.Labelled {
				if strings.HasPrefix(set.Section, "osd_scrub_") && set.Labels["pooltype"] == pool {
					total.join(set.Counters[s.name19()])
				}
			}
		}
	}
	return all
}

// join adds another counter to this one; what is absent adds nothing.
func (c *Counter) join(d Counter) {
	if d.ok {
		c.N += d.N
		c.SumNS += d.SumNS
		c.Avg, c.ok = c.Avg || d.Avg, true
	}
}
