package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/blockdev"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdperf"
)

const (
	// gapAfter is how many intervals may lie between two readings of an OSD
	// before what happened in between can no longer be told apart.
	gapAfter = 2.5
	// An OSD under load may take its time to answer, and one that hangs must not
	// make the rest wait for a turn.
	askTimeout  = 4 * time.Second
	askParallel = 64
	// sampleEvery is how often reservations are looked at on releases whose
	// counters do not show a replica's part in a scrub.
	sampleEvery = time.Second
	// countersShowScrubs is the first release whose counters do.
	countersShowScrubs = 20
	// settingsEvery is how often options and disks are looked at.
	settingsEvery = time.Minute
	// forgetAfter is how long an OSD without a socket keeps its series: long
	// enough for a restart, short enough for one that moved away.
	forgetAfter = 15 * time.Minute
)

func daemonSpec() Spec {
	return Spec{
		Name:     "daemon",
		Help:     "OSD admin sockets of this host: client latency by what each OSD is doing, scrub counters, running options, disk settings",
		Roles:    RoleHost,
		Interval: 10 * time.Second,
		Timeout:  30 * time.Second,
		Rows:     func() []*Row { return newDaemonTable().Rows() },
		Configure: func(flags FlagSet) Constructor {
			histograms := flags.Flag("collector.daemon.osd-histograms", "Export a latency histogram per OSD, op and activity (500 series per OSD)").Bool()
			hostname := flags.Flag("collector.daemon.hostname", "Value of the label hostname (default: the host's name)").String()
			return func(d Deps) (Poller, error) {
				name := *hostname
				if name == "" {
					var err error
					if name, err = os.Hostname(); err != nil {
						return nil, fmt.Errorf("daemon collector: %w", err)
					}
				}
				return newDaemonPoller(d, name, *histograms), nil
			}
		},
	}
}

// daemonPoller asks the OSDs of this host.
type daemonPoller struct {
	deps       Deps
	hostname   string
	histograms bool
	table      *daemonTable
	client     *asok.Client
	disks      blockdev.Roots

	osds map[string]*daemonOSD // by label value; only the poll changes it
	host map[hostKey]*osdperf.Account
	// took is how long the last poll took.
	took time.Duration

	sampling struct {
		begin  sync.Once
		cancel context.CancelFunc
		done   chan struct{}
	}
	mu      sync.Mutex // guards what follows
	watched []watchedOSD
}

// watchedOSD is an OSD whose reservations are sampled, and where.
type watchedOSD struct {
	osd    *daemonOSD
	socket asok.Socket
}

// hostKey is one of the host's histograms, less op.
type hostKey struct {
	class    string
	activity osdperf.Activity
}

// daemonOSD is what is known of one OSD.
type daemonOSD struct {
	name   string
	socket asok.Socket
	ledger osdperf.Ledger

	up       bool
	err      string    // why it is not, as last logged
	lastSeen time.Time // its socket

	process  string
	version  osdperf.Version
	counters *osdperf.Counters
	scrub    osdperf.ScrubReservations
	recovery osdperf.RecoveryReservations

	options    map[string]string
	settingsAt time.Time // when options and disks are due
	disks      []osdDisk

	mu   sync.Mutex
	seen osdperf.Signs // by samples since the last poll
	// deaf: the last sample failed; the next poll decides.
	deaf bool
}

func newDaemonPoller(d Deps, hostname string, histograms bool) *daemonPoller {
	return &daemonPoller{
		deps:       d,
		hostname:   hostname,
		histograms: histograms,
		table:      newDaemonTable(),
		client:     &asok.Client{Timeout: askTimeout, Parallel: askParallel},
		disks:      blockdev.Roots{Rootfs: d.Paths.Rootfs, Sysfs: d.Paths.Sysfs},
		osds:       map[string]*daemonOSD{},
		host:       map[hostKey]*osdperf.Account{},
	}
}

