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
	if in.Release >= 19 && waited(all) {
		in.withoutWaits(all)
	}
	shallow, deep := all[:len(all)/2], all[len(all)/2:]
	for k := range shallow {
		missing[scrub.Deep] += deep[k].fill(in, nil)
		missing[scrub.Shallow] += shallow[k].fill(in, &deep[k])
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
	of     int  // how many measures the line stands for
	waits  bool // which hold waits that the line does not
}

// point is one measure.
type point struct {
	at         ceph.Stamp
	size, took float64
	pure       bool // known to hold no wait
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

// fill writes the durations, and returns how many are defaults. deep is what is
// known of deep scrubs of the same pool, nil where these are the deep ones.
func (p *pace) fill(in *Input, deep *pace) (missing int) {
	for i := range p.pgs {
		pg := &p.pgs[i]
		d, own := in.measured(pg, p.level)
		own = own && p.level.Stamp(pg) >= p.young
		switch {
		case own && p.waits && p.known && in.Measured[pg.ID][p.level] == 0: // it holds the work, and may hold a wait
			d = min(d, p.expect(pg, deep))
		case own:
		case p.known:
			d = p.expect(pg, deep)
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

// expect is how long a scrub of the PG takes by what was measured of others. Of a
// few scrubs all may have waited, but a shallow one does no more than a deep one.
func (p *pace) expect(pg *ceph.PG, deep *pace) float64 {
	d := p.line.at(size(pg, p.level))
	if p.waits && p.of < 3*atLeast && deep != nil && deep.known {
		d = min(d, deep.line.at(size(pg, scrub.Deep)))
	}
	return d
}

// through puts the line through the points.
func (p *pace) through() {
	var f fit
	for _, q := range p.points {
		f.add(q.size, q.took)
	}
	p.line, p.known = f.line()
	p.of = len(p.points)
}

func byDefault(pg *ceph.PG, l scrub.Level) float64 {
	d := defaultStart + float64(max(pg.Objects, 0))/defaultObjectsPerSec
	if l == scrub.Deep {
		d += float64(max(pg.Bytes, 0)) / defaultBytesPerSecond
	}
	return d
}
