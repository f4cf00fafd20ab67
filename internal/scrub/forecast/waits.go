package forecast

import (
	"cmp"
	"math"
	"slices"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

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
		for _, q := range all[k].points {
			if !q.pure {
				ratios = append(ratios, q.above(all[k].line))
			}
		}
	}
	if len(ratios) < atLeast {
		return false
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2] > natural*ratios[len(ratios)/20]
}

// above returns how many times what the line says the measure is.
func (q point) above(l line) float64 { return q.took / max(l.at(q.size), 1e-3) }

// alike names pools whose scrubs do the same work per object and byte: of one
// kind, on the same OSDs.
type alike struct {
	level   scrub.Level
	kind    ceph.PoolType
	profile string
	rule    int
}

// withoutWaits replaces the lines of pools that are alike by one below which a
// tenth of their measures lie. The more replicas a pool has, the fewer of its
// scrubs do not wait, so alone it may not show the work.
//
// all are the pools' shallow paces, then their deep ones, in the same order.
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
		joint.least()
		for _, p := range group {
			p.waits = true
			if len(p.all) >= atLeast && p.differs(joint.line) {
				p.least()
				continue
			}
			p.line, p.of, p.known = joint.line, joint.of, joint.of >= atLeast
		}
	}
	// Where pools alike do not tell either, all do.
	half := len(all) / 2
	for _, level := range [2][]pace{all[:half], all[half:]} {
		joint := pace{}
		for k := range level {
			joint.all = append(joint.all, level[k].all...)
		}
		joint.least()
		for k := range level {
			if p := &level[k]; !p.known && joint.of >= atLeast {
				p.line, p.known = joint.line, true
			}
		}
	}
}

// differs reports whether nearly all of a pool's measures lie so far above the
// line of pools alike that they are not: other disks, or measures of another pace.
func (p *pace) differs(l line) bool {
	const different, but = 2.0, 20 // one of so many
	below := 0
	for _, q := range p.all {
		if q.took <= different*l.at(q.size) {
			below++
		}
	}
	return below <= len(p.all)/but
}

// leastShare is the share of measures that lie below a line that is to hold no
// waits: of scrubs that mostly wait, between a twentieth and half do not.
const leastShare = 0.1

// least puts the line through the least of the youngest measures, or through
// those since a change of pace alone.
func (p *pace) least() {
	const some, many = 150, 5000
	slices.SortFunc(p.all, func(a, b point) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.size, b.size), cmp.Compare(a.took, b.took))
	})
	young := p.all[:min(len(p.all), max(some, min(many, len(p.all)/recentShare)))]
	p.line, p.known = quantile(young, leastShare)
	if n := slower(young, p.line); n > 0 {
		young = young[:n]
		p.line, p.known = quantile(young, leastShare)
	}
	p.of = len(young)
}

// slower returns how many of the measures, the latest first, are since OSDs were
// told to scrub more slowly; 0 if that is not to be seen. Where a share q of the
// others lie as far above the line as each of the latest n does, that comes by
// chance in q to the power of n of cases. n is where it does so least.
func slower(young []point, l line) int {
	const chance = 1e-6
	ratios := make([]float64, len(young))
	for i, q := range young {
		ratios[i] = q.above(l)
	}
	n, best := 0, math.Log(chance)
	least := math.Inf(1)
	for i := range len(ratios) - 1 {
		least = min(least, ratios[i])
		as := 1 // or one more of them could
		for _, r := range ratios[i+1:] {
			if r >= least {
				as++
			}
		}
		if p := float64(i+1) * math.Log(float64(as)/float64(len(ratios)-i)); p < best {
			n, best = i+1, p
		}
	}
	return n
}

// quantile returns the line below which that share of the points lie: the one
// that minimizes the sum of their distances, those below weighted by 1-share and
// those above by share (R. Koenker, G. Bassett: Regression Quantiles, 1978), with
// neither part below zero. As a function of the slope the sum is convex.
func quantile(points []point, share float64) (line, bool) {
	if len(points) == 0 {
		return line{}, false
	}
	rest := make([]float64, len(points))
	at := func(slope float64) (fixed, sum float64) {
		for i, q := range points {
			rest[i] = q.took - slope*q.size
		}
		slices.Sort(rest)
		fixed = max(0, rest[int(share*float64(len(rest)))])
		for _, r := range rest {
			sum += max(share*(r-fixed), (share-1)*(r-fixed))
		}
		return fixed, sum
	}
	low, high := 0.0, 0.0
	for _, q := range points {
		if q.size > 0 {
			high = max(high, q.took/q.size)
		}
	}
	const steps = 60 // each leaves two thirds
	for range steps {
		a, b := low+(high-low)/3, high-(high-low)/3
		_, below := at(a)
		_, above := at(b)
		if below <= above {
			high = b
		} else {
			low = a
		}
	}
	fixed, _ := at(low)
	return line{fixed, low}, true
}
