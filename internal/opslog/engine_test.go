package opslog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memStore keeps the checkpoint in memory.
type memStore struct {
	data []byte
	fail error
}

func (m *memStore) Load() ([]byte, error) { return m.data, nil }

func (m *memStore) Save(data []byte) error {
	if m.fail != nil {
		return m.fail
	}
	m.data = append([]byte(nil), data...)
	return nil
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// gateway writes an ops log as radosgw does: appending to a file it keeps open,
// records back to back, one newline per batch, reopened at the first batch
// after a SIGHUP.
type gateway struct {
	t      *testing.T
	path   string
	file   *os.File
	reopen bool
}

func (g *gateway) write(text string) {
	g.t.Helper()
	if g.file == nil || g.reopen {
		if g.file != nil {
			_ = g.file.Close()
		}
		f, err := os.OpenFile(g.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			g.t.Fatal(err)
		}
		g.file, g.reopen = f, false
	}
	if _, err := g.file.WriteString(text); err != nil {
		g.t.Fatal(err)
	}
}

// ledger is what clients know they did.
type ledger struct {
	Completed [NumKinds]uint64
	Bytes     [NumKinds]uint64
	Failed    uint64
	Aborted   uint64
	Parts     uint64
}

// world is two gateways behind a round-robin, their clients, and the engine
// that reads the logs.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	now      time.Time
	dir      string
	gateways [2]*gateway
	queued   [2]string // of a batch not yet written
	ledger   ledger
	open     []*clientUpload
	last     *clientUpload // completed last
	serial   int
	store    *memStore
	engine   *Engine
	seen     map[string]Gateway // last published
	trace    []string
	rotated  int
}

