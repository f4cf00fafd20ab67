package osdperf

import "time"

// Latency is a number of operations and the time they took together.
type Latency struct {
	Count uint64
	SumNS uint64
}

func (l Latency) less(m Latency) bool { return l.Count < m.Count || l.SumNS < m.SumNS }

func (l Latency) minus(m Latency) Latency {
	return Latency{Count: l.Count - m.Count, SumNS: l.SumNS - m.SumNS}
}

func (l *Latency) add(m Latency) { l.Count += m.Count; l.SumNS += m.SumNS }

// Seconds is the time they took together.
func (l Latency) Seconds() float64 { return float64(l.SumNS) / 1e9 }

// Mean is the mean latency in seconds; false where there was no operation.
func (l Latency) Mean() (float64, bool) {
	if l.Count == 0 {
		return 0, false
	}
	return l.Seconds() / float64(l.Count), true
}

// Growth is what happened on an OSD in some time.
type Growth struct {
	Ops   [NumOps]Latency // Ceph's counters op_r, op_w, op_rw _latency
	Steps [NumOps]Steps   // the same operations by latency
	// Subops are the writes an OSD did as a replica, and pushes it received.
	Subops Latency
}

// Operations is the number of client operations of all kinds.
func (g *Growth) Operations() uint64 {
	var n uint64
	for _, l := range g.Ops {
		n += l.Count
	}
	return n
}

// Add adds what another growth holds.
func (g *Growth) Add(h *Growth) {
	for op := range NumOps {
		g.Ops[op].add(h.Ops[op])
		for k := range NumSteps {
			g.Steps[op][k] += h.Steps[op][k]
		}
	}
	g.Subops.add(h.Subops)
}

// minus is false where anything fell.
func (g *Growth) minus(before *Growth) (*Growth, bool) {
	d := &Growth{Subops: g.Subops.minus(before.Subops)}
	if g.Subops.less(before.Subops) {
		return nil, false
	}
	for op := range NumOps {
		if g.Ops[op].less(before.Ops[op]) {
			return nil, false
		}
		d.Ops[op] = g.Ops[op].minus(before.Ops[op])
		for k := range NumSteps {
			if g.Steps[op][k] < before.Steps[op][k] {
				return nil, false
			}
			d.Steps[op][k] = g.Steps[op][k] - before.Steps[op][k]
		}
	}
	return d, true
}

// GrowthOf collects what an OSD has counted since it began to count.
func GrowthOf(c *Counters, steps *[NumOps]Steps) (*Growth, bool) {
	g := &Growth{Steps: *steps}
	for op, name := range [NumOps]string{Read: "op_r_latency", Write: "op_w_latency", ReadWrite: "op_rw_latency"} {
		counter := c.Get("osd", name)
		if !counter.OK() || !counter.Avg {
			return nil, false
		}
		g.Ops[op] = Latency{Count: counter.N, SumNS: counter.SumNS}
	}
	subops := c.Get("osd", "subop_latency")
	if !subops.OK() || !subops.Avg {
		return nil, false
	}
	g.Subops = Latency{Count: subops.N, SumNS: subops.SumNS}
	return g, true
}

// Reading is what one poll read of one OSD.
type Reading struct {
	At time.Time
	// Process tells one run of the daemon from the next. Counters that fall tell
	// it too, but not on an OSD that had done little before.
	Process string
	Total   *Growth // since the daemon began to count
	Work    Work
	Held    Signs // what its reservations say at this moment
}

// Outcome says what became of the time since the reading before.
type Outcome uint8

// The outcomes.
const (
	Booked Outcome = iota
	First          // there was no reading before
	Gap            // the OSD was not watched in between
	Reset          // the OSD was restarted, or its counters were reset
	NumOutcomes
)

// String is the value of the label reason.
func (o Outcome) String() string {
	switch o {
	case Booked:
		return "booked"
	case First:
		return "first"
	case Gap:
		return "gap"
	case Reset:
		return "reset"
	default:
		return "unknown"
	}
}

// Account is what one OSD did while it was doing one thing.
type Account struct {
	Growth
	Time time.Duration
}

// Booking is what one reading added.
type Booking struct {
	Outcome  Outcome
	Activity Activity // where Outcome is Booked
	Growth   *Growth  // nil where nothing is known
}

// Ledger books the growth of one OSD's counters to what it was doing. The zero
// value is ready. It is not for use by several goroutines.
type Ledger struct {
	Accounts [NumActivities]Account
	// Unattributed are operations known to have happened that belong to no
	// activity: in a gap, or between a restart and the next reading.
	Unattributed [NumOutcomes]Growth
	// Intervals counts readings by outcome.
	Intervals [NumOutcomes]uint64
	// Last is the activity of the last interval booked.
	Last Activity

	before *Reading
	missed bool
}

// Missed notes that a poll did not get a reading.
func (l *Ledger) Missed() { l.missed = true }

// Book books what grew since the reading before. seen are the signs collected
// between the two; longest is the longest time between readings that still is
// one interval.
func (l *Ledger) Book(r Reading, seen Signs, longest time.Duration) Booking {
	before, missed := l.before, l.missed
	l.before, l.missed = &r, false
	b := l.judge(before, &r, missed, longest)
	l.Intervals[b.Outcome]++
	switch b.Outcome {
	case Booked:
		b.Activity = seen.Or(before.Held).Or(r.Held).Or(r.Work.Moved(before.Work)).Activity()
		l.Last = b.Activity
		account := &l.Accounts[b.Activity]
		account.Add(b.Growth)
		account.Time += r.At.Sub(before.At)
	case Gap, Reset:
		l.Unattributed[b.Outcome].Add(b.Growth)
	case First:
		// What an OSD had done before anybody looked is not this program's to
		// account for.
	}
	return b
}

func (l *Ledger) judge(before, r *Reading, missed bool, longest time.Duration) Booking {
	if before == nil {
		return Booking{Outcome: First}
	}
	growth, grew := r.Total.minus(before.Total)
	switch {
	case r.Process != before.Process, !grew:
		// Everything counted now happened since the counters began again.
		return Booking{Outcome: Reset, Growth: r.Total}
	case missed, r.At.Sub(before.At) > longest:
		return Booking{Outcome: Gap, Growth: growth}
	default:
		return Booking{Outcome: Booked, Growth: growth}
	}
}
