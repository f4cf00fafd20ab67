package opslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// candidate is a file that was seen on disk.
type candidate struct {
	path  string
	inode inode
	size  int64
	named bool // a glob matches
	// packed: gzip made it of a log that was rotated; its size says nothing.
	packed bool
}

// look lists the files that match, and those beside known ones whose names
// begin with theirs: what rotation leaves.
func (fo *Follower) look() ([]candidate, error) {
	var found []candidate
	var errs []error
	known := map[string][]string{} // directory -> names of logs
	add := func(path string, named bool) {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("look at ops log: %w", err))
			return
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.Mode().IsRegular() {
			return
		}
		found = append(found, candidate{path, inode{uint64(st.Dev), st.Ino}, info.Size(), named && !packed(path), packed(path)})
	}
	for _, g := range fo.globs {
		paths, err := filepath.Glob(g)
		if err != nil {
			errs = append(errs, fmt.Errorf("ops log %q: %w", g, err))
		}
		for _, p := range paths {
			if !unreadable(p) {
				add(p, true)
				known[filepath.Dir(p)] = append(known[filepath.Dir(p)], filepath.Base(p))
			}
		}
	}
	for _, f := range fo.files {
		known[filepath.Dir(f.path)] = append(known[filepath.Dir(f.path)], filepath.Base(f.path))
	}
	for _, s := range fo.saved {
		known[filepath.Dir(s.Path)] = append(known[filepath.Dir(s.Path)], filepath.Base(s.Path))
	}
	for dir, names := range known {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // the globs have reported it, or it is gone
		}
		for _, e := range entries {
			if !unreadable(e.Name()) && isSibling(e.Name(), names) {
				add(filepath.Join(dir, e.Name()), false)
			}
		}
	}
	return found, errors.Join(errs...)
}

func isSibling(name string, of []string) bool {
	stem := func(s string) string {
		if i := strings.LastIndex(s, ".log"); i > 0 {
			return s[:i]
		}
		return s
	}
	for _, o := range of {
		if strings.HasPrefix(name, stem(o)) {
			return true
		}
	}
	return false
}

func packed(path string) bool { return filepath.Ext(path) == ".gz" }

func unreadable(path string) bool {
	switch filepath.Ext(path) {
	case ".xz", ".zst", ".bz2", ".lz4":
		return true
	}
	return false
}

// copyOf finds another file that begins as a known one did.
func (fo *Follower) copyOf(except inode, begin []byte, found []candidate) *candidate {
	if len(begin) < minHead {
		return nil
	}
	for _, c := range found {
		if c.inode == except || fo.byInode(c.inode) != nil {
			continue
		}
		if head, err := readHead(c.path); err == nil && bytes.HasPrefix(head, begin) {
			return &c
		}
	}
	return nil
}

// findSaved prefers the same inode; after a restore or a copytruncate another
// one holds the same content.
func findSaved(s FileState, found []candidate, taken func(inode) bool) *candidate {
	var second *candidate
	for _, c := range found {
		if taken(c.inode) || c.size < s.Offset && !c.packed {
			continue
		}
		head, err := readHead(c.path)
		if err != nil {
			if c.inode == (inode{s.Device, s.Inode}) {
				return &c // adopt will say why
			}
			continue
		}
		if !bytes.HasPrefix(head, s.Head) {
			continue
		}
		if c.inode == (inode{s.Device, s.Inode}) {
			return &c
		}
		second = &c
	}
	return second
}

// logJitter is by how much records of one log may be out of order, in ns.
const logJitter = int64(50 * time.Millisecond)

// firstEndBytes is how far into a log its first record is looked for.
const firstEndBytes = 64 << 10

// firstEnd is the end of the first request in a log, in Unix nanoseconds.
func firstEnd(path string) (int64, bool) {
	begin, err := readBegin(path, firstEndBytes)
	if err != nil {
		return 0, false
	}
	var f Framer
	var rec Record
	_, _ = f.Write(begin)
	for f.Next(&rec) {
		if rec.IsRequest() && !rec.Start.IsZero() {
			return nanos(rec.End()), true
		}
	}
	return 0, false
}

func beginsWith(path string, head []byte) bool {
	begin, err := readHead(path)
	return err == nil && bytes.HasPrefix(begin, head)
}

func readHead(path string) ([]byte, error) { return readBegin(path, headBytes) }

// readBegin reads up to n bytes, of what was packed where a file is.
func readBegin(path string, n int) ([]byte, error) {
	var file io.ReadCloser
	var err error
	if packed(path) {
		file, err = openPacked(path)
	} else {
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	buf := make([]byte, n)
	got, err := io.ReadFull(file, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return buf[:got], nil
}

// packedFile is a gzip file being unpacked.
type packedFile struct {
	*gzip.Reader
	file *os.File
}

func openPacked(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open ops log: %w", err)
	}
	z, err := gzip.NewReader(file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("unpack ops log %s: %w", path, err)
	}
	return &packedFile{z, file}, nil
}

// Close closes the file.
func (p *packedFile) Close() error { return p.file.Close() }

func (f *file) reopen() error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("open ops log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return fmt.Errorf("open ops log: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || f.inode != (inode{uint64(st.Dev), st.Ino}) {
		_ = file.Close()
		return fmt.Errorf("open ops log %s: replaced a moment ago", f.path)
	}
	f.f = file
	return nil
}

// sameHead tells whether the file still begins as it did, and learns more of
// its beginning while it is short.
func (f *file) sameHead() (bool, error) {
	buf := make([]byte, headBytes)
	n, err := f.f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read ops log: %w", err)
	}
	if !bytes.HasPrefix(buf[:n], f.head) {
		return false, nil
	}
	f.head = slices.Clone(buf[:n])
	return true, nil
}
