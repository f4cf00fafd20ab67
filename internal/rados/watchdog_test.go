package rados

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

func TestAnswersComeOverOneConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
		if err := c.MgrCommandInPlace(bg, []byte("c"), func(a []byte) error {
			wantAnswer(t, "mgr:c")(a, nil)
			return errHost
		}); err != error(errHost) {
			t.Errorf("the error of use became %v", err)
		}
		want := Stats{MonCalls: 1, MgrCalls: 2, Connects: 1, Bytes: 15, Limit: 8}
		if got := c.Stats(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestHungMgrIsGivenUpAndTheNextCallGetsANewConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdMgr = hold })
		start := time.Now()
		_, err := c.MgrCommand(bg, []byte(`{"prefix":"pg dump","key":"hidden"}`))
		wantKind(t, err, ErrMgrHung, ErrGivenUp, context.DeadlineExceeded)
		const text = "active mgr does not answer: given up: no answer in time after 8s: " +
			"context deadline exceeded; mgr.x is active (" + cureMgrHung + ")"
		if err.Error() != text {
			t.Errorf("got  %s\nwant %s", err, text)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("came back after %v", took)
		}
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		want := Stats{MonCalls: 2, MgrCalls: 1, Connects: 2, Abandoned: 1, Inside: 1, Stuck: 1, Limit: 8, Bytes: 41}
		if got := c.Stats(); got != want {
			t.Errorf("while hung: got %+v, want %+v", got, want)
		}

		f.set(func() { f.holdMgr = nil })
		close(hold)
		synctest.Wait()
		want.Returned, want.Inside, want.Stuck = 1, 0, 0
		if got := c.Stats(); got != want {
			t.Errorf("after it came back: got %+v, want %+v", got, want)
		}
		if f.shutdowns.Load() != 1 {
			t.Errorf("the old connection was not shut down")
		}
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
	})
}

func TestLateAnswerNeverReachesUse(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdMgr = hold })
		err := c.MgrCommandInPlace(bg, []byte("a"), func([]byte) error {
			t.Error("use was called")
			return nil
		})
		wantKind(t, err, ErrMgrHung)
		close(hold)
		synctest.Wait()
		if f.lent.Load() != 1 || f.freed.Load() != 1 {
			t.Errorf("%d buffers lent, %d freed", f.lent.Load(), f.freed.Load())
		}
	})
}

func TestPanicOfUseFreesTheBufferAndReachesTheCaller(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		func() {
			defer func() {
				if p := recover(); p != "made up" {
					t.Errorf("recovered %v", p)
				}
			}()
			c.MgrCommandInPlace(bg, []byte("a"), func([]byte) error { panic("made up") })
		}()
		if f.freed.Load() != 1 {
			t.Error("buffer not freed")
		}
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
	})
}

func TestPanicInsideACallIsAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		_, err := c.MgrCommand(bg, []byte("panic"))
		if want := "panic in a call into librados: made up"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
	})
}

func TestAMgrThatHangsForeverLeavesPlacesForTheMons(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdMgr = hold })
		for range 6 {
			_, err := c.MgrCommand(bg, []byte("a"))
			wantKind(t, err, ErrMgrHung)
		}
		start := time.Now()
		_, err := c.MgrCommand(bg, []byte("a"))
		wantKind(t, err, ErrTooManyAbandoned)
		if time.Since(start) != 0 {
			t.Error("a refused call took time")
		}
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		if s := c.Stats(); s.Rejected != 1 || s.Stuck != 6 || s.Abandoned != 6 {
			t.Errorf("%+v", s)
		}
		f.set(func() { f.holdMgr = nil })
		close(hold)
		synctest.Wait()
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
	})
}

func TestBoundHoldsUnderConcurrentCallsAndPlacesComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		hold := make(chan struct{})
		f.set(func() { f.holdMon, f.holdMgr = hold, hold })
		var callers sync.WaitGroup
		var mu sync.Mutex
		kinds := map[string]int{}
		for i := range 40 {
			callers.Go(func() {
				ask := c.MonCommand
				if i%2 == 0 {
					ask = c.MgrCommand
				}
				_, err := ask(bg, []byte("a"))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, ErrTooManyAbandoned):
					kinds["refused"]++
				case errors.Is(err, ErrGivenUp):
					kinds["given up"]++
				default:
					kinds[fmt.Sprint(err)]++
				}
			})
		}
		callers.Wait()
		if most := f.most.Load(); most > 8 {
			t.Errorf("%d calls inside at once", most)
		}
		if len(kinds) > 2 || kinds["refused"]+kinds["given up"] != 40 {
			t.Errorf("got %v", kinds)
		}
		if s := c.Stats(); s.Stuck != s.Inside || s.Stuck == 0 {
			t.Errorf("while hung: %+v", s)
		}
		f.set(func() { f.holdMon, f.holdMgr = nil, nil })
		close(hold)
		synctest.Wait()
		if s := c.Stats(); s.Inside != 0 || s.Returned != s.Abandoned {
			t.Errorf("after it: %+v", s)
		}
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
	})
}

