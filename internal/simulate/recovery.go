package simulate

import (
	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

const (
	betweenFailures = 7200e6 // microseconds, on average
	recoveryStreams = 3      // PGs of one failure that recover at a time
	maxFailedPGs    = 64
)

// fail lets one OSD fail and come back: some of its PGs have to recover the
// writes that it missed, the others have to move.
func (c *Cluster) fail() {
	o := int32(c.rng.IntN(len(c.osds)))
	backfill := c.rng.IntN(3) == 0
	at := c.clock
	n := 0
	for i := range c.pgs {
		g := &c.pgs[i]
		if n == maxFailedPGs {
			break
		}
		if g.running || g.State != ceph.StateActive|ceph.StateClean || !contains(c.sets[g.Acting], o) {
			continue
		}
		g.State = ceph.StateActive | ceph.StateRecoveryWait | ceph.StateUndersized | ceph.StateDegraded | ceph.StateRemapped
		if backfill {
			g.State = ceph.StateActive | ceph.StateRemapped | ceph.StateBackfillWait
			c.remap(g, o)
		}
		g.LastChange = c.clock
		if n%recoveryStreams == 0 {
			at += ceph.Stamp((20 + 100*c.rng.Float64()) * 1e6)
		}
		c.events.push(event{at: at, kind: recoveryBegin, pg: int32(i)})
		n++
	}
	c.trimSnaps()
	pause := ceph.Stamp(betweenFailures * (0.5 + c.rng.Float64()))
	c.events.push(event{at: c.clock + pause, kind: failure})
}

// remap gives the PG an up set without the OSD; acting stays until the data
// has moved.
func (c *Cluster) remap(g *pg, from int32) {
	up := append([]int32(nil), c.sets[g.Acting]...)
	for tries := 0; ; tries++ {
		to := int32(c.rng.IntN(len(c.osds)))
		if contains(up, to) {
			if tries < 16 {
				continue
			}
			to = ceph.NoOSD // a cluster too small to replace it
		}
		for n, o := range up {
			if o == from {
				up[n] = to
			}
		}
		break
	}
	if n := len(c.freeSets); n > 0 {
		g.Up = c.freeSets[n-1]
		c.freeSets = c.freeSets[:n-1]
		c.sets[g.Up] = up
	} else {
		g.Up = ceph.SetID(len(c.sets))
		c.sets = append(c.sets, up)
	}
	g.UpPrimary = up[0]
	if up[0] == ceph.NoOSD {
		g.UpPrimary = up[1]
	}
}

// trimSnaps deletes a snapshot of the first pool of block images: its PGs
// trim, and are not scrubbed meanwhile.
func (c *Cluster) trimSnaps() {
	for pi := range c.pools {
		p := &c.pools[pi]
		if p.app != "rbd" {
			continue
		}
		from := c.rng.IntN(p.pgs)
		for n := range min(p.pgs-from, maxFailedPGs) {
			g := &c.pgs[p.first+from+n]
			if g.running || g.State != ceph.StateActive|ceph.StateClean {
				continue
			}
			g.State |= ceph.StateSnapTrimWait
			g.SnapTrimQueue = 1
			g.LastChange = c.clock
			at := c.clock + ceph.Stamp(n+5)*2e6
			c.events.push(event{at: at, kind: recoveryBegin, pg: int32(p.first + from + n)})
		}
		return
	}
}

func (c *Cluster) beginRecovery(i int32) {
	g := &c.pgs[i]
	took := ceph.Stamp((15 + 90*c.rng.Float64()) * 1e6)
	c.events.push(event{at: c.clock + took, kind: recoveryEnd, pg: i})
	if g.State.Has(ceph.StateSnapTrimWait) {
		g.State = g.State&^ceph.StateSnapTrimWait | ceph.StateSnapTrim
		g.LastChange = c.clock
		return
	}
	if g.State.Has(ceph.StateBackfillWait) {
		g.State = g.State&^ceph.StateBackfillWait | ceph.StateBackfilling
	} else {
		g.State = ceph.StateActive | ceph.StateRecovering | ceph.StateDegraded
	}
	g.LastChange = c.clock
	for _, o := range c.sets[g.Acting] {
		c.osds[o].recovering++
	}
}

func (c *Cluster) endRecovery(i int32) {
	g := &c.pgs[i]
	acting := c.sets[g.Acting]
	if g.State.Any(ceph.StateRecovering | ceph.StateBackfilling) {
		for _, o := range acting {
			c.osds[o].recovering--
		}
	}
	if g.Up != g.Acting {
		// The data goes back to where it was, so that the places drawn at the
		// start stay the ones in use.
		c.freeSets = append(c.freeSets, g.Up)
		g.Up, g.UpPrimary = g.Acting, g.ActingPrimary
	}
	g.State = ceph.StateActive | ceph.StateClean
	g.SnapTrimQueue = 0
	g.LastChange = c.clock
	g.epoch++
	if g.pending {
		g.pending = false
		c.due(i)
	}
	for _, o := range acting {
		c.wake(o)
	}
}

func contains(set []int32, o int32) bool {
	for _, s := range set {
		if s == o {
			return true
		}
	}
	return false
}
