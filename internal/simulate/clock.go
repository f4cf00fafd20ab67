package simulate

import (
	"container/heap"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

type eventKind uint8

const (
	scrubDue      eventKind = iota // a PG wants to be scrubbed
	scrubEnd                       // a PG's scrub is done
	failure                        // an OSD fails, its PGs have to recover
	recoveryBegin                  // a PG leaves recovery_wait or backfill_wait
	recoveryEnd
)

type event struct {
	at   ceph.Stamp
	seq  uint64 // events of one instant run in the order in which they came up
	pg   int32
	kind eventKind
}

type eventQueue struct {
	heap []event
	seq  uint64
}

func (q *eventQueue) push(e event) {
	q.seq++
	e.seq = q.seq
	heap.Push((*eventHeap)(&q.heap), e)
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// advance lets the cluster live up to now.
func (c *Cluster) advance() {
	now := ceph.StampOf(c.now())
	for len(c.events.heap) > 0 && c.events.heap[0].at <= now {
		e := heap.Pop((*eventHeap)(&c.events.heap)).(event)
		c.clock = max(c.clock, e.at)
		switch e.kind {
		case scrubDue:
			c.due(e.pg)
		case scrubEnd:
			c.finish(e.pg)
		case failure:
			c.fail()
		case recoveryBegin:
			c.beginRecovery(e.pg)
		case recoveryEnd:
			c.endRecovery(e.pg)
		}
	}
	c.clock = max(c.clock, now)
}

// The intervals and limits in force, in seconds.
const (
	minInterval     = 86400.0
	randomizeRatio  = 0.5
	deepCoin        = 0.15
	defaultDeep     = 604800.0
	defaultMax      = 604800.0
	warnRatio       = 0.5
	warnDeepRatio   = 0.75
	deepBytesPerSec = 80e6 // of one OSD's share
)

func (c *Cluster) deepInterval(p *pool) float64 {
	if v := p.option("deep_scrub_interval"); v > 0 {
		return v
	}
	return defaultDeep
}

func (c *Cluster) maxInterval(p *pool) float64 {
	if v := p.option("scrub_max_interval"); v > 0 {
		return v
	}
	return defaultMax
}

// schedule draws a PG's next scrub as the scheduler of the release does: one
// job per PG before 20, whose level is decided by a coin where the deep scrub
// is not due yet, and two targets per PG from 20 on.
func (c *Cluster) schedule(p *pool, g *pg, spread, coin float64) {
	shallow := g.LastScrub + ceph.Stamp(minInterval*(1+spread*randomizeRatio)*1e6)
	every := c.deepInterval(p) * 1e6
	if c.release.number >= 20 {
		deep := g.LastDeepScrub + ceph.Stamp(every*(1+0.4*(coin-0.5)))
		g.nextScan, g.nextDeep = shallow, false
		if deep <= shallow {
			g.nextScan, g.nextDeep = deep, true
		}
		return
	}
	g.nextScan = shallow
	g.nextDeep = shallow >= g.LastDeepScrub+ceph.Stamp(every) || coin < deepCoin
}

// scrubTime is how long a scrub of the PG takes, in microseconds.
func (c *Cluster) scrubTime(p *pool, g *pg, deep bool) ceph.Stamp {
	shards := 1.0
	if p.erasure {
		shards = float64(p.k)
	}
	t := 1 + float64(g.Objects)*0.0004
	if deep {
		t += float64(g.Bytes)/shards/deepBytesPerSec + float64(p.omap)/20e6
	}
	return ceph.Stamp(t * 1e6)
}

// due starts a PG's scrub, or files the PG where it has to wait.
func (c *Cluster) due(i int32) {
	g := &c.pgs[i]
	deep := g.nextDeep
	if c.release.number < 20 && c.clock >= g.LastDeepScrub+ceph.Stamp(c.deepInterval(c.poolOf(g))*1e6) {
		deep = true // it has become due while the PG waited
	}
	switch {
	case g.running:
		return
	case c.flags["noscrub"] && !deep, c.flags["nodeep-scrub"] && deep:
		c.held = append(c.held, i)
		return
	case !g.State.Has(ceph.StateActive | ceph.StateClean), g.State.Any(ceph.StateSnapTrim | ceph.StateSnapTrimWait):
		g.pending = true
		return
	}
	acting := c.sets[g.Acting]
	for n, o := range acting {
		if !c.slotFree(o, n == 0) {
			c.osds[o].waiting = append(c.osds[o].waiting, i)
			return
		}
	}
	for n, o := range acting {
		if n == 0 {
			c.osds[o].local++
		} else {
			c.osds[o].remote++
		}
	}
	p := c.poolOf(g)
	g.running, g.deep, g.began = true, deep, c.clock
	g.State |= ceph.StateScrubbing
	if deep {
		g.State |= ceph.StateDeep
	}
	g.LastChange = c.clock
	took := c.scrubTime(p, g, deep)
	took += ceph.Stamp(c.rng.Float64() * 0.2 * float64(took))
	g.ends = c.clock + took
	c.events.push(event{at: g.ends, kind: scrubEnd, pg: i})
}

// slotFree: before 19 an OSD has one counter for both roles, later two.
func (c *Cluster) slotFree(o int32, primary bool) bool {
	s := &c.osds[o]
	if c.release.number < 19 {
		return s.local+s.remote < c.release.maxScrubs && (!primary || s.recovering == 0)
	}
	if primary {
		return s.local < c.release.maxScrubs && s.recovering == 0
	}
	return s.remote < c.release.maxScrubs
}

func (c *Cluster) finish(i int32) {
	g := &c.pgs[i]
	p := c.poolOf(g)
	g.LastScrub = c.clock
	if g.deep {
		g.LastDeepScrub = c.clock
	}
	if !g.State.Has(ceph.StateInconsistent) {
		g.LastCleanScrub = c.clock
	}
	if c.release.number >= 17 {
		g.LastScrubSeconds = int32((c.clock - g.began + 999999) / 1e6)
		g.ScrubDuration = float32(g.LastScrubSeconds) + 0.125
	}
	g.State &^= ceph.StateScrubbing | ceph.StateDeep
	g.LastChange = c.clock
	g.running = false
	c.schedule(p, g, c.rng.Float64(), c.rng.Float64())
	c.events.push(event{at: g.nextScan, kind: scrubDue, pg: i})
	acting := c.sets[g.Acting]
	for n, o := range acting {
		if n == 0 {
			c.osds[o].local--
		} else {
			c.osds[o].remote--
		}
	}
	for _, o := range acting {
		c.wake(o)
	}
}

// wake gives the OSD's free slots to the PGs that wait for one, oldest first.
func (c *Cluster) wake(o int32) {
	s := &c.osds[o]
	for tries := len(s.waiting); tries > 0 && c.slotFree(o, false); tries-- {
		i := s.waiting[0]
		s.waiting = s.waiting[1:]
		c.due(i)
	}
	if len(s.waiting) == 0 {
		s.waiting = nil
	}
}
