package cephtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

// A log that several goroutines write.
type sharedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// TestRootIsMadeOnceAndLeavesNoMount makes a root in an empty cache, asked
// for twice at the same time, and runs a cluster of six OSDs from it.
func TestRootIsMadeOnceAndLeavesNoMount(t *testing.T) {
	SkipUnlessLong(t)
	RequireTool(t, "debootstrap")
	needCluster(t.Context(), t)
	cache := t.TempDir()
	t.Setenv(cluster.CacheEnv, cache)
	var log sharedLog
	var dirs [2]string
	var both sync.WaitGroup
	for i := range dirs {
		both.Go(func() {
			dir, err := cluster.EnsureRoot(t.Context(), R16, &log)
			if err != nil {
				t.Error(err)
			}
			dirs[i] = dir
		})
	}
	both.Wait()
	if n := strings.Count(log.buf.String(), "making a root"); n != 1 || dirs[0] != dirs[1] {
		t.Errorf("made %d roots, in %q, want one", n, dirs)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(cache)) {
		t.Errorf("a mount is left below %s, %v:\n%s", cache, err, mounts)
	}
	left, err := filepath.Glob(filepath.Join(cache, "roots", "[^.]*"))
	if err != nil || len(left) != 1 {
		t.Errorf("in the cache: %q, %v, want the root alone", left, err)
	}
	t.Run("six OSDs", func(t *testing.T) {
		ctx := testContext(t)
		c := New(t, Options{Release: R16, OSDs: 6, Pools: []Pool{{Name: "wide", PGs: 16, EC: true, K: 4, M: 2, Objects: 16}}})
		if n, err := c.OSDs(ctx); err != nil || n != 6 {
			t.Errorf("%d OSDs, %v, want 6", n, err)
		}
		if err := c.WaitClean(ctx); err != nil {
			t.Error(err)
		}
	})
}
