// Package osdboot knows how OSDs boot: what their logs tell of a boot and of the
// shutdown before it, and how long the next boot should take, judged by those
// seen. It is pure: no clock, no files, no Prometheus.
package osdboot

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Shutdown is how an OSD went down before a boot.
type Shutdown string

// The kinds of shutdown. After an unclean one BlueStore has more to do, most of
// all where it keeps the map of free space in a file (from 17 on, on flash):
// then it makes that map anew from every onode.
const (
	Clean   Shutdown = "clean"
	Unclean Shutdown = "unclean"
	Unknown Shutdown = "unknown" // the log does not tell, or there is none
)

// Boot is one start of an OSD process.
type Boot struct {
	Began    time.Time `json:"began"`  // the process had just started
	Active   time.Time `json:"active"` // the OSD was active for the first time
	Shutdown Shutdown  `json:"shutdown"`
	// Rebuild is how long it took to make the map of free space from every
	// onode: 0 where that was not needed, nil where it is not known.
	Rebuild *time.Duration `json:"rebuild,omitempty"`
	// AllocationFile tells whether the OSD keeps that map in a file, so that
	// an unclean shutdown costs a rebuild. Nil: not known.
	AllocationFile *bool `json:"allocation_file,omitempty"`
}

// Duration is what the boot took.
func (b Boot) Duration() time.Duration { return b.Active.Sub(b.Began) }

// ErrNoBoot: the log, or the part of it that was read, does not have the boot.
var ErrNoBoot = errors.New("boot not in the log")

// Slack is how far the log's first line of a boot may be from the instant at
// which the admin socket was made: fetching the configuration lies between.
const Slack = 2 * time.Minute

// ScanLog reads the end of an OSD's log and returns the boot of the process that
// began then. An error other than ErrNoBoot is the reader's.
//
// The lines it goes by are there at Ceph's default log levels, the same from 16
// to 20:
//
//	... ceph version 18.2.7 (...) reef (stable), process ceph-osd, pid 2672
//	... osd.0 18 state: booting -> active
//	... osd.0 14 *** Got signal Terminated ***
//	... osd.0 26 Fast Shutdown: - cct->_conf->osd_fast_shutdown = 1, null-fm = 1
//	... _init_alloc::NCB::restore_allocator() failed! Run Full Recovery from ONodes ...
//	... read_allocation_from_drive_on_startup::::Allocation Recovery was completed in 0.001561 seconds, ...
func ScanLog(r io.Reader, began time.Time) (Boot, error) {
	var before, this, found, beforeFound run
	have := false
	keep := func() {
		if this.banner && !this.active.IsZero() && this.began.Sub(began).Abs() <= Slack &&
			(!have || this.began.Sub(began).Abs() < found.began.Sub(began).Abs()) {
			found, beforeFound, have = this, before, true
		}
	}
	lines := bufio.NewReaderSize(r, 4<<10)
	for {
		line, cut, err := lines.ReadLine()
		if err == nil && strings.Contains(string(line), bannerText) {
			if at, ok := stamp(string(line)); ok {
				keep()
				before, this = this, run{banner: true, lines: true, began: at}
			}
		} else if err == nil {
			this.line(string(line))
		}
		for err == nil && cut { // the rest of a long line
			_, cut, err = lines.ReadLine()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Boot{}, fmt.Errorf("read log: %w", err)
		}
	}
	keep()
	if !have {
		return Boot{}, ErrNoBoot
	}
	return boot(beforeFound, found), nil
}

const bannerText = ", process ceph-osd, pid "

// run is what the lines of one process say.
type run struct {
	lines   bool // there is at least one
	banner  bool // the first is there: it is not the end of a run only
	began   time.Time
	active  time.Time
	started bool // it came as far as to serve, or its beginning is not there
	orderly bool // told to stop
	crashed bool
	nullFM  *bool // it kept its map of free space in a file

	rebuilt bool
	rebuild *time.Duration
}

// line takes a line that is not the first of a process. Those without an instant
// of their own, such as the dump of recent lines after a crash, say nothing.
func (r *run) line(text string) {
	at, ok := stamp(text)
	if !ok {
		return
	}
	r.lines = true
	switch {
	case strings.HasSuffix(text, "state: booting -> active"):
		if r.active.IsZero() {
			r.active = at
		}
		r.started = true
	case strings.Contains(text, "done with init, starting boot process"):
		r.started = true
	case strings.Contains(text, "*** Got signal Terminated ***"), strings.Contains(text, "*** Got signal Interrupt ***"),
		strings.Contains(text, "*** Immediate shutdown ("):
		r.orderly = true
	case strings.Contains(text, "*** Caught signal ("):
		r.crashed = true
	case strings.Contains(text, "Fast Shutdown: "):
		if _, value, ok := strings.Cut(text, "null-fm = "); ok {
			file := strings.HasPrefix(value, "1")
			r.nullFM = &file
		}
	case strings.Contains(text, "restore_allocator() failed! Run Full Recovery"):
		r.rebuilt = true
	case strings.Contains(text, "Allocation Recovery was completed in "):
		_, rest, _ := strings.Cut(text, "Allocation Recovery was completed in ")
		number, _, _ := strings.Cut(rest, " ")
		if seconds, err := strconv.ParseFloat(number, 64); err == nil && seconds >= 0 && seconds < 1e9 {
			took := time.Duration(seconds * float64(time.Second))
			r.rebuilt, r.rebuild = true, &took
		}
	}
}

// stamp reads the instant at the beginning of a line.
func stamp(line string) (time.Time, bool) {
	text, _, ok := strings.Cut(line, " ")
	if !ok || len(text) < len("2006-01-02T15:04:05+0000") {
		return time.Time{}, false
	}
	at, err := time.Parse("2006-01-02T15:04:05-0700", text)
	return at, err == nil
}

// boot judges a run by its own lines and those of the run before.
func boot(before, this run) Boot {
	b := Boot{Began: this.began, Active: this.active, Shutdown: Unknown}
	none, yes, no := time.Duration(0), true, false
	switch {
	case this.rebuilt:
		b.Rebuild = this.rebuild
	default:
		b.Rebuild = &none
	}
	switch {
	case this.rebuilt:
		b.Shutdown = Unclean // also when it was told to stop and killed before it had
	case before.orderly:
		b.Shutdown = Clean
	case before.crashed, before.started, before.lines && !before.banner:
		b.Shutdown = Unclean
	}
	switch {
	case this.rebuilt:
		b.AllocationFile = &yes
	case before.nullFM != nil:
		b.AllocationFile = before.nullFM
	case b.Shutdown == Unclean:
		b.AllocationFile = &no // or there would have been a rebuild
	}
	return b
}
