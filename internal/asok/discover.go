package asok

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Socket is an admin socket found on disk. That it is there does not mean
// that a daemon listens: one that was killed leaves its socket behind.
type Socket struct {
	Path    string
	Cluster string // "ceph" nearly everywhere
	// FSID of the cluster where the directory's name says it (cephadm), else
	// empty: ask Status.
	FSID string
	Type string // osd, mon, mgr, mds, client
	ID   string // "12"; "rgw.store.host1.abcdef" for a gateway
	PID  string // where the name carries one
}

// Name is the daemon's name as in the label ceph_daemon: "osd.12"; for a
// gateway "rgw.store.host1.abcdef".
func (s Socket) Name() string {
	if s.Type == "client" && strings.HasPrefix(s.ID, "rgw.") {
		return s.ID
	}
	return s.Type + "." + s.ID
}

// IsGateway tells whether it belongs to a radosgw.
func (s Socket) IsGateway() bool { return s.Type == "client" && strings.HasPrefix(s.ID, "rgw.") }

// Depth and number of directories looked into. Layouts below --path.run:
//
//	package   /var/run/ceph/ceph-osd.3.asok
//	cephadm   /var/run/ceph/<fsid>/ceph-osd.3.asok
//	Rook      /var/lib/rook/exporter/ceph-osd.3.asok,
//	          /var/lib/rook/<namespace>/exporter/ceph-osd.3.asok
const (
	maxDepth       = 2
	maxDirectories = 256
)

// Discover lists the admin sockets below root, sorted by path. A directory that
// vanishes or cannot be read while it looks is skipped, and named in err beside
// the sockets that were found; a root that cannot be read is an error alone.
func Discover(root string) ([]Socket, error) {
	type dir struct {
		path  string
		depth int
	}
	var (
		found   []Socket
		skipped []error
		queue   = []dir{{root, 0}}
	)
	for looked := 0; len(queue) > 0; looked++ {
		if looked == maxDirectories {
			skipped = append(skipped, fmt.Errorf("find admin sockets: more than %d directories below %s", maxDirectories, root))
			break
		}
		d := queue[0]
		queue = queue[1:]
		entries, err := os.ReadDir(d.path)
		if err != nil {
			if d.depth == 0 {
				return nil, fmt.Errorf("find admin sockets: %w", err)
			}
			if !errors.Is(err, fs.ErrNotExist) {
				skipped = append(skipped, fmt.Errorf("find admin sockets: %w", err))
			}
			continue
		}
		for _, e := range entries {
			path := filepath.Join(d.path, e.Name())
			if e.IsDir() && d.depth < maxDepth {
				queue = append(queue, dir{path, d.depth + 1})
			}
			if s, ok := parseName(e.Name()); ok && e.Type()&fs.ModeSocket != 0 {
				s.Path, s.FSID = path, fsidOf(d.path)
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b Socket) int { return cmp.Compare(a.Path, b.Path) })
	return found, errors.Join(skipped...)
}

// parseName reads $cluster-$type.$id[.$pid.$cctid].asok. Gateways and other
// clients carry the process id and the address of their context, daemons with
// `admin_socket` changed may carry the process id alone.
func parseName(name string) (Socket, bool) {
	rest, ok := strings.CutSuffix(name, ".asok")
	if !ok {
		return Socket{}, false
	}
	s, ok := splitName(rest)
	if !ok {
		return Socket{}, false
	}
	parts := strings.Split(s.ID, ".")
	switch n := len(parts); {
	case s.Type == "osd":
		// An OSD's id is a number without a dot, so what follows is the rest.
		if !isNumber(parts[0]) {
			return Socket{}, false
		}
		s.ID = parts[0]
		if n > 1 && isNumber(parts[1]) {
			s.PID = parts[1]
		}
	case n > 2 && parts[0] != "" && isNumber(parts[n-1]) && isNumber(parts[n-2]):
		// One number alone could be part of the name: rgw.8080.
		s.ID, s.PID = strings.Join(parts[:n-2], "."), parts[n-2]
	}
	return s, true
}

// splitName cuts at the first "-<type>.": a cluster's name and a gateway's may
// hold dashes of their own.
func splitName(name string) (Socket, bool) {
	var s Socket
	first := len(name)
	for _, daemon := range []string{"osd", "mon", "mgr", "mds", "client"} {
		mark := "-" + daemon + "."
		if i := strings.Index(name, mark); i > 0 && i < first && i+len(mark) < len(name) {
			first = i
			s = Socket{Cluster: name[:i], Type: daemon, ID: name[i+len(mark):]}
		}
	}
	return s, first < len(name)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// fsidOf returns the last element of a path that is a cluster's fsid.
func fsidOf(dir string) string {
	base := filepath.Base(dir)
	if len(base) != 36 {
		return ""
	}
	for i, c := range base {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return ""
		}
	}
	return base
}
