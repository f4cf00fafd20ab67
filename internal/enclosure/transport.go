package enclosure

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// A Transport asks one SES process for one diagnostic page. The reply is what
// came, header included, and belongs to the caller.
//
// A Transport may take longer than ctx allows (an ioctl cannot be interrupted);
// Guard sees to it that its caller does not.
type Transport interface {
	ReceiveDiagnostic(ctx context.Context, page byte) ([]byte, error)
}

// Errors of a guarded transport.
var (
	// ErrGivenUp: the command did not come back in time.
	ErrGivenUp = errors.New("given up")
	// ErrHung: an earlier command is still under way, so none was sent.
	ErrHung = errors.New("an earlier command has not come back")
)

// maxAbandoned bounds how many commands may be given up and still be under way,
// over all devices, also those that have left the system since.
const maxAbandoned = 64

// Guard keeps its caller from waiting for a device longer than ctx allows. Each
// command has a goroutine of its own, which stays behind when it is given up,
// until the kernel lets it go. Until then the device gets no other command, so
// that no more than one goroutine per device can be left behind.
type Guard struct {
	next      Transport
	busy      atomic.Bool
	abandoned *atomic.Int64 // shared by the guards of all devices
}

// NewGuard wraps a transport. abandoned counts the commands that were given up,
// over all guards that share it.
func NewGuard(next Transport, abandoned *atomic.Int64) *Guard {
	return &Guard{next: next, abandoned: abandoned}
}

type reply struct {
	page []byte
	err  error
}

// ReceiveDiagnostic returns when the reply is there or ctx is done.
func (g *Guard) ReceiveDiagnostic(ctx context.Context, page byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("receive %s page: %w", PageName(page), err)
	}
	if g.abandoned.Load() >= maxAbandoned || !g.busy.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("receive %s page: %w", PageName(page), ErrHung)
	}
	const waiting, taken, left = 0, 1, 2
	var state atomic.Int32
	done := make(chan reply, 1)
	go func() {
		r := g.call(ctx, page)
		g.busy.Store(false)
		if !state.CompareAndSwap(waiting, taken) {
			g.abandoned.Add(-1)
		}
		done <- r
	}()
	select {
	case r := <-done:
		return r.page, r.err
	case <-ctx.Done():
	}
	// Counted before it is marked as left: the goroutine takes the count back.
	g.abandoned.Add(1)
	if !state.CompareAndSwap(waiting, left) {
		g.abandoned.Add(-1)
		r := <-done
		return r.page, r.err
	}
	return nil, fmt.Errorf("receive %s page: %w: %w", PageName(page), ErrGivenUp, context.Cause(ctx))
}

// call turns a panic of the transport into an error: in a goroutine of its own
// it would end the process.
func (g *Guard) call(ctx context.Context, page byte) (r reply) {
	defer func() {
		if p := recover(); p != nil {
			r = reply{err: fmt.Errorf("receive %s page: panic: %v\n%s", PageName(page), p, debug.Stack())}
		}
	}()
	b, err := g.next.ReceiveDiagnostic(ctx, page)
	return reply{b, err}
}
