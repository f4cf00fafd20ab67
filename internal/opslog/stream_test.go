package opslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hostile is a stream with everything in it that must not matter, and what it
// comes to.
func hostile() (text string, want ledger, junk uint64) {
	var b strings.Builder
	n := 0
	add := func(e entry) {
		n++
		e.at, e.trans = testStart.Add(time.Duration(n)*time.Second), fmt.Sprintf("tx-hostile-%d", n)
		b.WriteString(e.json()) // no separator at all
	}
	add(put("PUT /b/one HTTP/1.1", 1))
	spoil := func(s string) {
		b.WriteString(s)
		junk += uint64(len(strings.Join(strings.Fields(s), ""))) // white space is none
	}
	spoil("\x00\x00\x00")
	add(put("PUT /b/two HTTP/1.1", 2))
	spoil(put("PUT /b/torn HTTP/1.1", 3).json()[:200])
	add(put("PUT /b/four HTTP/1.1", 4))
	b.WriteString(`{"operation":"multi_object_delete","uri":"POST /b?delete HTTP/1.1","http_status":"200","op_data":{"objects":["` + strings.Repeat("k", 1<<20) + `"]}}`)
	add(entry{op: "put_obj", uri: "PUT /b/\xff\xfe HTTP/1.1", size: 5, user: "u\xff"})
	spoil("2026-11-30 radosgw: starting\n")
	add(put("PUT /b/six HTTP/1.1", 6))
	return b.String(), ledger{Completed: [NumKinds]uint64{Put: 5}, Bytes: [NumKinds]uint64{Put: 18}}, junk
}

func total(c *Counts) ledger {
	var got ledger
	for _, g := range c.Gateways {
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

// running starts an engine and returns how to stop it.
func running(t *testing.T, store Store, globs ...string) *Engine {
	t.Helper()
	e, err := NewEngine(Config{Globs: globs, Counter: CounterConfig{Settle: time.Millisecond}, Store: store, Log: quiet(),
		Now: time.Now, Tick: 5 * time.Millisecond, Checkpoint: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, errDiskFull) {
			t.Error(err)
		}
	})
	return e
}

var errDiskFull = errors.New("disk full")

// await waits until the published snapshot is as wanted.
func await(t *testing.T, e *Engine, what string, ok func(*Snapshot) bool) *Snapshot {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if s, _, _ := e.Snapshot(); s != nil && s.Counts != nil && ok(s) {
			return s
		}
	}
	s, _, _ := e.Snapshot()
	t.Fatalf("never: %s; last %+v", what, s)
	return nil
}

func TestFileWithEverythingInIt(t *testing.T) {
	text, want, junk := hostile()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ops-log-ceph-client.rgw.a.log"), []byte(text+`{"bucket":"torn ta`), 0o600); err != nil {
		t.Fatal(err)
	}
	// A foreign file, no part of which is a record.
	if err := os.WriteFile(filepath.Join(dir, "z.log"), bytes.Repeat([]byte("no record {here}\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	e := running(t, &memStore{}, filepath.Join(dir, "*.log"))
	s := await(t, e, "read", func(s *Snapshot) bool { return s.Counts.Gateways["rgw.a"].Completed[Put] == 5 })
	if diff := cmp.Diff(want, total(s.Counts)); diff != "" {
		t.Error(diff)
	}
	if got := s.Files["rgw.a"].Frames.JunkBytes; got != junk {
		t.Errorf("%d junk bytes, want %d", got, junk)
	}
	if got := s.Files["rgw.z"].Frames; got.JunkBytes == 0 || s.Counts.Gateways["rgw.z"].Records != 0 {
		t.Errorf("foreign file: %+v, %+v", got, s.Counts.Gateways["rgw.z"])
	}
	if got := s.Files["rgw.a"].LagBytes; got != int64(len(`{"bucket":"torn ta`)) {
		t.Errorf("lag of %d bytes, want the torn tail", got)
	}
}

