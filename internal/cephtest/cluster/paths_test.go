package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunDirLeavesRoomForSocketNames(t *testing.T) {
	longest := "/shared-20." + wireVersion + "/run/ceph-client.rgw.a.4194304.94199422114008.asok"
	for _, tmp := range []string{"/tmp", "/var/tmp/user-1000", "/" + strings.Repeat("long/", 20)} {
		t.Setenv(RunEnv, "")
		t.Setenv("TMPDIR", tmp)
		if path := RunDir() + longest; len(path) >= 108 {
			t.Errorf("TMPDIR=%s: %s has %d bytes, more than an address takes", tmp, path, len(path))
		}
	}
}

func TestCollectRemovesWhatNobodyHolds(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	t.Setenv(RunEnv, run)
	for _, dir := range []string{"16-dead", "shared-18.v1", "18-live", "ports/20000", "ports/20128"} {
		write(t, filepath.Join(run, dir, "file"), "")
	}
	live := []*os.File{tryLockDir(filepath.Join(run, "18-live")), tryLockDir(filepath.Join(run, "ports/20128"))}
	if again := tryLockDir(filepath.Join(run, "18-live")); again != nil {
		t.Error("a folder was locked twice")
	}
	got, err := Collect(t.Context())
	if err != nil || len(got) != 1 || filepath.Base(got[0]) != "18-live" {
		t.Errorf("Collect = %q, %v, want 18-live alone", got, err)
	}
	left, err := filepath.Glob(filepath.Join(run, "*", "*"))
	if want := filepath.Join(run, "18-live/file") + " " + filepath.Join(run, "ports/20128"); err != nil || strings.Join(left, " ") != want {
		t.Errorf("left: %q, %v, want %q", left, err, want)
	}
	closeAll(live)
	if got, err := Collect(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("Collect = %q, %v, want nothing", got, err)
	}
	if _, err := os.Stat(run); !os.IsNotExist(err) {
		t.Errorf("the run folder is left: %v", err)
	}
}
