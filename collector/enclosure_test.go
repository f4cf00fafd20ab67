package collector

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure"
	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// sesPages answers for a SES device from made-up pages.
type sesPages struct {
	shelf *enclosuretest.Shelf
	err   error
}

func (s *sesPages) ReceiveDiagnostic(_ context.Context, page byte) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	if b := s.shelf.Page(page); b != nil {
		return b, nil
	}
	return nil, &enclosure.SenseError{Key: 5, ASC: 0x24}
}

// enclosureHost is a made-up host and a poller that looks at it.
type enclosureHost struct {
	*enclosuretest.Host
	t     *testing.T
	dir   string
	state *state.Dir
	ses   map[string]*sesPages // by device name
	now   time.Time
}

func newEnclosureHost(t *testing.T, h *enclosuretest.Host, shelf func(id uint64, process byte) *enclosuretest.Shelf) *enclosureHost {
	e := &enclosureHost{Host: h, t: t, dir: t.TempDir(), ses: map[string]*sesPages{}, now: time.Unix(1_800_000_000, 0)}
	e.state = state.Open(t.TempDir(), testDeps(t, e.now).Log)
	for i, s := range h.Shelves {
		for iom := byte(1); iom <= 2; iom++ {
			e.ses[enclosuretest.SESName(i, iom)] = &sesPages{shelf: shelf(s.LogicalID, iom)}
		}
	}
	return e
}

// poller makes a poller with an empty memory of its own, as after a start.
func (e *enclosureHost) poller() *enclosurePoller {
	e.write()
	return &enclosurePoller{table: newEnclosureTable(), watcher: enclosure.NewWatcher(enclosure.Options{
		Tree: enclosure.Tree{
			Sysfs: filepath.Join(e.dir, "sys"), Dev: filepath.Join(e.dir, "dev"), Rootfs: filepath.Join(e.dir, "root"),
		},
		Timeout: time.Minute,
		Open:    func(d enclosure.Device) enclosure.Transport { return e.ses[d.SG] },
		Store:   stateStore{e.state},
		Pause:   func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Log:     testDeps(e.t, e.now).Log,
	})}
}

func (e *enclosureHost) write() {
	e.t.Helper()
	if err := e.Write(e.dir); err != nil {
		e.t.Fatal(err)
	}
}

func (e *enclosureHost) poll(p *enclosurePoller) string {
	e.t.Helper()
	e.now = e.now.Add(30 * time.Second)
	return pollText(e.t, p.table.Rows(), p, e.now)
}

// smallHost has one shelf of which three bays hold OSDs: one healthy, one that
// is being located, one with a fault.
func smallHost() *enclosuretest.Host {
	h := enclosuretest.TwoShelves(3)
	h.Shelves = h.Shelves[:1]
	return h
}

func TestEnclosureGolden(t *testing.T) {
	e := newEnclosureHost(t, smallHost(), enclosuretest.SmallShelf)
	p := e.poller()
	golden(t, "enclosure/ok.metrics", e.poll(p))

	// One IOM stops answering: its bays are nobody's word, the rest is known.
	e.ses["sg202"].err = errors.New("SCSI status 0x0, host timeout, driver 0x0")
	golden(t, "enclosure/iom_dead.metrics", e.poll(p))

	// LVM did not find the volume of osd.1, and a path of osd.0 is offline.
	e.ses["sg202"].err = nil
	e.Inactive[1] = true
	e.Dead["0/2"] = true
	e.write()
	golden(t, "enclosure/volume_missing.metrics", e.poll(p))

	// The shelf goes and the host restarts: the map is still there.
	e.Shelves[0].Gone = true
	golden(t, "enclosure/gone.metrics", e.poll(e.poller()))
}

func TestEnclosureOnAHostWithoutShelves(t *testing.T) {
	e := newEnclosureHost(t, &enclosuretest.Host{}, enclosuretest.SmallShelf)
	if text := e.poll(e.poller()); text != "" {
		t.Errorf("series of no shelf:\n%s", text)
	}
}

// Where nothing answers, the poll fails, and still says what is remembered.
func TestEnclosurePollFailsWithASnapshot(t *testing.T) {
	e := newEnclosureHost(t, smallHost(), enclosuretest.SmallShelf)
	p := e.poller()
	e.poll(p)
	for _, s := range e.ses {
		s.err = errors.New("SCSI status 0x0, host no connection, driver 0x0")
	}
	s, err := p.Poll(context.Background(), e.now)
	want := "read SES devices: sg201: SCSI status 0x0, host no connection, driver 0x0\nsg202: SCSI status 0x0, host no connection, driver 0x0"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if text := exposition(t, p.table.Rows(), s); !strings.Contains(text, `cephrisk_enclosure_slot_osd_info{ceph_daemon="osd.2"`) {
		t.Errorf("the map is not in\n%s", text)
	}
}

