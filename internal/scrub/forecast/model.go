package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// never is an instant that does not come. All instants are in microseconds
// after Input.Now.
const never = int64(1) << 62

// model is the input in the shape in which the simulation runs through it. It
// does not change between seeds.
type model struct {
	one      bool // one job per PG (up to 19), not two targets
	shared   bool // one slot counter for both roles (up to 18)
	heads    bool // the oldest job is retried until it runs (16)
	end      int64
	horizons []int64

	pgs    []pgModel
	others []int32 // replicas' OSDs by PG, sorted by OSD id
	osds   []osdModel
	spans  [][]span // when scrubs may begin, by osdModel.window

	pools        []int32 // ids, ascending
	recoveryEnds int64
	missing      [2]int
	unknown      int
	blocked      int
}

type pgModel struct {
	id        ceph.PGID
	pool      int32 // index into pools
	osd       int32 // primary, index into osds; -1 none
	from, to  int32 // others
	allowed   [2]bool
	stuck     bool // cannot be scrubbed before recovery ends
	errors    bool // has deep errors
	last      [2]int64
	took      [2]int64 // expected duration
	warn      [2]int64 // age above which it is late; never: not judged
	bytes     int64
	minimum   float64 // osd_scrub_min_interval in force, microseconds
	ratio     float64 // osd_scrub_interval_randomize_ratio
	deadline  int64   // osd_scrub_max_interval in force, 0 none
	deep      float64 // osd_deep_scrub_interval in force
	cv, coin  float64
	at        int64 // when its next scrub is scheduled, if told; else never
	running   scrub.Level
	isRunning bool
	began     int64
	reserving bool
	certain   bool // its schedule says that it runs
}

type osdModel struct {
	id         int32
	slots      int32
	window     int32
	recovering bool // and so does not begin scrubs
	backoff    float64
}

func newModel(in *Input, run Run) (*model, error) {
	if in.Table == nil || !in.Table.Ready {
		return nil, errors.New("forecast: no table, or the mgr was not ready")
	}
	byID := func(a, b ceph.PG) int { return a.ID.Compare(b.ID) }
	if !slices.IsSortedFunc(in.Table.PGs, byID) {
		sorted, table := *in, *in.Table
		table.PGs = slices.Clone(table.PGs)
		slices.SortFunc(table.PGs, byID)
		sorted.Table = &table
		in = &sorted
	}
	if in.Map == nil {
		return nil, errors.New("forecast: no map")
	}
	if in.Release < 16 {
		return nil, fmt.Errorf("forecast: release %d: only 16 and newer are modelled", in.Release)
	}
	m := &model{
		one: in.Release < 20, shared: in.Release < 19, heads: in.Release < 17,
		recoveryEnds: never,
	}
	if run.RecoveryEnds >= 0 {
		m.recoveryEnds = run.RecoveryEnds.Microseconds()
	}
	for _, h := range run.Horizons {
		m.horizons = append(m.horizons, h.Microseconds())
	}
	m.end = m.horizons[len(m.horizons)-1]
	index := m.addOSDs(in, run)
	m.addPGs(in, index, run.Slower)
	m.believeRunning()
	return m, nil
}

// believeRunning keeps as many scrubs running as there are slots for. The state
// "scrubbing" is set before replicas have agreed, and after one has refused it
// stays in the dump until the PG's next report: up to 38 of 217 PGs were seen
// "scrubbing" at once on a release 18 with slots for four. Those whose schedule
// says so come first, then the latest.
func (m *model) believeRunning() {
	var said []int32
	for i := range m.pgs {
		if m.pgs[i].isRunning {
			said = append(said, int32(i))
		}
	}
	slices.SortStableFunc(said, func(a, b int32) int {
		p, q := &m.pgs[a], &m.pgs[b]
		if p.certain != q.certain {
			if p.certain {
				return -1
			}
			return 1
		}
		return cmp.Compare(q.began, p.began)
	})
	local, remote := make([]int32, len(m.osds)), make([]int32, len(m.osds))
	free := func(o int32, taken []int32) bool {
		if m.shared {
			return local[o]+remote[o] < m.osds[o].slots
		}
		return taken[o] < m.osds[o].slots
	}
	for _, i := range said {
		p := &m.pgs[i]
		others := m.others[p.from:p.to]
		full := slices.ContainsFunc(others, func(o int32) bool { return !free(o, remote) })
		if !free(p.osd, local) || full && !p.reserving {
			p.isRunning, p.reserving = false, false
			continue
		}
		local[p.osd]++
		if p.reserving {
			continue
		}
		for _, o := range others {
			remote[o]++
		}
	}
}

// addOSDs lists the OSDs of all acting sets, by id.
func (m *model) addOSDs(in *Input, run Run) map[int32]int32 {
	seen := make(map[int32]bool)
	recovering := make(map[int32]bool)
	for i := range in.Table.PGs {
		pg := &in.Table.PGs[i]
		if pg.State.Has(ceph.StateUnknown) {
			continue
		}
		busy := pg.State.Any(ceph.StateRecovering | ceph.StateBackfilling)
		for _, set := range [2]ceph.SetID{pg.Acting, pg.Up} {
			for _, id := range in.Table.Set(set) {
				if id < 0 || id == ceph.NoOSD {
					continue
				}
				if set == pg.Acting {
					seen[id] = true
				}
				if busy {
					recovering[id] = true
				}
			}
		}
	}
	ids := make([]int32, 0, len(seen))
	for id := range seen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	loc := in.Location
	if loc == nil {
		loc = in.Now.UTC().Location()
	}
	windows := make(map[window]int32)
	index := make(map[int32]int32, len(ids))
	for i, id := range ids {
		o := in.options(id)
		w := o.window()
		at, known := windows[w]
		if !known {
			at = int32(len(m.spans))
			windows[w] = at
			spans := w.open(in.Now, loc, m.end)
			if run.LoadHigh {
				spans = nil
			}
			m.spans = append(m.spans, spans)
		}
		index[id] = int32(i)
		m.osds = append(m.osds, osdModel{
			id: id, slots: int32(o.MaxScrubs), window: at, recovering: recovering[id] && !o.DuringRecovery,
			backoff: min(max(o.BackoffRatio, 0), 0.999),
		})
	}
	return index
}

