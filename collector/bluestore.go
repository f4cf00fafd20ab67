package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdboot"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdperf"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

func bluestoreSpec() Spec {
	return Spec{
		Name:     "bluestore",
		Help:     "OSD admin sockets and logs of this host: how long each OSD took to boot and will take, BlueFS use, log and compactions",
		Roles:    RoleHost,
		Interval: 30 * time.Second,
		Timeout:  30 * time.Second,
		Rows:     func() []*Row { return newBluestoreTable().Rows() },
		Configure: func(flags FlagSet) Constructor {
			watch := flags.Flag("collector.bluestore.watch-interval", "Interval for asking OSDs whether they are active; boots that no log tells of are known to within it. Counters are read every --collector.bluestore.interval.").Default("2s").Duration()
			return func(d Deps) (Poller, error) {
				if *watch < 100*time.Millisecond {
					return nil, fmt.Errorf("--collector.bluestore.watch-interval: %s is below 100ms", *watch)
				}
				return newBluestorePoller(d, *watch)
			}
		},
	}
}

// The durable record: boots must outlive the exporter, which mostly restarts
// with the host.
const (
	bluestoreState        = "bluestore"
	bluestoreStateVersion = 1
)

type bluestoreRecord struct {
	// Last is the last boot of each OSD, Seen what estimates are made from.
	Last map[string]lastBoot   `json:"last"`
	Seen []osdboot.Observation `json:"seen"`
}

// lastBoot is a boot, the process it was of, and what the next one is judged by
// until the OSD answers again.
type lastBoot struct {
	Process string       `json:"process"`
	Boot    osdboot.Boot `json:"boot"`
	Release int          `json:"release"`
	Bytes   float64      `json:"bytes"` // of the database
}

// bluestorePoller watches the OSDs of this host. Its fields belong to the
// polling goroutine; a poll's readers only read them.
type bluestorePoller struct {
	deps   Deps
	watch  time.Duration
	table  *bluestoreTable
	client *asok.Client

	record   bluestoreRecord
	saveErr  error
	osds     map[string]*bluestoreOSD // by label value
	lastPoll time.Time                // the last that could look for sockets
	took     time.Duration
}

// bluestoreOSD is what is known of one OSD.
type bluestoreOSD struct {
	name     string
	process  string    // of the last answer
	began    time.Time // that process
	lastSeen time.Time // a socket
	up       bool      // it answered at the last poll
	err      string    // why it did not, as last logged

	active   bool
	activeAt time.Time // when it was first seen so
	// watched: this process was seen before it was active, or was not there
	// yet, so that the instant is known.
	watched bool
	settled bool // its boot has been booked, or cannot be known

	counters   *osdperf.Counters // nil before the first reading of this process
	countersAt time.Time

	// What the next boot is judged by, of this process or the last.
	release int
	bytes   float64 // of the database; 0: not known
}

func newBluestorePoller(d Deps, watch time.Duration) (*bluestorePoller, error) {
	return &bluestorePoller{
		deps: d, watch: watch, table: newBluestoreTable(), client: &asok.Client{},
		osds: map[string]*bluestoreOSD{},
	}, nil
}

// Pace implements Paced: counters are as old as the interval at most, boots are
// watched more closely.
func (p *bluestorePoller) Pace() (wait, interval time.Duration) {
	return max(min(p.watch, p.deps.Interval)-p.took, p.watch/10), p.deps.Interval
}

// Poll implements Poller.
func (p *bluestorePoller) Poll(ctx context.Context, now time.Time) (Snapshot, error) {
	p.load()
	begin := p.deps.Now()
	defer func() { p.took = p.deps.Now().Sub(begin) }()
	sockets, failed := asok.Discover(p.deps.Paths.Run)
	if failed != nil && sockets == nil {
		return nil, failed
	}
	sockets = slices.DeleteFunc(sockets, func(s asok.Socket) bool { return s.Type != "osd" })
	readings := make([]*bluestoreReading, len(sockets))
	errs := p.client.ForEach(ctx, sockets, func(ctx context.Context, i int, s asok.Socket) (err error) {
		readings[i], err = p.read(ctx, s, p.osds[s.Name()], now)
		return err
	})
	answered := p.take(sockets, readings, errs, now)
	p.lastPoll = now
	if len(sockets) > 0 && answered == 0 {
		failed = errors.Join(failed, fmt.Errorf("none of %d OSD admin sockets answered: %w", len(sockets), errs[0]))
	}
	return p.snapshot(), failed
}

// load reads the record, at the first poll that can: it may lie on a disk that
// is not there yet.
func (p *bluestorePoller) load() {
	if p.record.Last != nil {
		return
	}
	var r bluestoreRecord
	if _, err := p.deps.State.Load(bluestoreState, bluestoreStateVersion, &r); err != nil {
		p.deps.Log.Warn("boots of the past are not known", "err", err)
	}
	if r.Last == nil {
		r.Last = map[string]lastBoot{}
	}
	p.record = r
}

// save keeps the record; it says so once when it cannot.
func (p *bluestorePoller) save() {
	err := p.deps.State.Save(bluestoreState, bluestoreStateVersion, &p.record)
	if errors.Is(err, state.ErrDisabled) {
		err = nil
	}
	if err != nil && p.saveErr == nil {
		p.deps.Log.Warn("boots will be forgotten with the exporter's end", "err", err)
	}
	p.saveErr = err
}

