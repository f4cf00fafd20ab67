package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"

	expo "github.com/ceph-risk/ceph_risk_exporter/internal/exposition"
	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

const (
	// expireAfter is the age, in intervals, at which a snapshot is dropped:
	// alerts shall see absence rather than old truth.
	expireAfter = 3
	// pollShare bounds what polling may cost the cluster: after a poll that
	// took t the next one comes pollShare*t later at the earliest.
	pollShare = 10
	// overrun is how long past its time limit a poll may return before the
	// wrapper says that it hangs.
	overrun = time.Second
)

// Paced is what a Poller implements that polls at several speeds. Without it
// the wrapper polls at the configured interval, stretched by what a poll takes.
type Paced interface {
	// Pace is asked after each poll. wait is the time to the next poll;
	// interval is what "three intervals old" is measured in, and what
	// cephrisk_collector_interval_seconds shows.
	Pace() (wait, interval time.Duration)
}

// publication is what one poll left for scrapes.
type publication struct {
	families []*dto.MetricFamily
	bulk     []*expo.Family
	at       time.Time // instant of the poll
	maxAge   time.Duration
}

// pollStatus is what the self metrics show.
type pollStatus struct {
	polled      bool // at least one poll has ended
	success     bool
	err         error
	lastErr     error // of the last poll that failed, also where later ones did not
	lastErrAt   time.Time
	duration    time.Duration
	lastSuccess time.Time
	interval    time.Duration
	polls       uint64
	failures    uint64
	panics      uint64
	dropped     uint64 // samples that contradicted their declaration
	refused     uint64 // samples beyond what a peer may have
	refusing    bool   // the last poll had some
}

// runner polls one collector in the background.
type runner struct {
	spec     Spec
	poller   Poller
	interval time.Duration
	now      func() time.Time
	log      *slog.Logger
	first    chan struct{} // closed when the first poll has ended

	mu        sync.Mutex
	published *publication
	status    pollStatus
	running   *pollRecord // the poll under way; nil between polls
	last      *pollRecord // the last poll that has ended, or that hangs
	asked     lastAsked
}

// pollRecord is what is remembered of one poll, for people who ask why. It keeps
// no answer and no sample.
type pollRecord struct {
	at       time.Time // the poll's instant
	begin    time.Time
	trace    *polltrace.Trace
	took     time.Duration
	families int
	samples  int
	dropped  int
	refused  int
	problems []error // the first of the dropped samples
	err      error
}

// ended returns the record of the poll with what came of it.
func (p *pollRecord) ended(o outcome, took time.Duration) *pollRecord {
	out := &pollRecord{
		at: p.at, begin: p.begin, trace: p.trace, took: took,
		families: len(o.families) + len(o.bulk), dropped: o.dropped, refused: o.refused, problems: o.problems, err: o.err,
	}
	for _, f := range o.families {
		out.samples += len(f.Metric)
	}
	for _, f := range o.bulk {
		out.samples += f.Len()
	}
	return out
}

func newRunner(spec Spec, poller Poller, deps Deps) *runner {
	return &runner{
		spec:     spec,
		poller:   poller,
		interval: deps.Interval,
		now:      deps.Now,
		log:      deps.Log,
		first:    make(chan struct{}),
		status:   pollStatus{interval: deps.Interval},
	}
}

