package asok_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/asok/asoktest"
)

func TestAskReturnsTheAnswerAsSent(t *testing.T) {
	body := []byte("{\"a\":\"\xff\xfe\"}")
	srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "ceph-osd.0.asok"),
		asoktest.Answers(map[string][]byte{"perf dump": body, "version": {}}))
	var c asok.Client
	got, err := c.Ask(context.Background(), srv.Path, asok.PerfDump)
	if err != nil || string(got) != string(body) {
		t.Errorf("got %q, %v; want %q", got, err, body)
	}
	if got, err := c.Ask(context.Background(), srv.Path, asok.Version); err != nil || len(got) != 0 {
		t.Errorf("empty answer: got %q, %v", got, err)
	}
	want := []string{"{\"prefix\":\"perf dump\",\"format\":\"json\"}\x00", "{\"prefix\":\"version\",\"format\":\"json\"}\x00"}
	if q := srv.Questions(); !slices.Equal(q, want) {
		t.Errorf("asked %q, want %q", q, want)
	}
}

func TestRefusalCarriesTheDaemonsWords(t *testing.T) {
	srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "ceph-osd.0.asok"), asoktest.Func(func(string) []byte {
		return []byte("ERROR: (22) Invalid argument\nno valid \xff command\tfound" + strings.Repeat("x", 1000))
	}))
	var c asok.Client
	_, err := c.Ask(context.Background(), srv.Path, asok.CounterDump)
	var refused *asok.DaemonError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a DaemonError", err)
	}
	if want := "(22) Invalid argument no valid \uFFFD command found"; !strings.HasPrefix(refused.Text, want) || len(refused.Text) > 210 {
		t.Errorf("text %q, want at most 210 bytes starting with %q", refused.Text, want)
	}
	if refused.Command != asok.CounterDump {
		t.Errorf("command %v, want %v", refused.Command, asok.CounterDump)
	}
}

func TestBadSocketsAreErrorsWithinTheTimeout(t *testing.T) {
	const limit = 64 << 10
	tests := []struct {
		name    string
		handler asoktest.Handler
		want    error
	}{
		{"hang before an answer", asoktest.Hang, context.DeadlineExceeded},
		{"hang inside the length", func(c net.Conn, q []byte) { _, _ = c.Write([]byte{0, 0}); asoktest.Hang(c, q) }, context.DeadlineExceeded},
		{"hang inside the answer", func(c net.Conn, q []byte) { asoktest.ShortBody(c, q); asoktest.Hang(c, q) }, context.DeadlineExceeded},
		{"close at once", asoktest.CloseEarly, io.ErrUnexpectedEOF},
		{"close inside the length", func(c net.Conn, _ []byte) { _, _ = c.Write([]byte{0, 0}) }, io.ErrUnexpectedEOF},
		{"short body", asoktest.ShortBody, io.ErrUnexpectedEOF},
		{"100 MB", asoktest.Junk(100 << 20), asok.ErrTooLong},
		{"JSON without a length", func(c net.Conn, _ []byte) { _, _ = c.Write([]byte(`{"osd":{}}`)) }, asok.ErrTooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "s"), test.handler)
			c := asok.Client{Timeout: 50 * time.Millisecond, MaxAnswer: limit}
			if !errors.Is(test.want, context.DeadlineExceeded) {
				c.Timeout = time.Minute
			}
			got, err := c.Ask(context.Background(), srv.Path, asok.PerfDump)
			if got != nil || !errors.Is(err, test.want) {
				t.Errorf("got %d bytes, %v; want %v", len(got), err, test.want)
			}
		})
	}
}

func TestDribblingSocketIsCutByTheTimeout(t *testing.T) {
	srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "s"), func(c net.Conn, _ []byte) {
		_, _ = c.Write([]byte{0, 0, 0xff, 0xff})
		for {
			if _, err := c.Write([]byte{'x'}); err != nil {
				return
			}
			time.Sleep(time.Millisecond) // the dribble itself
		}
	})
	c := asok.Client{Timeout: 30 * time.Millisecond}
	if _, err := c.Ask(context.Background(), srv.Path, asok.PerfDump); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline", err)
	}
}

func TestHundredMegabytesOfJunkCostNoMemory(t *testing.T) {
	srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "s"), asoktest.Junk(100<<20))
	var before, after runtime.MemStats
	c := asok.Client{Timeout: time.Minute}
	runtime.ReadMemStats(&before)
	_, err := c.Ask(context.Background(), srv.Path, asok.PerfDump)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, asok.ErrTooLong) {
		t.Errorf("got %v, want %v", err, asok.ErrTooLong)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
}

