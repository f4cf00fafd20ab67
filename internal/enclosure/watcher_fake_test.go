package enclosure

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

// fakeSES answers for all SES devices of a host, by the device's name.
type fakeSES struct {
	mu       sync.Mutex
	shelves  map[string]*enclosuretest.Shelf
	hang     map[string]chan struct{} // a command to it waits for this
	fail     map[string]error
	commands atomic.Int64
	asked    map[string][]byte // pages, in order
}

func newFakeSES(h *enclosuretest.Host) *fakeSES {
	f := &fakeSES{
		shelves: map[string]*enclosuretest.Shelf{}, hang: map[string]chan struct{}{}, fail: map[string]error{}, asked: map[string][]byte{},
	}
	for i, s := range h.Shelves {
		for iom := byte(1); iom <= 2; iom++ {
			f.shelves[enclosuretest.SESName(i, iom)] = enclosuretest.DenseShelf(s.LogicalID, iom)
		}
	}
	return f
}

func (f *fakeSES) open(d Device) Transport { return fakeDevice{f, d.SG} }

type fakeDevice struct {
	ses *fakeSES
	sg  string
}

func (d fakeDevice) ReceiveDiagnostic(_ context.Context, page byte) ([]byte, error) {
	f := d.ses
	f.commands.Add(1)
	f.mu.Lock()
	f.asked[d.sg] = append(f.asked[d.sg], page)
	hang, err, shelf := f.hang[d.sg], f.fail[d.sg], f.shelves[d.sg]
	f.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if err != nil {
		return nil, err
	}
	reply := shelf.Page(page)
	if reply == nil {
		return nil, &SenseError{Key: 5, ASC: 0x24}
	}
	return reply, nil
}

// change runs f while no command is being answered.
func (f *fakeSES) change(c func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c()
}

// memoryStore keeps records as JSON, like the state directory.
type memoryStore struct {
	records map[string][]byte
	saves   int
	err     error
}

func (s *memoryStore) Load(name string, _ int, v any) (bool, error) {
	b, ok := s.records[name]
	if !ok || s.err != nil {
		return false, s.err
	}
	return true, json.Unmarshal(b, v)
}

func (s *memoryStore) Save(name string, _ int, v any) error {
	if s.err != nil {
		return s.err
	}
	b, err := json.Marshal(v)
	s.records[name] = b
	s.saves++
	return err
}

// bench is a Watcher over a made-up host.
type bench struct {
	t     testing.TB
	host  *enclosuretest.Host
	ses   *fakeSES
	store *memoryStore
	w     *Watcher
	now   time.Time
	opts  Options
	dir   string
}

func newBench(t testing.TB, h *enclosuretest.Host) *bench {
	b := &bench{
		t: t, host: h, ses: newFakeSES(h), store: &memoryStore{records: map[string][]byte{}},
		now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	}
	b.opts = Options{
		Timeout: time.Minute, Open: b.ses.open, Store: b.store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	b.rebuild()
	b.restart()
	return b
}

// rebuild brings the host's trees up to what the host is now.
func (b *bench) rebuild() {
	b.t.Helper()
	if b.dir == "" {
		b.dir = b.t.TempDir()
	}
	dir := b.dir
	if err := b.host.Write(dir); err != nil {
		b.t.Fatal(err)
	}
	b.opts.Tree = Tree{Sysfs: filepath.Join(dir, "sys"), Dev: filepath.Join(dir, "dev"), Rootfs: filepath.Join(dir, "root")}
	if b.w != nil {
		b.w.opts.Tree = b.opts.Tree
	}
}

// restart forgets everything but the store.
func (b *bench) restart() { b.w = NewWatcher(b.opts) }

func (b *bench) poll() *Survey {
	b.t.Helper()
	s, err := b.tryPoll()
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) tryPoll() (*Survey, error) {
	b.t.Helper()
	b.now = b.now.Add(time.Minute)
	return b.w.Poll(context.Background(), b.now)
}

// rows writes the map as lines.
func rows(s *Survey) []string {
	var out []string
	for _, o := range s.OSDs {
		out = append(out, fmt.Sprintf("%s %s %s/%s %s %s %s hbas %s paths %d of %v missing %v",
			o.Daemon, o.Role, o.Enclosure, o.Slot, o.Device, o.WWN, o.Serial, strings.Join(o.HBAs, "+"), o.Paths, o.States, o.VolumeMissing))
	}
	return out
}

// wantRows is the map of a host in which everything is in order.
func wantRows(h *enclosuretest.Host, s *Survey) []string {
	device := map[string]string{} // multipath names follow from how the host was written
	for _, o := range s.OSDs {
		device[o.Daemon+o.Role] = o.Device
	}
	both := enclosuretest.Adapter(1) + "+" + enclosuretest.Adapter(2)
	var out []string
	for osd := range len(h.Shelves) * h.Bays {
		name := fmt.Sprintf("osd.%d", osd)
		shelf, slot := h.Bay(osd)
		out = append(out, fmt.Sprintf("%s block %s/%d %s 0x%s %s hbas %s paths 2 of map[running:2] missing false",
			name, FormatID(h.Shelves[shelf].LogicalID), slot, device[name+"block"], h.WWN(osd), h.Serial(osd), both))
		db := enclosuretest.DBDisk(osd)
		out = append(out, fmt.Sprintf("%s db / nvme%dn1 eui.%016x NV%06d hbas 0000:%02x:00.0 paths 1 of map[running:1] missing false",
			name, db, 0x36000+db, db, 0x65+db))
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return out
}

func key(row string) string { return strings.Join(strings.Fields(row)[:2], " ") }

// diff lists the lines in which two maps differ.
func diff(a, b []string) (onlyA, onlyB []string) {
	for _, l := range a {
		if !slices.Contains(b, l) {
			onlyA = append(onlyA, l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			onlyB = append(onlyB, l)
		}
	}
	return onlyA, onlyB
}

func expectRows(t testing.TB, got, want []string) {
	t.Helper()
	missing, unexpected := diff(want, got)
	if len(missing)+len(unexpected) > 0 {
		t.Errorf("missing:\n%s\nunexpected:\n%s", strings.Join(missing, "\n"), strings.Join(unexpected, "\n"))
	}
}

func processLines(s *Survey) []string {
	var out []string
	for _, p := range s.Processes {
		out = append(out, fmt.Sprintf("%s %s %s up %v", p.Enclosure, p.IOM, p.SG, p.Up))
	}
	return out
}
