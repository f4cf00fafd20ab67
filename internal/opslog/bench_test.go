package opslog

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// traffic is a mix as a busy gateway logs it: per multipart upload of five
// parts four plain PUTs, ten GETs and a HEAD that fails.
func traffic(uploads int) (text string, records int) {
	var b strings.Builder
	at := testStart
	add := func(e entry) {
		at = at.Add(time.Millisecond)
		e.at, e.took, e.trans = at, 37*time.Millisecond, fmt.Sprintf("tx%021x-0065688a1f-%x-default", records, 4242)
		b.WriteString(e.json())
		if records++; records%3 == 0 {
			b.WriteByte('\n')
		}
	}
	for i := range uploads {
		key, id := fmt.Sprintf("backup/2026/11/30/object-%09d", i), fmt.Sprintf("2~%032d", i)
		add(entry{op: "init_multipart", uri: "POST /b/" + key + "?uploads HTTP/1.1"})
		for n := range 5 {
			add(put(fmt.Sprintf("PUT /b/%s?partNumber=%d&uploadId=%s HTTP/1.1", key, n+1, id), 8<<20))
		}
		add(entry{op: "complete_multipart", uri: "POST /b/" + key + "?uploadId=" + id + " HTTP/1.1"})
		for n := range 4 {
			add(put(fmt.Sprintf("PUT /b/%s-%d HTTP/1.1", key, n), 70000))
		}
		for range 10 {
			add(entry{op: "get_obj", uri: "GET /b/" + key + " HTTP/1.1"})
		}
		add(entry{op: "get_obj", uri: "HEAD /b/" + key + "x HTTP/1.1", status: "404"})
	}
	return b.String(), records
}

// BenchmarkReadFile is the whole way from a log file to the books, on one core:
// records per second is the figure.
func BenchmarkReadFile(b *testing.B) {
	text, records := traffic(10_000)
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ops-log-ceph-client.rgw.a.log"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	cpu := cpuTime(b)
	for b.Loop() {
		e, err := NewEngine(Config{Globs: []string{filepath.Join(dir, "*.log")}, Counter: CounterConfig{Settle: time.Second}, Store: &memStore{}, Log: quiet(), Now: time.Now})
		if err != nil {
			b.Fatal(err)
		}
		for !e.Step() {
		}
		if got := e.counter.Gateway("rgw.a").Records; got != uint64(records) {
			b.Fatalf("%d records, want %d", got, records)
		}
		e.follower.Close()
	}
	report(b, records, cpu)
}

// cpuTime is what this process has used, which says more than the clock where
// other processes share the cores.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func report(b *testing.B, records int, before time.Duration) {
	n := float64(records) * float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(n/(cpuTime(b)-before).Seconds(), "records/cpu-s")
}

func BenchmarkFramer(b *testing.B) {
	text, records := traffic(1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	cpu := cpuTime(b)
	for b.Loop() {
		var f Framer
		var rec Record
		n := 0
		_, _ = f.Write([]byte(text))
		for f.Next(&rec) {
			n++
		}
		if n != records {
			b.Fatalf("%d records, want %d", n, records)
		}
	}
	report(b, records, cpu)
}

// BenchmarkCheckpoint is what saving costs at a million multipart uploads a
// day: the table of finished ones full, ten thousand open with ten parts each.
func BenchmarkCheckpoint(b *testing.B) {
	store := &memStore{}
	e, err := NewEngine(Config{Counter: CounterConfig{Settle: time.Second}, Store: store, Log: quiet(), Now: func() time.Time { return testStart }})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1 << 18 {
		e.counter.finished.add(id(uint64(i) * 0x9e3779b97f4a7c15))
	}
	for i := range 10_000 {
		u := &upload{key: keyHash(i), init: testStart.UnixNano(), first: testStart.UnixNano()}
		for n := range 10 {
			u.setPart(part{int32(n + 1), 8 << 20, testStart.UnixNano()})
		}
		e.counter.uploads[id(i)] = u
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Save(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(store.data))/1e6, "MB")
}

// BenchmarkMillionUploads puts a day of a million multipart uploads of three
// parts into the books, with a thousand open at any time: heap-MB is what the
// books hold then, whatever came before.
func BenchmarkMillionUploads(b *testing.B) {
	const uploads, open = 1_000_000, 1000
	cpu := cpuTime(b)
	for b.Loop() {
		c := NewCounter(CounterConfig{Settle: time.Second})
		rec := Record{Status: 200, Bucket: []byte("b"), User: []byte("u"), Duration: time.Millisecond}
		request := func(n int, at time.Duration, op, uri string, size int64) {
			rec.Operation, rec.URI, rec.ObjectSize, rec.Start = []byte(op), []byte(uri), size, testStart.Add(time.Duration(n)*86*time.Millisecond+at)
			c.Apply("rgw.a", &rec)
		}
		for n := range uploads + open {
			if n < uploads {
				key := fmt.Sprintf("/b/k%d?", n)
				request(n, 0, "init_multipart", "POST "+key+"uploads HTTP/1.1", 0)
				for part := range 3 {
					request(n, time.Second, "put_obj", fmt.Sprintf("PUT %spartNumber=%d&uploadId=2~%032d HTTP/1.1", key, part+1, n), 8<<20)
				}
			}
			if done := n - open; done >= 0 {
				request(n, 0, "complete_multipart", fmt.Sprintf("POST /b/k%d?uploadId=2~%032d HTTP/1.1", done, done), 0)
			}
			if n%100 == 0 {
				c.Settle(rec.Start)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
		if got := c.Gateway("rgw.a").Completed[Multipart]; got != uploads {
			b.Fatalf("%d uploads, want %d", got, uploads)
		}
		runtime.KeepAlive(c)
	}
	report(b, 5*uploads, cpu)
}
