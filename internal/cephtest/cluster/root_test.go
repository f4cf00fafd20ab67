package cluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeRoot makes a folder that passes for r's root.
func fakeRoot(t *testing.T, r Release, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, rootStamp), `{"release":`+r.String()+`}`)
	for _, name := range rootPrograms {
		path := filepath.Join(dir, "usr/bin", name)
		write(t, path, "")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRootIsVerifiedBeforeUse(t *testing.T) {
	for _, tt := range []struct {
		what   string
		damage func(dir string) error
		want   string // part of the error, "" for none
	}{
		{"whole", func(string) error { return nil }, ""},
		{"not finished", func(dir string) error { return os.Remove(filepath.Join(dir, rootStamp)) }, "no such file"},
		{"a program is gone", func(dir string) error { return os.Remove(filepath.Join(dir, "usr/bin/ceph-osd")) }, "ceph-osd"},
		{"a program is not executable", func(dir string) error { return os.Chmod(filepath.Join(dir, "usr/bin/rados"), 0o644) }, "rados"},
		{"of another release", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, rootStamp), []byte(`{"release":18}`), 0o644)
		}, "holds ceph 18"},
		{"a torn stamp", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, rootStamp), []byte(`{"rel`), 0o644)
		}, "stamp"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			dir := t.TempDir()
			fakeRoot(t, R16, dir)
			if err := tt.damage(dir); err != nil {
				t.Fatal(err)
			}
			err := verifyRoot(R16, dir)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("verifyRoot = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestRootThatCannotBeMadeLeavesNothingBehind(t *testing.T) {
	if err := CheckHost(); err != nil {
		t.Log("not root: only the refusal is tested")
		if _, err := EnsureRoot(t.Context(), R16, io.Discard); !errors.Is(err, ErrUnavailable) {
			t.Errorf("EnsureRoot = %v, want ErrUnavailable", err)
		}
		return
	}
	cache, tools := t.TempDir(), t.TempDir()
	t.Setenv(CacheEnv, cache)
	t.Setenv(MirrorEnv, "http://mirror.test/debian")
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	write(t, filepath.Join(tools, "debootstrap"), "#!/bin/sh\nmkdir -p \"$3/usr\"\necho \"$*\"\necho no such mirror >&2\nexit 7\n")
	if err := os.Chmod(filepath.Join(tools, "debootstrap"), 0o755); err != nil {
		t.Fatal(err)
	}
	// What an earlier maker left that was killed.
	write(t, filepath.Join(cache, "roots/16-new1/usr/bin/ceph"), "")
	_, err := EnsureRoot(t.Context(), R16, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no such mirror") || !strings.Contains(err.Error(), "bookworm") {
		t.Errorf("EnsureRoot = %v, want the suite and debootstrap's words", err)
	}
	left, globErr := filepath.Glob(filepath.Join(cache, "roots", "[^.]*")) // but the lock
	if globErr != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, globErr)
	}
}

func TestRootWithoutDebootstrapIsUnavailable(t *testing.T) {
	t.Setenv(CacheEnv, t.TempDir())
	t.Setenv("PATH", t.TempDir())
	_, err := EnsureRoot(t.Context(), R18, io.Discard)
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("EnsureRoot = %v, want ErrUnavailable", err)
	}
}

func TestReleaseIsReadFromCephVersion(t *testing.T) {
	for text, want := range map[string]Release{
		"ceph version 16.2.15 (618f) pacific (stable)\n": R16,
		"ceph version 20.2.4 (7f79) tentacle (stable)\n": R20,
		"ceph version":         0,
		"ceph version x.y (z)": 0,
		"":                     0,
	} {
		got, err := releaseOf(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("releaseOf(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}