func (in *Input) options(osd int32) Options {
	if o, ok := in.Options[osd]; ok {
		return o
	}
	return in.DefaultOptions
}

func (m *model) addPGs(in *Input, index map[int32]int32, slower float64) {
	took, missing := in.durations()
	m.missing = missing
	if slower > 0 {
		for _, all := range took {
			for i := range all {
				all[i] += int64(slower * float64(all[i]))
			}
		}
	}
	rule := scrub.NewRule(in.Mgr, scrub.PoolsFrom(in.Map))
	pools := make(map[int32]*ceph.Pool, len(in.Map.Pools))
	for i := range in.Map.Pools {
		pools[in.Map.Pools[i].ID] = &in.Map.Pools[i]
	}
	now := ceph.StampOf(in.Now)
	m.pgs = make([]pgModel, 0, len(in.Table.PGs))
	for i := range in.Table.PGs {
		pg := &in.Table.PGs[i]
		pool := pools[pg.ID.Pool]
		if pg.State.Has(ceph.StateUnknown) || pool == nil {
			m.unknown++
			continue
		}
		if n := len(m.pools); n == 0 || m.pools[n-1] != pg.ID.Pool {
			m.pools = append(m.pools, pg.ID.Pool)
		}
		p := pgModel{
			id: pg.ID, pool: int32(len(m.pools) - 1), osd: -1, from: int32(len(m.others)), bytes: max(pg.Bytes, 0),
			took: [2]int64{took[0][i], took[1][i]}, at: never, errors: pg.DeepErrors > 0,
		}
		m.members(in, &p, pg, index)
		p.judge(rule, pg, now)
		p.intervals(in, pool, pg)
		p.state(in, pool, pg, now)
		if p.stuck {
			m.blocked++
		}
		m.pgs = append(m.pgs, p)
	}
}

// members takes the acting set apart. Replicas are asked in the order of their
// ids, as Ceph does so that two primaries never wait for each other.
func (m *model) members(in *Input, p *pgModel, pg *ceph.PG, index map[int32]int32) {
	for _, id := range in.Table.Set(pg.Acting) {
		if id < 0 || id == ceph.NoOSD {
			continue
		}
		if id == pg.ActingPrimary {
			p.osd = index[id]
		} else {
			m.others = append(m.others, index[id])
		}
	}
	p.to = int32(len(m.others))
	slices.Sort(m.others[p.from:p.to])
}

// judge sets the stamps, and the age at which the PG is late.
func (p *pgModel) judge(rule *scrub.Rule, pg *ceph.PG, now ceph.Stamp) {
	for _, l := range scrub.Levels {
		p.warn[l] = never
		if !scrub.Judged(pg, l) {
			continue // scheduled as if it had just been scrubbed, never late
		}
		p.last[l] = int64(l.Stamp(pg) - now)
		if age, ok := rule.WarnAge(pg.ID.Pool, l); ok {
			p.warn[l] = int64(age * 1e6)
		}
	}
}

// intervals are those that the primary goes by: the pool's own first.
func (p *pgModel) intervals(in *Input, pool *ceph.Pool, pg *ceph.PG) {
	o := in.options(pg.ActingPrimary)
	own := func(v *float64, else_ float64) float64 {
		if v != nil && *v > 0 {
			return *v * 1e6
		}
		return else_ * 1e6
	}
	p.minimum = own(pool.Options.ScrubMinInterval, o.MinInterval)
	p.deadline = int64(max(0, own(pool.Options.ScrubMaxInterval, o.MaxInterval)))
	p.deep = own(pool.Options.DeepScrubInterval, o.DeepInterval)
	p.ratio, p.cv, p.coin = o.RandomizeRatio, o.DeepIntervalCV, o.DeepRandomizeRatio
}

// state is whether the PG may be scrubbed, and whether it is being scrubbed.
func (p *pgModel) state(in *Input, pool *ceph.Pool, pg *ceph.PG, now ceph.Stamp) {
	p.allowed[scrub.Shallow] = !in.Map.HasFlag("noscrub") && !pool.HasFlag("noscrub")
	p.allowed[scrub.Deep] = !in.Map.HasFlag("nodeep-scrub") && !pool.HasFlag("nodeep-scrub")
	if p.errors && in.Release < 19 && !p.allowed[scrub.Deep] {
		p.allowed[scrub.Shallow] = false
	}
	p.stuck = !pg.State.Has(ceph.StateActive|ceph.StateClean) || p.osd < 0
	if pg.Schedule == ceph.ScheduleAtTime && pg.ScheduleAt.Dated() {
		p.at = int64(pg.ScheduleAt - now)
	}
	level, running := scrub.Scrubbing(pg)
	if !running || p.osd < 0 {
		return
	}
	p.running, p.isRunning = level, true
	p.certain = pg.Schedule == ceph.ScheduleRunning || pg.Schedule == ceph.ScheduleBlocked
	p.reserving = !(in.Release < 19) && scrub.PhaseOf(pg) == scrub.PhaseReserving
	if pg.LastChange.Dated() {
		p.began = min(0, int64(pg.LastChange-now))
	}
}