func TestWithoutAMgrOnlyOneCommandWaitsForOne(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdMgr, f.mgrStat = hold, `{"available":false,"active_name":""}` })
		for range 5 {
			_, err := c.MgrCommand(bg, []byte("a"))
			wantKind(t, err, ErrNoActiveMgr)
		}
		if n := f.sentMgr.Load(); n != 1 {
			t.Errorf("%d commands wait for a mgr", n)
		}
		f.set(func() { f.holdMgr, f.mgrStat = nil, "" })
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
		close(hold)
	})
}

func TestHungMonIsNoQuorum(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		hold := make(chan struct{})
		f.set(func() { f.holdMon, f.holdMgr = hold, hold })
		_, err := c.MonCommand(bg, []byte("a"))
		wantKind(t, err, ErrNoQuorum, ErrGivenUp)
		_, err = c.MgrCommand(bg, []byte("a"))
		wantKind(t, err, ErrNoQuorum, ErrGivenUp)
		close(hold)
	})
}

func TestTheMgrAnswersWhileTheMonsDoNot(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		hold := make(chan struct{})
		f.set(func() { f.holdMon, f.holdDial = hold, hold })
		for range 3 {
			_, err := c.MonCommand(bg, []byte("a"))
			wantKind(t, err, ErrGivenUp)
			start := time.Now()
			wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
			if took := time.Since(start); took != 0 {
				t.Errorf("the mgr's answer took %v", took)
			}
		}
		if n := f.shutdowns.Load(); n != 0 {
			t.Errorf("%d connections shut down", n)
		}
		f.set(func() { f.holdMon, f.holdDial = nil, nil })
		close(hold)
		synctest.Wait()
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
		synctest.Wait()
		if n := len(f.conns); n < 2 || f.conns[0].calls.Load() != 5 || !f.conns[0].down.Load() || f.conns[n-1].down.Load() {
			t.Errorf("%d connections, %d calls on the first, down: %v", n, f.conns[0].calls.Load(), f.conns[0].down.Load())
		}
	})
}

func TestMonsThatHangForeverLeavePlacesForTheMgr(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		hold := make(chan struct{})
		f.set(func() { f.holdMon, f.holdDial = hold, hold })
		for n := 0; c.Stats().Rejected == 0; n++ {
			if _, err := c.MonCommand(bg, []byte("a")); err == nil || n > 20 {
				t.Fatalf("call %d: %v, %+v", n, err, c.Stats())
			}
		}
		if s := c.Stats(); s.Stuck != 6 || s.Limit != 8 {
			t.Errorf("%+v", s)
		}
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
		f.set(func() { f.holdMon, f.holdDial = nil, nil })
		close(hold)
	})
}

func TestWhereTheMgrHangsTooTheSpareConnectionIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		hold := make(chan struct{})
		f.set(func() { f.holdMon, f.holdDial, f.holdMgr = hold, hold, hold })
		_, err := c.MonCommand(bg, []byte("a"))
		wantKind(t, err, ErrNoQuorum)
		for range 2 {
			_, err = c.MgrCommand(bg, []byte("b"))
			wantKind(t, err, ErrGivenUp)
		}
		if n := f.sentMgr.Load(); n != 1 {
			t.Errorf("%d commands sent to a mgr that owes an answer", n)
		}
		f.set(func() { f.holdMon, f.holdDial, f.holdMgr = nil, nil, nil })
		close(hold)
		synctest.Wait()
		wantAnswer(t, "mgr:b")(c.MgrCommand(bg, []byte("b")))
	})
}

func TestHungConnectIsGivenUpForAllWhoWait(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdDial = hold })
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				_, err := c.MonCommand(ceph.WithCallLimit(bg, time.Minute), []byte("a"))
				wantKind(t, err, ErrNoQuorum, ErrGivenUp)
			})
		}
		callers.Wait()
		if s := c.Stats(); s.Stuck != 1 || s.Connects != 1 {
			t.Errorf("%+v", s)
		}
		_, err := c.MonCommand(ceph.WithCallLimit(bg, time.Second), []byte("a"))
		wantKind(t, err, ErrGivenUp, context.DeadlineExceeded)
		f.set(func() { f.holdDial = nil })
		close(hold)
		synctest.Wait()
		// The second attempt was not given up: its caller only left early.
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		if s := c.Stats(); s.Connects != 2 || s.Returned != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestFailedConnectIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wrong := &Error{Op: opConnect, Kind: ErrWrongKey}
		f.set(func() { f.dialErr = wrong })
		_, err := c.MonCommand(bg, []byte("a"))
		wantKind(t, err, ErrWrongKey)
		f.set(func() { f.dialErr = nil })
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
	})
}

func TestHungShutdownKeepsItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdShutdown, f.monErr = hold, &Error{Cause: syscall.ESHUTDOWN} })
		for range 6 {
			_, err := c.MonCommand(bg, []byte("a"))
			wantKind(t, err, syscall.ESHUTDOWN)
		}
		synctest.Wait()
		_, err := c.MonCommand(bg, []byte("a"))
		wantKind(t, err, ErrTooManyAbandoned)
		f.set(func() { f.monErr = nil })
		close(hold)
		synctest.Wait()
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
	})
}

func TestCallerThatCancelsLeavesAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdMgr = hold })
		ctx, cancel := context.WithCancel(bg)
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		_, err := c.MgrCommand(ctx, []byte("a"))
		wantKind(t, err, ErrGivenUp, context.Canceled)
		if errors.Is(err, ErrMgrHung) || errors.Is(err, ErrNoQuorum) {
			t.Errorf("blamed the cluster: %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("left after %v", took)
		}
		_, err = c.MgrCommand(ctx, []byte("a"))
		wantKind(t, err, ErrGivenUp, context.Canceled)
		if n := f.sentMgr.Load(); n != 1 {
			t.Errorf("%d commands were sent", n)
		}
		close(hold)
	})
}

func TestCallersChooseTheirLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		hold := make(chan struct{})
		f.set(func() { f.holdMgr = hold })
		time.AfterFunc(40*time.Second, func() { close(hold) })
		wantAnswer(t, "mgr:a")(c.MgrCommand(ceph.WithCallLimit(bg, time.Minute), []byte("a")))
		ctx, cancel := context.WithTimeout(ceph.WithCallLimit(bg, time.Minute), 5*time.Second)
		defer cancel()
		hold = make(chan struct{})
		f.set(func() { f.holdMgr = hold })
		start := time.Now()
		_, err := c.MgrCommand(ctx, []byte("a"))
		wantKind(t, err, ErrMgrHung)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the context's deadline was passed: %v", took)
		}
		close(hold)
	})
}

func TestAnswerAtTheVeryMomentOfTheLimitIsTakenOrFreed(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		outcomes := map[bool]int{}
		for range 100 {
			hold := make(chan struct{})
			f.set(func() { f.holdMgr = hold })
			time.AfterFunc(8*time.Second, func() { close(hold) })
			used := 0
			err := c.MgrCommandInPlace(bg, []byte("a"), func(a []byte) error {
				used++
				wantAnswer(t, "mgr:a")(a, nil)
				return nil
			})
			if (err == nil) != (used == 1) {
				t.Errorf("used %d times, error %v", used, err)
			}
			outcomes[err == nil]++
			synctest.Wait()
			if s := c.Stats(); s.Inside != 0 || s.Stuck != 0 {
				t.Fatalf("%+v", s)
			}
		}
		t.Logf("answers taken: %d, given up: %d", outcomes[true], outcomes[false])
	})
}

func TestCallersWhoWaitedForAPlaceShareANewConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fakeCluster, c *Client) {
		wantAnswer(t, "mon:a")(c.MonCommand(bg, []byte("a")))
		hold := make(chan struct{})
		f.set(func() { f.holdMon = hold })
		ask := func(limit time.Duration) (err error) {
			_, err = c.MonCommand(ceph.WithCallLimit(bg, limit), []byte("a"))
			return err
		}
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				if err := ask(time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Go(func() { wantKind(t, ask(5*time.Second), ErrNoQuorum) })
		synctest.Wait()
		// All places for mon commands are taken: one waits with the old connection in its
		// hands, two come when it has been given up.
		later := func() {
			if err := ask(time.Minute); err != nil {
				t.Error(err)
			}
		}
		callers.Go(later)
		time.Sleep(6 * time.Second)
		callers.Go(later)
		callers.Go(later)
		synctest.Wait()
		f.set(func() { f.holdMon = nil })
		close(hold)
		callers.Wait()
		if s := c.Stats(); s.Connects != 2 || s.MonCalls != 10 || s.Abandoned != 1 {
			t.Errorf("%+v", s)
		}
		if first, second := f.conns[0].calls.Load(), f.conns[1].calls.Load(); first != 7 || second != 3 {
			t.Errorf("%d calls began on the first connection, %d on the second", first, second)
		}
	})
}

func TestCloseEndsCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCluster{}
		hold := make(chan struct{})
		f.holdMgr = hold
		c, err := newClient(Config{}, f.dial)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := c.MgrCommand(bg, []byte("a"))
			done <- err
		}()
		synctest.Wait()
		err = c.Close()
		wantKind(t, err, ErrGivenUp)
		wantKind(t, <-done, ErrClosed)
		_, err = c.MonCommand(bg, []byte("a"))
		wantKind(t, err, ErrClosed)
		close(hold)
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
		if f.dials.Load() != 1 || f.shutdowns.Load() != 1 {
			t.Errorf("%d connections made, %d shut down", f.dials.Load(), f.shutdowns.Load())
		}
	})
}
