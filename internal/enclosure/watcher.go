package enclosure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Store keeps one record over restarts (internal/state).
type Store interface {
	Load(name string, version int, v any) (bool, error)
	Save(name string, version int, v any) error
}

// The record of the map.
const (
	recordName    = "enclosure"
	recordVersion = 1
)

// clusterEvery bounds how often the cluster is asked whether it still has the
// OSDs that this host no longer sees.
const clusterEvery = 10 * time.Minute

// clusterTimeout bounds such a question: a hung cluster must not cost the poll.
const clusterTimeout = 5 * time.Second

// OSDMap is what a cluster says of its OSDs: uuid by name.
type OSDMap struct {
	Cluster string
	OSDs    map[string]string
}

// Options configures a Watcher.
type Options struct {
	Tree    Tree
	Timeout time.Duration // for one SES device in one poll
	// Open makes the transport of a device. It is guarded by the Watcher.
	Open  func(Device) Transport
	Store Store
	// Forget lists what is to leave the map at the first poll (ParseForget).
	Forget []string
	// Cluster asks for the cluster's OSDs; nil where this process has no
	// connection to it.
	Cluster func(ctx context.Context) (*OSDMap, error)
	// Pause waits between two tries.
	Pause func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

// Watcher looks at all shelves and OSD devices of a host, again and again, and
// remembers. Its Poll must not be called concurrently.
type Watcher struct {
	opts      Options
	processes map[string]*watched
	memory    Memory
	loaded    bool
	saved     []byte    // memory as last stored
	asked     time.Time // when the cluster was asked last
	abandoned atomic.Int64
}

// watched is one SES device over time.
type watched struct {
	device  Device
	process *process
	report  *Report // of this poll; nil: it failed
	err     error
	said    string // the error that was logged last
	last    time.Time
}

// NewWatcher returns a Watcher that has not looked yet.
func NewWatcher(o Options) *Watcher {
	return &Watcher{opts: o, processes: map[string]*watched{}}
}

// Poll looks once. The error may come with a usable survey.
func (w *Watcher) Poll(ctx context.Context, now time.Time) (*Survey, error) {
	var errs []error
	if err := w.load(); err != nil {
		errs = append(errs, err)
	}
	tree := w.opts.Tree.remembering()
	w.sync(tree)
	w.readAll(ctx, now)
	if err := w.readErrors(); err != nil {
		errs = append(errs, err)
	}
	shelves := w.merge()

	blocks := newWalk(tree)
	visible := blocks.allDisks()
	volumes := w.volumes(blocks)
	for _, v := range volumes {
		w.memory.observe(v, func(d Disk) location { return locate(d, shelves) })
	}
	w.memory.keepRoles(volumes)
	w.memory.sort()
	osds := w.osdViews(blocks, volumes, visible)
	if w.leftCluster(ctx, now, osds) {
		osds = w.osdViews(blocks, volumes, visible)
	}
	w.memory.noteShelves()
	if err := w.save(); err != nil {
		errs = append(errs, err)
	}
	processes := w.processViews()
	return &Survey{
		Host: tree.hostname(), OSDs: osds, Processes: processes,
		Shelves: w.shelfViews(shelves, processes, visible),
	}, errors.Join(errs...)
}

// load reads the map kept from before, once.
func (w *Watcher) load() error {
	if w.loaded || w.opts.Store == nil {
		return nil
	}
	if _, err := w.opts.Store.Load(recordName, recordVersion, &w.memory); err != nil {
		return fmt.Errorf("load enclosure map: %w", err)
	}
	w.loaded = true
	w.saved, _ = json.Marshal(w.memory)
	for _, id := range w.opts.Forget {
		w.memory.forget(id)
	}
	return nil
}

// save stores the map where it has changed. A map that could not be loaded is
// not overwritten.
func (w *Watcher) save() error {
	w.memory.sort()
	if w.opts.Store == nil || !w.loaded {
		return nil
	}
	now, err := json.Marshal(w.memory)
	if err != nil {
		return fmt.Errorf("save enclosure map: %w", err)
	}
	if bytes.Equal(now, w.saved) {
		return nil
	}
	if err := w.opts.Store.Save(recordName, recordVersion, w.memory); err != nil {
		return fmt.Errorf("save enclosure map: %w", err)
	}
	w.saved = now
	return nil
}

// sync brings the list of SES devices up to date. One that has another address
// than before is another device, whatever its name.
func (w *Watcher) sync(tree Tree) {
	seen := map[string]bool{}
	for _, d := range tree.Devices() {
		key := d.SG + " " + d.HCTL + " " + d.IOM
		seen[key] = true
		if w.processes[key] == nil {
			guard := NewGuard(w.opts.Open(d), &w.abandoned)
			w.processes[key] = &watched{process: newProcess(guard, w.opts.Pause)}
			w.processes[key].process.name = d.SG
		}
		w.processes[key].device = d
	}
	for key := range w.processes {
		if !seen[key] {
			delete(w.processes, key)
		}
	}
}

// ordered lists the SES devices by IOM, so that of two equally good words the
// same IOM's is taken each time.
func (w *Watcher) ordered() []*watched {
	out := make([]*watched, 0, len(w.processes))
	for _, p := range w.processes {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *watched) int {
		return strings.Compare(a.device.IOM+" "+a.device.SG, b.device.IOM+" "+b.device.SG)
	})
	return out
}

