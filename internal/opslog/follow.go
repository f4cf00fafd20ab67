package opslog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"
)

const (
	// headBytes is how much of a file's beginning identifies it beside the
	// inode, which is used again after a deletion. The first record has a time
	// and a transaction id, so no two logs begin alike.
	headBytes = 1024
	// minHead is what must be there before a file is read at all: no record is
	// that short, and a copy in the making must not be taken for a new log.
	minHead = 64
	// readBytes is the size of one read.
	readBytes = 256 << 10
	// idleAfter is how long a rotated file must have been quiet before its
	// descriptor is closed. It is still looked at as long as it has a name.
	idleAfter = time.Minute
	// unlinkedIdleAfter is the same for one that has no name any more while its
	// gateway shows no newer log: once closed it is out of reach.
	unlinkedIdleAfter = 24 * time.Hour
)

// FileState is what must be known of a log file to go on with it after a
// restart.
type FileState struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Head   []byte `json:"head"` // its first bytes, up to headBytes
	Offset int64  `json:"offset"`
	Daemon string `json:"daemon"`
}

// FollowStats counts what a Follower met, over all its files.
type FollowStats struct {
	Truncated uint64 `json:"truncated"` // logs cut off, with nothing found to read the rest from
	Vanished  uint64 `json:"vanished"`  // logs gone before they were known to be read to the end
	Copies    uint64 `json:"copies"`    // files found to be copies of a log already read
}

// A Follower reads the log files that match its globs: renamed, cut off,
// deleted, recreated. It is not safe for concurrent use.
type Follower struct {
	globs   []string
	log     *slog.Logger
	files   []*file
	ignored map[inode]ignoredFile
	saved   []FileState // not yet matched to a file
	stats   FollowStats
	junk    map[string]*FrameStats // of closed framers, by daemon
	latest  map[string]int64       // FollowState.Latest
	began   int64                  // FollowState.Began
	bytes   uint64                 // read so far
}

type inode struct{ dev, ino uint64 }

// An ignoredFile need not be read: a copy of a log, or history.
type ignoredFile struct {
	head []byte
	size int64 // when it was looked at; -1: before a restart
}

// A file is one inode, or what is left in memory of a content that is gone.
type file struct {
	path   string
	daemon string
	inode  inode
	head   []byte
	f      *os.File // nil: closed, quiet
	size   int64    // at the last look
	named  bool     // a glob finds it
	linked bool     // it has a name
	grown  time.Time
	packed bool // read from unpack instead of f, once
	unpack io.ReadCloser

	framer     Framer
	read       int64 // offset of the next byte to read
	bytes      *uint64
	atEnd      bool // nothing more to read as of the last look
	current    Record
	loaded     bool  // current holds a record not yet handed out
	loadedFrom int64 // where to begin again to get it once more
	err        error // of the last read, reported by Refresh
}

// NewFollower returns a follower that goes on from saved.
func NewFollower(globs []string, saved FollowState, log *slog.Logger) *Follower {
	fo := &Follower{
		globs: globs, saved: slices.Clone(saved.Files), stats: saved.Stats, began: saved.Began, log: log,
		ignored: map[inode]ignoredFile{}, junk: map[string]*FrameStats{},
	}
	for daemon, s := range saved.Frames {
		fo.junk[daemon] = &s
	}
	for _, s := range saved.Ignored {
		fo.ignored[inode{s.Device, s.Inode}] = ignoredFile{s.Head, -1}
	}
	if fo.latest = maps.Clone(saved.Latest); fo.latest == nil {
		fo.latest = map[string]int64{}
	}
	return fo
}

// Close closes the files.
func (fo *Follower) Close() {
	for _, f := range fo.files {
		f.close()
	}
	fo.files = nil
}

func (f *file) close() {
	if f.unpack != nil {
		_ = f.unpack.Close()
		f.unpack = nil
	}
	if f.f != nil {
		_ = f.f.Close()
		f.f = nil
	}
}

// FollowState is what a Follower must know to go on after a restart.
type FollowState struct {
	Files  []FileState           `json:"files"`
	Stats  FollowStats           `json:"stats"`
	Frames map[string]FrameStats `json:"frames"` // by daemon
	// Ignored are files that need not be read; their offsets mean nothing.
	Ignored []FileState `json:"ignored"`
	// Latest is the end of the latest request handed out, by daemon, in Unix
	// nanoseconds.
	Latest map[string]int64 `json:"latest"`
	// Began is when the first Follower looked first, in Unix nanoseconds: what
	// had been rotated by then is history.
	Began int64 `json:"began"`
}

