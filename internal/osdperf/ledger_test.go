package osdperf

import (
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const interval = 10 * time.Second

// osd is a made-up OSD: it counts as a real one does.
type osd struct {
	total   Growth
	work    Work
	held    Signs
	process string
	at      time.Time
}

func newOSD() *osd { return &osd{process: "a", at: start} }

func (o *osd) do(op Op, n int, each time.Duration) {
	for range n {
		o.total.Ops[op].add(Latency{1, uint64(each)})
		k := 1
		for k < NumSteps-1 && each.Nanoseconds() >= firstEdge<<(k-1) {
			k++
		}
		o.total.Steps[op][k]++
		o.total.Subops.add(Latency{1, uint64(each) / 2})
	}
}

func (o *osd) restart() {
	o.total, o.work, o.held = Growth{}, Work{}, Signs{}
	o.process += "'"
}

func (o *osd) read() Reading {
	o.at = o.at.Add(interval)
	total := o.total
	return Reading{At: o.at, Process: o.process, Total: &total, Work: o.work, Held: o.held}
}

func TestGrowthIsBookedToTheActivityOfItsInterval(t *testing.T) {
	tests := []struct {
		name string
		does func(o *osd) (seen Signs)
		want Activity
	}{
		{"idle", func(*osd) Signs { return Signs{} }, None},
		{"scrub held at the end", func(o *osd) Signs { o.held.Scrub = true; return Signs{} }, Scrub},
		{"scrub seen by a sample only", func(*osd) Signs { return Signs{Scrub: true} }, Scrub},
		{"scrub counters moved only", func(o *osd) Signs { o.work.Scrub++; return Signs{} }, Scrub},
		{"recovery counters moved only", func(o *osd) Signs { o.work.Recovery++; return Signs{} }, Recovery},
		{"both", func(o *osd) Signs { o.work.Recovery++; return Signs{Scrub: true} }, ScrubRecovery},
		{"deletion", func(o *osd) Signs { o.held.Other = true; return Signs{} }, Other},
		{"deletion beside a scrub", func(o *osd) Signs { o.held.Other = true; return Signs{Scrub: true} }, Scrub},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := newOSD()
			var l Ledger
			o.do(Read, 1000, time.Millisecond)
			l.Book(o.read(), Signs{}, 2*interval)
			o.do(Read, 3, 20*time.Millisecond)
			o.do(ReadWrite, 1, 40*time.Millisecond)
			seen := test.does(o)
			b := l.Book(o.read(), seen, 2*interval)
			if b.Outcome != Booked || b.Activity != test.want || l.Last != test.want {
				t.Fatalf("got %v %v, want booked %v", b.Outcome, b.Activity, test.want)
			}
			for a := range NumActivities {
				n, spent := uint64(0), time.Duration(0)
				if a == test.want {
					n, spent = 4, interval
				}
				if got := l.Accounts[a].Operations(); got != n || l.Accounts[a].Time != spent {
					t.Errorf("%v: %d operations in %v, want %d in %v", a, got, l.Accounts[a].Time, n, spent)
				}
			}
			got := &l.Accounts[test.want]
			if got.Ops[Read] != (Latency{3, 60e6}) || got.Ops[ReadWrite] != (Latency{1, 40e6}) || got.Subops != (Latency{4, 50e6}) {
				t.Errorf("got %+v %+v %+v", got.Ops[Read], got.Ops[ReadWrite], got.Subops)
			}
			if got.Steps[Read].Count() != 3 || got.Steps[ReadWrite].Count() != 1 || got.Steps[Write].Count() != 0 {
				t.Errorf("steps %v", got.Steps)
			}
		})
	}
}

// A reservation held at the beginning of an interval was held in it.
func TestReservationHeldBeforeCounts(t *testing.T) {
	o := newOSD()
	var l Ledger
	o.held.Scrub = true
	l.Book(o.read(), Signs{}, 2*interval)
	o.held.Scrub = false
	o.do(Read, 1, time.Millisecond)
	if b := l.Book(o.read(), Signs{}, 2*interval); b.Activity != Scrub {
		t.Errorf("got %v, want %v", b.Activity, Scrub)
	}
	if b := l.Book(o.read(), Signs{}, 2*interval); b.Activity != None {
		t.Errorf("next: got %v, want %v", b.Activity, None)
	}
}

// Field case L1.
func TestMeanOfAnInterval(t *testing.T) {
	before := Growth{Ops: [NumOps]Latency{Write: {1000, 10e9}}}
	after := Growth{Ops: [NumOps]Latency{Write: {1100, 14e9}}}
	d, ok := after.minus(&before)
	if mean, has := d.Ops[Write].Mean(); !ok || !has || mean != 0.04 {
		t.Errorf("got %v %v %v, want 0.04", mean, has, ok)
	}
	same, ok := after.minus(&after)
	if mean, has := same.Ops[Write].Mean(); !ok || has {
		t.Errorf("no operations: got %v, want none", mean)
	}
}

