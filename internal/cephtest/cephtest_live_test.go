package cephtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestClusterOfEachRelease starts a cluster of each release, uses what tests
// use, and sees that nothing is left of it.
func TestClusterOfEachRelease(t *testing.T) {
	for _, r := range Releases() {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			dir := ""
			t.Run("up", func(t *testing.T) {
				c := New(t, Options{
					Release: r, RGWs: 1, RGWOpsLog: true,
					Env: map[string][]string{"osd.1": {"TZ=XXX-00:37"}},
					Pools: []Pool{
						{Name: "p", PGs: 4, Objects: 20},
						{Name: "e", PGs: 4, EC: true, Objects: 10, Set: map[string]string{"noscrub": "1"}},
					},
				})
				dir = c.Dir()
				ctx := testContext(t)
				asksAndPaths(ctx, t, c)
				commandsInside(ctx, t, c)
				gateway(ctx, t, c)
				daemonsObey(ctx, t, c)
			})
			if dir != "" {
				nothingLeft(t, dir)
			}
		})
	}
}

// asksAndPaths sees that the cluster has the release, data, keys, sockets and
// environment that were asked for.
func asksAndPaths(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	answer, err := c.MonCommand(ctx, []byte(`{"prefix":"version","format":"json"}`))
	if want := fmt.Sprintf(`{"version":"ceph version %v.`, c.Release()); err != nil || !strings.HasPrefix(strings.TrimSpace(string(answer)), want) {
		t.Fatalf("version: %q, %v, want prefix %q", answer, err, want)
	}
	if answer, err = c.MgrCommand(ctx, []byte(`{"prefix":"pg ls","states":["snaptrim_error"],"format":"json"}`)); err != nil || string(answer) != `{"pg_ready":true}` {
		t.Errorf("pg ls without a match: %q, %v", answer, err)
	}
	if _, err = c.MonCommand(ctx, []byte(`{"prefix":"no such command"}`)); err == nil {
		t.Error("a command that does not exist was answered")
	}
	listed, err := c.Run(ctx, "rados", "-c", c.ConfPath(), "-p", "p", "ls")
	if n := strings.Count(string(listed), "_object"); err != nil || n != 20 {
		t.Errorf("rados ls: %d objects, %v, want 20", n, err)
	}
	if err := c.PutObjects(ctx, "e", 5, 8192); err != nil {
		t.Error(err)
	}
	with, err := c.Run(ctx, "sh", "-c", "grep -zl TZ=XXX-00:37 /proc/[0-9]*/environ | wc -l")
	if err != nil || string(with) != "1\n" {
		t.Errorf("processes with osd.1's TZ: %q, %v, want 1", with, err)
	}
	for _, daemon := range []string{"mon.a", "mgr.x", "osd.0"} {
		if path := c.AsokPath(daemon); len(path) >= 108 {
			t.Errorf("admin socket %s: %d bytes do not fit an address", path, len(path))
		} else if conn, err := net.Dial("unix", path); err != nil {
			t.Error(err)
		} else {
			conn.Close()
		}
	}
	keyring, err := c.CreateKey(ctx, "client.risk", "mon", "allow r", "mgr", "allow r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(ctx, "ceph", "-c", c.ConfPath(), "--keyring", keyring, "-n", "client.risk", "pg", "dump", "pgs"); err != nil {
		t.Error(err)
	}
}

// commandsInside sees that a host's program runs inside with its output,
// signals, exit code and end.
func commandsInside(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script")
	text := "#!/bin/sh\ntrap 'echo term; exit 7' TERM\necho $NAME $1\nwhile :; do sleep 0.05; done\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := c.CommandEnv(ctx, []string{"NAME=value"}, script, "argument")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "value argument\n" {
		t.Errorf("first line %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if line, err := lines.ReadString('\n'); err != nil || line != "term\n" {
		t.Errorf("line after SIGTERM %q, %v", line, err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v, want exit code 7", err)
	}
	killed, kill := context.WithCancel(ctx)
	cmd = c.Command(killed, script, "to-be-killed")
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	kill()
	cmd.Wait() // killed
	awaitNone(ctx, t, func() []string { return processesOf(t, "to-be-killed") })
}

// gateway sees that a gateway takes an object from its user and logs it.
func gateway(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	access, secret, err := c.CreateS3User(ctx, "someone")
	if err != nil {
		t.Fatal(err)
	}
	client, err := minio.New(strings.TrimPrefix(c.RGWEndpoint(0), "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(access, secret, ""), Region: "default", BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(ctx, "bucket", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutObject(ctx, "bucket", "key", strings.NewReader("data"), 4, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	limit, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	err = c.Await(limit, func(context.Context) (bool, string, error) {
		log, err := os.ReadFile(c.OpsLogPath(0))
		return bytes.Contains(log, []byte(`"operation":"put_obj"`)), string(log), err
	})
	if err != nil {
		t.Errorf("ops log: %v", err)
	}
}

// daemonsObey stops and resumes, kills and starts daemons, and adds an OSD.
func daemonsObey(ctx context.Context, t *testing.T, c *Cluster) {
	t.Helper()
	steps := []struct {
		what string
		do   func() error
	}{
		{"pause the mgr", func() error { return c.Signal(ctx, "mgr.x", syscall.SIGSTOP) }},
		{"resume it", func() error { return c.Signal(ctx, "mgr.x", syscall.SIGCONT) }},
		{"kill osd.2", func() error { return c.Signal(ctx, "osd.2", syscall.SIGKILL) }},
		{"start osd.2", func() error { return c.Start(ctx, "osd.2") }},
		{"pause osd.1", func() error { return c.Signal(ctx, "osd.1", syscall.SIGSTOP) }},
		{"restart osd.1, which is paused", func() error { return c.Restart(ctx, "osd.1") }},
		{"add an osd", func() error { _, err := c.AddOSD(ctx); return err }},
		{"wait for osds", func() error { return c.AwaitUp(ctx) }},
		{"wait for pgs", func() error { return c.WaitClean(ctx) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
	}
	if err := c.Start(ctx, "osd.1"); err == nil {
		t.Error("a daemon that runs was started")
	}
	if err := c.Stop(ctx, "osd.9"); err == nil {
		t.Error("a daemon that does not exist was stopped")
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

// awaitNone waits until list lists nothing.
func awaitNone(ctx context.Context, t *testing.T, list func() []string) {
	t.Helper()
	for {
		left := list()
		if len(left) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still there: %q", left)
		case <-time.After(20 * time.Millisecond):
		}
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
