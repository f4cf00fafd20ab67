package state

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type record struct {
	Offsets map[string]int64
	Note    string
}

func testDir(t *testing.T) (*Dir, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return Open(filepath.Join(t.TempDir(), "state"), slog.New(slog.NewTextHandler(&log, nil))), &log
}

func names(t *testing.T, d *Dir) []string {
	t.Helper()
	entries, err := os.ReadDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestSavedRecordComesBackAndNothingElseIsLeft(t *testing.T) {
	d, _ := testDir(t)
	want := record{Offsets: map[string]int64{"a": 1 << 60}, Note: "übermorgen\n"}
	for range 3 { // replacing works like creating
		if err := d.Save("rgw", 1, want); err != nil {
			t.Fatal(err)
		}
	}
	var got record
	ok, err := d.Load("rgw", 1, &got)
	if err != nil || !ok || got.Note != want.Note || got.Offsets["a"] != 1<<60 {
		t.Fatalf("got %+v, %v, %v", got, ok, err)
	}
	if n := names(t, d); len(n) != 1 || n[0] != "rgw.state" {
		t.Errorf("directory holds %v", n)
	}
	info, err := os.Stat(d.file("rgw"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, _ := os.Stat(d.path); info.Mode().Perm() != 0o700 {
		t.Errorf("directory mode %v", info.Mode())
	}
}

func TestMissingRecordIsNoError(t *testing.T) {
	d, log := testDir(t)
	var got record
	if ok, err := d.Load("rgw", 1, &got); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
	if ok, err := (*Dir)(nil).Load("rgw", 1, &got); ok || err != nil {
		t.Errorf("nil directory: got %v, %v", ok, err)
	}
	if err := (*Dir)(nil).Save("rgw", 1, got); !errors.Is(err, ErrDisabled) {
		t.Errorf("nil directory: got %v", err)
	}
	if log.Len() != 0 {
		t.Errorf("logged %s", log)
	}
}

func TestUnusableRecordIsSetAsideReportedAndNotFatal(t *testing.T) {
	good := string(seal("rgw", 1, []byte(`{"Note":"x"}`)))
	for name, c := range map[string]struct{ content, says string }{
		"empty":           {"", "no header line"},
		"torn":            {good[:len(good)-3], "checksum"},
		"torn in header":  {good[:10], "no header line"},
		"flipped bit":     {strings.Replace(good, `"x"`, `"y"`, 1), "checksum"},
		"foreign":         {"#!/bin/sh\nrm\n", "header"},
		"other record":    {string(seal("pg", 1, []byte(`{}`))), "pg"},
		"newer version":   {string(seal("rgw", 2, []byte(`{}`))), "version 2, not 1"},
		"older version":   {string(seal("rgw", 0, []byte(`{}`))), "version 0, not 1"},
		"another type":    {string(seal("rgw", 1, []byte(`{"Note":7}`))), "cannot unmarshal"},
		"binary nonsense": {"\x00\xff\n\x00", "header"},
	} {
		t.Run(name, func(t *testing.T) {
			d, log := testDir(t)
			if err := os.MkdirAll(d.path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(d.file("rgw"), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			var got record
			if ok, err := d.Load("rgw", 1, &got); ok || err != nil {
				t.Fatalf("got %v, %v", ok, err)
			}
			if d.SetAside() != 1 || !strings.Contains(log.String(), c.says) {
				t.Errorf("set aside %d, log %q does not say %q", d.SetAside(), log, c.says)
			}
			n := names(t, d)
			if len(n) != 1 || !strings.HasPrefix(n[0], "rgw.state.bad-") {
				t.Fatalf("directory holds %v", n)
			}
			if kept, _ := os.ReadFile(filepath.Join(d.path, n[0])); string(kept) != c.content {
				t.Error("the record set aside is not the one that was there")
			}
			if err := d.Save("rgw", 1, record{Note: "new"}); err != nil {
				t.Fatal(err)
			}
			if ok, err := d.Load("rgw", 1, &got); !ok || err != nil || got.Note != "new" {
				t.Errorf("after a new save: %+v, %v, %v", got, ok, err)
			}
		})
	}
}

func TestFailedSaveKeepsTheOldRecordAndLeavesNoTemporaryFile(t *testing.T) {
	d, _ := testDir(t)
	if err := d.Save("rgw", 1, record{Note: "old"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Save("rgw", 1, func() {}); err == nil {
		t.Error("a function was encoded")
	}
	if err := d.Save("../rgw", 1, record{}); err == nil {
		t.Error("a path was taken for a name")
	}
	// A directory in the record's place makes the rename fail on every kernel
	// and for every user, root included.
	if err := os.MkdirAll(filepath.Join(d.file("pg"), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Save("pg", 1, record{}); err == nil {
		t.Error("a directory was replaced")
	}
	if n := names(t, d); strings.Join(n, " ") != "pg.state rgw.state" {
		t.Errorf("directory holds %v", n)
	}
	var got record
	if ok, _ := d.Load("rgw", 1, &got); !ok || got.Note != "old" {
		t.Errorf("old record: %+v, %v", got, ok)
	}
}