// Poll implements Poller.
func (p *daemonPoller) Poll(ctx context.Context, now time.Time) (Snapshot, error) {
	p.sampling.begin.Do(p.startSampling)
	begin := p.deps.Now()
	sockets, failed := asok.Discover(p.deps.Paths.Run)
	if failed != nil && sockets == nil {
		return nil, failed
	}
	sockets = slices.DeleteFunc(sockets, func(s asok.Socket) bool { return s.Type != "osd" })
	readings := make([]*daemonReading, len(sockets))
	errs := p.client.ForEach(ctx, sockets, func(ctx context.Context, i int, s asok.Socket) (err error) {
		readings[i], err = p.read(ctx, s, p.osds[s.Name()], now)
		return err
	})
	answered := p.take(sockets, readings, errs, now)
	if len(sockets) > 0 && answered == 0 {
		failed = errors.Join(failed, fmt.Errorf("none of %d OSD admin sockets answered: %w", len(sockets), errs[0]))
	}
	p.lookAtDisks(now)
	p.watch()
	p.took = p.deps.Now().Sub(begin)
	return p.snapshot(), failed
}

// Pace implements Paced. A socket that hangs makes a poll last, but costs Ceph
// nothing, so unlike a slow cluster it does not slow the polls down: the other
// OSDs' intervals must stay short.
func (p *daemonPoller) Pace() (wait, interval time.Duration) {
	return max(p.deps.Interval-p.took, p.deps.Interval/10), p.deps.Interval
}

// take books what was read. It returns how many OSDs answered.
func (p *daemonPoller) take(sockets []asok.Socket, readings []*daemonReading, errs []error, now time.Time) (answered int) {
	took := map[string]asok.Socket{} // by name: an OSD can have old sockets beside the one it uses
	failed := map[string]error{}
	for i, s := range sockets {
		name := s.Name()
		osd := p.osds[name]
		if osd == nil {
			osd = &daemonOSD{name: name}
			p.osds[name] = osd
		}
		osd.lastSeen = now
		if errs[i] != nil {
			failed[name] = errs[i]
			continue
		}
		if other, twice := took[name]; twice {
			p.deps.Log.Warn("two sockets answer as the same OSD, the second is left out", "ceph_daemon", name, "first", other.Path, "second", s.Path)
			continue
		}
		took[name] = s
		osd.socket = s
		p.book(osd, readings[i])
	}
	for name, osd := range p.osds {
		if _, ok := took[name]; !ok {
			p.lost(osd, failed[name], now)
		} else if !osd.up {
			p.deps.Log.Info("OSD answers on its admin socket", "ceph_daemon", name, "version", osd.version.Version)
			osd.up, osd.err = true, ""
		}
	}
	return len(took)
}

// lost notes that an OSD did not answer; it says so once per change.
func (p *daemonPoller) lost(osd *daemonOSD, err error, now time.Time) {
	if err == nil {
		err = errors.New("no admin socket")
	}
	level := slog.LevelDebug
	if osd.up || osd.err == "" {
		level = slog.LevelWarn
	}
	p.deps.Log.Log(context.Background(), level, "OSD does not answer on its admin socket", "ceph_daemon", osd.name, "err", err)
	osd.up, osd.err = false, err.Error()
	osd.ledger.Missed()
	if now.Sub(osd.lastSeen) > forgetAfter {
		delete(p.osds, osd.name)
	}
}

// book adds a reading to the OSD's accounts and to the host's.
func (p *daemonPoller) book(osd *daemonOSD, r *daemonReading) {
	osd.mu.Lock()
	seen := osd.seen
	osd.seen, osd.deaf = osdperf.Signs{}, false
	osd.mu.Unlock()

	osd.process, osd.version, osd.counters = r.Process, r.version, r.counters
	osd.scrub, osd.recovery = r.scrub, r.recovery
	if r.options != nil {
		osd.options = r.options
	}
	longest := time.Duration(gapAfter * float64(p.deps.Interval))
	b := osd.ledger.Book(r.Reading, seen, longest)
	if b.Outcome != osdperf.Booked {
		return
	}
	key := hostKey{osd.class(), b.Activity}
	if p.host[key] == nil {
		p.openHost(key.class)
	}
	p.host[key].Add(b.Growth)
}

// openHost begins the histograms of a device class, every activity at 0.
func (p *daemonPoller) openHost(class string) {
	for a := range osdperf.NumActivities {
		p.host[hostKey{class, a}] = &osdperf.Account{}
	}
}
