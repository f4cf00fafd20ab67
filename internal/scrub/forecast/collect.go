package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// collect gathers what the simulations show.
type collect struct {
	m     *model
	seeds int
	// One entry per pool, and one for all of them at the end.
	pools  [][2]tally
	busy   []float64 // by OSD, of slot time
	waited []float64
}

// tally is one pool's, of one level.
type tally struct {
	pgs, lateNow int
	late         []sums  // by horizon
	firsts       []first // of the seeds that have one
	clears       []int64 // of the seeds that end with nobody late
	scrubs       int
	bytes        float64
	seconds      float64

	// Of the seed under way.
	first first
	clear int64
	count int
}

type first struct {
	at int64
	pg ceph.PGID
}

type sums struct{ sum, squares float64 }

func newCollect(m *model, run Run) *collect {
	c := &collect{m: m, seeds: run.Seeds, pools: make([][2]tally, len(m.pools)+1),
		busy: make([]float64, len(m.osds)), waited: make([]float64, len(m.osds))}
	for k := range c.pools {
		for l := range c.pools[k] {
			t := &c.pools[k][l]
			t.late = make([]sums, len(m.horizons))
			t.beginSeed()
		}
	}
	for i := range m.pgs {
		p := &m.pgs[i]
		for l := range p.last {
			c.each(p, l, func(t *tally) {
				t.pgs++
				if p.lateAt(p.last, l) <= 0 {
					t.lateNow++
				}
			})
		}
	}
	return c
}

func (t *tally) beginSeed() { t.first, t.clear, t.count = first{at: never}, -never, 0 }

// each calls f with the tally of the PG's pool and that of all.
func (c *collect) each(p *pgModel, l int, f func(*tally)) {
	f(&c.pools[p.pool][l])
	f(&c.pools[len(c.pools)-1][l])
}

// lateAt is the first microsecond at which a PG with these stamps is late.
func (p *pgModel) lateAt(last [2]int64, l int) int64 {
	if p.warn[l] == never {
		return never
	}
	return last[l] + p.warn[l] + 1
}

// completed sees the end of a scrub, before the stamps move.
func (c *collect) completed(s *sim, i int32) {
	p, st := &s.m.pgs[i], &s.pgs[i]
	for _, t := range [2]*tally{&c.pools[p.pool][st.level], &c.pools[len(c.pools)-1][st.level]} {
		t.scrubs++
		t.bytes += float64(p.bytes)
		t.seconds += float64(s.now-max(0, st.began)) / 1e6
	}
	for l := 0; l <= int(st.level); l++ { // a deep scrub moves both stamps
		if at := p.lateAt(st.last, l); at <= s.now {
			for _, t := range [2]*tally{&c.pools[p.pool][l], &c.pools[len(c.pools)-1][l]} {
				t.becomes(at, p)
				t.clear = max(t.clear, s.now)
			}
		}
	}
}

// becomes notes that a PG becomes late at that instant.
func (t *tally) becomes(at int64, p *pgModel) {
	if at > 0 && (at < t.first.at || at == t.first.at && p.id.Compare(t.first.pg) < 0) {
		t.first = first{at, p.id}
	}
}

// count counts late PGs at a horizon.
func (c *collect) count(s *sim, h int, at int64) {
	for k := range c.pools {
		c.pools[k][0].count, c.pools[k][1].count = 0, 0
	}
	for i := range s.m.pgs {
		p := &s.m.pgs[i]
		for l := range scrub.Levels {
			if p.lateAt(s.pgs[i].last, l) <= at {
				c.pools[p.pool][l].count++
			}
		}
	}
	all := &c.pools[len(c.pools)-1]
	for k := range c.pools {
		for l := range scrub.Levels {
			t := &c.pools[k][l]
			n := float64(t.count)
			t.late[h].sum += n
			t.late[h].squares += n * n
			if k < len(c.pools)-1 {
				all[l].count += t.count
			}
		}
	}
}

