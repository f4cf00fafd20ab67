//go:build cgo

package rados

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// The live tests run this test binary a second time, in the root of the
// cluster under test and so against that release's librados. It holds a Client
// and does what it reads from its standard input; whether it survives is part
// of what is tested.
const insideEnv = "CEPHRISK_RADOS_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(insideEnv) != "" {
		serveInside(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

type request struct {
	Op      string // open, ask, stats, levels or close
	Config  *Config
	To      target
	Command string
	Limit   time.Duration
	InPlace bool
}

type response struct {
	Err   string
	Kinds []string // the sentinels that Err is
	Size  int
	Sum   string
	Heap  uint64 // bytes allocated on Go's heap by the call
	Stats Stats
	Levels
}

// Levels is what the process takes.
type Levels struct {
	Threads, Descriptors, Goroutines int
	Anon, Peak                       int // memory in kB: not of files, and the most with them
}

var sentinels = map[string]error{
	"conf": ErrNoConf, "monitors": ErrNoMonitors, "keyring": ErrNoKeyring, "unreadable": ErrKeyringUnreadable,
	"too new": ErrKeyTooNew, "wrong key": ErrWrongKey, "caps": ErrNoCaps, "quorum": ErrNoQuorum,
	"no mgr": ErrNoActiveMgr, "mgr hung": ErrMgrHung, "given up": ErrGivenUp, "refused": ErrTooManyAbandoned,
}

func serveInside(in io.Reader, out io.Writer) {
	var client *Client
	requests, responses := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var q request
		if requests.Decode(&q) != nil {
			return
		}
		var r response
		var err error
		switch q.Op {
		case "open":
			q.Config.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
			client, err = New(*q.Config)
		case "ask":
			r, err = askInside(client, q)
		case "stats":
			r.Stats = client.Stats()
		case "levels":
			r.Levels = countInside()
		case "close":
			err = client.Close()
			r.Stats = client.Stats()
		}
		if err != nil {
			r.Err = err.Error()
			for name, kind := range sentinels {
				if errors.Is(err, kind) {
					r.Kinds = append(r.Kinds, name)
				}
			}
			slices.Sort(r.Kinds)
		}
		if responses.Encode(r) != nil {
			return
		}
	}
}

func askInside(client *Client, q request) (r response, err error) {
	ctx := context.Background()
	if q.Limit > 0 {
		ctx = ceph.WithCallLimit(ctx, q.Limit)
	}
	take := func(answer []byte) error {
		sum := sha256.Sum256(answer)
		r.Size, r.Sum = len(answer), hex.EncodeToString(sum[:])
		return nil
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	switch {
	case q.InPlace:
		err = client.MgrCommandInPlace(ctx, []byte(q.Command), take)
	case q.To == toMgr:
		var answer []byte
		answer, err = client.MgrCommand(ctx, []byte(q.Command))
		_ = take(answer)
	default:
		var answer []byte
		answer, err = client.MonCommand(ctx, []byte(q.Command))
		_ = take(answer)
	}
	runtime.ReadMemStats(&after)
	r.Heap = after.TotalAlloc - before.TotalAlloc
	return r, err
}

func countInside() Levels {
	count := func(dir string) int {
		entries, _ := os.ReadDir(dir)
		return len(entries)
	}
	l := Levels{Threads: count("/proc/self/task"), Descriptors: count("/proc/self/fd"), Goroutines: runtime.NumGoroutine()}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "RssAnon: %d kB", &l.Anon)
		_, _ = fmt.Sscanf(line, "VmHWM: %d kB", &l.Peak)
	}
	return l
}

// inside is the process in the cluster's root, seen from outside.
type inside struct {
	t         *testing.T
	requests  *json.Encoder
	responses *json.Decoder
	said      *lockedBuffer // its log and whatever librados writes to stderr
	ended     chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// goInside starts the process and opens its client. It ends with the test,
// and must end well.
func goInside(t *testing.T, c *cephtest.Cluster, cfg Config) *inside {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.CommandEnv(context.Background(), []string{insideEnv + "=1"}, self)
	p := &inside{t: t, said: &lockedBuffer{}, ended: make(chan struct{})}
	cmd.Stderr = p.said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.requests = json.NewEncoder(stdin)
	p.responses = json.NewDecoder(bufio.NewReader(stdout))
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process did not end well: %v: %s", err, p.said)
		}
	})
	p.do(request{Op: "open", Config: &cfg})
	return p
}

// do has one request carried out. That the process answers is the first thing
// that every live test shows.
func (p *inside) do(q request) response {
	p.t.Helper()
	if err := p.requests.Encode(q); err != nil {
		p.t.Fatalf("the process is gone: %v: %s", err, p.said)
	}
	var r response
	if err := p.responses.Decode(&r); err != nil {
		p.t.Fatalf("the process is gone: %v: %s", err, p.said)
	}
	return r
}

const (
	pgDump  = `{"prefix":"pg dump","dumpcontents":["pgs"],"format":"json-pretty"}`
	osdDump = `{"prefix":"osd dump","format":"json"}`
)

func (p *inside) mgr(limit time.Duration) response {
	p.t.Helper()
	return p.do(request{Op: "ask", To: toMgr, Command: pgDump, Limit: limit})
}

func (p *inside) mon(limit time.Duration) response {
	p.t.Helper()
	return p.do(request{Op: "ask", To: toMon, Command: osdDump, Limit: limit})
}

func (p *inside) stats() Stats { p.t.Helper(); return p.do(request{Op: "stats"}).Stats }

// want fails unless the error is of exactly these kinds; none: no error.
func (r response) want(t *testing.T, what string, kinds ...string) {
	t.Helper()
	slices.Sort(kinds)
	if !slices.Equal(r.Kinds, kinds) || (len(kinds) == 0) != (r.Err == "") {
		t.Errorf("%s: got kinds %q, want %q: %s", what, r.Kinds, kinds, r.Err)
	}
}

// await repeats ask until it succeeds.
func (p *inside) await(what string, ask func(time.Duration) response) {
	p.t.Helper()
	last := ""
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		r := ask(2 * time.Second)
		if r.Err == "" {
			return
		}
		last = r.Err
	}
	p.t.Fatalf("%s: never worked again: %s\n%s", what, last, p.said)
}

// allBack waits until every call that was given up has come back, and returns
// what the process then takes.
func (p *inside) allBack() Levels {
	p.t.Helper()
	eventually(p.t, 60*time.Second, "every abandoned call came back", func() bool {
		s := p.stats()
		return s.Inside == 0 && s.Stuck == 0 && s.Returned == s.Abandoned
	})
	return p.do(request{Op: "levels"}).Levels
}

// spoke fails when the process let a key out.
func (p *inside) neverSaid(key string) {
	p.t.Helper()
	if key == "" || strings.Contains(p.said.String(), key) {
		p.t.Error("a key is in the log")
	}
}