// take books what was read and returns how many OSDs answered.
func (p *bluestorePoller) take(sockets []asok.Socket, readings []*bluestoreReading, errs []error, now time.Time) int {
	took := map[string]bool{} // an OSD can have old sockets beside the one it uses
	failed := map[string]error{}
	for i, s := range sockets {
		name := s.Name()
		osd := p.osds[name]
		if osd == nil {
			last := p.record.Last[name]
			osd = &bluestoreOSD{name: name, release: last.Release, bytes: last.Bytes}
			p.osds[name] = osd
		}
		osd.lastSeen = now
		switch {
		case errs[i] != nil:
			failed[name] = errs[i]
		case !took[name]:
			took[name] = true
			p.book(osd, readings[i], now)
		}
	}
	for name, osd := range p.osds {
		if !took[name] {
			p.lost(osd, failed[name], now)
		}
	}
	return len(took)
}

// lost notes that an OSD did not answer; it says so once per change.
func (p *bluestorePoller) lost(osd *bluestoreOSD, err error, now time.Time) {
	if err == nil {
		err = errors.New("no admin socket")
	}
	if osd.up || osd.err == "" {
		p.deps.Log.Log(context.Background(), slog.LevelDebug, "OSD does not answer on its admin socket", "ceph_daemon", osd.name, "err", err)
	}
	osd.up, osd.err = false, err.Error()
	if now.Sub(osd.lastSeen) > forgetAfter {
		delete(p.osds, osd.name)
		if _, known := p.record.Last[osd.name]; known {
			delete(p.record.Last, osd.name)
			p.save()
		}
	}
}

// book takes the answers of one OSD.
func (p *bluestorePoller) book(osd *bluestoreOSD, r *bluestoreReading, now time.Time) {
	if osd.process != r.process {
		*osd = bluestoreOSD{
			name: osd.name, process: r.process, began: r.began, lastSeen: now,
			// At the last poll this process had not begun.
			watched: !p.lastPoll.IsZero() && r.began.After(p.lastPoll),
			release: osd.release, bytes: osd.bytes,
		}
		if last, known := p.record.Last[osd.name]; known && last.Process == r.process {
			osd.settled = true
		}
	}
	osd.up, osd.err = true, ""
	if !r.active {
		osd.watched = osd.watched || !osd.active && !osd.settled
		osd.active = false
		return
	}
	if !osd.active {
		osd.active, osd.activeAt = true, r.at
	}
	if r.counters != nil {
		osd.counters, osd.countersAt, osd.release = r.counters, now, r.version.Major
		if bytes, ok := databaseBytes(r.counters); ok {
			osd.bytes = bytes
		}
	}
	if !osd.settled && osd.counters != nil {
		p.bookBoot(osd, r)
	}
}

// logWait is how long the line that ends a boot may take into the log.
const logWait = 30 * time.Second

// bookBoot books a boot by the OSD's log, which knows both instants and what
// went before, or else by what was watched.
func (p *bluestorePoller) bookBoot(osd *bluestoreOSD, r *bluestoreReading) {
	var b osdboot.Boot
	switch {
	case r.boot != nil:
		b = *r.boot
	case osd.watched && errors.Is(r.bootErr, osdboot.ErrNoBoot) && r.at.Sub(osd.activeAt) < logWait:
		return
	case osd.watched:
		b = osdboot.Boot{Began: osd.began, Active: osd.activeAt, Shutdown: osdboot.Unknown}
	default:
		osd.settled = true
		p.deps.Log.Debug("boot not known: it was over before it could be watched", "ceph_daemon", osd.name, "err", r.bootErr)
		return
	}
	osd.settled = true
	file := b.AllocationFile
	if last, known := p.record.Last[osd.name]; known && file == nil {
		file = last.Boot.AllocationFile // stores do not change that by themselves
	}
	if file == nil && osd.release < firstAllocationFile {
		no := false
		file = &no
	}
	b.AllocationFile = file
	p.record.Last[osd.name] = lastBoot{Process: osd.process, Boot: b, Release: osd.release, Bytes: osd.bytes}
	if osd.bytes > 0 {
		p.record.Seen = osdboot.Add(p.record.Seen, osdboot.Observation{
			OSD: osd.name, At: b.Active, Seconds: b.Duration().Seconds(), Bytes: osd.bytes, Class: osd.class(b.Shutdown, file),
		})
	}
	p.save()
	p.deps.Log.Info("OSD has booted", "ceph_daemon", osd.name, "took", b.Duration(), "shutdown", b.Shutdown)
}

// firstAllocationFile is the first release that can keep the map of free space
// in a file.
const firstAllocationFile = 17

// class says what boots of this OSD compare with. Where the map of free space
// is kept matters after an unclean shutdown only.
func (o *bluestoreOSD) class(s osdboot.Shutdown, file *bool) osdboot.Class {
	if s != osdboot.Unclean {
		file = nil
	}
	return osdboot.Class{Release: o.release, Shutdown: s, AllocationFile: osdboot.TriOf(file)}
}

// databaseBytes is what an OSD's RocksDB takes, which it has to open to boot.
func databaseBytes(c *osdperf.Counters) (float64, bool) {
	var sum float64
	for _, name := range []string{"db_used_bytes", "wal_used_bytes", "slow_used_bytes"} {
		used := c.Get("bluefs", name)
		if !used.OK() {
			return 0, false
		}
		sum += float64(used.N)
	}
	return sum, true
}

// sorted returns the OSDs by name.
func (p *bluestorePoller) sorted() []*bluestoreOSD {
	var out []*bluestoreOSD
	for _, name := range slices.Sorted(maps.Keys(p.osds)) {
		out = append(out, p.osds[name])
	}
	return out
}