// endSeed closes a simulation.
func (c *collect) endSeed(s *sim) {
	for i := range s.m.pgs {
		p := &s.m.pgs[i]
		for l := range scrub.Levels {
			at := p.lateAt(s.pgs[i].last, l)
			if at > s.m.end {
				continue
			}
			for _, t := range [2]*tally{&c.pools[p.pool][l], &c.pools[len(c.pools)-1][l]} {
				t.becomes(at, p)
				t.clear = never
			}
		}
		if st := &s.pgs[i]; st.active {
			took := s.m.end - max(0, st.began)
			s.osds[p.osd].busy += took
			for _, r := range s.m.others[p.from : p.from+st.granted] {
				s.osds[r].busy += took
			}
		}
	}
	for k := range c.pools {
		for l := range scrub.Levels {
			t := &c.pools[k][l]
			if t.first.at != never {
				t.firsts = append(t.firsts, t.first)
			}
			if t.clear != never {
				t.clears = append(t.clears, t.clear)
			}
			t.beginSeed()
		}
	}
	for i := range s.osds {
		o := &s.osds[i]
		if o.parked {
			o.waited += s.m.end - o.since
		}
		c.busy[i] += float64(o.busy)
		c.waited[i] += float64(o.waited)
	}
}

func (c *collect) forecast(in *Input, s *sim) *Forecast {
	m := c.m
	f := &Forecast{
		Now: in.Now, Seeds: c.seeds, Pools: make(map[int32]*[2]Outlook, len(m.pools)),
		MissingDurations: m.missing, PGs: len(m.pgs), Blocked: m.blocked, Unknown: m.unknown,
	}
	for _, h := range m.horizons {
		f.Horizons = append(f.Horizons, time.Duration(h)*time.Microsecond)
	}
	for k := range c.pools {
		out := &f.Total
		if k < len(m.pools) {
			out = &[2]Outlook{}
			f.Pools[m.pools[k]] = out
		}
		for l := range out {
			out[l] = c.pools[k][l].outlook(ceph.StampOf(in.Now), float64(c.seeds), float64(m.end)/1e6)
		}
	}
	f.OSDs = c.uses()
	return f
}

func (t *tally) outlook(now ceph.Stamp, seeds, seconds float64) Outlook {
	o := Outlook{
		PGs: t.pgs, LateNow: t.lateNow,
		ScrubsPerDay:   float64(t.scrubs) / seeds / seconds * 86400,
		BytesPerSecond: t.bytes / seeds / seconds,
		Running:        t.seconds / seeds / seconds,
		First:          First{Seeds: len(t.firsts), At: ceph.NoStamp},
		Backlog:        Backlog{Seeds: len(t.clears), Clear: ceph.NoStamp, By: ceph.NoStamp},
	}
	for _, s := range t.late {
		mean := s.sum / seeds
		o.Late = append(o.Late, Spread{Mean: mean, SD: math.Sqrt(max(0, s.squares/seeds-mean*mean))})
	}
	if n := len(t.firsts); n > 0 {
		slices.SortFunc(t.firsts, func(a, b first) int { return cmp.Or(cmp.Compare(a.at, b.at), a.pg.Compare(b.pg)) })
		median := t.firsts[(n-1)/2]
		o.First.At, o.First.PG = now+ceph.Stamp(median.at), median.pg
	}
	if n := len(t.clears); n > 0 {
		slices.Sort(t.clears)
		if at := t.clears[(n-1)/2]; at >= 0 {
			o.Backlog.Clear = now + ceph.Stamp(at)
		}
		if most := int(math.Ceil(seeds * 0.9)); most <= n && t.clears[most-1] >= 0 {
			o.Backlog.By = now + ceph.Stamp(t.clears[most-1])
		}
	}
	return o
}

// uses lists the OSDs, the most occupied first.
func (c *collect) uses() []OSDUse {
	out := make([]OSDUse, len(c.m.osds))
	for i := range c.m.osds {
		m := &c.m.osds[i]
		open := 0.0
		for _, sp := range c.m.spans[m.window] {
			open += float64(sp.to - sp.from)
		}
		if open == 0 {
			open = float64(c.m.end)
		}
		slots := float64(m.slots)
		if !c.m.shared {
			slots *= 2
		}
		u := OSDUse{ID: m.id, Slots: int(m.slots), Waited: c.waited[i] / float64(c.seeds) / float64(c.m.end)}
		if slots > 0 {
			u.Busy = c.busy[i] / float64(c.seeds) / (slots * open)
		}
		out[i] = u
	}
	slices.SortFunc(out, func(a, b OSDUse) int { return cmp.Or(cmp.Compare(b.Busy, a.Busy), cmp.Compare(a.ID, b.ID)) })
	return out
}
