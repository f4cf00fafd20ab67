package collector

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
)

var update = flag.Bool("update", false, "rewrite golden files")

// testDeps are dependencies for a collector under test: a clock that stands at
// now, no cluster, no state.
func testDeps(t *testing.T, now time.Time) Deps {
	t.Helper()
	return Deps{
		Log:      slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		Now:      func() time.Time { return now },
		Interval: time.Minute,
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}

// exposition renders a snapshot in the text format, every sample of it, and
// fails the test when the emitter refused one.
func exposition(t testing.TB, rows []*Row, s Snapshot) string {
	t.Helper()
	e := newEmitter(rows)
	s.Emit(e)
	for _, p := range e.problems {
		t.Errorf("sample dropped: %v", p)
	}
	var out bytes.Buffer
	for _, f := range mergeFamilies(append(e.result(), expandBulk(e.bulk)...)) {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// pollText polls once and renders what came of it.
func pollText(t *testing.T, rows []*Row, p Poller, now time.Time) string {
	t.Helper()
	s, err := p.Poll(context.Background(), now)
	if err != nil {
		t.Fatalf("poll: %v", err)
	}
	return exposition(t, rows, s)
}

// golden compares with a file below testdata; -update rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}