// State is what to save. Offsets are behind the last record handed out.
func (fo *Follower) State() FollowState {
	out := FollowState{Files: slices.Clone(fo.saved), Stats: fo.stats, Frames: map[string]FrameStats{}, Latest: maps.Clone(fo.latest), Began: fo.began}
	for daemon, s := range fo.Status() {
		out.Frames[daemon] = s.Frames
	}
	for i, ignored := range fo.ignored {
		out.Ignored = append(out.Ignored, FileState{Device: i.dev, Inode: i.ino, Head: ignored.head})
	}
	for _, f := range fo.files {
		if len(f.head) < minHead {
			continue // nothing was read
		}
		out.Files = append(out.Files, FileState{
			Path: f.path, Device: f.inode.dev, Inode: f.inode.ino,
			Head: f.head, Offset: f.done(), Daemon: f.daemon,
		})
	}
	return out
}

// done is the offset up to which records were handed out.
func (f *file) done() int64 {
	if f.loaded {
		return f.loadedFrom
	}
	return f.framer.Offset()
}

// Refresh looks which files there are now. Errors are per file or directory;
// what could be found is used.
func (fo *Follower) Refresh(now time.Time) error {
	if fo.began == 0 {
		fo.began = now.UnixNano()
	}
	found, err := fo.look()
	seen := make(map[inode]candidate, len(found))
	for _, c := range found {
		if old, twice := seen[c.inode]; !twice || c.named && !old.named {
			seen[c.inode] = c
		}
	}
	errs := []error{err}
	for _, f := range slices.Clone(fo.files) {
		if f.inode == (inode{}) {
			fo.forget(f)
			continue
		}
		errs = append(errs, fo.check(f, seen, found, now))
	}
	fo.resume(found, now)
	fo.recheck(seen)
	for _, c := range found {
		if fo.ignored[c.inode].head == nil && fo.byInode(c.inode) == nil {
			errs = append(errs, fo.open(c, now))
		}
	}
	return errors.Join(errs...)
}

// recheck lets go of ignored files that are gone or became others.
func (fo *Follower) recheck(seen map[inode]candidate) {
	for i, ignored := range fo.ignored {
		c, there := seen[i]
		switch {
		case !there:
			delete(fo.ignored, i)
		case c.size == ignored.size:
		case beginsWith(c.path, ignored.head):
			fo.ignored[i] = ignoredFile{ignored.head, c.size}
		default:
			delete(fo.ignored, i)
		}
	}
}

func (fo *Follower) byInode(i inode) *file {
	for _, f := range fo.files {
		if f.inode == i {
			return f
		}
	}
	return nil
}

// check follows a known file to its present name and notices what was done to
// it.
func (fo *Follower) check(f *file, seen map[inode]candidate, found []candidate, now time.Time) error {
	if err := f.err; err != nil {
		f.err = nil
		return err
	}
	if f.packed {
		if f.atEnd {
			fo.forget(f)
		}
		return nil
	}
	c, there := seen[f.inode]
	f.linked = there
	f.named = there && c.named
	if there {
		f.path = c.path
	}
	if f.f == nil {
		if !there {
			fo.forget(f)
			return nil
		}
		if c.size == f.size {
			return nil
		}
		if err := f.reopen(); err != nil {
			return err
		}
	}
	info, err := f.f.Stat()
	if err != nil {
		return fmt.Errorf("look at ops log: %w", err)
	}
	size := info.Size()
	if size != f.size {
		f.grown = now
	}
	f.size = size
	same, err := f.sameHead()
	if err != nil {
		return err
	}
	if size < f.read || !same {
		fo.truncated(f, found, now)
		return nil
	}
	f.atEnd = f.atEnd && size == f.read
	fo.retire(f, now)
	return nil
}

// retire closes a file that rotation took away and that has been quiet.
func (fo *Follower) retire(f *file, now time.Time) {
	if f.named || !f.atEnd {
		return
	}
	quiet := now.Sub(f.grown)
	switch successor := fo.hasSuccessor(f); {
	case f.linked && successor && quiet >= idleAfter:
		f.close()
	case !f.linked && (successor && quiet >= idleAfter || quiet >= unlinkedIdleAfter):
		fo.forget(f)
	}
}

// hasSuccessor tells whether the gateway writes to another file by now.
func (fo *Follower) hasSuccessor(f *file) bool {
	for _, o := range fo.files {
		if o != f && o.named && o.daemon == f.daemon && o.size > 0 {
			return true
		}
	}
	return false
}

// forget drops a file that is out of reach. What it kept back is an incomplete
// record that will not be completed; records inside that are handed out first.
func (fo *Follower) forget(f *file) {
	f.close()
	f.framer.Finish()
	if f.loaded || f.load() || !f.atEnd {
		f.atEnd = false
		return
	}
	fo.keepStats(f)
	fo.files = slices.DeleteFunc(fo.files, func(o *file) bool { return o == f })
}

// follows tells whether there is a log of that gateway.
func (fo *Follower) follows(daemon string) bool {
	for _, f := range fo.files {
		if f.daemon == daemon {
			return true
		}
	}
	return false
}

