package rados

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fakeCluster stands in for librados and what is behind it. Its zero value
// answers everything at once.
type fakeCluster struct {
	mu sync.Mutex
	// What holds a kind of call until the channel is closed; nil: nothing.
	holdDial, holdMon, holdMgr, holdShutdown chan struct{}
	dialErr                                  error
	mgrStat                                  string
	monErr                                   error

	dials, shutdowns atomic.Int64 // returned
	lent, freed      atomic.Int64 // buffers of mgrInPlace
	conns            []*fakeConn
	sentMgr          atomic.Int64
	now, most        atomic.Int64 // calls inside
}

type fakeConn struct {
	cluster *fakeCluster
	down    atomic.Bool
	calls   atomic.Int64 // that began on it
}

func (f *fakeCluster) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// wait is how a call blocks inside librados.
func (f *fakeCluster) wait(which func() chan struct{}) {
	for n := f.now.Add(1); ; {
		most := f.most.Load()
		if n <= most || f.most.CompareAndSwap(most, n) {
			break
		}
	}
	defer f.now.Add(-1)
	f.mu.Lock()
	hold := which()
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
}

func (f *fakeCluster) dial(Config) (conn, error) {
	f.wait(func() chan struct{} { return f.holdDial })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dialErr != nil {
		return nil, f.dialErr
	}
	f.dials.Add(1)
	c := &fakeConn{cluster: f}
	f.conns = append(f.conns, c)
	return c, nil
}

func (c *fakeConn) checkUp() {
	if c.down.Load() {
		panic("call on a connection that was shut down")
	}
}

func (c *fakeConn) mon(command []byte) answer {
	c.checkUp()
	c.calls.Add(1)
	f := c.cluster
	f.wait(func() chan struct{} { return f.holdMon })
	c.checkUp()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.monErr != nil {
		return answer{err: f.monErr}
	}
	if strings.Contains(string(command), "mgr stat") {
		if f.mgrStat == "" {
			return answer{data: []byte(`{"available":true,"active_name":"x"}`)}
		}
		return answer{data: []byte(f.mgrStat)}
	}
	return answer{data: []byte("mon:" + string(command))}
}

func (c *fakeConn) mgr(command []byte) answer {
	c.checkUp()
	c.calls.Add(1)
	f := c.cluster
	f.sentMgr.Add(1)
	f.wait(func() chan struct{} { return f.holdMgr })
	c.checkUp()
	if string(command) == "panic" {
		panic("made up")
	}
	return answer{data: []byte("mgr:" + string(command))}
}

func (c *fakeConn) mgrInPlace(command []byte) answer {
	a := c.mgr(command)
	c.cluster.lent.Add(1)
	a.free = func() {
		c.cluster.freed.Add(1)
		clear(a.data)
	}
	return a
}

func (c *fakeConn) shutdown() {
	if c.down.Swap(true) {
		panic("shut down twice")
	}
	f := c.cluster
	f.wait(func() chan struct{} { return f.holdShutdown })
	f.shutdowns.Add(1)
}

// inBubble runs a test with a clock of its own, which moves on when all
// goroutines wait. The bubble fails when a goroutine is left at the end.
func inBubble(t *testing.T, test func(t *testing.T, f *fakeCluster, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCluster{}
		c, err := newClient(Config{Timeout: 10 * time.Second, MaxAbandoned: 8}, f.dial)
		if err != nil {
			t.Fatal(err)
		}
		test(t, f, c)
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		synctest.Wait()
		if s := c.Stats(); s.Inside != 0 || s.Stuck != 0 || s.Returned != s.Abandoned {
			t.Errorf("after close: %+v", s)
		}
		if f.freed.Load() != f.lent.Load() {
			t.Errorf("%d buffers lent, %d freed", f.lent.Load(), f.freed.Load())
		}
		if f.dials.Load() != f.shutdowns.Load() {
			t.Errorf("%d connections made, %d shut down", f.dials.Load(), f.shutdowns.Load())
		}
	})
}

func wantAnswer(t *testing.T, want string) func([]byte, error) {
	return func(got []byte, err error) {
		t.Helper()
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

func wantKind(t *testing.T, err error, kinds ...error) {
	t.Helper()
	var own *Error
	if !errors.As(err, &own) {
		t.Errorf("error %v is no *Error", err)
	}
	for _, kind := range kinds {
		if !errors.Is(err, kind) {
			t.Errorf("error %q is not %q", err, kind)
		}
	}
}

var (
	bg      = context.Background()
	errHost = &Error{Cause: syscall.ENOENT}
)
