package cephtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestClusterOfEachRelease starts a cluster of each release, uses what tests
// use, and sees that nothing is left of it.
func TestClusterOfEachRelease(t *testing.T) {
	for _, r := range Releases() {
		t.Run(r.String(), func(t *testing.T) {
			dir := ""
			t.Run("up", func(t *testing.T) {
				c := New(t, Options{Release: r, Env: map[string][]string{"osd.1": {"TZ=XXX-00:37"}}})
				dir = c.Dir()
				useCluster(testContext(t), t, c)
			})
			if dir != "" {
				nothingLeft(t, dir)
			}
		})
	}
}

func useCluster(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	version, err := c.Ceph(ctx, "version")
	if want := fmt.Sprintf("ceph version %v.", c.Release()); err != nil || !strings.HasPrefix(string(version), want) {
		t.Fatalf("ceph version: %q, %v, want prefix %q", version, err, want)
	}
	if err := c.CreatePool(ctx, Pool{Name: "p", PGs: 4}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreatePool(ctx, Pool{Name: "e", PGs: 4, EC: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitClean(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.PutObjects(ctx, "p", 20, 4096); err != nil {
		t.Fatal(err)
	}
	listed, err := c.Run(ctx, "rados", "-c", c.ConfPath(), "-p", "p", "ls")
	if n := strings.Count(string(listed), "_object"); err != nil || n != 20 {
		t.Errorf("rados ls: %d objects, %v, want 20\n%s", n, err, listed)
	}
	env, err := c.Run(ctx, "sh", "-c", "grep -zl TZ=XXX-00:37 /proc/[0-9]*/environ | wc -l; ls /proc | grep -c '^[0-9]'")
	if err != nil || !strings.HasPrefix(string(env), "1\n") {
		t.Errorf("processes with osd.1's TZ: %q, %v, want 1", env, err)
	}
	for _, daemon := range []string{"mon.a", "mgr.x", "osd.0"} {
		if path := c.AsokPath(daemon); len(path) >= 108 {
			t.Errorf("admin socket %s: %d bytes do not fit an address", path, len(path))
		} else if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	keyring, err := c.CreateKey(ctx, "client.risk", "mon", "allow r", "mgr", "allow r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(ctx, "ceph", "-c", c.ConfPath(), "--keyring", keyring, "-n", "client.risk", "pg", "dump", "pgs"); err != nil {
		t.Error(err)
	}
	signals(ctx, t, c)
}

// signals stops and resumes, kills and starts an OSD, and adds one.
func signals(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	steps := []struct {
		what string
		do   func() error
	}{
		{"stop the mgr's process", func() error { return c.Signal(ctx, "mgr.x", syscall.SIGSTOP) }},
		{"resume it", func() error { return c.Signal(ctx, "mgr.x", syscall.SIGCONT) }},
		{"kill osd.2", func() error { return c.Signal(ctx, "osd.2", syscall.SIGKILL) }},
		{"start osd.2", func() error { return c.Start(ctx, "osd.2") }},
		{"wait for it", func() error { return c.AwaitUp(ctx) }},
		{"restart osd.1", func() error { return c.Restart(ctx, "osd.1") }},
		{"add an osd", func() error { _, err := c.AddOSD(ctx); return err }},
		{"wait for it", func() error { return c.AwaitUp(ctx) }},
		{"wait for pgs", func() error { return c.WaitClean(ctx) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
	}
}

// nothingLeft sees that no process, mount or folder of the cluster in dir is
// left.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder %s is left: %v", dir, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mounts, []byte(dir)) {
		t.Errorf("a mount of %s is left:\n%s", dir, mounts)
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// processesOf lists the command lines that name the cluster in dir.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		line, err := os.ReadFile(name)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
