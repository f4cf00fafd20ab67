package rados

import (
	"context"
	"fmt"
	"time"
)

// session returns the connection to use for a call. For a mgr that is the spare
// one as long as no new one has been made.
func (w *watchdog) session(ctx context.Context, to target) (*session, error) {
	if s := w.spareFor(to); s != nil {
		return s, nil
	}
	return w.connected(ctx)
}

func (w *watchdog) spareFor(to target) *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to != toMgr || w.isClosed() {
		return nil
	}
	return w.spare
}

// replaceSpare keeps s, nil for none, in place of the one that was kept. It is
// called with mu held.
func (w *watchdog) replaceSpare(s *session) {
	old := w.spare
	w.spare = s
	if old == nil {
		return
	}
	w.retire(old)
	w.shutdownUnused(old)
}

// shutdownUnused shuts down a retired session unless a call is still on it, which
// will. It is called with mu held.
func (w *watchdog) shutdownUnused(s *session) {
	if s.calls > 0 {
		return
	}
	w.inside[toMon]++
	w.stuck[toMon]++
	go w.shutdownIdle(s)
}

// connected returns a session with a connection: the current one, or a new one
// that this or another caller has begun to make. One attempt at a time is made,
// for all who wait.
func (w *watchdog) connected(ctx context.Context) (*session, error) {
	s, err := w.attempt(ctx)
	if err != nil {
		return nil, asError(opConnect, err)
	}
	select {
	case <-s.ready:
		return s, s.err
	case <-w.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, &Error{Op: opConnect, Kind: ErrGivenUp, Cause: context.Cause(ctx), Cure: cureNoQuorum}
	}
}

// attempt returns the current session, or begins a new one.
func (w *watchdog) attempt(ctx context.Context) (*session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cur != nil {
		return w.cur, nil
	}
	if err := w.place(ctx, toMon); err != nil {
		return nil, err
	}
	if w.cur != nil { // another caller was faster
		w.release(toMon, false)
		return w.cur, nil
	}
	s := &session{ready: make(chan struct{})}
	w.cur = s
	w.count.Connects++
	timer := time.AfterFunc(w.timeout, func() { w.leaveConnect(s) })
	go w.connect(s, timer)
	return s, nil
}

// connect is the goroutine of one attempt.
func (w *watchdog) connect(s *session, timer *time.Timer) {
	var conn conn
	a := w.guarded(func() answer {
		var err error
		conn, err = w.dial()
		return answer{err: err}
	})
	timer.Stop()

	w.mu.Lock()
	left := s.retired // leaveConnect or close was faster
	if left {
		w.count.Returned++
	} else {
		s.conn, s.err = conn, a.err
		if a.err != nil {
			w.retire(s)
		} else {
			w.replaceSpare(nil)
		}
		close(s.ready)
	}
	if left && conn != nil {
		w.mu.Unlock()
		w.shutdown(conn)
		w.mu.Lock()
	}
	w.release(toMon, left)
	w.mu.Unlock()
}

// leaveConnect gives an attempt up, for all who wait.
func (w *watchdog) leaveConnect(s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-s.ready:
		return
	default:
	}
	if s.retired {
		return
	}
	s.err = &Error{
		Op: opConnect, Kind: ErrNoQuorum,
		Cause: fmt.Errorf("%w after %v", ErrGivenUp, w.timeout),
		Cure:  cureNoQuorum,
	}
	w.abandonConnect(s)
}

// abandonConnect is called with mu held.
func (w *watchdog) abandonConnect(s *session) {
	w.retire(s)
	w.stuck[toMon]++
	w.count.Abandoned++
	close(s.ready)
	w.broadcast()
}

// close refuses further calls and lets go of the connection. The returned
// channel is closed when nothing is left inside librados.
func (w *watchdog) close() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isClosed() {
		return w.drained
	}
	close(w.closed)
	w.replaceSpare(nil)
	if s := w.cur; s != nil {
		select {
		case <-s.ready:
			w.retire(s)
			w.shutdownUnused(s)
		default:
			s.err = ErrClosed
			w.abandonConnect(s)
		}
	}
	w.checkDrained()
	return w.drained
}

func (w *watchdog) shutdownIdle(s *session) {
	w.shutdown(s.conn)
	w.mu.Lock()
	w.release(toMon, true)
	w.mu.Unlock()
}

// checkDrained is called with mu held, whenever a place was given back. After
// close no place is taken any more, so it finds the last one once.
func (w *watchdog) checkDrained() {
	if w.isClosed() && w.inside[toMon]+w.inside[toMgr] == 0 {
		close(w.drained)
	}
}
