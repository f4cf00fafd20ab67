package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// CacheEnv names the folder that holds the roots instead of the default.
	CacheEnv = "CEPHRISK_CEPHTEST_CACHE"
	// MirrorEnv names Debian's mirror instead of the one in apt's configuration.
	MirrorEnv = "CEPHRISK_CEPHTEST_MIRROR"
	// RunEnv names the folder below which clusters live instead of one in
	// the system's temporary folder.
	RunEnv = "CEPHRISK_CEPHTEST_RUN"
	// LingerEnv says how long a shared cluster outlives its last user, as a
	// Go duration, instead of SharedLinger.
	LingerEnv = "CEPHRISK_CEPHTEST_LINGER"
	// KeepEnv, when not empty, keeps the folder of a cluster that has ended.
	// The next start collects it all the same.
	KeepEnv = "CEPHRISK_CEPHTEST_KEEP"
)

// CacheDir returns the folder, outside of any repository, that keeps the roots.
func CacheDir() string {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "ceph_risk_exporter")
	}
	return "/var/cache/ceph_risk_exporter"
}

// maxRunDir leaves room below the 108 bytes of a socket's address for the
// longest name in a cluster's folder: shared-20.v1/run/ceph-client.rgw.a.PID.ADDRESS.asok.
const maxRunDir = 38

// RunDir returns the folder below which every running cluster has its own.
func RunDir() string {
	if dir := os.Getenv(RunEnv); dir != "" {
		return dir
	}
	dir := filepath.Join(os.TempDir(), "cephtest")
	if len(dir) > maxRunDir {
		return "/tmp/cephtest"
	}
	return dir
}

// lockDir opens dir and takes a lock (unix.LOCK_EX or unix.LOCK_SH) on it,
// which lasts until the file is closed by all who inherited it. It polls
// rather than blocks so that ctx can end the wait.
func lockDir(ctx context.Context, dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := lockFile(ctx, f, how); err != nil {
		f.Close()
		return nil, err
	}
	if !stillAt(f, dir) {
		f.Close()
		return nil, fmt.Errorf("lock %s: removed meanwhile", dir)
	}
	return f, nil
}

func lockFile(ctx context.Context, f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: held by another process: %w", f.Name(), ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tryLockDir is lockDir without the wait; it returns nil when the lock is held.
func tryLockDir(dir string) *os.File {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || !stillAt(f, dir) {
		f.Close()
		return nil
	}
	return f
}

// stillAt says whether dir is still the folder that f has open: a lock on a
// folder that was removed meanwhile protects nothing.
func stillAt(f *os.File, dir string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(dir)
	return err == nil && os.SameFile(mine, now)
}

// removeTree removes a folder, but never what is mounted below it: a root in
// which somebody mounted /dev by hand stays, with the machine's /dev.
func removeTree(dir string) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		// The fifth field is the mount point.
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			return
		}
	}
	os.RemoveAll(dir) // what cannot be removed is collected at the next start
}