type clientUpload struct {
	key, id string
	parts   map[int]int64
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: testStart, dir: t.TempDir(), store: &memStore{}, seen: map[string]Gateway{}}
	for i, name := range []string{"a", "b"} {
		w.gateways[i] = &gateway{t: t, path: filepath.Join(w.dir, "ops-log-ceph-client.rgw."+name+".log")}
	}
	t.Cleanup(func() {
		w.engine.follower.Close()
		for _, g := range w.gateways {
			if g.file != nil {
				_ = g.file.Close()
			}
		}
	})
	w.start()
	// What is rotated away before the first checkpoint is history.
	w.engine.Step()
	if err := w.engine.Save(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) start() {
	e, err := NewEngine(Config{
		Globs: []string{filepath.Join(w.dir, "ops-log-*.log")}, Counter: CounterConfig{Settle: 10 * time.Second},
		View: CompleteView, Store: w.store, Log: quiet(), Now: func() time.Time { return w.now },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = e
}

// kill drops the engine and all it had not saved.
func (w *world) kill() {
	w.trace = append(w.trace, "kill")
	w.engine.follower.Close()
	w.start()
	w.look()
}

func (w *world) look() {
	s, _, _ := w.engine.Snapshot()
	if s == nil || s.Counts == nil {
		return
	}
	for name, g := range s.Counts.Gateways {
		old := w.seen[name]
		for k := range NumKinds {
			if g.Completed[k] < old.Completed[k] || g.Bytes[k] < old.Bytes[k] || g.Failed[k][ClientError] < old.Failed[k][ClientError] {
				w.t.Fatalf("%s: a published counter fell: %+v after %+v", name, g, old)
			}
		}
		w.seen[name] = g
	}
	for name := range w.seen {
		if _, there := s.Counts.Gateways[name]; !there {
			w.t.Fatalf("%s: published before, gone now", name)
		}
	}
}

// request logs a request on either gateway.
func (w *world) request(e entry) {
	w.now = w.now.Add(time.Duration(w.rng.IntN(50)) * time.Millisecond)
	e.took = time.Duration(1+w.rng.IntN(400)) * time.Millisecond
	e.at = w.now
	w.now = w.now.Add(e.took)
	w.queued[w.rng.IntN(2)] += e.json()
}

// client does one thing a client may do.
func (w *world) client() {
	w.serial++
	if w.rng.IntN(3) == 0 {
		defer w.flush() // a gateway does not keep records for long
	}
	switch w.rng.IntN(9) {
	case 0, 1:
		size := w.rng.Int64N(1 << 20)
		w.request(put(fmt.Sprintf("PUT /b/plain%d HTTP/1.1", w.serial), size))
		w.ledger.Completed[Put]++
		w.ledger.Bytes[Put] += uint64(size)
	case 2:
		w.request(entry{op: "copy_obj", uri: "PUT /b/copy HTTP/1.1"})
		w.ledger.Completed[Copy]++
	case 3:
		w.request(entry{op: "put_obj", uri: "PUT /b/denied HTTP/1.1", status: "403"})
		w.ledger.Failed++
	case 4:
		u := &clientUpload{key: fmt.Sprintf("big %d", w.serial), id: fmt.Sprintf("2~%032d", w.serial), parts: map[int]int64{}}
		w.request(entry{op: "init_multipart", uri: u.uri("POST", "uploads")})
		w.open = append(w.open, u)
	case 5, 6:
		if u := w.pick(); u != nil {
			n, size := 1+w.rng.IntN(5), w.rng.Int64N(5<<20)
			w.request(put(u.uri("PUT", fmt.Sprintf("partNumber=%d&uploadId=%s", n, u.id)), size))
			u.parts[n] = size
			w.ledger.Parts++
		}
	case 7:
		if u := w.pick(); u != nil && len(u.parts) > 0 {
			w.request(entry{op: "complete_multipart", uri: u.uri("POST", "uploadId="+u.id)})
			w.ledger.Completed[Multipart]++
			for _, size := range u.parts {
				w.ledger.Bytes[Multipart] += uint64(size)
			}
			w.remove(u)
			w.last = u
		} else if u != nil {
			w.request(entry{op: "abort_multipart", uri: u.uri("DELETE", "uploadId="+u.id), status: "204"})
			w.ledger.Aborted++
			w.remove(u)
		}
	case 8:
		if w.last != nil { // a client that did not get the answer
			w.request(entry{op: "complete_multipart", uri: w.last.uri("POST", "uploadId="+w.last.id)})
		}
	}
}

func (u *clientUpload) uri(method, query string) string {
	return method + " /b/" + fmt.Sprintf("%s?%s HTTP/1.1", u.key[:3]+"%20"+u.key[4:], query)
}

func (w *world) pick() *clientUpload {
	if len(w.open) == 0 {
		return nil
	}
	return w.open[w.rng.IntN(len(w.open))]
}

func (w *world) remove(u *clientUpload) {
	for i := range w.open {
		if w.open[i] == u {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return
		}
	}
}

// flush writes the batches that have gathered, with the reader looking in the
// middle of one now and then.
func (w *world) flush() {
	for i, g := range w.gateways {
		if w.queued[i] == "" {
			continue
		}
		text := w.queued[i] + "\n"
		w.queued[i] = ""
		if cut := w.rng.IntN(len(text)); w.rng.IntN(3) == 0 {
			g.write(text[:cut])
			w.step()
			text = text[cut:]
		}
		g.write(text)
	}
}

func (w *world) step() {
	w.trace = append(w.trace, "step")
	w.engine.Step()
	if w.rng.IntN(3) == 0 {
		w.save()
	}
}

func (w *world) save() {
	w.store.fail = nil
	if w.rng.IntN(5) == 0 {
		w.store.fail = errors.New("disk full")
	}
	w.trace = append(w.trace, fmt.Sprint("save ", w.store.fail))
	_ = w.engine.Save()
	w.store.fail = nil
	w.look()
}

// rotate does to a log what logrotate may do.
func (w *world) rotate() {
	g := w.gateways[w.rng.IntN(2)]
	w.trace = append(w.trace, "rotate "+filepath.Base(g.path))
	if g.file == nil {
		return
	}
	w.rotated++
	defer func() { w.trace = append(w.trace, fmt.Sprint("as ", w.rotated)) }()
	name := fmt.Sprintf("%s.%d", g.path, w.rotated)
	if w.rng.IntN(2) == 0 {
		if err := os.Rename(g.path, name); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.t.Fatal(err)
		}
		w.client()
		w.flush() // still into the renamed file
		g.reopen = true
		return
	}
	data, err := os.ReadFile(g.path)
	if err != nil {
		return // renamed already
	}
	w.trace = append(w.trace, fmt.Sprint("copy ", len(data)))
	if err := os.WriteFile(name, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Truncate(g.path, 0); err != nil {
		w.t.Fatal(err)
	}
}

// result adds the gateways up.
func (w *world) result() ledger {
	s, _, _ := w.engine.Snapshot()
	var got ledger
	for _, g := range s.Counts.Gateways {
		for k := range NumKinds {
			got.Completed[k] += g.Completed[k]
			got.Bytes[k] += g.Bytes[k]
			got.Failed += g.Failed[k][ClientError]
		}
		got.Aborted += g.Aborted
		got.Parts += g.Parts
	}
	return got
}

// TestCountsEqualTheClientsLedger: whatever is done to logs and reader, in any
// order, completions, bytes and all else come out as the clients know them, and
// no published counter ever falls.
func TestCountsEqualTheClientsLedger(t *testing.T) {
	seeds := uint64(20)
	if os.Getenv("CEPHRISK_LONG") != "" {
		seeds = 500
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 300 {
				switch w.rng.IntN(12) {
				case 0:
					w.kill()
				case 1:
					w.rotate()
				case 2, 3:
					w.step()
				case 4:
					w.save()
				case 5:
					w.flush()
				default:
					w.client()
				}
			}
			w.flush()
			w.now = w.now.Add(time.Minute)
			w.engine.Step()
			w.engine.Step()
			if err := w.engine.Save(); err != nil {
				t.Fatal(err)
			}
			w.look()
			if diff := cmp.Diff(w.ledger, w.result()); diff != "" {
				t.Error(diff)
			}
			defer func() {
				if t.Failed() {
					t.Log(w.trace)
				}
			}()
			s, _, _ := w.engine.Snapshot()
			if s.Counts.Open != len(w.open) {
				t.Errorf("%d uploads open, want %d", s.Counts.Open, len(w.open))
			}
			if s.Follow != (FollowStats{}) {
				t.Errorf("gaps: %+v", s.Follow)
			}
		})
	}
}

