package collector

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
)

// scripted is a poller that does what its function says.
type scripted struct {
	poll   func(ctx context.Context, n int) (Snapshot, error)
	polls  atomic.Int64
	active atomic.Int64
	most   atomic.Int64
	closed atomic.Bool
}

func (s *scripted) Poll(ctx context.Context, _ time.Time) (Snapshot, error) {
	s.most.Store(max(s.most.Load(), s.active.Add(1)))
	defer s.active.Add(-1)
	return s.poll(ctx, int(s.polls.Add(1)))
}

func (s *scripted) Close() error {
	s.closed.Store(true)
	return nil
}

type emitFunc func(e *Emitter)

func (f emitFunc) Emit(e *Emitter) { f(e) }

// values flattens families into "name{a=b} " -> value.
func values(t *testing.T, families []*dto.MetricFamily) map[string]float64 {
	t.Helper()
	out := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			key := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			if _, twice := out[key]; twice {
				t.Errorf("series %s twice", key)
			}
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

// bench is one collector in a set, on the bubble's clock.
type bench struct {
	t    *testing.T
	set  *Set
	stop func()
}

func benchRow() *Row { return &Row{Name: "cephrisk_test_value", Help: "Test", Kind: Gauge} }

func startBench(t *testing.T, p Poller, timeout time.Duration) *bench {
	t.Helper()
	deps := testDeps(t, time.Time{})
	deps.Now = time.Now
	b := &bench{t: t}
	spec := Spec{Name: "test", Timeout: timeout, Rows: func() []*Row { return []*Row{benchRow()} }}
	b.set = NewSet(time.Now, Member{Spec: spec, Poller: p, Deps: deps})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.set.Run(ctx) }()
	b.stop = func() { cancel(); <-done }
	return b
}

func (b *bench) values() map[string]float64 {
	f, err := b.set.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	return values(b.t, f)
}

func (b *bench) self(name string) float64 {
	b.t.Helper()
	v, ok := b.values()["cephrisk_collector_"+name+"{collector=test}"]
	if !ok {
		b.t.Fatalf("no cephrisk_collector_%s", name)
	}
	return v
}

func (b *bench) has(series string) bool {
	_, ok := b.values()[series]
	return ok
}

const testSeries = "cephrisk_test_value{}"

func TestBeforeTheFirstPollThereIsNoSuccessAndNoValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := startBench(t, &scripted{poll: func(context.Context, int) (Snapshot, error) {
			<-release
			return nil, errors.New("x")
		}}, time.Hour)
		synctest.Wait()
		want := map[string]float64{
			"cephrisk_collector_interval_seconds{collector=test}":      60,
			"cephrisk_collector_polls_total{collector=test}":           0,
			"cephrisk_collector_failures_total{collector=test}":        0,
			"cephrisk_collector_panics_total{collector=test}":          0,
			"cephrisk_collector_dropped_samples_total{collector=test}": 0,
			"cephrisk_collector_refused_samples_total{collector=test}": 0,
		}
		if diff := cmp.Diff(want, b.values()); diff != "" {
			t.Error(diff)
		}
		close(release)
		b.stop()
	})
}

func TestSnapshotIsServedForThreeIntervalsAndThenDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &scripted{}
		p.poll = func(_ context.Context, n int) (Snapshot, error) {
			if n > 2 {
				return nil, errors.New("cluster gone")
			}
			return emitFunc(func(e *Emitter) { e.Emit(benchRow(), float64(n)) }), nil
		}
		start := time.Now()
		b := startBench(t, p, time.Second)
		synctest.Wait()
		if v := b.values()[testSeries]; v != 1 || b.self("success") != 1 {
			t.Fatalf("after the first poll: %v", b.values())
		}
		time.Sleep(61 * time.Second) // second poll: the last good one
		if b.values()[testSeries] != 2 {
			t.Fatalf("after the second poll: %v", b.values())
		}
		time.Sleep(60 * time.Second)
		if b.self("success") != 0 || b.values()[testSeries] != 2 {
			t.Errorf("a failed poll must say so and keep the snapshot: %v", b.values())
		}
		time.Sleep(118 * time.Second) // 239 s: age of the snapshot 179 s
		if !b.has(testSeries) {
			t.Error("dropped before three intervals")
		}
		time.Sleep(2 * time.Second)
		if b.has(testSeries) {
			t.Error("served after three intervals")
		}
		if got, want := b.self("last_success_timestamp_seconds"), float64(start.Add(time.Minute).Unix()); got != want {
			t.Errorf("last success %v, want %v", got, want)
		}
		if b.self("failures_total") != 3 { // polls at 120, 180 and 240 s
			t.Errorf("failures: %v", b.self("failures_total"))
		}
		b.stop()
		if !p.closed.Load() {
			t.Error("poller not closed")
		}
	})
}

