package opslog

import (
	"errors"
	"fmt"
	"io"
)

// Next hands out the record that ended first among the next ones of all files,
// so that a completion in one gateway's log does not overtake the parts in
// another's. The record is valid until the following call. With more unset only
// records found before are handed out, at most one per file.
//
// It returns false when no file has more; errors of reading are reported with
// the next Refresh.
func (fo *Follower) Next(more bool) (daemon string, rec *Record, ok bool) {
	var first *file
	for _, f := range fo.files {
		if !f.loaded && (!more || f.atEnd || !f.load()) {
			continue
		}
		if first == nil || f.current.End().Before(first.current.End()) {
			first = f
		}
	}
	if first == nil {
		return "", nil, false
	}
	first.loaded = false
	fo.latest[first.daemon] = max(fo.latest[first.daemon], nanos(first.current.End()))
	return first.daemon, &first.current, true
}

// AtEnd tells whether all files were read to where they ended at the last
// Refresh or later.
func (fo *Follower) AtEnd() bool {
	for _, f := range fo.files {
		if f.loaded || !f.atEnd {
			return false
		}
	}
	return true
}

// load finds the file's next record. It gives up for now after maxFills reads
// without one, so that a foreign file of any size does not hold up the others.
func (f *file) load() bool {
	const maxFills = 64
	for range maxFills {
		f.loadedFrom = f.framer.Offset()
		if f.framer.Next(&f.current) {
			f.loaded = true
			return true
		}
		if f.f == nil && f.unpack == nil || !f.fill() {
			f.atEnd = true
			return false
		}
	}
	return false
}

// fill reads a piece of the file.
func (f *file) fill() bool {
	if !f.packed && len(f.head) < minHead {
		// After a restart the offset is worth nothing without a head.
		if _, err := f.sameHead(); err != nil || len(f.head) < minHead {
			return false
		}
	}
	var n int
	var err error
	if space := f.framer.Space(readBytes)[:readBytes]; f.packed {
		n, err = f.unpack.Read(space)
	} else {
		n, err = f.f.ReadAt(space, f.read)
	}
	f.framer.Wrote(n)
	f.read += int64(n)
	*f.bytes += uint64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = fmt.Errorf("read ops log: %w", err)
	}
	return n > 0
}

// FileStatus is how far a gateway's logs have been read.
type FileStatus struct {
	Files    int   // being followed
	LagBytes int64 // on disk, but not read yet
	Frames   FrameStats
}

// Status returns the state of reading by daemon.
func (fo *Follower) Status() map[string]FileStatus {
	out := map[string]FileStatus{}
	for daemon, s := range fo.junk {
		out[daemon] = FileStatus{Frames: *s}
	}
	for _, f := range fo.files {
		s := out[f.daemon]
		if f.f != nil {
			s.Files++
			s.LagBytes += max(0, f.size-f.done())
		}
		s.Frames.add(f.framer.Stats())
		out[f.daemon] = s
	}
	return out
}

func (s *FrameStats) add(o FrameStats) {
	s.JunkBytes += o.JunkBytes
	s.JunkRuns += o.JunkRuns
	s.Oversized += o.Oversized
}
