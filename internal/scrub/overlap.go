package scrub

import "github.com/ceph-risk/ceph_risk_exporter/internal/ceph"

// Recovering reports whether objects of the PG are being copied. PGs that wait
// for their turn, or for space, are not at work.
func Recovering(pg *ceph.PG) bool {
	return pg.State.Any(ceph.StateRecovering | ceph.StateBackfilling)
}

// Doing is which of the two works a PG is in.
type Doing uint8

// The values of Doing. They exclude each other.
const (
	DoingScrub Doing = iota
	DoingRecovery
	DoingBoth
)

// Doings lists them in the order of their constants.
var Doings = [...]Doing{DoingScrub, DoingRecovery, DoingBoth}

// String returns the label value.
func (d Doing) String() string {
	switch d {
	case DoingScrub:
		return "scrub"
	case DoingRecovery:
		return "recovery"
	default:
		return "both"
	}
}

// Overlap is where scrub and recovery meet at one moment.
type Overlap struct {
	// Recovering counts, by OSD, the PGs in recovery that have the OSD in
	// their acting or up set: those read from and those written to.
	Recovering map[int32]int
	// OSDs is how many OSDs take part in a scrub (acting set) and in a
	// recovery (acting or up set).
	OSDs int
	// PGs counts the PGs that are at work on such an OSD, by what they do.
	PGs [len(Doings)]int
}

// FindOverlap looks at a table, which may hold other PGs, too.
func FindOverlap(t *ceph.PGTable) Overlap {
	o := Overlap{Recovering: make(map[int32]int)}
	scrubbing := make(map[int32]bool)
	for i := range t.PGs {
		pg := &t.PGs[i]
		if _, scrubs := Scrubbing(pg); scrubs {
			for _, osd := range t.Set(pg.Acting) {
				if isOSD(osd) {
					scrubbing[osd] = true
				}
			}
		}
		if Recovering(pg) {
			eachPart(t, pg, func(osd int32) { o.Recovering[osd]++ })
		}
	}
	for osd := range scrubbing {
		if o.Recovering[osd] > 0 {
			o.OSDs++
		}
	}
	if o.OSDs == 0 {
		return o
	}
	for i := range t.PGs {
		pg := &t.PGs[i]
		_, scrubs := Scrubbing(pg)
		recovers := Recovering(pg)
		meets := false
		switch {
		case recovers:
			eachPart(t, pg, func(osd int32) { meets = meets || scrubbing[osd] })
		case scrubs:
			for _, osd := range t.Set(pg.Acting) {
				meets = meets || isOSD(osd) && o.Recovering[osd] > 0
			}
		}
		switch {
		case !meets:
		case recovers && scrubs:
			o.PGs[DoingBoth]++
		case recovers:
			o.PGs[DoingRecovery]++
		default:
			o.PGs[DoingScrub]++
		}
	}
	return o
}

// isOSD tells an OSD from the hole in an erasure-coded set.
func isOSD(id int32) bool { return id >= 0 && id != ceph.NoOSD }

// eachPart calls f once for every OSD of the PG's acting and up sets.
func eachPart(t *ceph.PGTable, pg *ceph.PG, f func(osd int32)) {
	acting := t.Set(pg.Acting)
	for i, osd := range acting {
		if isOSD(osd) && !contains(acting[:i], osd) {
			f(osd)
		}
	}
	if pg.Up == pg.Acting {
		return
	}
	up := t.Set(pg.Up)
	for i, osd := range up {
		if isOSD(osd) && !contains(acting, osd) && !contains(up[:i], osd) {
			f(osd)
		}
	}
}

// contains is for sets of a handful of OSDs.
func contains(set []int32, osd int32) bool {
	for _, o := range set {
		if o == osd {
			return true
		}
	}
	return false
}