// shelfID names the shelf of a device: by its logical id, or, where that is 0 as
// of shelves that nobody gave one, by the IOM, so that two of them do not become
// one.
func (p *watched) shelfID(c *Config) string {
	if id := c.LogicalID(); id != 0 {
		return FormatID(id)
	}
	return p.device.IOM
}

// readAll reads all SES devices at the same time, each within its own timeout.
// Of those whose structure pages are due again only one reads them.
func (w *Watcher) readAll(ctx context.Context, now time.Time) {
	all := w.ordered()
	var refresh *watched
	for _, p := range all {
		if p.process.report.Config != nil && p.process.due(now) &&
			(refresh == nil || p.process.structure.Before(refresh.process.structure)) {
			refresh = p
		}
	}
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			p.read(ctx, now, w.opts.Timeout, p == refresh)
		})
	}
	wg.Wait()
}

// read reads one device. A panic ends here: in this goroutine it would end the
// process.
func (p *watched) read(ctx context.Context, now time.Time, timeout time.Duration, refresh bool) {
	defer func() {
		if r := recover(); r != nil {
			p.report, p.err = nil, fmt.Errorf("read %s: panic: %v\n%s", p.device.SG, r, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p.report, p.err = p.process.read(ctx, now, refresh)
	if p.err == nil {
		p.last = now
	}
}

// readErrors logs each device's error once per change, and returns an error for
// the poll as a whole where no device answered or where the error is this
// host's setup: one dead IOM has a series of its own.
func (w *Watcher) readErrors() error {
	var errs []error
	all := w.ordered()
	for _, p := range all {
		text := ""
		if p.err != nil {
			text = p.err.Error()
			errs = append(errs, fmt.Errorf("%s: %w", p.device.SG, p.err))
		}
		if text != p.said {
			p.said = text
			if text != "" {
				w.opts.Log.Warn("SES process does not answer", "sg", p.device.SG, "iom", p.device.IOM, "err", text)
			} else {
				w.opts.Log.Info("SES process answers again", "sg", p.device.SG, "iom", p.device.IOM)
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	if len(errs) < len(all) && !slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, os.ErrPermission) }) {
		return nil
	}
	return fmt.Errorf("read SES devices: %w", errors.Join(errs...))
}

// merge makes shelves of the reports and notes which IOM belongs to which.
func (w *Watcher) merge() map[string]*Shelf {
	reports := map[string][]*Report{}
	for _, p := range w.ordered() {
		if p.report == nil {
			w.nameSilent(p)
			continue
		}
		id := p.shelfID(p.report.Config)
		reports[id] = append(reports[id], p.report)
		w.memory.shelf(id).iom(iomMemory{
			IOM: p.device.IOM, SG: p.device.SG, Process: p.report.Config.Subenclosures[0].ProcessID,
		}, w.listed)
	}
	shelves := map[string]*Shelf{}
	for id, r := range reports {
		s := Merge(r)
		shelves[id] = s
		m := w.memory.shelf(id)
		m.Vendor, m.Product, m.Revision = s.Vendor, s.Product, s.Revision
	}
	return shelves
}

// nameSilent gives a shelf that never answered the names that the kernel has of
// its SES device.
func (w *Watcher) nameSilent(p *watched) {
	id := w.shelfIDOf(p)
	if id == "" {
		return
	}
	if m := w.memory.shelf(id); m.Product == "" {
		m.Vendor, m.Product = p.device.Vendor, p.device.Model
	}
}

// volumes lists the OSDs' devices: of the directories that are there, and of
// those that the map knows and whose volume is there, although its directory is
// not filled.
func (w *Watcher) volumes(blocks *walk) []Volume {
	volumes := blocks.volumes()
	for _, e := range w.memory.Entries {
		if slices.ContainsFunc(volumes, func(v Volume) bool { return e.is(v.Daemon, v.Cluster) && e.Role == v.Role }) {
			continue
		}
		if kernel := blocks.dmByUUID(e.Volume); kernel != "" {
			volumes = append(volumes, Volume{
				Daemon: e.Daemon, Cluster: e.Cluster, OSD: e.OSD, Role: e.Role, ID: e.Volume, Disks: blocks.disksOf(kernel),
			})
		}
	}
	return volumes
}

// leftCluster drops what the cluster no longer has, among OSDs that this host
// does not see. It says whether anything was dropped.
func (w *Watcher) leftCluster(ctx context.Context, now time.Time, osds []OSDView) bool {
	unseen := func(e Entry) bool {
		return slices.ContainsFunc(osds, func(o OSDView) bool {
			return o.Daemon == e.Daemon && o.Cluster == e.Cluster && (len(o.States) == 0 || o.VolumeMissing)
		})
	}
	if !slices.ContainsFunc(w.memory.Entries, unseen) || w.opts.Cluster == nil || now.Before(w.asked.Add(clusterEvery)) {
		return false
	}
	w.asked = now
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	m, err := w.opts.Cluster(ctx)
	if err != nil {
		w.opts.Log.Debug("cannot ask the cluster for its OSDs", "err", err)
		return false
	}
	before := len(w.memory.Entries)
	w.memory.drop(func(e Entry) bool {
		if e.Cluster != m.Cluster || !unseen(e) {
			return false
		}
		uuid, has := m.OSDs[e.Daemon]
		return !has || uuid != "" && e.OSD != "" && uuid != e.OSD
	})
	return len(w.memory.Entries) < before
}
