package enclosure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
)

func TestEveryOSDIsInItsSlotOverBothPaths(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(60))
	s := b.poll()
	expectRows(t, rows(s), wantRows(b.host, s))
	before := b.ses.commands.Load()
	if b.poll(); b.ses.commands.Load()-before > 20 {
		t.Errorf("%d SCSI commands in a poll", b.ses.commands.Load()-before)
	}
	if s.Host != "storage1" {
		t.Errorf("host %q", s.Host)
	}
	for _, o := range s.OSDs {
		if o.Role == "block" && !strings.HasPrefix(o.Device, "dm-") {
			t.Errorf("%s: device %s, want the multipath device", o.Daemon, o.Device)
		}
	}
}

// Without the kernel's ses module the addresses in page 0Ah lead to the slots.
func TestSlotsAreFoundWithoutTheKernelsLinks(t *testing.T) {
	h := enclosuretest.TwoShelves(8)
	h.KernelLinks = false
	b := newBench(t, h)
	s := b.poll()
	expectRows(t, rows(s), wantRows(h, s))
}

// Without access to the SES devices the kernel's links do.
func TestSlotsAreFoundWithoutTheSESDevices(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(8))
	for sg := range b.ses.shelves {
		b.ses.fail[sg] = fmt.Errorf("open %s: %w", sg, errors.ErrUnsupported)
	}
	s, err := b.tryPoll()
	if err == nil || !strings.Contains(err.Error(), "read SES devices: sg201: open sg201: unsupported operation") {
		t.Errorf("no device answered: %v", err)
	}
	expectRows(t, rows(s), wantRows(b.host, s))
	if v := s.Shelves[0]; v.Vendor != "ACME" || v.Product != "DENSE60" || !v.Present || v.Shelf != nil {
		t.Errorf("first shelf %+v", v)
	}
}

// The shelf goes, OSDs and all; the map stays, also over a reboot.
func TestTheMapOutlivesTheShelfAndAReboot(t *testing.T) {
	for _, unmounted := range []bool{false, true} {
		bays := 60
		if unmounted {
			bays = 8
		}
		b := newBench(t, enclosuretest.TwoShelves(bays))
		before := rows(b.poll())
		b.host.Shelves[0].Gone = true
		b.host.Unmounted = unmounted
		b.rebuild()
		var want []string
		for _, r := range before {
			if strings.Contains(r, FormatID(b.host.Shelves[0].LogicalID)) {
				r = strings.Replace(r, "of map[running:2]", "of map[]", 1)
			}
			want = append(want, r)
		}
		for _, step := range []string{"shelf gone", "rebooted"} {
			s := b.poll()
			expectRows(t, rows(s), want)
			if got := fmt.Sprint(s.Shelves[0].ID, s.Shelves[0].Product, s.Shelves[0].Present, s.Shelves[0].Shelf == nil); got != "5000ccab01000000DENSE60false true" {
				t.Errorf("%s: first shelf %s", step, got)
			}
			if !s.Shelves[1].Present || s.Shelves[1].Shelf == nil {
				t.Errorf("%s: the second shelf is not there", step)
			}
			if got, want := processLines(s), []string{
				"5000ccab01000000 5000ccab0100ff01 sg201 up false", "5000ccab01000000 5000ccab0100ff02 sg202 up false",
				"5000ccab02000000 5000ccab0200ff01 sg203 up true", "5000ccab02000000 5000ccab0200ff02 sg204 up true",
			}; !slices.Equal(got, want) {
				t.Errorf("%s: %v", step, got)
			}
			b.restart()
		}
		b.host.Shelves[0].Gone = false
		b.rebuild()
		s := b.poll()
		expectRows(t, rows(s), wantRows(b.host, s))
	}
}

func TestASwappedDiskChangesOneRow(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(8))
	before := rows(b.poll())
	b.host.Swapped[7] = true
	b.rebuild()
	s := b.poll()
	was, is := diff(before, rows(s))
	if len(was) != 1 || len(is) != 1 || !strings.HasPrefix(was[0], "osd.7 block") || !strings.HasPrefix(is[0], "osd.7 block") {
		t.Errorf("%v\nbecame %v", was, is)
	}
	expectRows(t, rows(s), wantRows(b.host, s))
	if b.store.saves != 2 {
		t.Errorf("the map was stored %d times, want 2", b.store.saves)
	}
}