func TestPollUsesAtMostATenthOfTheTimeAndFailuresDoNotStretch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &scripted{poll: func(_ context.Context, n int) (Snapshot, error) {
			time.Sleep(30 * time.Second)
			if n == 2 {
				return nil, errors.New("x")
			}
			return emitFunc(func(e *Emitter) { e.Emit(benchRow(), 1) }), nil
		}}
		b := startBench(t, p, time.Hour)
		time.Sleep(31 * time.Second)
		if b.self("interval_seconds") != 300 {
			t.Errorf("interval %v, want 300", b.self("interval_seconds"))
		}
		time.Sleep(268 * time.Second) // 299 s
		if p.polls.Load() != 1 {
			t.Error("polled again before 300 s")
		}
		time.Sleep(32 * time.Second) // 331 s: the second poll has failed
		if p.polls.Load() != 2 || b.self("interval_seconds") != 60 {
			t.Errorf("%d polls, interval %v after a failure", p.polls.Load(), b.self("interval_seconds"))
		}
		time.Sleep(30 * time.Second) // 361 s
		if p.polls.Load() != 3 {
			t.Error("a failed poll is not retried at the base interval")
		}
		b.stop()
	})
}

func TestHangingPollIsReportedAndNeverDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &scripted{poll: func(_ context.Context, n int) (Snapshot, error) {
			if n == 2 {
				<-release // deaf to its context
			}
			return emitFunc(func(e *Emitter) { e.Emit(benchRow(), float64(n)) }), nil
		}}
		b := startBench(t, p, 10*time.Second)
		time.Sleep(65 * time.Second)
		if b.self("success") != 1 {
			t.Error("failure reported before the time limit")
		}
		time.Sleep(10 * time.Minute)
		if b.self("success") != 0 || b.has(testSeries) {
			t.Errorf("hanging poll: %v", b.values())
		}
		if p.polls.Load() != 2 {
			t.Errorf("%d polls", p.polls.Load())
		}
		before := runtime.NumGoroutine()
		for range 100 { // a scrape neither waits nor leaves anything behind
			if b.self("success") != 0 {
				t.Fatal("success while the poll hangs")
			}
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines before 100 scrapes, %d after", before, after)
		}
		close(release)
		synctest.Wait()
		if b.self("success") != 1 || b.values()[testSeries] != 2 {
			t.Errorf("a poll that comes back counts: %v", b.values())
		}
		b.stop()
		if p.most.Load() != 1 {
			t.Errorf("%d polls at once", p.most.Load())
		}
	})
}

func TestPanicIsAFailedPollWhereverItHappens(t *testing.T) {
	for name, poll := range map[string]func(context.Context, int) (Snapshot, error){
		"in Poll": func(context.Context, int) (Snapshot, error) { panic("boom") },
		"in Emit": func(context.Context, int) (Snapshot, error) { return emitFunc(func(*Emitter) { panic("boom") }), nil },
		"nothing": func(context.Context, int) (Snapshot, error) { return nil, nil },
		"in a goroutine": func(context.Context, int) (Snapshot, error) {
			out := make(chan error)
			go func() { out <- Guard(func() error { panic("boom") }) }()
			return nil, <-out
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := startBench(t, &scripted{poll: poll}, time.Second)
				time.Sleep(90 * time.Second)
				if b.self("success") != 0 || b.self("failures_total") != 2 {
					t.Errorf("%v", b.values())
				}
				if st := b.set.Status()[0]; st.Err == nil || !st.Polled {
					t.Errorf("status %+v", st)
				}
				b.stop()
			})
		})
	}
}

func TestPartialPollPublishesAndIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startBench(t, &scripted{poll: func(context.Context, int) (Snapshot, error) {
			return emitFunc(func(e *Emitter) { e.Emit(benchRow(), 7) }), errors.New("one of two sources failed")
		}}, time.Second)
		synctest.Wait()
		if b.values()[testSeries] != 7 || b.self("success") != 0 || b.has("cephrisk_collector_last_success_timestamp_seconds{collector=test}") {
			t.Errorf("%v", b.values())
		}
		b.stop()
	})
}

type paced struct {
	scripted
	wait, interval time.Duration
}

func (p *paced) Pace() (time.Duration, time.Duration) { return p.wait, p.interval }

func TestPacedPollerSetsItsOwnPaceAndExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paced{wait: 15 * time.Second, interval: 5 * time.Minute}
		p.poll = func(_ context.Context, n int) (Snapshot, error) {
			if n > 1 {
				return nil, errors.New("x")
			}
			return emitFunc(func(e *Emitter) { e.Emit(benchRow(), 1) }), nil
		}
		b := startBench(t, p, time.Second)
		time.Sleep(14*time.Minute + 59*time.Second)
		if !b.has(testSeries) || b.self("interval_seconds") != 300 || p.polls.Load() != 60 {
			t.Errorf("%d polls, %v", p.polls.Load(), b.values())
		}
		time.Sleep(2 * time.Second)
		if b.has(testSeries) {
			t.Error("served after three intervals")
		}
		b.stop()
	})
}

func TestShutdownWhileAPollHangsDoesNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &scripted{poll: func(context.Context, int) (Snapshot, error) { <-release; return nil, nil }}
		b := startBench(t, p, time.Second)
		time.Sleep(5 * time.Second)
		b.stop()
		if p.polls.Load() != 1 {
			t.Errorf("%d polls", p.polls.Load())
		}
		close(release)
	})
}
