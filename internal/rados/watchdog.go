package rados

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// errNoAnswer: a command was sent, and its answer did not come in time.
var errNoAnswer = fmt.Errorf("%w: no answer in time", ErrGivenUp)

// watchdog makes the calls into librados: each in a goroutine that can be left
// behind, at most total of them at once, on connections that are replaced when
// one was left behind on them.
type watchdog struct {
	dial    func() (conn, error)
	log     *slog.Logger
	timeout time.Duration // of an attempt to connect

	mu  sync.Mutex
	cur *session // what new calls use; nil when they have to connect first
	// spare is the connection on which a mon did not answer: a mgr still
	// does, and there may be none to reach over a new one. It is let go of
	// when a new one works.
	spare *session
	// inside counts the calls inside librados by whom they wait for, stuck
	// those among them that nobody waits for any more. Connecting and
	// shutting down count as calls that wait for a mon.
	inside, stuck [targets]int
	limit         [targets]int
	total         int           // bound of all together
	changed       chan struct{} // closed and replaced when a place is free or stuck
	closed        chan struct{} // closed by close
	drained       chan struct{} // closed once nothing is inside after close
	count         Stats         // the totals
}

// session is one connection, from the attempt to make it until it is shut
// down.
type session struct {
	ready chan struct{} // closed once conn or err is set
	conn  conn
	err   error
	// calls counts those on conn; retired: no further ones.
	calls   int
	retired bool
}

// call is one command on its way.
type call struct {
	to      target
	session *session
	began   time.Time
	result  chan answer // holds one, so that nobody waits to deliver
	done    bool        // the answer was delivered
	left    bool        // nobody takes the answer any more
}

func (w *watchdog) init(cfg Config, dial func() (conn, error)) {
	w.dial = dial
	w.log = cfg.Log
	w.timeout = cfg.Timeout
	w.total = cfg.MaxAbandoned
	for to := range targets {
		w.limit[to] = max(1, w.total*3/4) // one that hangs must not shut out the other
	}
	w.changed = make(chan struct{})
	w.closed = make(chan struct{})
	w.drained = make(chan struct{})
}

// do makes one call on a connection that works. It returns when the answer is
// there, and no later than ctx ends.
func (w *watchdog) do(ctx context.Context, to target, run func(conn) answer) (answer, error) {
	for {
		if ctx.Err() != nil {
			return answer{}, fmt.Errorf("%w before it began: %w", ErrGivenUp, context.Cause(ctx))
		}
		s, err := w.session(ctx, to)
		if err != nil {
			return answer{}, err
		}
		c, err := w.begin(ctx, to, s)
		if err != nil {
			return answer{}, err
		}
		if c == nil {
			continue // s was replaced while there was no place
		}
		go w.run(c, run)
		select {
		case a := <-c.result:
			return a, a.err
		case <-ctx.Done():
			return w.leave(c, context.Cause(ctx))
		case <-w.closed:
			return w.leave(c, ErrClosed)
		}
	}
}

// begin takes a place for a call on s. It returns nil without an error when s
// is no longer the connection to use.
func (w *watchdog) begin(ctx context.Context, to target, s *session) (*call, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.place(ctx, to); err != nil {
		return nil, err
	}
	if s.retired || to == toMon && w.spare == s {
		w.release(to, false)
		return nil, nil
	}
	s.calls++
	if to == toMgr {
		w.count.MgrCalls++
	} else {
		w.count.MonCalls++
	}
	return &call{to: to, session: s, began: time.Now(), result: make(chan answer, 1)}, nil
}

// place waits for a place and takes it. When nobody is left who could free one
// soon, it fails at once. It is called with mu held, and lets go of it while
// it waits.
func (w *watchdog) place(ctx context.Context, to target) error {
	for {
		switch total := w.inside[toMon] + w.inside[toMgr]; {
		case w.isClosed():
			return ErrClosed
		case total < w.total && w.inside[to] < w.limit[to]:
			w.inside[to]++
			return nil
		case w.stuck[toMon]+w.stuck[toMgr] >= w.total, w.stuck[to] >= w.limit[to]:
			w.count.Rejected++
			return &Error{
				Kind:  ErrTooManyAbandoned,
				Cause: fmt.Errorf("%d for mon, %d for mgr", w.stuck[toMon], w.stuck[toMgr]),
				Cure:  cureTooMany,
			}
		}
		changed := w.changed
		w.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-w.closed:
		case <-ctx.Done():
			err = fmt.Errorf("%w before it began, behind other calls: %w", ErrGivenUp, context.Cause(ctx))
		}
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// release gives a place back. It is called with mu held.
func (w *watchdog) release(to target, wasStuck bool) {
	w.inside[to]--
	if wasStuck {
		w.stuck[to]--
	}
	w.broadcast()
	w.checkDrained()
}

func (w *watchdog) broadcast() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// run is the goroutine of one call, which outlives the caller where it must.
func (w *watchdog) run(c *call, run func(conn) answer) {
	a := w.guarded(func() answer { return run(c.session.conn) })

	w.mu.Lock()
	s := c.session
	c.done = true
	if c.left {
		w.count.Returned++
	} else {
		w.count.Bytes += uint64(len(a.data))
		c.result <- a
	}
	if broken(a.err) {
		w.retire(s)
	}
	s.calls--
	last := s.retired && s.calls == 0
	if last && !c.left {
		w.stuck[c.to]++ // nobody waits for the shutdown
	}
	if !last {
		w.release(c.to, c.left)
	}
	w.mu.Unlock()

	if c.left {
		a.release()
		w.log.Info("a call that had been given up came back", "target", c.to.String(), "after", time.Since(c.began))
	}
	if last {
		w.shutdown(s.conn)
		w.mu.Lock()
		w.release(c.to, true)
		w.mu.Unlock()
	}
}

// leave gives up waiting for c, unless its answer came at the same moment.
func (w *watchdog) leave(c *call, why error) (answer, error) {
	w.mu.Lock()
	if c.done {
		w.mu.Unlock()
		a := <-c.result
		return a, a.err
	}
	c.left = true
	w.stuck[c.to]++
	w.count.Abandoned++
	if c.to == toMon && w.cur == c.session {
		w.replaceSpare(c.session)
		w.cur = nil
	} else if w.spare != c.session || c.to == toMgr {
		w.retire(c.session)
	}
	w.broadcast()
	w.mu.Unlock()
	after := time.Since(c.began)
	if errors.Is(why, ErrClosed) {
		return answer{}, why
	}
	w.log.Warn("a call into librados was given up", "target", c.to.String(), "after", after, "reason", why)
	kind := ErrGivenUp
	if errors.Is(why, context.DeadlineExceeded) {
		kind = errNoAnswer
	}
	return answer{}, fmt.Errorf("%w after %v: %w", kind, after.Round(time.Millisecond), why)
}

// retire keeps new calls off s. It is called with mu held.
func (w *watchdog) retire(s *session) {
	s.retired = true
	if w.cur == s {
		w.cur = nil
	}
	if w.spare == s {
		w.spare = nil
	}
}

func (w *watchdog) isClosed() bool {
	select {
	case <-w.closed:
		return true
	default:
		return false
	}
}

// shutdown is called without mu: it may block.
func (w *watchdog) shutdown(c conn) {
	w.guarded(func() answer { c.shutdown(); return answer{} })
}

// guarded turns a panic into an error: a goroutine that panics would end the
// process.
func (w *watchdog) guarded(run func() answer) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("panic in a call into librados", "panic", p, "stack", string(debug.Stack()))
			a = answer{err: fmt.Errorf("panic in a call into librados: %v", p)}
		}
	}()
	return run()
}
