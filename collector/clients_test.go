package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Clients that ask and then do not read hold every place; each is cut off, and
// the next scrape is served in full.
func TestClientsThatDoNotReadKeepNoPlace(t *testing.T) {
	set := bulkSet(t, newBulkPoller(200_000)) // more than socket buffers take
	poll(set)
	const places = 3
	server := httptest.NewServer(NewHandler(set, nil, HandlerOpts{MaxScrapes: places, Stall: 3 * time.Second}))
	defer server.Close()
	for range places {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 15)); err != nil { // its answer has begun
			t.Fatal(err)
		}
	}
	scrape := func() error {
		resp, err := http.Get(server.URL + "/metrics")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s, %d bytes, %w", resp.Status, n, err)
		}
		return nil
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := scrape()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the places never came back: %v", err)
		}
	}
}

// Polls go on by the monotonic clock. Where there is none, a clock that is set
// forward drops what there is until the next poll, and one that is set back
// does not make it young for ever.
func TestClockThatIsSetNeverServesOldTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		clock := func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) }
		p := &scripted{poll: func(_ context.Context, n int) (Snapshot, error) {
			if n > 3 {
				return nil, errors.New("gone")
			}
			return emitFunc(func(e *Emitter) { e.Emit(benchRow(), float64(n)) }), nil
		}}
		deps := testDeps(t, time.Time{})
		deps.Now = clock
		spec := Spec{Name: "test", Timeout: time.Second, Rows: func() []*Row { return []*Row{benchRow()} }}
		b := &bench{t: t, set: NewSet(clock, Member{Spec: spec, Poller: p, Deps: deps})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); b.set.Run(ctx) }()
		synctest.Wait()
		for n, step := range []time.Duration{time.Hour, -5 * time.Hour} {
			if b.values()[testSeries] != float64(n+1) {
				t.Errorf("before the step: %v", b.values())
			}
			offset.Add(int64(step))
			if b.has(testSeries) {
				t.Errorf("clock set by %v: what is as old as that is served", step)
			}
			time.Sleep(61 * time.Second) // polls come by the time that passes
			synctest.Wait()
		}
		if b.values()[testSeries] != 3 || b.self("success") != 1 {
			t.Errorf("after the steps: %v", b.values())
		}
		time.Sleep(4 * time.Minute) // the source is gone
		if b.has(testSeries) || b.self("success") != 0 {
			t.Errorf("without a source: %v", b.values())
		}
		cancel()
		<-done
	})
}
