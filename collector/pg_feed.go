package collector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub"
)

// PGFeed hands the pg collector's last full dump to the collectors that compute
// from it, so that the mgr is asked for it once. It is the only way from one
// collector to another: whoever reads from it works, with less to say, when
// nobody feeds it.
type PGFeed struct {
	mu      sync.Mutex
	fed     bool // there is a collector that will
	latest  *PGView
	failed  error         // of the last attempt
	changed chan struct{} // closed by the next view or failure
}

// NewPGFeed returns a feed that nobody feeds yet.
func NewPGFeed() *PGFeed { return &PGFeed{changed: make(chan struct{})} }

// PGView is one full dump and what was known beside it. It is immutable.
type PGView struct {
	At    time.Time
	Table *ceph.PGTable
	OSDs  *ceph.OSDMap
	// Mgr is the mgr's options; nil where they are not known.
	Mgr ceph.Config
	// Defaults are the options of one OSD, defaults included, and OSDOptions
	// what others have that differs; nil where they are not known.
	Defaults   ceph.Config
	OSDOptions map[int32]ceph.Config
	// Seconds holds how long slots were seen to be taken by scrubs, where the table does
	// not tell (16).
	Seconds map[ceph.PGID][2]float64
	// Done counts the deep scrubs that completed since the process started.
	Done map[int32]DeepScrubs
}

// DeepScrubs counts deep scrubs of a pool.
type DeepScrubs struct {
	PGs   uint64 `json:"pgs"`
	Bytes uint64 `json:"bytes"`
}

// expect says that somebody will feed.
func (f *PGFeed) expect() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fed = true
}

// publish replaces the view.
func (f *PGFeed) publish(v *PGView) { f.change(v, nil) }

// fail says that there was no new view, and why.
func (f *PGFeed) fail(err error) { f.change(nil, err) }

func (f *PGFeed) change(v *PGView, err error) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if v != nil {
		f.latest = v
	}
	f.failed = err
	close(f.changed)
	f.changed = make(chan struct{})
}

// Latest returns the last view, nil where there is none yet.
func (f *PGFeed) Latest() *PGView {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}

var (
	errNotFed = errors.New("the pg collector, which this one needs, is not running")
	errNoDump = errors.New("no full dump from the pg collector yet")
)

// First returns the last view and waits for the first, until the pg collector
// has failed to get one or ctx is done.
func (f *PGFeed) First(ctx context.Context) (*PGView, error) {
	if f == nil {
		return nil, errNotFed
	}
	for {
		f.mu.Lock()
		v, fed, failed, changed := f.latest, f.fed, f.failed, f.changed
		f.mu.Unlock()
		switch {
		case v != nil:
			return v, nil
		case !fed:
			return nil, errNotFed
		case failed != nil:
			return nil, fmt.Errorf("%w: %w", errNoDump, failed)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errNoDump
		}
	}
}

// feed publishes what the last full dump left.
func (p *pgPoller) feed(done []scrub.Completion) {
	if p.deps.PGs == nil {
		return
	}
	if p.feeding == nil {
		p.feeding = &pgFeeding{seconds: map[ceph.PGID][2]float64{}, done: map[int32]DeepScrubs{}}
	}
	p.feeding.add(done, p.full.table)
	p.deps.PGs.publish(&PGView{
		At: p.full.at, Table: p.full.table, OSDs: p.full.osds,
		Mgr: p.options.mgr, Defaults: p.options.defaults, OSDOptions: maps.Clone(p.options.osd),
		Seconds: maps.Clone(p.feeding.seconds), Done: maps.Clone(p.feeding.done),
	})
}

// pgFeeding is what the feed carries on from dump to dump.
type pgFeeding struct {
	seconds map[ceph.PGID][2]float64
	done    map[int32]DeepScrubs
}

func (f *pgFeeding) add(done []scrub.Completion, t *ceph.PGTable) {
	for _, c := range done {
		if c.Level == scrub.Deep {
			n := f.done[c.PG.Pool]
			n.PGs++
			n.Bytes += uint64(max(c.Bytes, 0))
			f.done[c.PG.Pool] = n
		}
		if pg := t.Find(c.PG); c.Seconds > 0 && pg != nil && pg.LastScrubSeconds < 0 {
			v := f.seconds[c.PG]
			v[c.Level] = c.Seconds
			f.seconds[c.PG] = v
		}
	}
}