func TestBooksThatCannotBeReadAreNoReasonNotToStart(t *testing.T) {
	for _, data := range []string{`{`, `{}`, `{"books":{"uploads":"AAAA"}}`, `{"books":{},"seen":"AAAA"}`} {
		e, err := NewEngine(Config{Store: &memStore{data: []byte(data)}, Log: quiet(), Now: time.Now})
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if s, _, _ := e.Snapshot(); s != nil {
			t.Errorf("%s: something was published: %+v", data, s)
		}
	}
}

func TestGatewaysLongGoneAreForgotten(t *testing.T) {
	now := testStart
	dir := t.TempDir()
	e, err := NewEngine(Config{Globs: []string{filepath.Join(dir, "*.log")}, Store: &memStore{}, Log: quiet(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.follower.Close()
	for n, name := range []string{"gone", "there"} {
		r := put("PUT /b/k HTTP/1.1", 1)
		r.at = testStart.Add(time.Duration(n) * time.Second)
		if err := os.WriteFile(filepath.Join(dir, name+".log"), []byte(r.json()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.Step()
	if err := os.Remove(filepath.Join(dir, "gone.log")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(100 * 24 * time.Hour)
	for range 3 { // noticed, let go of, forgotten
		e.Step()
		now = now.Add(2 * time.Minute)
	}
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	s, _, _ := e.Snapshot()
	if diff := cmp.Diff([]string{"rgw.there"}, s.Counts.Names()); diff != "" {
		t.Error(diff)
	}
}

// FuzzBooks: no stored table makes a Counter fail otherwise than by saying so.
func FuzzBooks(f *testing.F) {
	c := NewCounter(CounterConfig{})
	var fr Framer
	var rec Record
	for _, e := range []entry{{op: "init_multipart", uri: "POST /b/q?uploads HTTP/1.1"}, put("PUT /b/k?partNumber=1&uploadId=X HTTP/1.1", 1), put("PUT /b/k?partNumber=2&uploadId=X HTTP/1.1", 1)} {
		e.at = testStart
		_, _ = fr.Write([]byte(e.json()))
		fr.Next(&rec)
		c.Apply("rgw.a", &rec)
	}
	b := c.books()
	f.Add(b.Uploads, b.Inits, []byte("12345678"))
	f.Fuzz(func(t *testing.T, uploads, inits, finished []byte) {
		c := NewCounter(CounterConfig{AbandonedAfter: time.Hour, ForgetAfter: time.Hour})
		if c.restore(&books{Uploads: uploads, Inits: inits, Finished: finished}) != nil {
			return
		}
		c.Settle(testStart)
		c.Forget(testStart)
		c.Counts(testStart, AutoView)
	})
}