// run polls until ctx is done, then closes the poller.
func (r *runner) run(ctx context.Context) {
	defer r.close()
	for ctx.Err() == nil {
		wait := r.pollOnce(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (r *runner) close() {
	c, ok := r.poller.(io.Closer)
	if !ok {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("collector panicked while closing", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if err := c.Close(); err != nil {
		r.log.Warn("collector did not close cleanly", "err", err)
	}
}

// outcome is what came of one poll.
type outcome struct {
	families []*dto.MetricFamily // nil: nothing to publish
	bulk     []*expo.Family
	problems []error
	dropped  int
	refused  int
	err      error
	panicked bool
}

// errHangs marks a poll that has not returned although its time is over.
var errHangs = errors.New("poll does not return")

// pollOnce runs one poll and returns the time to the next one. Where the poll
// outlives its limit the failure is recorded at once, and pollOnce waits on:
// polls of one collector never overlap.
func (r *runner) pollOnce(ctx context.Context) time.Duration {
	now, begin := r.now(), time.Now()
	limit, cancel := context.WithTimeout(ctx, r.spec.Timeout)
	defer cancel()
	poll := &pollRecord{at: now, begin: begin, trace: &polltrace.Trace{}}
	limit = polltrace.With(limit, poll.trace)
	r.setRunning(poll)
	defer r.setRunning(nil)
	done := make(chan outcome, 1)
	go func() { done <- r.guarded(limit, now) }()

	var o outcome
	hangs := time.NewTimer(r.spec.Timeout + overrun)
	defer hangs.Stop()
	select {
	case o = <-done:
	case <-hangs.C:
		r.record(poll, outcome{err: fmt.Errorf("%w after %s", errHangs, r.spec.Timeout)}, time.Since(begin))
		select {
		case o = <-done:
		case <-ctx.Done():
			return 0
		}
	}
	if ctx.Err() != nil {
		return 0 // shutting down: not a failure of the source
	}
	return r.record(poll, o, time.Since(begin))
}

func (r *runner) setRunning(p *pollRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = p
}

// guarded polls and renders. A panic in either is an error of this poll. A
// poller recovers the panics of goroutines that it starts itself, with Guard.
func (r *runner) guarded(ctx context.Context, now time.Time) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("collector panicked", "panic", p, "stack", string(debug.Stack()))
			o = outcome{err: fmt.Errorf("panic: %v", p), panicked: true}
		}
	}()
	snapshot, err := r.poller.Poll(ctx, now)
	o.err = err
	if snapshot == nil {
		if err == nil {
			o.err = errors.New("poll returned nothing")
		}
		return o
	}
	e := newEmitter(r.spec.Rows())
	snapshot.Emit(e)
	o.families, o.bulk, o.problems = e.result(), e.bulk, e.problems
	o.dropped, o.refused = e.dropped, e.overflow
	if p, _ := r.snapshot(now); p != nil {
		warmBulk(o.bulk, p.bulk)
	}
	return o
}

// record publishes the outcome and returns the time to the next poll.
func (r *runner) record(poll *pollRecord, o outcome, took time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := poll.at
	r.last = poll.ended(o, took)
	r.asked.add(poll.trace.Report().Steps)
	wait, interval := r.pace(o.err == nil, took)
	s := &r.status
	before := s.err
	s.duration, s.interval, s.success, s.err = took, interval, o.err == nil, o.err
	s.dropped += uint64(o.dropped)
	s.refused += uint64(o.refused)
	s.polls++
	if o.panicked {
		s.panics++
	}
	if o.err != nil {
		s.failures++
		s.lastErr, s.lastErrAt = o.err, now
	} else {
		s.lastSuccess = now
	}
	if o.families != nil {
		r.published = &publication{families: o.families, bulk: o.bulk, at: now, maxAge: expireAfter * interval}
	}
	r.report(before, o, !s.polled)
	if !s.polled {
		s.polled = true
		close(r.first)
	}
	return wait
}

// pace returns the time to the next poll and the interval in force. Only a
// successful poll stretches the interval; after a failure the base interval
// holds, so that a cluster that comes back is seen soon.
func (r *runner) pace(success bool, took time.Duration) (wait, interval time.Duration) {
	if p, ok := r.poller.(Paced); ok {
		return p.Pace()
	}
	interval = r.interval
	if success {
		interval = max(interval, pollShare*took)
	}
	return max(interval-took, 0), interval
}

// report logs changes of state only, so that a broken source does not fill the
// disk, and refused samples always: they are a bug of ours.
func (r *runner) report(before error, o outcome, first bool) {
	for _, p := range o.problems {
		r.log.Error("sample dropped", "err", p)
	}
	if o.refused > 0 && !r.status.refusing {
		r.log.Warn("series refused: a source names more things than any real one has, or one like another", "series", o.refused)
	}
	r.status.refusing = o.refused > 0
	switch {
	case o.err != nil && (before == nil || before.Error() != o.err.Error()):
		r.log.Warn("collector fails", "err", o.err)
	case o.err == nil && (before != nil || first):
		r.log.Info("collector works")
	}
}

// snapshot returns what to serve at that instant, nil when there is nothing that
// is young enough, and the status.
func (r *runner) snapshot(now time.Time) (*publication, pollStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.published == nil {
		return nil, r.status
	}
	// A clock that was set back must not make it young for ever.
	if now.Sub(r.published.at).Abs() > r.published.maxAge {
		r.published = nil // frees the memory, too
		return nil, r.status
	}
	return r.published, r.status
}

// Guard runs f and turns a panic into an error: what a Poller wraps around each
// goroutine of its own, since an unrecovered panic there ends the process.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
