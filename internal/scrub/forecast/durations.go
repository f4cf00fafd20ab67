package forecast

import (
	"slices"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// What a scrub is taken to need where nothing of the pool was measured: a start,
// its objects' metadata at the pace of a hard disk, and for a deep one its bytes.
const (
	defaultStart          = 2.0   // seconds
	defaultObjectsPerSec  = 500.0 // metadata, both levels
	defaultBytesPerSecond = 40e6  // data of one PG, deep only
)

// BeyondState is how long, in seconds, slots are taken before and after a PG's
// state says "scrubbing": for messages and queues. Whoever measures by the
// state, as has to be done on 16, adds it.
const BeyondState = 0.8

// line is seconds = fixed + slope * size.
type line struct{ fixed, slope float64 }

func (l line) at(size float64) float64 { return l.fixed + l.slope*size }

// size is what a scrub's duration grows with: the objects of a shallow one, the
// bytes of a deep one. It is 0 where unknown.
func size(pg *ceph.PG, l scrub.Level) float64 {
	if l == scrub.Deep {
		return float64(max(pg.Bytes, 0))
	}
	return float64(max(pg.Objects, 0))
}

// measured returns how long the last scrub of that level took, in seconds.
// last_scrub_duration is of the last scrub of either level; a deep one moves
// both stamps to the same instant.
func (in *Input) measured(pg *ceph.PG, l scrub.Level) (float64, bool) {
	if d := in.Measured[pg.ID][l]; d > 0 {
		return d, true
	}
	if pg.LastScrubSeconds < 0 || !pg.LastScrub.Dated() {
		return 0, false
	}
	// A PG that was never scrubbed has both stamps from its creation.
	if deep := pg.LastScrub == pg.LastDeepScrub; deep != (l == scrub.Deep) || pg.LastScrubSeconds == 0 {
		return 0, false
	}
	return float64(pg.LastScrubSeconds), true
}

// fit is a least-squares line through what was measured, kept from falling
// with the size and from starting below zero.
type fit struct{ n, sx, sy, sxx, sxy float64 }

func (f *fit) add(x, y float64) {
	f.n++
	f.sx += x
	f.sy += y
	f.sxx += x * x
	f.sxy += x * y
}

func (f *fit) line() (line, bool) {
	if f.n == 0 {
		return line{}, false
	}
	mean := f.sy / f.n
	if det := f.n*f.sxx - f.sx*f.sx; f.n >= 5 && det > 1e-9*f.n*f.sxx {
		slope := (f.n*f.sxy - f.sx*f.sy) / det
		fixed := (f.sy - slope*f.sx) / f.n
		switch {
		case slope >= 0 && fixed >= 0:
			return line{fixed, slope}, true
		case slope > 0: // through the origin
			return line{0, f.sy / f.sx}, true
		}
	}
	return line{mean, 0}, true
}

// recentShare is the share of a pool's measures, the youngest, that count: how
// long scrubs take changes with what OSDs are told and with what they do.
const recentShare = 3

// atLeast measures count, however old.
const atLeast = 10

// durations returns the expected scrub times by level and PG, in microseconds,
// and for how many PGs they rest on defaults. A PG's own measure counts first
// where it is among the youngest, then the pool's line through those.
func (in *Input) durations() (out [2][]int64, missing [2]int) {
	pgs := in.Table.PGs
	for _, l := range scrub.Levels {
		out[l] = make([]int64, len(pgs))
		for begin := 0; begin < len(pgs); {
			end := begin
			for end < len(pgs) && pgs[end].ID.Pool == pgs[begin].ID.Pool {
				end++
			}
			missing[l] += in.poolDurations(pgs[begin:end], l, out[l][begin:end])
			begin = end
		}
	}
	return out, missing
}

func (in *Input) poolDurations(pgs []ceph.PG, l scrub.Level, out []int64) (missing int) {
	var stamps []ceph.Stamp
	for i := range pgs {
		if _, ok := in.measured(&pgs[i], l); ok {
			stamps = append(stamps, l.Stamp(&pgs[i]))
		}
	}
	young := ceph.NoStamp
	if n := len(stamps); n > atLeast {
		slices.Sort(stamps)
		young = stamps[n-max(atLeast, n/recentShare)]
	}
	var f fit
	for i := range pgs {
		if d, ok := in.measured(&pgs[i], l); ok && l.Stamp(&pgs[i]) >= young {
			f.add(size(&pgs[i], l), d)
		}
	}
	pool, known := f.line()
	waits := false
	if known && in.Release >= 19 {
		pool, waits = in.withoutWaits(pgs, l, young, pool)
	}
	for i := range pgs {
		pg := &pgs[i]
		d, own := in.measured(pg, l)
		switch {
		case own && !waits && l.Stamp(pg) >= young:
		case known:
			d = pool.at(size(pg, l))
		default:
			d = byDefault(pg, l)
			if !pg.State.Has(ceph.StateUnknown) {
				missing++
			}
		}
		out[i] = max(1, int64(d*1e6))
	}
	return missing
}

// withoutWaits takes the wait for replicas out of what was measured. From 19 on
// last_scrub_duration begins before they have agreed: on a loaded release 20,
// scrubs of equal size said 5 to 57 seconds, where a release 18 with the same
// data and pace said 3 to 11. Where the middle of the measures lies so far
// above their twentieth that work alone does not explain it, that is the work.
func (in *Input) withoutWaits(pgs []ceph.PG, l scrub.Level, young ceph.Stamp, pool line) (line, bool) {
	const natural = 1.5
	var ratios []float64
	for i := range pgs {
		if in.Measured[pgs[i].ID][l] > 0 {
			continue // measured by somebody who knows
		}
		d, ok := in.measured(&pgs[i], l)
		if expected := pool.at(size(&pgs[i], l)); ok && l.Stamp(&pgs[i]) >= young && expected > 0 {
			ratios = append(ratios, d/expected)
		}
	}
	if len(ratios) < atLeast/2 {
		return pool, false
	}
	slices.Sort(ratios)
	least, middle := ratios[len(ratios)/20], ratios[len(ratios)/2]
	if middle <= natural*least {
		return pool, false
	}
	return line{pool.fixed * least, pool.slope * least}, true
}

func byDefault(pg *ceph.PG, l scrub.Level) float64 {
	d := defaultStart + float64(max(pg.Objects, 0))/defaultObjectsPerSec
	if l == scrub.Deep {
		d += float64(max(pg.Bytes, 0)) / defaultBytesPerSecond
	}
	return d
}