// forgetDaemon drops what is kept of a gateway without a log.
func (fo *Follower) forgetDaemon(daemon string) {
	delete(fo.junk, daemon)
	delete(fo.latest, daemon)
}

func (fo *Follower) keepStats(f *file) {
	s := fo.junk[f.daemon]
	if s == nil {
		s = &FrameStats{}
		fo.junk[f.daemon] = s
	}
	s.add(f.framer.Stats())
}

// truncated starts a file over whose content was replaced. Where a copy of the
// old content is found (copytruncate), the unread rest is read from there; else
// what is in memory of it is all there is.
func (fo *Follower) truncated(f *file, found []candidate, now time.Time) {
	old := *f
	*f = file{path: old.path, daemon: old.daemon, inode: old.inode, f: old.f, size: old.size, named: old.named, linked: old.linked, grown: now, bytes: old.bytes}
	if len(old.head) < minHead {
		return // nothing of it was read; a copy will be found to be new
	}
	old.f, old.inode, old.named, old.linked, old.grown = nil, inode{}, false, false, now
	fo.files = append(fo.files, &old)
	rest := fo.copyOf(f.inode, old.head, found)
	switch {
	case rest == nil:
		fo.stats.Truncated++
		fo.log.Warn("ops log was cut off, and no copy of it was found: requests logged since the last look may be missing",
			"file", f.path, "daemon", f.daemon, "read_up_to", old.read)
	case rest.size > old.read && !rest.packed:
		fo.log.Info("ops log was cut off, reading the rest from its copy", "file", f.path, "copy", rest.path)
		old.path, old.inode, old.linked, old.size, old.atEnd = rest.path, rest.inode, true, rest.size, false
		if err := old.reopen(); err != nil {
			fo.stats.Truncated++
			fo.log.Warn("cannot read the copy of an ops log that was cut off", "copy", rest.path, "err", err)
		}
	default:
		fo.ignored[rest.inode] = ignoredFile{old.head, rest.size}
	}
}

// resume finds the files that were being read before a restart.
func (fo *Follower) resume(found []candidate, now time.Time) {
	saved := fo.saved
	fo.saved = nil
	for _, s := range saved {
		c := findSaved(s, found, func(i inode) bool { return fo.byInode(i) != nil })
		if c == nil {
			if s.Offset > 0 {
				fo.stats.Vanished++
				fo.log.Warn("ops log of before the restart is gone: requests it got since may be missing",
					"file", s.Path, "daemon", s.Daemon, "read_up_to", s.Offset)
			}
			continue
		}
		if err := fo.adopt(*c, s.Head, s.Offset, s.Daemon, now); err != nil {
			fo.log.Warn("cannot go on with ops log", "file", c.path, "err", err)
			fo.saved = append(fo.saved, s) // permission, perhaps: try again
		}
	}
}

// adopt goes on with a file at an offset.
func (fo *Follower) adopt(c candidate, head []byte, offset int64, daemon string, now time.Time) error {
	f := &file{
		path: c.path, daemon: daemon, inode: c.inode, head: slices.Clone(head), read: offset,
		size: c.size, named: c.named, linked: true, grown: now, bytes: &fo.bytes, packed: c.packed,
	}
	f.framer.Reset(offset)
	if f.packed {
		unpack, err := openPacked(c.path)
		if err != nil {
			return err
		}
		f.unpack = unpack
		if _, err := io.CopyN(io.Discard, unpack, offset); err != nil {
			f.close()
			return fmt.Errorf("unpack ops log: %w", err)
		}
	} else if err := f.reopen(); err != nil {
		return err
	}
	fo.files = append(fo.files, f)
	return nil
}

// open begins with a file that was not seen before, unless it is a copy of one
// that is read already, or one that was rotated away before its time here.
func (fo *Follower) open(c candidate, now time.Time) error {
	if c.size < minHead {
		return nil // not yet
	}
	head, err := readHead(c.path)
	if err != nil {
		if !c.named {
			return nil // nobody asked for it
		}
		return fmt.Errorf("read ops log: %w", err)
	}
	for _, f := range fo.files {
		n := min(len(f.head), len(head))
		if n >= minHead && bytes.Equal(f.head[:n], head[:n]) {
			fo.ignored[c.inode] = ignoredFile{head, c.size}
			fo.stats.Copies++
			fo.log.Info("not reading a copy of an ops log", "copy", c.path, "of", f.path)
			return nil
		}
	}
	daemon := DaemonName(c.path)
	if !c.named {
		first, ok := firstEnd(c.path)
		if !ok && c.size < firstEndBytes {
			return nil // not yet
		}
		// It came and went between two looks if it begins after all that was
		// read of its gateway: logs are in the order in which requests ended.
		if !ok || first+logJitter <= max(fo.latest[daemon], fo.began) {
			fo.ignored[c.inode] = ignoredFile{head, c.size}
			return nil
		}
	}
	return fo.adopt(c, head, 0, daemon, now)
}
