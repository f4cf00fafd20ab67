package cephtest

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

// ownRunDir gives the test a run folder of its own, short enough for
// sockets, so that it meets no other test's clusters.
func ownRunDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ct")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := filepath.Join(dir, "run")
	t.Setenv(cluster.RunEnv, run)
	return run
}

// needCluster ends the test like New where no cluster can run.
func needCluster(ctx context.Context, t *testing.T) (binary string) {
	t.Helper()
	binary, err := cluster.Binary(ctx)
	if err == nil {
		_, err = cluster.EnsureRoot(ctx, R16, t.Output())
	}
	if errors.Is(err, cluster.ErrUnavailable) {
		SkipOrFail(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// upByCommand starts a cluster as a child of a process that is ours to kill.
func upByCommand(ctx context.Context, t *testing.T, binary string) (parent *exec.Cmd, dir string) {
	t.Helper()
	parent = exec.CommandContext(ctx, binary, "up", "--release", "16", "--osds", "1")
	parent.Stderr = t.Output()
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
	if err != nil || name != "dir" {
		t.Fatalf("up: %q, %v", line, err)
	}
	return parent, dir
}

func TestNothingSurvivesASIGKILL(t *testing.T) {
	ctx := testContext(t)
	run := ownRunDir(t)
	binary := needCluster(ctx, t)

	t.Run("of who started the cluster", func(t *testing.T) {
		parent, dir := upByCommand(ctx, t, binary)
		if n := len(processesOf(t, dir)); n < 4 { // supervisor, mon, mgr, osd
			t.Fatalf("%d processes before the kill, want 4", n)
		}
		parent.Process.Kill()
		parent.Wait() // killed
		awaitNone(ctx, t, func() []string { return processesOf(t, dir) })
		nothingLeft(t, dir)
	})

	t.Run("of the supervisor", func(t *testing.T) {
		parent, dir := upByCommand(ctx, t, binary)
		if err := syscall.Kill(supervisorOf(t, dir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		awaitNone(ctx, t, func() []string { return processesOf(t, dir) })
		if err := parent.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		parent.Wait() // how it ends is not the point
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("nothing is left to collect: %v", err)
		}
		if live, err := cluster.Collect(ctx); err != nil || len(live) != 0 {
			t.Errorf("Collect = %q, %v", live, err)
		}
		nothingLeft(t, dir)
	})
	if _, err := os.Stat(run); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run folder is left: %v", err)
	}
}

// supervisorOf returns the supervisor's PID as the host sees it.
func supervisorOf(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		line, err := os.ReadFile(name)
		if err == nil && strings.HasSuffix(string(line), "\x00serve\x00"+dir+"\x00") {
			pid, err := strconv.Atoi(strings.Split(name, "/")[2])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("no supervisor")
	return 0
}

func TestSharedClusterIsOneForAllAndEndsAfterTheLast(t *testing.T) {
	ctx := testContext(t)
	run := ownRunDir(t)
	needCluster(ctx, t)
	t.Setenv(cluster.LingerEnv, "300ms")
	o := Options{Release: R16, OSDs: 1}
	share := func(who string) *Cluster {
		c, err := cluster.Shared(ctx, o, false, who)
		if err != nil {
			t.Error(err)
		}
		return c
	}
	// Two that come at the same time, when there is none.
	var a, b *Cluster
	var both sync.WaitGroup
	both.Go(func() { a = share("a") })
	both.Go(func() { b = share("b") })
	both.Wait()
	if t.Failed() {
		return
	}
	if a.FSID() != b.FSID() || a.Dir() != b.Dir() {
		t.Errorf("two clusters: %s and %s", a.Dir(), b.Dir())
	}
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if _, err := cluster.Shared(short, o, true, "alone"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "held by a, b") && !strings.Contains(err.Error(), "held by b, a") {
		t.Errorf("an exclusive lease beside two others: %v, want a time-out that names them", err)
	}
	granted := make(chan *Cluster)
	go func() {
		c, err := cluster.Shared(ctx, o, true, "alone")
		if err != nil {
			t.Error(err)
		}
		granted <- c
	}()
	for _, c := range []*Cluster{a, b, a} { // closing twice does no harm
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	alone := <-granted
	if alone == nil {
		return
	}
	if s, err := alone.Status(ctx); err != nil || alone.FSID() != a.FSID() || strings.Join(s.Leases, ",") != "alone (exclusive)" {
		t.Errorf("leases %q, %v on %s, want alone on %s", s.Leases, err, alone.FSID(), a.FSID())
	}
	if err := alone.CloseWait(ctx); err != nil {
		t.Error(err)
	}
	nothingLeft(t, alone.Dir())
	// It can be had again, and be ended before its time.
	again := share("again")
	if again == nil {
		return
	}
	if again.FSID() == a.FSID() {
		t.Error("the cluster that had ended came back")
	}
	if err := cluster.Shutdown(ctx, again.Dir()); err != nil {
		t.Error(err)
	}
	again.Close() // its lease ended with the cluster
	nothingLeft(t, again.Dir())
	if live, err := cluster.Collect(ctx); err != nil || len(live) != 0 {
		t.Errorf("Collect = %q, %v", live, err)
	}
	if _, err := os.Stat(run); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run folder is left: %v", err)
	}
}