func TestAMovedOSDLeavesItsOldSlot(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(8))
	b.poll()
	b.host.Moved[3], b.host.Moved[12] = 12, 3
	b.rebuild()
	s := b.poll()
	expectRows(t, rows(s), wantRows(b.host, s))
	for _, o := range s.OSDs {
		if o.Daemon == "osd.3" && o.Role == "block" && (o.Enclosure != "5000ccab02000000" || o.Slot != "4") {
			t.Errorf("osd.3 is in %s/%s", o.Enclosure, o.Slot)
		}
	}
}

// An OSD whose DB moved onto its main device has no DB device any more; one
// whose directory is not filled has all it had.
func TestADeviceThatAnOSDHasNoMore(t *testing.T) {
	m := Memory{Entries: []Entry{
		{Daemon: "osd.1", Role: "block"}, {Daemon: "osd.1", Role: "db"}, {Daemon: "osd.1", Cluster: "other", Role: "db"},
		{Daemon: "osd.2", Role: "block"}, {Daemon: "osd.2", Role: "db"},
	}}
	m.Entries[0].Cluster, m.Entries[1].Cluster = "one", "one"
	m.keepRoles([]Volume{
		{Daemon: "osd.1", Cluster: "one", Role: "block", Disks: []Disk{{Name: "sda"}}}, {Daemon: "osd.2", Role: "block"},
	})
	var got []string
	for _, e := range m.Entries {
		got = append(got, e.Daemon+e.Cluster+e.Role)
	}
	if want := []string{"osd.1oneblock", "osd.1otherdb", "osd.2block", "osd.2db"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestForgetting(t *testing.T) {
	for forget, wantEntries := range map[string]int{"0x5000CCAB01000000": 32 - 8, "osd.3": 30} {
		b := newBench(t, enclosuretest.TwoShelves(8))
		b.poll()
		b.host.Shelves[0].Gone = true
		b.host.Unmounted = true
		b.rebuild()
		id, err := ParseForget(forget)
		if err != nil {
			t.Fatal(err)
		}
		b.opts.Forget = []string{id}
		b.restart()
		s := b.poll()
		shelves := 2
		if id != "osd.3" {
			shelves = 1
		}
		if len(s.OSDs) != wantEntries || len(s.Shelves) != shelves {
			t.Errorf("%s: %d entries, %d shelves", forget, len(s.OSDs), len(s.Shelves))
		}
		// What is there comes back by itself; what was forgotten stays forgotten.
		b.opts.Forget = nil
		b.restart()
		if again := b.poll(); len(again.OSDs) != wantEntries {
			t.Errorf("%s: %d entries after a restart", forget, len(again.OSDs))
		}
	}
	for _, bad := range []string{"", "shelf", "osd.", "osd.x", "12345678901234567"} {
		if _, err := ParseForget(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// The host came up before its shelf: every disk is there, but LVM did not
// activate the volumes.
func TestVolumesThatLVMDidNotActivate(t *testing.T) {
	for _, unmounted := range []bool{false, true} {
		b := newBench(t, enclosuretest.TwoShelves(8))
		b.poll()
		b.host.Inactive = map[int]bool{5: true, 12: true} // one encrypted, one not
		b.host.Unmounted = unmounted
		b.rebuild()
		b.restart()
		s := b.poll()
		var missing []string
		for _, o := range s.OSDs {
			if o.VolumeMissing {
				missing = append(missing, fmt.Sprintf("%s %s %s/%s %v", o.Daemon, o.Role, o.Enclosure, o.Slot, o.States))
			}
		}
		want := []string{
			"osd.12 block 5000ccab02000000/4 map[running:2]", "osd.5 block 5000ccab01000000/5 map[running:2]",
		}
		if !slices.Equal(missing, want) || !s.Shelves[0].Present {
			t.Errorf("unmounted %v: %v, want %v", unmounted, missing, want)
		}
	}
}

func TestALostPathIsCountedAgainstWhatWasThere(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(8))
	b.poll()
	b.host.Dead["3/2"] = true
	b.host.Shelves[1].IOMGone = map[byte]bool{1: true}
	b.rebuild()
	b.restart()
	s := b.poll()
	both := []string{enclosuretest.Adapter(1), enclosuretest.Adapter(2)}
	for _, o := range s.OSDs {
		want := map[string]int{"running": 2}
		switch {
		case o.Role == "db":
			continue
		case o.Daemon == "osd.3":
			want = map[string]int{"running": 1, "offline": 1}
		case o.Enclosure == "5000ccab02000000":
			want = map[string]int{"running": 1}
		}
		if !maps.Equal(o.States, want) || o.Paths != 2 || !slices.Equal(o.HBAs, both) {
			t.Errorf("%s: %v of %d paths, HBAs %v", o.Daemon, o.States, o.Paths, o.HBAs)
		}
	}
	want := []string{
		"5000ccab01000000 5000ccab0100ff01 sg201 up true", "5000ccab01000000 5000ccab0100ff02 sg202 up true",
		"5000ccab02000000 5000ccab0200ff01 sg203 up false", "5000ccab02000000 5000ccab0200ff02 sg204 up true",
	}
	if got := processLines(s); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// An OSD leaves the map when this process can ask the cluster, the cluster no
// longer has it and this host does not see it. One that this host still sees
// stays; so does everything while the cluster does not answer.
func TestOSDsThatLeftTheCluster(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(8))
	b.poll()
	b.host.Shelves[0].Gone = true
	b.host.Unmounted = true
	b.rebuild()
	answer := &OSDMap{Cluster: enclosuretest.ClusterFSID, OSDs: map[string]string{}}
	for osd := range 16 {
		answer.OSDs[fmt.Sprintf("osd.%d", osd)] = enclosuretest.OSDUUID(osd)
	}
	delete(answer.OSDs, "osd.1")                                  // gone
	answer.OSDs["osd.2"] = "ffffffff-0000-0000-0000-000000000000" // its name was given to another
	delete(answer.OSDs, "osd.10")                                 // this host still sees it
	var asked int
	var fail error
	b.opts.Cluster = func(context.Context) (*OSDMap, error) { asked++; return answer, fail }
	b.restart()
	fail = errors.New("no quorum")
	if s := b.poll(); len(s.OSDs) != 32 {
		t.Errorf("%d entries while the cluster does not answer", len(s.OSDs))
	}
	fail = nil
	b.poll()
	b.now = b.now.Add(clusterEvery)
	s := b.poll()
	var left []string
	for osd := range 16 {
		name := fmt.Sprintf("osd.%d", osd)
		if !slices.ContainsFunc(s.OSDs, func(o OSDView) bool { return o.Daemon == name }) {
			left = append(left, name)
		}
	}
	if !slices.Equal(left, []string{"osd.1", "osd.2"}) || asked != 2 {
		t.Errorf("left: %v, asked %d times", left, asked)
	}
	answer.Cluster = "another"
	clear(answer.OSDs)
	b.now = b.now.Add(clusterEvery)
	if s := b.poll(); len(s.OSDs) != 28 {
		t.Errorf("another cluster's word took %d entries", 28-len(s.OSDs))
	}
}

// Four SES processes: one command each per poll, four more for one of them when
// the hour is over.
func TestCommandsInSteadyState(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(1))
	b.poll()
	first := b.ses.commands.Load()
	if first != 4*5 {
		t.Errorf("first poll: %d commands", first)
	}
	most := int64(0)
	for range 150 {
		before := b.ses.commands.Load()
		b.poll()
		most = max(most, b.ses.commands.Load()-before)
	}
	if total := b.ses.commands.Load() - first; most > 20 || most != 8 || total != 150*4+2*4*4 {
		t.Errorf("at most %d commands in a poll, %d in 150 polls", most, total)
	}
}

// A hung IOM costs its own timeout and nothing else: the others are read, its
// shelf is known through its peer, it gets no second command while the first
// is under way, and it is read again when it comes back.
func TestAHungIOMCostsOnlyItself(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(8))
	b.poll()
	release := make(chan struct{})
	b.ses.change(func() { b.ses.hang["sg201"] = release })
	b.w.opts.Timeout = 50 * time.Millisecond
	for range 3 {
		s := b.poll()
		want := []string{
			"5000ccab01000000 5000ccab0100ff01 sg201 up false", "5000ccab01000000 5000ccab0100ff02 sg202 up true",
			"5000ccab02000000 5000ccab0200ff01 sg203 up true", "5000ccab02000000 5000ccab0200ff02 sg204 up true",
		}
		if got := processLines(s); !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		if s.Shelves[0].Shelf == nil || len(s.Shelves[0].Shelf.Elements) != 194 {
			t.Error("the shelf is not known through its other IOM")
		}
		expectRows(t, rows(s), wantRows(b.host, s))
	}
	b.ses.change(func() {
		if pages := b.ses.asked["sg201"]; len(pages) != 6 {
			t.Errorf("pages asked of the hung IOM: %v", pages)
		}
		delete(b.ses.hang, "sg201")
	})
	if n := b.w.abandoned.Load(); n != 1 {
		t.Errorf("%d commands given up", n)
	}
	close(release)
	b.w.opts.Timeout = time.Minute
	for !strings.HasSuffix(processLines(b.poll())[0], "up true") {
	}
	if n := b.w.abandoned.Load(); n != 0 {
		t.Errorf("%d commands given up after all came back", n)
	}
}

func TestARestartKnowsTheShelfOfADeadIOM(t *testing.T) {
	h := enclosuretest.TwoShelves(8)
	h.KernelLinks = false
	b := newBench(t, h)
	b.poll()
	b.ses.fail["sg203"] = errors.New("SCSI status 0x0, host no connection, driver 0x0")
	b.restart()
	if got := processLines(b.poll())[2]; got != "5000ccab02000000 5000ccab0200ff01 sg203 up false" {
		t.Error(got)
	}
}

// Shelves to which nobody gave a logical id are not one shelf.
func TestShelvesWithoutALogicalID(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(0))
	for i, sg := range []string{"sg201", "sg202", "sg203", "sg204"} {
		b.ses.shelves[sg] = enclosuretest.PlainShelf()
		b.ses.shelves[sg].LogicalID = 0
		b.ses.shelves[sg].Revision = fmt.Sprint(i)
	}
	var got []string
	for _, s := range b.poll().Shelves {
		got = append(got, s.ID+" "+s.Revision)
	}
	if want := []string{"5000ccab0100ff01 0", "5000ccab0100ff02 1", "5000ccab0200ff01 2", "5000ccab0200ff02 3"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A replaced IOM has another address; it does not leave a dead one behind.
func TestAReplacedIOMTakesTheOldOnesPlace(t *testing.T) {
	var m Memory
	s := m.shelf("a")
	listed := map[string]bool{"old": true, "peer": true}
	is := func(iom string) bool { return listed[iom] }
	s.iom(iomMemory{IOM: "old", SG: "sg1", Process: 1}, is)
	s.iom(iomMemory{IOM: "peer", SG: "sg2", Process: 2}, is)
	listed = map[string]bool{"new": true, "peer": true}
	s.iom(iomMemory{IOM: "new", SG: "sg3", Process: 1}, is)
	s.iom(iomMemory{IOM: "peer", SG: "sg4", Process: 2}, is)
	if got := fmt.Sprint(s.IOMs); got != "[{peer sg4 2} {new sg3 1}]" {
		t.Error(got)
	}
}

func TestAHostWithoutShelves(t *testing.T) {
	b := newBench(t, &enclosuretest.Host{})
	if s := b.poll(); len(s.Shelves)+len(s.Processes)+len(s.OSDs) != 0 || b.store.saves != 0 {
		t.Errorf("%+v, %d saves", s, b.store.saves)
	}
}

// A map that cannot be read is not overwritten, and one that cannot be written
// fails the poll, which is usable all the same.
func TestAStoreThatFails(t *testing.T) {
	b := newBench(t, enclosuretest.TwoShelves(8))
	b.store.err = errors.New("disk on fire")
	s, err := b.tryPoll()
	if err == nil || err.Error() != "load enclosure map: disk on fire" || len(s.OSDs) != 32 {
		t.Errorf("%v", err)
	}
	b.store.err = nil
	b.poll()
	b.store.err = errors.New("read-only")
	b.host.Swapped[1] = true
	b.rebuild()
	s, err = b.tryPoll()
	if err == nil || err.Error() != "save enclosure map: read-only" || len(s.OSDs) != 32 {
		t.Errorf("%v", err)
	}
}

// BenchmarkEnclosurePoll is one poll of a host with two shelves of 60 disks, each
// with two paths, in the steady state.
func BenchmarkEnclosurePoll(b *testing.B) {
	host := newBench(b, enclosuretest.TwoShelves(60))
	host.poll()
	before := host.ses.commands.Load()
	b.ReportAllocs()
	polls := 0
	used := cpuTime(b)
	for b.Loop() {
		host.poll()
		polls++
	}
	b.ReportMetric(float64((cpuTime(b)-used).Milliseconds())/float64(polls), "cpu-ms/op")
	b.ReportMetric(float64(host.ses.commands.Load()-before)/float64(polls), "scsi-commands/op")
}

// cpuTime is what this process has used of the processors, which says more of a
// poll than the clock does on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEnclosurePages is the decoding and merging of what two IOMs of a
// shelf with 194 elements say.
func BenchmarkEnclosurePages(b *testing.B) {
	const id = 0x5000ccab01000000
	first, second := enclosuretest.DenseShelf(id, 1), enclosuretest.DenseShelf(id, 2)
	b.ReportAllocs()
	for b.Loop() {
		Merge([]*Report{report(b, first), report(b, second)})
	}
}