func TestAnnouncedLengthAloneTakesNoMemory(t *testing.T) {
	srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "s"), func(c net.Conn, _ []byte) { _, _ = c.Write([]byte{0x3f, 0xff, 0xff, 0xff}) })
	var before, after runtime.MemStats
	c := asok.Client{Timeout: time.Minute, MaxAnswer: 1 << 30}
	runtime.ReadMemStats(&before)
	_, err := c.Ask(context.Background(), srv.Path, asok.PerfDump)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
}

func TestSocketsThatComeAndGo(t *testing.T) {
	path := filepath.Join(asoktest.Dir(t), "ceph-osd.0.asok")
	var c asok.Client
	if _, err := c.Ask(context.Background(), path, asok.Version); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: got %v, want %v", err, fs.ErrNotExist)
	}
	for range 2 {
		srv := asoktest.Serve(t, path, asoktest.Answers(map[string][]byte{"version": []byte("{}")}))
		if _, err := c.Ask(context.Background(), path, asok.Version); err != nil {
			t.Errorf("up: %v", err)
		}
		srv.Close()
	}
	// What a killed daemon leaves: a socket nobody listens on.
	addr := &net.UnixAddr{Name: path, Net: "unix"}
	l, err := net.ListenUnix("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(context.Background(), path, asok.Version); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("left behind: got %v, want %v", err, syscall.ECONNREFUSED)
	}
}

func TestLongPathsAreReachedThroughTheirDirectory(t *testing.T) {
	short := asoktest.Dir(t)
	srv := asoktest.Serve(t, filepath.Join(short, "s"), asoktest.Answers(map[string][]byte{"version": []byte("{}")}))
	path := filepath.Join(short, strings.Repeat("./", 60)) + strings.Repeat("/.", 60) + "/" + filepath.Base(srv.Path)
	var c asok.Client
	if got, err := c.Ask(context.Background(), path, asok.Version); err != nil || string(got) != "{}" {
		t.Errorf("path of %d bytes: got %q, %v", len(path), got, err)
	}
}

func TestCallersContextEndsAQuestion(t *testing.T) {
	srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "s"), asoktest.Hang)
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan error, 1)
	c := asok.Client{Timeout: time.Hour}
	go func() {
		_, err := c.Ask(ctx, srv.Path, asok.Version)
		asked <- err
	}()
	for len(srv.Questions()) == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestOneBadSocketNeverHurtsTheOthers(t *testing.T) {
	dir := asoktest.Dir(t)
	good := asoktest.Answers(map[string][]byte{"perf dump": []byte(`{"osd":{}}`)})
	handlers := []asoktest.Handler{good, asoktest.Hang, good, asoktest.Junk(100 << 20), asoktest.CloseEarly, good, asoktest.ShortBody, good}
	for i, h := range handlers {
		asoktest.Serve(t, filepath.Join(dir, fmt.Sprintf("ceph-osd.%d.asok", i)), h)
	}
	sockets, err := asok.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := asok.Client{Timeout: time.Second, Parallel: 2}
	answers := make([]string, len(sockets))
	errs := c.ForEach(context.Background(), sockets, func(ctx context.Context, i int, s asok.Socket) error {
		if s.ID == "5" {
			panic("of socket 5 alone")
		}
		answer, err := c.Ask(ctx, s.Path, asok.PerfDump)
		answers[i] = string(answer)
		return err
	})
	for i, want := range []string{"", "deadline exceeded", "", "too long", "unexpected EOF", "panic: of socket 5 alone", "unexpected EOF", ""} {
		if want == "" {
			if errs[i] != nil || answers[i] != `{"osd":{}}` {
				t.Errorf("osd.%d: got %q, %v; want its answer", i, answers[i], errs[i])
			}
		} else if errs[i] == nil || !strings.Contains(errs[i].Error(), want) || answers[i] != "" {
			t.Errorf("osd.%d: got %q, %v; want an error with %q", i, answers[i], errs[i], want)
		}
	}
}

func TestForEachBeginsNothingAfterItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var c asok.Client
	errs := c.ForEach(ctx, make([]asok.Socket, 3), func(context.Context, int, asok.Socket) error {
		t.Error("asked")
		return nil
	})
	for i, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("socket %d: got %v, want %v", i, err, context.Canceled)
		}
	}
	if errs := c.ForEach(context.Background(), nil, nil); len(errs) != 0 {
		t.Errorf("no sockets: got %v", errs)
	}
}
