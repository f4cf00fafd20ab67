//go:build cgo

package rados

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// levels are what a connection takes besides memory.
type levels struct{ threads, descriptors, goroutines int }

func levelsNow(t *testing.T) levels {
	t.Helper()
	count := func(dir string) int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	return levels{count("/proc/self/task"), count("/proc/self/fd"), runtime.NumGoroutine()}
}

// goneNowhere reports whether now is no higher than before. Go keeps a thread
// that a call blocked once, for the next call that blocks: spare allows them.
func (l levels) goneNowhere(before levels, spare int) bool {
	return l.threads <= before.threads+spare && l.descriptors <= before.descriptors && l.goroutines <= before.goroutines
}

// eventually waits for what other goroutines or processes do next.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// offline returns settings for a cluster that nobody runs.
func offline(t *testing.T) Config {
	t.Helper()
	dir := t.TempDir()
	conf, keyring := filepath.Join(dir, "ceph.conf"), filepath.Join(dir, "keyring")
	for path, content := range map[string]string{
		conf:    "[global]\nmon host = 127.0.0.1:1\nrados_mon_op_timeout = 3\n",
		keyring: keyringOf("client.risk", madeUpKey(1, 16)),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Config{ConfFile: conf, Keyring: keyring, Timeout: 2 * time.Second}
}

func TestCheckSeesTheFilesAndLeavesNothingBehind(t *testing.T) {
	cfg := offline(t)
	check := func() {
		if err := Check(cfg); err != nil {
			t.Fatal(err)
		}
	}
	check()
	before := levelsNow(t)
	for range 20 {
		check()
	}
	if after := levelsNow(t); !after.goneNowhere(before, 3) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for change, want := range map[*string]error{&cfg.Keyring: ErrNoKeyring, &cfg.ConfFile: ErrNoConf} {
		kept := *change
		*change += ".none"
		wantKind(t, Check(cfg), want)
		*change = kept
	}
	broken := cfg
	broken.ConfFile = filepath.Join(t.TempDir(), "broken.conf")
	if err := os.WriteFile(broken.ConfFile, []byte("[global\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantKind(t, Check(broken), ErrConfUnreadable)
	cfg.Options = map[string]string{"no_such_option": "hidden"}
	err := Check(cfg)
	wantKind(t, err, ErrConfig)
	if want := "ceph connect: invalid ceph settings: option no_such_option: librados: no such file or directory"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestTheTimeoutThatKillsIsAlwaysOff(t *testing.T) {
	l, _, err := open(mustComplete(t, offline(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.shutdown()
	for option, want := range map[string]string{"rados_mon_op_timeout": "0", "client_mount_timeout": "1"} {
		if got := l.option(option); got != want {
			t.Errorf("%s is %q, want %q", option, got, want)
		}
	}
}

func TestUnreachableMonsAreNoQuorumAndLeaveNothingBehind(t *testing.T) {
	c, err := New(offline(t))
	if err != nil {
		t.Fatal(err)
	}
	before := levelsNow(t)
	for range 2 {
		_, err = c.MonCommand(ceph.WithCallLimit(bg, 10*time.Second), []byte(`{"prefix":"status"}`))
		wantKind(t, err, ErrNoQuorum)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, 10*time.Second, "levels as before", func() bool { return levelsNow(t).goneNowhere(before, 4) })
}

func mustComplete(t *testing.T, cfg Config) Config {
	t.Helper()
	cfg, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(errors.Unwrap(err))
	}
	return cfg
}
