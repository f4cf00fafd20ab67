package simulate

import (
	"math"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// pool is one pool. Sizes are per PG, before replication.
type pool struct {
	id         int32
	name       string
	erasure    bool
	k, m       int // of an erasure-coded pool
	size       int
	minSize    int
	pgs        int
	first      int // index of its first PG
	bytes      int64
	objects    int64
	omap       int64 // omap bytes
	app        string
	options    []poolOption
	cleanScrub float64 // share of the PGs that are up to date at the start
}

type poolOption struct {
	name  string
	value float64
}

func (p *pool) option(name string) float64 {
	for _, o := range p.options {
		if o.name == name {
			return o.value
		}
	}
	return 0
}

type osd struct {
	host       int
	local      int // scrubs running here as primary
	remote     int // scrubs running here as replica
	recovering int // PGs that recover onto this OSD
	waiting    []int32
}

// pg is one PG: what the mgr reports, and what the simulation needs.
type pg struct {
	ceph.PG
	epoch    int32 // of its last mapping
	deep     bool  // the running scrub is a deep one
	pending  bool  // due, and not clean
	running  bool
	began    ceph.Stamp // of the running scrub
	ends     ceph.Stamp
	nextScan ceph.Stamp // when the next scrub is due
	nextDeep bool
}

const day = ceph.Stamp(86400e6)

// plans is what a cluster is made of: shares of the PGs that are left after
// the pools of one PG.
var plans = [...]struct {
	pool
	share float64
}{
	{pool{name: ".mgr", size: 3, bytes: 40 << 20, objects: 60, app: "mgr", cleanScrub: 1}, 0},
	{pool{name: "rbd", size: 3, bytes: 21 << 30, objects: 5500, app: "rbd", cleanScrub: 0.999}, 0.30},
	{pool{name: "cephfs_metadata", size: 3, bytes: 90 << 20, objects: 24000, omap: 400 << 20, app: "cephfs", cleanScrub: 1}, 0.02},
	{pool{name: "cephfs_data", size: 3, bytes: 28 << 30, objects: 9100, app: "cephfs", cleanScrub: 0.999}, 0.13},
	{pool{name: "default.rgw.buckets.index", size: 3, objects: 90, omap: 3 << 30, app: "rgw", cleanScrub: 1}, 0.03},
	{pool{name: "default.rgw.buckets.data", erasure: true, k: 4, m: 2, size: 6, bytes: 62 << 30, objects: 41000, app: "rgw", cleanScrub: 0.99}, 0.40},
	{pool{name: "archive", erasure: true, k: 8, m: 3, size: 11, bytes: 96 << 30, objects: 26000, app: "rados", cleanScrub: 0.999,
		options: []poolOption{{"deep_scrub_interval", 14 * 86400}}}, 0.10},
	{pool{name: "scratch", size: 2, bytes: 6 << 30, objects: 1600, app: "rbd", cleanScrub: 0.99}, 0.02},
}

func (c *Cluster) build(pgs, osds int) {
	c.buildOSDs(osds)
	c.buildPools(pgs)
	c.pgs = make([]pg, 0, pgs)
	c.sets = make([][]int32, 0, pgs)
	for i := range c.pools {
		p := &c.pools[i]
		p.first = len(c.pgs)
		for seed := range p.pgs {
			c.buildPG(p, uint32(seed))
		}
	}
	for i := range c.pgs {
		c.events.push(event{at: c.pgs[i].nextScan, kind: scrubDue, pg: int32(i)})
	}
	if !c.calm {
		c.events.push(event{at: c.clock + ceph.Stamp(600e6), kind: failure})
	}
}

func (c *Cluster) buildOSDs(n int) {
	perHost := 24
	if n < 24*12 {
		perHost = max(1, n/12)
	}
	c.osds = make([]osd, n)
	for i := range c.osds {
		c.osds[i].host = i / perHost
	}
}

func (c *Cluster) buildPools(pgs int) {
	id := int32(1)
	left := pgs
	for i, plan := range plans {
		p := plan.pool
		switch {
		case i == 0:
			p.pgs = 1
			p.name = c.release.mgrPool
		case i == len(plans)-1:
			p.pgs = left
		default:
			p.pgs = int(math.Round(plan.share * float64(pgs)))
		}
		p.pgs = min(p.pgs, left)
		if p.pgs == 0 {
			continue
		}
		left -= p.pgs
		if p.size > len(c.osds) {
			p.erasure, p.k, p.m, p.size = false, 0, 0, 3
		}
		p.minSize = p.size - 1
		if p.erasure {
			p.minSize = p.k + 1
		}
		p.minSize = max(1, p.minSize)
		p.id = id
		id++
		if id == 4 { // a pool was deleted once
			id++
		}
		c.pools = append(c.pools, p)
	}
}

// buildPG adds a PG with a history: stamps spread as a scheduler that keeps up
// leaves them, save for some that it has not kept up with.
func (c *Cluster) buildPG(p *pool, seed uint32) {
	h := hasher(c.seed ^ uint64(p.id)<<40 ^ uint64(seed))
	set := c.place(p, &h)
	spread := 0.6 + 0.8*h.float()
	deepEvery := ceph.Stamp(c.deepInterval(p) * 1e6)
	shallowAge := ceph.Stamp(h.float() * 1.25 * float64(day))
	deepAge := ceph.Stamp(h.float() * float64(deepEvery+day))
	if h.float() >= p.cleanScrub {
		deepAge = ceph.Stamp((1.5 + 0.5*h.float()) * float64(deepEvery))
	}
	shallowAge = min(shallowAge, deepAge) // a deep scrub moves both stamps
	g := pg{PG: ceph.PG{
		ID:               ceph.PGID{Pool: p.id, Seed: seed},
		State:            ceph.StateActive | ceph.StateClean,
		LastScrub:        c.clock - shallowAge,
		LastDeepScrub:    c.clock - deepAge,
		LastChange:       c.clock - shallowAge + ceph.Stamp(h.float()*1e5),
		Bytes:            int64(spread * float64(p.bytes)),
		Objects:          int64(spread * float64(p.objects)),
		LastScrubSeconds: -1,
		ScrubDuration:    -1,
		ObjectsScrubbed:  -1,
		UpPrimary:        set[0],
		ActingPrimary:    set[0],
	}, epoch: int32(100 + h.next()%9000)}
	g.LastCleanScrub = g.LastScrub
	id := ceph.SetID(len(c.sets))
	c.sets = append(c.sets, set)
	g.Up, g.Acting = id, id
	if c.release.number >= 17 {
		g.ObjectsScrubbed = 0
		g.LastScrubSeconds = int32(c.scrubTime(p, &g, false) / 1e6)
		g.ScrubDuration = float32(g.LastScrubSeconds) + 0.125
	}
	if h.float() < 2e-5 {
		g.State |= ceph.StateInconsistent
		g.DeepErrors = 1 + int32(h.next()%3)
		g.LastCleanScrub = g.LastDeepScrub - deepEvery
	}
	c.schedule(p, &g, h.float(), h.float())
	g.nextScan = max(g.nextScan, c.clock+ceph.Stamp(h.float()*1800e6))
	c.pgs = append(c.pgs, g)
}

// place draws an acting set: from distinct hosts where there are enough.
func (c *Cluster) place(p *pool, h *hasher) []int32 {
	hosts := c.osds[len(c.osds)-1].host + 1
	set := make([]int32, 0, p.size)
	for len(set) < p.size {
		o := int32(h.next() % uint64(len(c.osds)))
		clash := false
		for _, s := range set {
			if s == o || (hosts >= p.size && c.osds[s].host == c.osds[o].host) {
				clash = true
				break
			}
		}
		if !clash {
			set = append(set, o)
		}
	}
	return set
}

func (c *Cluster) poolOf(g *pg) *pool { return &c.pools[c.poolIndex(g.ID.Pool)] }

// poolIndex finds a pool that is there.
func (c *Cluster) poolIndex(id int32) int {
	i := 0
	for i < len(c.pools)-1 && c.pools[i].id != id {
		i++
	}
	return i
}

// hasher is splitmix64: the constants of a PG or an OSD are drawn from it.
type hasher uint64

func (h *hasher) next() uint64 {
	*h += 0x9e3779b97f4a7c15
	z := uint64(*h)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (h *hasher) float() float64 { return float64(h.next()>>11) / (1 << 53) }
