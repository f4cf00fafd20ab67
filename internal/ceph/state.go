package ceph

// State is the set of tokens in a PG's state string, one bit each. A token that
// this list does not know sets StateOther and is otherwise ignored.
type State uint64

// The tokens of pg_state_string (ceph src/osd/osd_types.cc, 16 to 20), in the
// order in which it prints them.
const (
	StateStale State = 1 << iota
	StateCreating
	StateActive
	StateActivating
	StateClean
	StateRecoveryWait
	StateRecoveryTooFull
	StateRecovering
	StateForcedRecovery
	StateDown
	StateRecoveryUnfound
	StateBackfillUnfound
	StateUndersized
	StateDegraded
	StateRemapped
	StatePremerge
	StateScrubbing
	StateDeep
	StateInconsistent
	StatePeering
	StateRepair
	StateBackfillWait
	StateBackfilling
	StateForcedBackfill
	StateBackfillTooFull
	StateIncomplete
	StatePeered
	StateSnapTrim
	StateSnapTrimWait
	StateSnapTrimError
	StateFailedRepair
	StateLaggy
	StateWait
	StateUnknown
	// StateOther marks a token that is not in this list.
	StateOther
)

// Has reports whether all tokens of want are set.
func (s State) Has(want State) bool { return s&want == want }

// Any reports whether at least one token of want is set.
func (s State) Any(want State) bool { return s&want != 0 }

// ScheduleKind is what scrub_schedule says of a PG's next scrub. The text
// itself holds times and is never kept.
type ScheduleKind uint8

const (
	ScheduleAbsent    ScheduleKind = iota // no such field (16), or empty
	ScheduleNone                          // "no scrub is scheduled", "--"
	ScheduleAtTime                        // "... scrub scheduled @ <stamp>"
	ScheduleQueued                        // "queued for scrub", "queued for deep scrub"
	ScheduleReserving                     // "Reserving. Waiting Ns for OSD.x (i/n)" (20)
	ScheduleRunning                       // "scrubbing for Ns", "deep scrubbing for Ns"
	ScheduleBlocked                       // "Blocked! locked objects (for Ns)"
	ScheduleOther                         // any other text
)
