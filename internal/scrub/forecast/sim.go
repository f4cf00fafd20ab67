package forecast

import (
	"math"
	"slices"

	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// tick is how often an OSD looks for a scrub to begin.
const tick = int64(1e6)

// sim is one simulation under way.
type sim struct {
	m      *model
	seed   uint64
	now    int64
	queue  events
	pgs    []pgState
	osds   []osdState
	result *collect
}

type pgState struct {
	last    [2]int64
	draws   uint32
	level   int8 // of the scrub that runs or reserves
	active  bool
	granted int32 // replicas that have agreed (19 and newer)
	began   int64
}

type osdState struct {
	local, remote int32 // slots taken, by role
	reserving     bool  // a scrub of its own waits for replicas (19 and newer)
	parked        bool  // all that is due waits for slots of other OSDs
	recovering    bool
	draws         uint32
	phase         int64 // its ticks are at phase + n ticks
	armed         int64 // when it looks next, never if not at all
	armedFrom     int64 // first instant whose ticks that took into account
	position      int32 // in the queue, of the next job to try (17, 18)
	jobs          jobs
	parkedHere    []int32 // OSDs that wait for a slot here (up to 18)
	waiting       []int32 // PGs that wait for a slot here (19 and newer)
	busy          int64   // slot time taken
	since         int64   // start of the present wait
	waited        int64
}

// What random draws are for.
const (
	drawPhase uint64 = iota
	drawTicks
	drawShallow
	drawDeep
	drawCoin
	drawPosition
)

func newSim(m *model) *sim {
	s := &sim{m: m, pgs: make([]pgState, len(m.pgs)), osds: make([]osdState, len(m.osds))}
	return s
}

func pgKey(m *pgModel) uint64 { return uint64(uint32(m.id.Pool))<<32 | uint64(m.id.Seed) }

func (s *sim) draw(what uint64, i int32) float64 {
	p := &s.pgs[i]
	p.draws++
	return unit(hash(s.seed, what, pgKey(&s.m.pgs[i]), uint64(p.draws)))
}

// reset goes back to the table.
func (s *sim) reset(seed uint64) {
	s.seed, s.now, s.queue = seed, 0, s.queue[:0]
	for i := range s.osds {
		o, m := &s.osds[i], &s.m.osds[i]
		*o = osdState{
			recovering: m.recovering && s.m.recoveryEnds > 0, armed: never, armedFrom: never,
			jobs: o.jobs[:0], parkedHere: o.parkedHere[:0], waiting: o.waiting[:0],
		}
		if m.backoff > 0 { // without it all is exact, ticks too
			o.phase = int64(unit(hash(seed, drawPhase, uint64(m.id), 0)) * float64(tick))
		}
	}
	for i := range s.pgs {
		s.pgs[i] = pgState{last: s.m.pgs[i].last}
	}
	for i := range s.m.pgs {
		s.startPG(int32(i))
	}
	for i := range s.osds {
		slices.SortFunc(s.osds[i].jobs, func(a, b job) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		s.arm(int32(i), 0)
	}
	if s.m.recoveryEnds > 0 && s.m.recoveryEnds < s.m.end {
		s.queue.push(event{s.m.recoveryEnds, cleanAgain})
	}
}

// startPG puts a PG where it was at the time of the table.
func (s *sim) startPG(i int32) {
	m, p := &s.m.pgs[i], &s.pgs[i]
	if m.osd < 0 {
		return
	}
	if m.isRunning {
		p.active, p.level, p.began = true, int8(m.running), m.began
		s.osds[m.osd].local++
		if m.reserving {
			s.osds[m.osd].reserving = true
			s.reserve(i)
			return
		}
		for _, o := range s.m.others[m.from:m.to] {
			s.osds[o].remote++
		}
		p.granted = m.to - m.from
		// What ran longer than expected ends any moment, for all we know.
		s.queue.push(event{max(m.took[m.running]+m.began, m.took[m.running]/20+1), scrubEnds | uint64(i)})
		return
	}
	if m.stuck && s.m.recoveryEnds > 0 {
		return
	}
	s.schedule(i, true)
}

// schedule appends or inserts the PG's jobs, as of its stamps.
func (s *sim) schedule(i int32, first bool) {
	m := &s.m.pgs[i]
	add := func(at int64, level int8) {
		if at == never {
			return
		}
		q := &s.osds[m.osd].jobs
		if first {
			*q = append(*q, job{at, i, level})
			return
		}
		q.insert(job{at, i, level})
	}
	shallow, deep := s.due(i)
	if s.m.one {
		if first && m.at != never && m.allowed[scrub.Shallow] {
			shallow = m.at
		}
		add(shallow, 0)
		return
	}
	if first && m.at != never {
		shallow, deep = told(m, shallow, deep)
	}
	add(shallow, int8(scrub.Shallow))
	add(deep, int8(scrub.Deep))
}

// told fits the one instant that the mgr tells of two targets: it is of the
// earlier one, and of that whose draw comes closer.
func told(m *pgModel, shallow, deep int64) (int64, int64) {
	near := func(at int64) int64 { return max(at-m.at, m.at-at) }
	if deep != never && (shallow == never || near(deep) < near(shallow)) {
		return max(shallow, m.at), m.at
	}
	if shallow == never {
		return shallow, deep
	}
	return m.at, max(deep, m.at)
}

// due draws when the PG's jobs are due. Up to 19 the only one is the first.
func (s *sim) due(i int32) (shallow, deep int64) {
	m, p := &s.m.pgs[i], &s.pgs[i]
	shallow, deep = never, never
	regular := p.last[scrub.Shallow] + int64(m.minimum*(1+m.ratio*s.draw(drawShallow, i)))
	if s.m.one {
		switch {
		case m.allowed[scrub.Shallow]:
			shallow = regular
		case m.allowed[scrub.Deep]:
			shallow = max(regular, p.last[scrub.Deep]+int64(m.deep))
		}
		return shallow, never
	}
	if m.allowed[scrub.Shallow] {
		shallow = regular
	}
	if m.allowed[scrub.Deep] {
		n := min(max(s.normal(i), -2), 2)
		deep = p.last[scrub.Deep] + int64(m.deep*(1+m.cv*n))
	}
	return shallow, deep
}

// normal draws from the standard normal distribution (Box and Muller).
func (s *sim) normal(i int32) float64 {
	if s.m.pgs[i].cv == 0 {
		return 0
	}
	u, v := s.draw(drawDeep, i), s.draw(drawDeep, i)
	return math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
}

// run lets the cluster live to the end, counting at every horizon.
func (s *sim) run(c *collect) {
	s.result = c
	for h, at := range s.m.horizons {
		for len(s.queue) > 0 && s.queue[0].at <= at {
			e := s.queue.pop()
			s.now = e.at
			i := int32(e.key & subjectBits)
			switch e.key & kindBits {
			case scrubEnds:
				s.finish(i)
			case mayBegin:
				if o := &s.osds[i]; o.armed == e.at {
					o.armed, o.armedFrom = never, never
					s.attempt(i)
				}
			case cleanAgain:
				s.clean()
			}
		}
		s.now = at
		c.count(s, h, at)
	}
}

// arm lets an OSD look for a scrub at the first tick from t on at which
// something is due, the window is open and the coin agrees.
func (s *sim) arm(i int32, t int64) {
	at, ok := s.possible(i, t)
	if !ok || s.m.heads && at == s.now && s.waits(i) {
		return
	}
	s.armAt(i, at, 0)
}

// armAt lets the OSD look at the first tick from t on at which its coin agrees,
// and n such ticks later. Ticks whose coins have been flipped are not asked again.
func (s *sim) armAt(i int32, t int64, n int32) {
	o := &s.osds[i]
	if t >= o.armedFrom {
		return
	}
	at := s.atTick(i, t, n)
	flipped := o.armedFrom
	o.armedFrom = t
	if n > 0 { // between those ticks other jobs are tried
		o.armedFrom = at
	}
	if at < flipped {
		o.armed = at
		s.queue.push(event{at, mayBegin | uint64(i)})
	}
}

// waits parks an OSD of release 16 whose oldest job is due and has no slots. It
// would be refused at its next tick: what frees the slot lets it look again.
func (s *sim) waits(i int32) bool {
	o := &s.osds[i]
	if o.jobs[0].at > s.now || !s.open(i) {
		return false
	}
	full := s.full(o.jobs[0].pg)
	if full >= 0 {
		s.park(i, full)
	}
	return full >= 0
}

// open reports whether the window of the OSD is open.
func (s *sim) open(i int32) bool {
	at, ok := next(s.m.spans[s.m.osds[i].window], s.now)
	return ok && at == s.now
}

// atTick returns the first tick at or after t, with the coin flips that it
// takes to get through, and that of the n passes after it.
func (s *sim) atTick(i int32, t int64, n int32) int64 {
	o, m := &s.osds[i], &s.m.osds[i]
	k := (t - o.phase + tick - 1) / tick
	if t < o.phase {
		k = 0
	}
	for range n + 1 {
		if m.backoff == 0 {
			break
		}
		o.draws++
		u := unit(hash(s.seed, drawTicks, uint64(m.id), uint64(o.draws)))
		for all := m.backoff; u < all; all *= m.backoff {
			k++
		}
	}
	return o.phase + (k+int64(n))*tick
}

// possible returns the first instant from t on at which the OSD could begin
// something, as far as its own queue and the clock decide.
func (s *sim) possible(i int32, t int64) (int64, bool) {
	o, m := &s.osds[i], &s.m.osds[i]
	if len(o.jobs) == 0 || o.recovering || o.reserving || !s.slotFree(i, true) {
		return 0, false
	}
	at, ok := next(s.m.spans[m.window], max(t, o.jobs[0].at))
	if ok && at == max(t, o.jobs[0].at) || !s.m.one {
		return at, ok
	}
	// The window is closed: up to 19 what is past its deadline goes through.
	for k := range o.jobs {
		j := &o.jobs[k]
		if d := s.deadline(j.pg); d != never {
			if d = max(t, j.at, d+1); !ok || d < at {
				at, ok = d, true
			}
		}
	}
	return at, ok
}

func (s *sim) deadline(pg int32) int64 {
	if d := s.m.pgs[pg].deadline; d > 0 {
		return s.pgs[pg].last[scrub.Shallow] + d
	}
	return never
}

// slotFree reports whether the OSD has a slot for the role.
func (s *sim) slotFree(i int32, primary bool) bool {
	o, slots := &s.osds[i], s.m.osds[i].slots
	switch {
	case s.m.shared:
		return o.local+o.remote < slots
	case primary:
		return o.local < slots
	}
	return o.remote < slots
}

// attempt is a tick of the OSD at which its coin agreed.
func (s *sim) attempt(i int32) {
	o := &s.osds[i]
	if o.recovering || o.reserving || !s.slotFree(i, true) {
		return // what frees it arms it
	}
	open := s.open(i)
	if !open && !s.m.one {
		s.arm(i, s.now)
		return
	}
	ripe := 0
	for ripe < len(o.jobs) && o.jobs[ripe].at <= s.now {
		ripe++
	}
	if !s.m.shared {
		s.attemptQueued(i, ripe, open)
		return
	}
	s.attemptAtOnce(i, int32(ripe), open)
}

// attemptQueued begins the first job that is due: from 19 on replicas are
// asked one after the other, and a full one lets it wait.
func (s *sim) attemptQueued(i int32, ripe int, open bool) {
	o := &s.osds[i]
	for k := range ripe {
		if !open && s.deadline(o.jobs[k].pg) >= s.now {
			continue
		}
		pg := s.take(i, k)
		o.local++
		o.reserving = true
		s.reserve(pg)
		break
	}
	s.arm(i, s.now+1)
}

// attemptAtOnce finds the first job whose replicas have slots: up to 18 a full
// one refuses. 16 tries the oldest again and again. 17 and 18 try one after the
// other, one per tick; without the coin, a setting that no cluster has, this
// simulation tries all at every tick.
func (s *sim) attemptAtOnce(i, ripe int32, open bool) {
	o := &s.osds[i]
	rotates := !s.m.heads && s.m.osds[i].backoff > 0
	if !rotates {
		o.position = 0
	}
	tried := int32(0)
	for k := range ripe {
		at := (o.position + k) % ripe
		pg := o.jobs[at].pg
		if !open && s.deadline(pg) >= s.now {
			continue
		}
		full := s.full(pg)
		switch {
		case full >= 0 && s.m.heads:
			s.park(i, full)
			if !open { // what is due does not change which one is the oldest
				s.armParked(i, open)
			}
			return
		case full >= 0:
			tried++
			continue
		case tried > 0 && rotates: // those before it have to be refused first
			o.position = at
			s.armAt(i, s.now+1, tried-1)
			return
		}
		s.take(i, int(at))
		o.position = at
		o.local++
		for _, r := range s.m.others[s.m.pgs[pg].from:s.m.pgs[pg].to] {
			s.osds[r].remote++
		}
		s.begin(pg)
		s.arm(i, s.now+1)
		return
	}
	if tried == 0 { // nothing was due
		s.arm(i, s.now+1)
		return
	}
	for k := range ripe {
		if pg := o.jobs[k].pg; open || s.deadline(pg) < s.now {
			s.park(i, s.full(pg))
		}
	}
	s.armParked(i, open)
}

// full returns an OSD that has no slot for the PG's scrub, -1 if all have.
func (s *sim) full(pg int32) int32 {
	m := &s.m.pgs[pg]
	for _, o := range s.m.others[m.from:m.to] {
		if !s.slotFree(o, false) {
			return o
		}
	}
	return -1
}

// park lets an OSD wait until another one has a slot again.
func (s *sim) park(i, at int32) {
	o := &s.osds[i]
	if !o.parked {
		o.parked, o.since = true, s.now
	}
	if other := &s.osds[at]; !slices.Contains(other.parkedHere, i) {
		other.parkedHere = append(other.parkedHere, i)
	}
}

// armParked lets a parked OSD look again when something else may begin: that
// could have a better chance.
func (s *sim) armParked(i int32, open bool) {
	o := &s.osds[i]
	opens, ok := next(s.m.spans[s.m.osds[i].window], s.now+1)
	if open || !ok {
		opens = never
	}
	soonest := never
	for k := range o.jobs {
		j := &o.jobs[k]
		at := j.at
		if !open {
			d := s.deadline(j.pg)
			if d != never {
				d++
			}
			at = max(at, min(opens, d))
		}
		if at > s.now && at < soonest {
			soonest = at
		}
		if open && at > s.now {
			break // sorted
		}
	}
	if soonest < s.m.end {
		s.arm(i, soonest)
	}
}

// take removes job k from the OSD's queue and with it what else is queued of
// its PG, and decides its level.
func (s *sim) take(i int32, k int) int32 {
	o := &s.osds[i]
	j := o.jobs.remove(k)
	m, p := &s.m.pgs[j.pg], &s.pgs[j.pg]
	p.active, p.granted, p.began, p.level = true, 0, s.now, j.level
	if o.parked {
		o.parked = false
		o.waited += s.now - o.since
	}
	if !s.m.one {
		o.jobs.removePG(j.pg)
		return j.pg
	}
	if m.allowed[scrub.Deep] && (s.now >= p.last[scrub.Deep]+int64(m.deep) || m.errors ||
		m.allowed[scrub.Shallow] && m.coin > 0 && s.draw(drawCoin, j.pg) < m.coin) {
		p.level = int8(scrub.Deep)
	}
	return j.pg
}
