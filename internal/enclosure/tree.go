package enclosure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is the host's file system as this process sees it. In a container /sys,
// /dev and the host's root are mounted elsewhere, and absolute links in them
// still speak of the host: they are followed inside these roots, never outside.
type Tree struct {
	Sysfs  string // the host's /sys
	Dev    string // the host's /dev
	Rootfs string // the host's /

	// plain holds the host paths of which resolve knows that they are no links;
	// nil: it does not remember. One look at the host shares one, since most of
	// its paths share their beginnings.
	plain map[string]bool
}

// remembering returns a copy that looks at each directory once.
func (t Tree) remembering() Tree {
	t.plain = map[string]bool{}
	return t
}

// maxLinks bounds how many symbolic links one path may lead over.
const maxLinks = 40

var errTooManyLinks = errors.New("too many symbolic links")

// real turns a host path without links into one of this process.
func (t Tree) real(host string) string {
	for _, m := range []struct{ at, root string }{{"/sys", t.Sysfs}, {"/dev", t.Dev}} {
		if host == m.at {
			return m.root
		}
		if rest, ok := strings.CutPrefix(host, m.at+"/"); ok {
			return path.Join(m.root, rest)
		}
	}
	return path.Join(t.Rootfs, host)
}

// resolve follows all symbolic links of an absolute host path and returns a host
// path without any.
func (t Tree) resolve(host string) (string, error) {
	if t.plain[host] {
		return host, nil // it, and so all above it
	}
	done, rest := "/", strings.TrimPrefix(path.Clean("/"+host), "/")
	for links := 0; rest != ""; {
		name, after, _ := strings.Cut(rest, "/")
		rest = after
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			done = path.Dir(done)
			continue
		}
		next := strings.TrimSuffix(done, "/") + "/" + name
		if t.plain[next] {
			done = next
			continue
		}
		info, err := os.Lstat(t.real(next))
		if err != nil {
			return "", fmt.Errorf("resolve %s: %w", host, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if t.plain != nil && info.IsDir() {
				t.plain[next] = true
			}
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("resolve %s: %w", host, errTooManyLinks)
		}
		target, err := os.Readlink(t.real(next))
		if err != nil {
			return "", fmt.Errorf("resolve %s: %w", host, err)
		}
		if strings.HasPrefix(target, "/") {
			done = "/"
		}
		rest = strings.TrimPrefix(target, "/") + "/" + rest
	}
	return done, nil
}

// link returns where a link of a resolved directory points: a host path of
// which nothing more is resolved, so that it is there also where the target is
// not.
func (t Tree) link(dir, name string) (string, error) {
	target, err := os.Readlink(t.real(path.Join(dir, name)))
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(target, "/") {
		return path.Clean(target), nil
	}
	return path.Join(dir, target), nil
}

// list returns the names in a directory, sorted; none where it cannot be read.
func (t Tree) list(host string) []string {
	dir, err := t.resolve(host)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(t.real(dir))
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// maxAttribute bounds what is read of a file of one value.
const maxAttribute = 16 << 10

// read returns a small file of a directory, without the white space
// around it; empty where it cannot be read.
func (t Tree) read(dir, name string) string {
	return strings.TrimSpace(string(t.readBytes(dir, name)))
}

func (t Tree) readBytes(dir, name string) []byte {
	dir, err := t.resolve(dir)
	if err != nil {
		return nil
	}
	f, err := os.OpenFile(t.real(path.Join(dir, name)), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) {
		var file string
		if file, err = t.resolve(path.Join(dir, name)); err == nil {
			f, err = os.Open(t.real(file))
		}
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	var b []byte
	chunk := make([]byte, 256) // most attributes are shorter
	for len(b) < maxAttribute {
		n, err := f.Read(chunk)
		b = append(b, chunk[:n]...)
		if err != nil {
			break
		}
	}
	return b
}
