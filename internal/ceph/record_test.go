package ceph

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type echo struct{ err error }

func (e echo) MonCommand(_ context.Context, command []byte) ([]byte, error) {
	return append([]byte("mon "), command...), e.err
}

func (e echo) MgrCommand(_ context.Context, command []byte) ([]byte, error) {
	return append([]byte("mgr \xff "), command...), e.err
}

func TestRecordingKeepsEveryByteAndEndsAtItsLimit(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)
	var file bytes.Buffer
	var failures []error
	c := Record(echo{}, &file, 400, func() time.Time { return at }, func(err error) { failures = append(failures, err) })
	ctx := context.Background()
	for range 2 {
		if a, err := c.MonCommand(ctx, []byte(`{"prefix":"osd dump"}`)); err != nil || !strings.HasPrefix(string(a), "mon ") {
			t.Fatalf("%q, %v", a, err)
		}
		if err := UseMgrAnswer(ctx, c, []byte(`{"prefix":"pg dump"}`), func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(failures) != 1 {
		t.Errorf("failures %v, want one", failures)
	}
	got, err := ReadRecording(strings.NewReader(file.String() + `{"at":"20`))
	if err != nil {
		t.Fatal(err)
	}
	want := []RecordedAnswer{
		{At: at, Command: []byte(`{"prefix":"osd dump"}`), Answer: []byte(`mon {"prefix":"osd dump"}`)},
		{At: at, Command: []byte(`{"prefix":"pg dump"}`), Answer: []byte("mgr \xff " + `{"prefix":"pg dump"}`)},
		{At: at, Command: []byte(`{"prefix":"osd dump"}`), Answer: []byte(`mon {"prefix":"osd dump"}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got[1].Prefix() != "pg dump" {
		t.Errorf("prefix %q", got[1].Prefix())
	}
}

func TestRecordingHoldsFailuresToo(t *testing.T) {
	var file bytes.Buffer
	c := Record(echo{err: errors.New("no quorum")}, &file, 1<<20, time.Now, func(err error) { t.Error(err) })
	if _, err := c.MonCommand(context.Background(), []byte(`{"prefix":"status"}`)); err == nil {
		t.Error("the failure got lost")
	}
	got, err := ReadRecording(&file)
	if err != nil || len(got) != 1 || got[0].Error != "no quorum" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadRecording(strings.NewReader("no JSON\n")); err == nil {
		t.Error("a foreign file was read")
	}
}
