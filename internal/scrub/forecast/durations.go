package forecast

import (
	"cmp"
	"math"
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
	return pg.LastScrubTook(), true
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
	var all []pace
	for _, l := range scrub.Levels {
		out[l] = make([]int64, len(pgs))
		for begin := 0; begin < len(pgs); {
			end := begin
			for end < len(pgs) && pgs[end].ID.Pool == pgs[begin].ID.Pool {
				end++
			}
			all = append(all, in.pace(pgs[begin:end], l, out[l][begin:end]))
			begin = end
		}
	}
	waits := in.Release >= 19 && waited(all)
	if waits {
		in.withoutWaits(all)
	}
	for k := range all {
		missing[all[k].level] += all[k].fill(in)
	}
	return out, missing
}

// pace is what is known of how long a pool's scrubs of one level take.
type pace struct {
	pgs    []ceph.PG
	level  scrub.Level
	out    []int64
	all    []point    // what was measured
	young  ceph.Stamp // measures from then on count
	points []point    // those
	line   line
	known  bool
	waits  bool // what was measured holds waits that line does not
}

// point is one measure.
type point struct {
	at                ceph.Stamp
	size, took, ratio float64 // ratio to a line
	pure              bool    // known to hold no wait
}

func (in *Input) pace(pgs []ceph.PG, l scrub.Level, out []int64) pace {
	p := pace{pgs: pgs, level: l, out: out, young: ceph.NoStamp}
	for i := range pgs {
		if d, ok := in.measured(&pgs[i], l); ok {
			p.all = append(p.all, point{at: l.Stamp(&pgs[i]), size: size(&pgs[i], l), took: d, pure: in.Measured[pgs[i].ID][l] > 0})
		}
	}
	p.youngest()
	p.through()
	return p
}

// youngest keeps the points that count, and says from when on they do.
func (p *pace) youngest() {
	p.young, p.points = ceph.NoStamp, p.all
	n := len(p.all)
	if n <= atLeast {
		return
	}
	stamps := make([]ceph.Stamp, n)
	for i := range p.all {
		stamps[i] = p.all[i].at
	}
	slices.Sort(stamps)
	p.young = stamps[n-max(atLeast, n/recentShare)]
	p.points = nil
	for _, q := range p.all {
		if q.at >= p.young {
			p.points = append(p.points, q)
		}
	}
}

// fill writes the durations, and returns how many are defaults.
func (p *pace) fill(in *Input) (missing int) {
	for i := range p.pgs {
		pg := &p.pgs[i]
		d, own := in.measured(pg, p.level)
		own = own && p.level.Stamp(pg) >= p.young
		switch {
		case own && p.waits && in.Measured[pg.ID][p.level] == 0: // it holds the work, and may hold a wait
			d = min(d, p.line.at(size(pg, p.level)))
		case own:
		case p.known:
			d = p.line.at(size(pg, p.level))
		default:
			d = byDefault(pg, p.level)
			if !pg.State.Has(ceph.StateUnknown) {
				missing++
			}
		}
		p.out[i] = max(1, int64(d*1e6))
	}
	return missing
}

// natural is how far the middle of scrub times may lie above the twentieth of
// them, PGs' sizes apart, before waits are taken to be in them.
const natural = 1.5

// waited reports whether what was measured holds waits for replicas. From 19 on
// last_scrub_duration begins before they have agreed: on a loaded release 20,
// scrubs of equal size said 4 to 50 seconds, where a release 18 with the same
// data and pace said 4. Waits only add, and some scrubs do not wait: where the
// middle lies so far above the least that work alone does not explain it.
func waited(all []pace) bool {
	var ratios []float64
	for k := range all {
		all[k].rank()
		for _, p := range all[k].points {
			if !p.pure {
				ratios = append(ratios, p.ratio)
			}
		}
	}
	if len(ratios) < atLeast {
		return false
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2] > natural*ratios[len(ratios)/20]
}

// rank sorts the points by how far they lie above the line.
func (p *pace) rank() {
	for i := range p.points {
		q := &p.points[i]
		q.ratio = q.took / max(p.line.at(q.size), 1e-3)
	}
	slices.SortFunc(p.points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.ratio, b.ratio), cmp.Compare(a.size, b.size))
	})
}

// alike names pools whose scrubs do the same work per object and byte: of one
// kind, on the same OSDs.
type alike struct {
	level   scrub.Level
	kind    ceph.PoolType
	profile string
	rule    int
}

// withoutWaits replaces the lines of pools that are alike by one through the
// least of their measures. The more replicas a pool has, the fewer of its scrubs
// do not wait, so alone it may not show the work.
func (in *Input) withoutWaits(all []pace) {
	groups := make(map[alike][]*pace)
	pools := make(map[int32]*ceph.Pool, len(in.Map.Pools))
	for i := range in.Map.Pools {
		pools[in.Map.Pools[i].ID] = &in.Map.Pools[i]
	}
	for k := range all {
		p := &all[k]
		if pool := pools[p.pgs[0].ID.Pool]; pool != nil {
			key := alike{p.level, pool.Type, pool.ErasureProfile, pool.CrushRule}
			groups[key] = append(groups[key], p)
		}
	}
	for _, group := range groups {
		joint := pace{}
		for _, p := range group {
			joint.all = append(joint.all, p.all...)
		}
		joint.youngest()
		joint.least()
		joint.slowDown()
		for _, p := range group {
			if !p.known {
				continue
			}
			p.least()
			p.waits = true
			if p.middle() <= different*joint.line.at(p.middleSize()) {
				p.line = joint.line
			}
		}
	}
}

// different is how far a pool's own least may lie above that of pools alike.
// Beyond it they are not: other disks, or measures of another pace.
const different = 2.5

// middleSize is the mean size of the points, middle what the line says of it.
func (p *pace) middleSize() float64 {
	sum := 0.0
	for _, q := range p.points {
		sum += q.size
	}
	return sum / float64(max(1, len(p.points)))
}

func (p *pace) middle() float64 { return p.line.at(p.middleSize()) }

// least puts the line through the least of the measures: of the lower half again
// the lower half, down to an eighth or a few.
func (p *pace) least() {
	p.through()
	for least := max(4, len(p.points)/8); len(p.points) > least; {
		p.rank()
		p.points = p.points[:(len(p.points)+1)/2]
		p.through()
	}
}

// slowDown raises the line where all of the latest scrubs took far longer: then
// what it goes through is from before the OSDs were told to scrub more slowly.
// Of a dozen scrubs one or the other does not wait.
func (p *pace) slowDown() {
	const latest, slower = 12, 1.3
	slices.SortFunc(p.all, func(a, b point) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.size, b.size)) })
	least := math.Inf(1)
	for _, q := range p.all[:min(latest, len(p.all))] {
		least = min(least, q.took/max(p.line.at(q.size), 1e-3))
	}
	if len(p.all) >= latest && least > slower {
		p.line.fixed *= least
		p.line.slope *= least
	}
}

// through puts the line through the points.
func (p *pace) through() {
	var f fit
	for _, q := range p.points {
		f.add(q.size, q.took)
	}
	p.line, p.known = f.line()
}

func byDefault(pg *ceph.PG, l scrub.Level) float64 {
	d := defaultStart + float64(max(pg.Objects, 0))/defaultObjectsPerSec
	if l == scrub.Deep {
		d += float64(max(pg.Bytes, 0)) / defaultBytesPerSecond
	}
	return d
}
