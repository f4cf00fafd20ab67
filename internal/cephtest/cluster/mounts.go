package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// enterRoot prepares the supervisor's own mount namespace: root read-only
// with fresh /proc, /tmp, /run and state folders, and the cluster's folder
// at the same path inside the root as outside, so that one ceph.conf serves
// both. The mounts end with the namespace.
func enterRoot(root, dir string) error {
	in := func(path string) string { return filepath.Join(root, path) }
	steps := []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount /proc", func() error { return unix.Mount("proc", "/proc", "proc", 0, "") }},
		{"bind the root", func() error { return bind(root, root) }},
		{"mount /tmp", func() error { return tmpfs(in("tmp")) }},
		{"mount /run", func() error { return tmpfs(in("run")) }},
		{"mount /var/lib/ceph", func() error { return tmpfs(in("var/lib/ceph")) }},
		{"mount /var/log/ceph", func() error { return tmpfs(in("var/log/ceph")) }},
		{"mount the root's /proc", func() error { return unix.Mount("proc", in("proc"), "proc", 0, "") }},
		{"bind /sys", func() error { return bind("/sys", in("sys")) }},
		{"bind /dev", func() error { return bind("/dev", in("dev")) }},
		// Normally in the new /tmp; elsewhere an empty folder stays in the root.
		{"make the cluster's folder", func() error { return os.MkdirAll(in(dir), 0o755) }},
		{"bind the cluster's folder", func() error { return bind(dir, in(dir)) }},
		{"make the root read-only", func() error {
			return unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
		}},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("enter root %s: %s: %w", root, s.what, err)
		}
	}
	return nil
}

func bind(from, to string) error { return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "") }

func tmpfs(path string) error { return unix.Mount("tmpfs", path, "tmpfs", 0, "mode=1777") }
