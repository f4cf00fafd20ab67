package osdboot

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05-0700", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func ptr[T any](v T) *T { return &v }

// Logs of real OSDs that were created, stopped, killed and stopped; the ones of
// 18 and 20 keep their map of free space in a file from the second boot on.
func TestScanLogTellsEveryBootOfARealLogAndHowTheOSDWentDown(t *testing.T) {
	type boot struct {
		began, active string
		shutdown      Shutdown
		rebuild       time.Duration
		file          *bool
	}
	for release, boots := range map[string][]boot{
		"16": {
			{"2026-11-30T18:40:42.471+0000", "2026-11-30T18:40:46.235+0000", Unknown, 0, nil}, // the run before made the store
			{"2026-11-30T18:41:16.471+0000", "2026-11-30T18:41:22.327+0000", Clean, 0, nil},
			{"2026-11-30T18:41:39.127+0000", "2026-11-30T18:41:48.643+0000", Unclean, 0, ptr(false)},
			{"2026-11-30T18:42:05.047+0000", "2026-11-30T18:42:10.463+0000", Clean, 0, nil},
		},
		"18": {
			{"2026-11-30T18:47:53.519+0000", "2026-11-30T18:47:56.631+0000", Unknown, 0, nil},
			{"2026-11-30T18:48:30.503+0000", "2026-11-30T18:48:33.647+0000", Clean, 0, ptr(false)},
			{"2026-11-30T18:48:39.851+0000", "2026-11-30T18:48:45.463+0000", Clean, 0, ptr(true)},
			{"2026-11-30T18:49:00.155+0000", "2026-11-30T18:49:03.583+0000", Unclean, 1561 * time.Microsecond, ptr(true)},
			{"2026-11-30T18:49:14.363+0000", "2026-11-30T18:49:17.763+0000", Clean, 0, ptr(true)},
		},
		"20": {
			{"2026-11-30T18:49:46.523+0000", "2026-11-30T18:49:47.887+0000", Unknown, 0, nil},
			{"2026-11-30T18:49:55.059+0000", "2026-11-30T18:49:56.075+0000", Clean, 0, ptr(false)},
			{"2026-11-30T18:50:02.399+0000", "2026-11-30T18:50:03.987+0000", Clean, 0, ptr(true)},
			{"2026-11-30T18:50:17.035+0000", "2026-11-30T18:50:19.403+0000", Unclean, 42251 * time.Microsecond, ptr(true)},
			{"2026-11-30T18:50:35.027+0000", "2026-11-30T18:50:36.767+0000", Clean, 0, ptr(true)},
		},
	} {
		log, err := os.ReadFile(filepath.Join("testdata", release+".log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range boots {
			began := instant(t, b.began)
			want := Boot{Began: began, Active: instant(t, b.active), Shutdown: b.shutdown, Rebuild: &b.rebuild, AllocationFile: b.file}
			got, err := ScanLog(bytes.NewReader(log), began.Add(40*time.Millisecond)) // the socket's instant
			if err != nil {
				t.Errorf("%s: boot of %s: %v", release, b.began, err)
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: boot of %s (-want +got):\n%s", release, b.began, diff)
			}
		}
		if got, err := ScanLog(bytes.NewReader(log), instant(t, "2026-11-30T12:00:00.000+0000")); !errors.Is(err, ErrNoBoot) {
			t.Errorf("%s: a boot of another time: %+v, %v", release, got, err)
		}
	}
}

const (
	banner     = "2026-11-30T10:00:00.000+0100 7f1 0 ceph version 18.2.7 (x) reef (stable), process ceph-osd, pid 7\n"
	active     = "2026-11-30T10:00:05.500+0100 7f1 1 osd.3 18 state: booting -> active\n"
	earlier    = "2026-11-30T09:00:00.000+0100 7f1 0 ceph version 18.2.7 (x) reef (stable), process ceph-osd, pid 6\n"
	served     = "2026-11-30T09:00:09.000+0100 7f1 1 osd.3 12 state: booting -> active\n"
	other      = "2026-11-30T09:30:00.000+0100 7f1 0 osd.3 13 something else\n"
	terminated = "2026-11-30T09:59:58.000+0100 7f1 -1 osd.3 14 *** Got signal Terminated ***\n"
)

func TestScanLogJudgesByTheRunBefore(t *testing.T) {
	const (
		rebuild   = "2026-11-30T10:00:01.000+0100 7f1 0 bluestore(/x) _init_alloc::NCB::restore_allocator() failed! Run Full Recovery from ONodes (might take a while) ...\n"
		rebuilt   = "2026-11-30T10:00:04.000+0100 7f1 1 x::read_allocation_from_drive_on_startup::::Allocation Recovery was completed in 2.5 seconds, extent_count=9\n"
		immediate = "2026-11-30T09:59:58.000+0100 7f1 -1 osd.3 14 *** Immediate shutdown (osd_fast_shutdown=true) ***\n"
		crash     = "2026-11-30T09:59:58.000+0100 7f1 -1 *** Caught signal (Aborted) **\n"
		dumped    = "    -3> 2026-11-30T09:00:00.000+0100 7f1 -1 osd.3 14 *** Got signal Terminated ***\n"
		fileOff   = "2026-11-30T09:59:58.000+0100 7f1 0 osd.3 14 Fast Shutdown: - cct->_conf->osd_fast_shutdown = 1, null-fm = 0\n"
		again     = "2026-11-30T10:20:00.000+0100 7f1 1 osd.3 40 state: booting -> active\n"
	)
	long := "2026-11-30T09:40:00.000+0100 7f1 5 " + strings.Repeat("x", 1<<20) + "*** Got signal Terminated ***\n"
	for name, c := range map[string]struct {
		log      string
		shutdown Shutdown
		rebuild  *time.Duration
		file     *bool
	}{
		"told to stop":                             {earlier + served + terminated + banner + active, Clean, ptr(time.Duration(0)), nil},
		"stopped at once":                          {other + immediate + banner + active, Clean, ptr(time.Duration(0)), nil},
		"killed":                                   {earlier + served + other + banner + active, Unclean, ptr(time.Duration(0)), ptr(false)},
		"killed, its beginning rotated away":       {other + banner + active, Unclean, ptr(time.Duration(0)), ptr(false)},
		"crashed":                                  {earlier + crash + dumped + banner + active, Unclean, ptr(time.Duration(0)), ptr(false)},
		"a signal long ago, in a dump":             {earlier + served + dumped + banner + active, Unclean, ptr(time.Duration(0)), ptr(false)},
		"words far behind in a long line":          {earlier + served + long + banner + active, Unclean, ptr(time.Duration(0)), ptr(false)},
		"told to stop twice ago, killed then":      {terminated + earlier + served + banner + active, Unclean, ptr(time.Duration(0)), ptr(false)},
		"the log begins with the boot":             {banner + active, Unknown, ptr(time.Duration(0)), nil},
		"the run before never served":              {earlier + other + banner + active, Unknown, ptr(time.Duration(0)), nil},
		"rebuilt":                                  {earlier + served + banner + rebuild + rebuilt + active, Unclean, ptr(2500 * time.Millisecond), ptr(true)},
		"rebuilt, how long is not there":           {earlier + served + banner + rebuild + active, Unclean, nil, ptr(true)},
		"killed before it had stopped":             {earlier + served + terminated + banner + rebuild + rebuilt + active, Unclean, ptr(2500 * time.Millisecond), ptr(true)},
		"no file":                                  {earlier + served + terminated + fileOff + banner + active, Clean, ptr(time.Duration(0)), ptr(false)},
		"marked down and up again is no boot":      {earlier + served + terminated + banner + active + again, Clean, ptr(time.Duration(0)), nil},
		"lines without an instant":                 {"x\n\n*** Got signal Terminated ***\n" + earlier + served + banner + "junk state: booting -> active\n" + active, Unclean, ptr(time.Duration(0)), ptr(false)},
		"the last line is not complete":            {earlier + served + terminated + banner + strings.TrimSuffix(active, "\n"), Clean, ptr(time.Duration(0)), nil},
		"bytes that are no text between the lines": {earlier + served + "\x00\xff\xfe\n" + terminated + banner + active, Clean, ptr(time.Duration(0)), nil},
	} {
		want := Boot{Began: instant(t, "2026-11-30T10:00:00.000+0100"), Active: instant(t, "2026-11-30T10:00:05.500+0100"),
			Shutdown: c.shutdown, Rebuild: c.rebuild, AllocationFile: c.file}
		got, err := ScanLog(strings.NewReader(c.log), instant(t, "2026-11-30T09:00:00.100+0000"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestScanLogWithoutTheBootIsAnErrorOfItsOwn(t *testing.T) {
	began := instant(t, "2026-11-30T09:00:00.100+0000")
	for name, log := range map[string]string{"empty": "", "still booting": earlier + served + banner, "of another process": earlier + served} {
		if got, err := ScanLog(strings.NewReader(log), began); !errors.Is(err, ErrNoBoot) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := ScanLog(iotest.ErrReader(broken), began); !errors.Is(err, broken) {
		t.Errorf("a reader's error became %v", err)
	}
}

func FuzzScanLog(f *testing.F) {
	for _, release := range []string{"16", "18", "20"} {
		log, err := os.ReadFile(filepath.Join("testdata", release+".log"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(log[:min(len(log), 8<<10)])
	}
	f.Add([]byte(earlier + served + terminated + banner + active))
	began := instant(f, "2026-11-30T09:00:00.100+0000")
	f.Fuzz(func(t *testing.T, log []byte) {
		b, err := ScanLog(bytes.NewReader(log), began)
		if err != nil {
			return
		}
		if b.Active.IsZero() || b.Began.Sub(began).Abs() > Slack || b.Shutdown == "" {
			t.Errorf("%+v", b)
		}
	})
}