func TestRestartLosesOneIntervalAndInventsNothing(t *testing.T) {
	o := newOSD()
	var l Ledger
	l.Book(o.read(), Signs{}, 2*interval)
	o.do(Read, 10, time.Millisecond)
	l.Book(o.read(), Signs{}, 2*interval)
	o.do(Read, 5, time.Millisecond) // lost with the process
	o.restart()
	o.do(Read, 7, time.Millisecond)
	if b := l.Book(o.read(), Signs{Scrub: true}, 2*interval); b.Outcome != Reset || b.Growth.Operations() != 7 {
		t.Errorf("got %v with %d operations, want reset with 7", b.Outcome, b.Growth.Operations())
	}
	o.do(Read, 2, time.Millisecond)
	if b := l.Book(o.read(), Signs{}, 2*interval); b.Outcome != Booked {
		t.Errorf("next: got %v, want booked", b.Outcome)
	}
	if n := l.Accounts[None].Operations(); n != 12 {
		t.Errorf("booked %d, want 12", n)
	}
	if n := l.Unattributed[Reset].Operations(); n != 7 {
		t.Errorf("unattributed %d, want 7", n)
	}
	if l.Accounts[Scrub].Operations() != 0 || l.Intervals != [NumOutcomes]uint64{Booked: 2, First: 1, Reset: 1} {
		t.Errorf("accounts %d, intervals %v", l.Accounts[Scrub].Operations(), l.Intervals)
	}
}

// An OSD that did little before it was restarted and much afterwards has no
// counter that fell.
func TestRestartIsSeenWithoutAFallingCounter(t *testing.T) {
	o := newOSD()
	var l Ledger
	o.do(Read, 1, time.Millisecond)
	l.Book(o.read(), Signs{}, 2*interval)
	o.restart()
	o.do(Read, 100, time.Millisecond)
	if b := l.Book(o.read(), Signs{}, 2*interval); b.Outcome != Reset {
		t.Errorf("got %v, want reset", b.Outcome)
	}
}

func TestPerfResetIsSeen(t *testing.T) {
	o := newOSD()
	var l Ledger
	o.do(Read, 50, time.Millisecond)
	o.work = Work{Scrub: 3, Recovery: 4}
	l.Book(o.read(), Signs{}, 2*interval)
	o.total = Growth{}
	o.do(Write, 60, time.Millisecond)
	if b := l.Book(o.read(), Signs{}, 2*interval); b.Outcome != Reset || b.Growth.Operations() != 60 {
		t.Errorf("got %v, want reset", b.Outcome)
	}
	// A counter of background work that can no longer be read is no reset.
	o.do(Write, 1, time.Millisecond)
	o.work = Work{Scrub: 3, Recovery: 1}
	if b := l.Book(o.read(), Signs{}, 2*interval); b.Outcome != Booked || b.Activity != Recovery {
		t.Errorf("work counters alone: got %v %v, want booked to recovery", b.Outcome, b.Activity)
	}
}

func TestGapsAreCountedAndNotBooked(t *testing.T) {
	o := newOSD()
	var l Ledger
	l.Book(o.read(), Signs{}, 2*interval)
	o.do(Write, 3, time.Millisecond)
	l.Missed()
	if b := l.Book(o.read(), Signs{Scrub: true}, 2*interval); b.Outcome != Gap {
		t.Errorf("missed poll: got %v, want gap", b.Outcome)
	}
	o.do(Write, 4, time.Millisecond)
	o.at = o.at.Add(2 * interval)
	if b := l.Book(o.read(), Signs{Scrub: true}, 2*interval); b.Outcome != Gap {
		t.Errorf("late poll: got %v, want gap", b.Outcome)
	}
	o.do(Write, 5, time.Millisecond)
	l.Book(o.read(), Signs{}, 2*interval)
	if b, u := l.Accounts[None].Operations(), l.Unattributed[Gap].Operations(); b != 5 || u != 7 {
		t.Errorf("booked %d, unattributed %d; want 5 and 7", b, u)
	}
}

// Whatever happens in whatever order, what is booked and what is counted as
// unattributed is what the OSD did, less what died unread with a process.
func TestNothingIsInventedOrLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		o := newOSD()
		var l Ledger
		var did, read, base uint64
		for range 50 {
			op := Op(rng.IntN(int(NumOps)))
			n := rng.IntN(20)
			o.do(op, n, time.Duration(rng.Int64N(int64(time.Second))))
			did += uint64(n)
			switch rng.IntN(12) {
			case 0:
				did -= o.total.Operations() - read
				read = 0
				o.restart()
				continue
			case 1:
				l.Missed()
				continue
			case 2:
				o.held = Signs{Scrub: rng.IntN(2) == 0, Recovery: rng.IntN(2) == 0}
			}
			b := l.Book(o.read(), Signs{Scrub: rng.IntN(3) == 0}, 2*interval)
			if b.Outcome == First {
				base = o.total.Operations()
				did = base
			}
			read = o.total.Operations()
		}
		var got uint64
		for a := range NumActivities {
			got += l.Accounts[a].Operations()
			for op := range NumOps {
				if c, s := l.Accounts[a].Ops[op].Count, l.Accounts[a].Steps[op].Count(); c != s {
					t.Fatalf("%v %v: %d operations, %d in steps", a, op, c, s)
				}
			}
		}
		for _, u := range l.Unattributed {
			got += u.Operations()
		}
		if unread := o.total.Operations() - read; got != did-base-unread {
			t.Fatalf("accounted for %d, OSD did %d (before: %d, not yet read: %d)", got, did-base-unread, base, unread)
		}
	}
}