// A shelf with 60 bays and 194 elements, in all of which is an OSD, stays below
// a thousand series.
func TestEnclosureSeriesPerShelf(t *testing.T) {
	h := enclosuretest.TwoShelves(60)
	h.Shelves = h.Shelves[:1]
	e := newEnclosureHost(t, h, enclosuretest.DenseShelf)
	shelf, osds := 0, 0
	for line := range strings.Lines(e.poll(e.poller())) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "cephrisk_enclosure_"):
			shelf++
		default:
			osds++
		}
	}
	if shelf >= 1000 || osds != 60*(2*3+1) {
		t.Errorf("%d series of the shelf, %d of its OSDs", shelf, osds)
	}
	t.Logf("%d series of the shelf, %d of its OSDs", shelf, osds)
}

func TestEnclosureFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "",
		"--enclosure.forget=5000ccab01":     "",
		"--enclosure.forget=osd.12":         "",
		"--enclosure.forget=shelf":          `--enclosure.forget: parse enclosure id "shelf": want up to 16 hex digits`,
		"--enclosure.timeout=1m":            "--enclosure.timeout=1m0s: want 1s to 20s, within the poll's own limit",
		"--enclosure.low-thresholds":        "",
		"--enclosure.timeout=1s":            "",
		"--enclosure.forget=osd.banana":     `--enclosure.forget: parse enclosure id "osd.banana": want up to 16 hex digits`,
		"--enclosure.timeout=100ms":         "--enclosure.timeout=100ms: want 1s to 20s, within the poll's own limit",
		"--enclosure.forget=0x5000ccab0100": "",
	} {
		app := kingpin.New("test", "")
		construct := enclosureSpec().Configure(app)
		var argv []string
		if args != "" {
			argv = []string{args}
		}
		if _, err := app.Parse(argv); err != nil {
			t.Fatal(err)
		}
		_, err := construct(testDeps(t, time.Unix(0, 0)))
		if fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// The narrowest thing that several dead OSDs share is the smallest group by a
// label of cephrisk_osd_hardware_info in which all of them are and no other OSD.
func TestWhatDeadOSDsHaveInCommon(t *testing.T) {
	const perShelf = 30
	h := enclosuretest.TwoShelves(perShelf)
	// Four shelves, the first two on one HBA only, the others on the other.
	h.Shelves = nil
	for i := range uint64(4) {
		gone := byte(2)
		if i >= 2 {
			gone = 1
		}
		h.Shelves = append(h.Shelves, enclosuretest.HostShelf{LogicalID: 0x5000ccab01000000 + i<<24, IOMGone: map[byte]bool{gone: true}})
	}
	e := newEnclosureHost(t, h, enclosuretest.DenseShelf)
	labels := []string{"db_disk", "enclosure_id", "hba", "hostname"}
	osds := map[string]map[string]string{}
	for line := range strings.Lines(e.poll(e.poller())) {
		if rest, ok := strings.CutPrefix(line, "cephrisk_osd_hardware_info{"); ok {
			osd := map[string]string{}
			for pair := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(rest), "} 1"), ",") {
				name, value, _ := strings.Cut(pair, "=")
				osd[name] = strings.Trim(value, `"`)
			}
			osds[osd["ceph_daemon"]] = osd
		}
	}
	cause := func(dead func(osd int) bool) string {
		best, size, all := "none", len(osds)+1, 0
		for osd := range len(osds) {
			if dead(osd) {
				all++
			}
		}
		for _, label := range labels {
			members, down := map[string]int{}, map[string]int{}
			for osd := range len(osds) {
				value := osds[fmt.Sprintf("osd.%d", osd)][label]
				members[value]++
				if dead(osd) {
					down[value]++
				}
			}
			for value, n := range members {
				if down[value] == n && n == all && n < size {
					best, size = label+" "+value, n
				}
			}
		}
		return best
	}
	for want, dead := range map[string]func(int) bool{
		"db_disk eui.0000000000036001":  func(osd int) bool { return osd/15 == 1 },
		"enclosure_id 5000ccab02000000": func(osd int) bool { return osd/perShelf == 1 },
		"hba 0000:3b:00.0":              func(osd int) bool { return osd/perShelf < 2 },
		"hostname storage1":             func(int) bool { return true },
		"none":                          func(osd int) bool { return osd%7 == 0 },
	} {
		if got := cause(dead); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