func TestRecordsOverTCP(t *testing.T) {
	text, want, junk := hostile()
	e := running(t, &memStore{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- e.ServeTCP(ctx, l, quiet()) }()
	send := func(texts ...string) {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, text := range texts {
			if _, err := conn.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(`{"ceph_daemon":"client.rgw.a"}`+text[:1000], text[1000:], `{"bucket":"torn ta`)
	await(t, e, "taken", func(s *Snapshot) bool { return s.Counts.Gateways["rgw.a"].Completed[Put] == 5 })
	// A shipper that is not sure sends all of it again, and goes on.
	more := put("PUT /b/seven HTTP/1.1", 7)
	more.trans, more.daemon, more.at = "tx-seven", "rgw.b", testStart
	send("["+strings.ReplaceAll(text, `"PUT /b/six HTTP/1.1"`, `"PUT /b/six HTTP/1.1","ceph_daemon":"rgw.b"`), more.json()+",\n")
	s := await(t, e, "taken", func(s *Snapshot) bool { return s.Counts.Gateways["rgw.b"].Completed[Put] == 1 })
	want.Completed[Put]++
	want.Bytes[Put] += 7
	if diff := cmp.Diff(want, total(s.Counts)); diff != "" {
		t.Error(diff)
	}
	if got := s.Streams; got.Duplicates != 5 || got.Frames.JunkBytes < 2*junk || got.Foreign != 0 {
		t.Errorf("%+v, want 5 duplicates and at least %d bytes of junk", got, 2*junk)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestPOSTIsAnsweredOnceDurable(t *testing.T) {
	store := &gate{}
	e := running(t, store)
	server := httptest.NewServer(e)
	defer server.Close()
	post := func(body []byte, encoding string) int {
		req, err := http.NewRequest(http.MethodPost, server.URL+"/?ceph_daemon=rgw.a", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Encoding", encoding)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	one := put("PUT /b/one HTTP/1.1", 1)
	one.at, one.trans = testStart, "tx-one"
	two := put("PUT /b/two HTTP/1.1", 2)
	two.at, two.trans = testStart, "tx-two"
	store.set(errDiskFull)
	got := []int{post([]byte(one.json()), "")}
	store.set(nil)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(one.json() + two.json()))
	_ = z.Close()
	got = append(got, post(packed.Bytes(), "gzip"), post([]byte(two.json()), "identity"), post([]byte("x"), "br"))
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	got = append(got, res.StatusCode)
	if diff := cmp.Diff([]int{503, 204, 204, 415, 405}, got); diff != "" {
		t.Error(diff)
	}
	// What was acknowledged is there for an engine that starts from the store.
	again, err := NewEngine(Config{Store: store, Log: quiet(), Now: time.Now, Counter: CounterConfig{Settle: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	s, _, _ := again.Snapshot()
	if diff := cmp.Diff(ledger{Completed: [NumKinds]uint64{Put: 2}, Bytes: [NumKinds]uint64{Put: 3}}, total(s.Counts)); diff != "" {
		t.Error(diff)
	}
}

func TestOpsLogSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops-log-ceph-client.rgw.a.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := running(t, &memStore{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { e.ReadSockets(ctx, []string{path}, quiet()); close(done) }()
	for n := range 2 { // the gateway restarts
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		r := put("PUT /b/k HTTP/1.1", 1)
		r.at, r.trans = testStart, fmt.Sprint("tx", n)
		if _, err := conn.Write([]byte("[" + r.json() + ",\n")); err != nil {
			t.Fatal(err)
		}
		await(t, e, "taken", func(s *Snapshot) bool { return s.Counts.Gateways["rgw.a"].Completed[Put] == uint64(n+1) })
		_ = conn.Close()
	}
	cancel()
	<-done
}

func TestEngineThatPanicsReleasesItsSenders(t *testing.T) {
	e, err := NewEngine(Config{Store: &memStore{}, Log: quiet(), Now: func() time.Time { panic("clock") }, Tick: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "panic: clock") {
		t.Errorf("got %v, want the panic as an error", err)
	}
	if err := e.NewStream("a").End(context.Background()); !errors.Is(err, errStopped) {
		t.Errorf("a sender got %v, want %v", err, errStopped)
	}
}

func TestTooManySendersAreRefused(t *testing.T) {
	e := running(t, &memStore{})
	for range maxStreams {
		e.slots.enter()
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusServiceUnavailable || e.refused.Load() != 1 {
		t.Errorf("status %d, %d refused; want 503, 1", w.Code, e.refused.Load())
	}
}

func TestSenderThatStopsGivesItsPlaceBack(t *testing.T) {
	e := running(t, &memStore{})
	e.senderLimit = 50 * time.Millisecond
	web := httptest.NewUnstartedServer(e)
	web.StartTLS()
	defer web.Close()
	secure, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.ServeTCP(ctx, tls.NewListener(secure, web.TLS), quiet()) }()

	silent, err := net.Dial("tcp", secure.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := io.ReadAll(silent); err != nil {
		t.Errorf("a peer without a handshake: %v, want the connection closed", err)
	}
	text, _, _ := hostile()
	for _, begun := range []string{"Content-Length: 10000000\r\n\r\n" + text, "Content-Length: 100000\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b"} {
		stuck, err := tls.Dial("tcp", web.Listener.Addr().String(), web.Client().Transport.(*http.Transport).TLSClientConfig)
		if err != nil {
			t.Fatal(err)
		}
		defer stuck.Close()
		if _, err := io.WriteString(stuck, "POST /?ceph_daemon=rgw.a HTTP/1.1\r\nHost: a\r\n"+begun); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(stuck), nil)
		if err != nil {
			t.Errorf("a body that stops: %v, want an answer", err)
		} else if response.StatusCode < 400 {
			t.Errorf("a body that stops: status %s", response.Status)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := len(e.slots); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
	// What had arrived is counted: the sender repeats it, and it is known then.
	await(t, e, "taken", func(s *Snapshot) bool { return s.Counts.Gateways["rgw.a"].Completed[Put] == 5 })
}

func TestLinesThatShippersWrapped(t *testing.T) {
	e := running(t, &memStore{})
	line := func(names ...string) string {
		text := ""
		for _, n := range names {
			r := put("PUT /b/k HTTP/1.1", 1)
			r.at, r.trans = testStart, n
			text += r.json()
		}
		return text
	}
	wrap := func(fields map[string]string) string {
		b, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + "\n"
	}
	const path = "/var/log/ceph/ops-log-ceph-client.rgw.a.log"
	server := httptest.NewServer(e)
	defer server.Close()
	body := wrap(map[string]string{"log": line("1", "2"), "file": path}) + // Fluent Bit
		wrap(map[string]string{"message": line("3"), "file": path, "host": "h"}) + // Vector
		`{"ceph_daemon":"` + path + `"}` + line("4") + "\n" + // rsyslog with a template
		wrap(map[string]string{"message": "no record"}) + wrap(map[string]string{"message": `{"x":1}`})
	res, err := http.Post(server.URL, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	s, _, _ := e.Snapshot()
	want := map[string]uint64{"rgw.a": 4}
	got := map[string]uint64{}
	for name, g := range s.Counts.Gateways {
		got[name] = g.Completed[Put]
	}
	if diff := cmp.Diff(want, got); diff != "" || res.StatusCode != http.StatusNoContent {
		t.Errorf("status %d, %s", res.StatusCode, diff)
	}
	if s.Streams.Foreign != 1 || s.Streams.Frames.JunkBytes != uint64(len("norecord")) {
		t.Errorf("%+v", s.Streams)
	}
}

func TestSendersCannotNameGatewaysWithoutEnd(t *testing.T) {
	e, err := NewEngine(Config{Store: &memStore{}, Log: quiet(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s := e.NewStream("")
	for n := range maxGateways + 5 {
		r := put("PUT /b/k HTTP/1.1", 1)
		r.at, r.trans, r.daemon = testStart, fmt.Sprint("tx", n), fmt.Sprint("rgw.", n)
		e.take(chunk{stream: s, data: []byte(r.json()), taken: make(chan struct{})})
	}
	if n := len(e.counter.gateways); n != maxGateways+1 || e.counter.Gateway(unnamedDaemon).Completed[Put] != 5 {
		t.Errorf("%d gateways, %d uploads of unnamed ones; want %d, 5", n, e.counter.Gateway(unnamedDaemon).Completed[Put], maxGateways+1)
	}
}
