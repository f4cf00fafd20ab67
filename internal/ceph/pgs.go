package ceph

import "slices"

// PGID names a placement group: pool and seed, printed as "pool.seed" with the
// seed in hexadecimal.
type PGID struct {
	Pool int32
	Seed uint32
}

// Compare orders by pool, then by seed.
func (id PGID) Compare(o PGID) int {
	switch {
	case id.Pool != o.Pool:
		if id.Pool < o.Pool {
			return -1
		}
		return 1
	case id.Seed != o.Seed:
		if id.Seed < o.Seed {
			return -1
		}
		return 1
	}
	return 0
}

// SetID is an index into PGTable.Sets.
type SetID uint32

// NoOSD stands in an up or acting set where CRUSH found no OSD
// (CRUSH_ITEM_NONE; seen in erasure-coded pools).
const NoOSD int32 = 2147483647

// PG is one placement group as the mgr knows it. It holds no pointers, so that
// a table of hundreds of thousands costs the garbage collector nothing.
//
// Where State has StateUnknown the mgr has no report of the PG and its stamps
// and sizes are inventions of the mgr: they must not be used.
type PG struct {
	ID               PGID
	State            State
	LastScrub        Stamp   // last_scrub_stamp
	LastDeepScrub    Stamp   // last_deep_scrub_stamp
	LastCleanScrub   Stamp   // last_clean_scrub_stamp
	LastChange       Stamp   // last_change
	ScheduleAt       Stamp   // instant named by scrub_schedule, where it names one
	Bytes            int64   // stat_sum.num_bytes; -1 absent (or negative, as after some splits)
	Objects          int64   // stat_sum.num_objects; -1 absent (or negative)
	ObjectsScrubbed  int64   // objects_scrubbed, from 17 on; -1 absent
	ShallowErrors    int32   // stat_sum.num_shallow_scrub_errors; -1 absent
	DeepErrors       int32   // stat_sum.num_deep_scrub_errors; -1 absent
	LastScrubSeconds int32   // last_scrub_duration, from 17 on, rounded up; -1 absent
	ScrubDuration    float32 // scrub_duration as it stands: seconds on 17 and 18, milliseconds on 20; -1 absent
	SnapTrimQueue    int32   // snaptrimq_len; -1 absent
	Up, Acting       SetID
	UpPrimary        int32 // -1 none
	ActingPrimary    int32 // -1 none
	Schedule         ScheduleKind
}

// LastScrubTook returns how long the last scrub took, in seconds; -1 where it is
// unknown. scrub_duration tells it to the millisecond, in a unit that depends on
// the release and is taken from last_scrub_duration, the same time in seconds and
// rounded up. Where the two do not fit, the latter is taken alone.
func (pg *PG) LastScrubTook() float64 {
	whole, exact := float64(pg.LastScrubSeconds), float64(pg.ScrubDuration)
	for _, v := range [2]float64{exact, exact / 1000} {
		if v > 0 && v > whole-1.001 && v <= whole+0.001 {
			return v
		}
	}
	return whole
}

// PGTable is a decoded answer of `pg dump pgs`, `pg ls` or `pg ls-by-pool`:
// sorted by PGID, immutable once decoded.
type PGTable struct {
	// Ready is the mgr's pg_ready: false until it has heard from the OSDs, in
	// which case the PGs are not to be used.
	Ready bool
	PGs   []PG
	// Sets are the distinct up and acting sets, in the order of the PG's OSDs
	// (for erasure-coded pools the position is the shard). Never nil entries.
	// The first is the empty one, so that the zero SetID is valid.
	Sets [][]int32
	// Bad are entries that could not be used, with the first reason; at most
	// MaxBadPGs are kept, BadCount counts them all. A PG of which only a field
	// could not be used is in PGs too.
	Bad      []BadPG
	BadCount int
	// SanitisedTokens counts bare nan and inf, whose fields are absent.
	SanitisedTokens int
	// LayoutMisses counts keys that were not where the PG before had them. It
	// says nothing of the result, only of the way there: some hundred are
	// normal, several per PG mean that the decoder runs at its slower pace.
	LayoutMisses int
}

// MaxBadPGs bounds PGTable.Bad.
const MaxBadPGs = 20

// BadPG is an entry of the answer that could not be used, or not all of it.
type BadPG struct {
	PGID string // as written, possibly empty
	Err  error
}

// Set returns the OSD ids of a set. The slice must not be modified.
func (t *PGTable) Set(id SetID) []int32 { return t.Sets[id] }

// ObjectsByOSD sums the objects of the PGs in whose acting set an OSD is: whole
// copies of replicated pools, shards of erasure-coded ones. OSDs with a PG whose
// number of objects is not known are in unknown instead.
func (t *PGTable) ObjectsByOSD() (objects map[int32]int64, unknown map[int32]bool) {
	sums, gaps := make([]int64, len(t.Sets)), make([]bool, len(t.Sets))
	used := make([]bool, len(t.Sets))
	for i := range t.PGs {
		pg := &t.PGs[i]
		used[pg.Acting] = true
		if pg.Objects < 0 || pg.State.Any(StateUnknown) {
			gaps[pg.Acting] = true
		} else {
			sums[pg.Acting] += pg.Objects
		}
	}
	objects, unknown = make(map[int32]int64), make(map[int32]bool)
	for i, set := range t.Sets {
		for _, osd := range set {
			switch {
			case !used[i] || osd < 0 || osd == NoOSD: // an up set, a hole
			case gaps[i]:
				unknown[osd] = true
			default:
				objects[osd] += sums[i]
			}
		}
	}
	for osd := range unknown {
		delete(objects, osd)
	}
	return objects, unknown
}

// Find returns the PG with that id, or nil.
func (t *PGTable) Find(id PGID) *PG {
	i, ok := slices.BinarySearchFunc(t.PGs, id, func(pg PG, id PGID) int { return pg.ID.Compare(id) })
	if !ok {
		return nil
	}
	return &t.PGs[i]
}
