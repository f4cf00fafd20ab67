package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

// scrape returns the series.
func (s *server) scrape() exporter.Series {
	s.t.Helper()
	code, body := s.get("/metrics")
	if code != http.StatusOK {
		s.t.Fatalf("scrape: %d %.200s", code, body)
	}
	series, err := exporter.Parse(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return series
}

// await waits until look returns nil, which a busy machine may take minutes for.
func await(t *testing.T, what string, look func() error) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := look()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s: %v", what, err)
		}
	}
}

// A thousand scrapes at once, and connections that never ask: each scrape is
// served in full or refused with 503, and when they are over, goroutines and
// descriptors are what they were.
func TestAThousandClientsAtOnce(t *testing.T) {
	s := serve(t, "--simulate", "--simulate.pgs=5000", "--web.max-requests=20")
	s.awaitReady()
	_, body := s.get("/metrics")
	complete := strings.Count(body, "\ncephrisk_pg_last_deep_scrub_age_seconds{")
	s.client.CloseIdleConnections()
	before := s.scrape()
	s.client.CloseIdleConnections()

	address := strings.TrimPrefix(s.url, "http://")
	silent, err := dialMany(t.Context(), address, 300)
	defer closeAll(silent)
	if err != nil {
		t.Fatal(err)
	}
	half, err := dialMany(t.Context(), address, 100)
	defer closeAll(half)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range half {
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: "); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	served, refused := 0, 0
	var clients sync.WaitGroup
	client := &http.Client{Timeout: 5 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 1000 {
		clients.Go(func() {
			resp, err := client.Get(s.url + "/metrics")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			n := strings.Count(string(body), "\ncephrisk_pg_last_deep_scrub_age_seconds{")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && resp.StatusCode == http.StatusOK && n == complete:
				served++
			case err == nil && resp.StatusCode == http.StatusServiceUnavailable:
				refused++
			default:
				t.Errorf("%s, %d of %d PGs, %v", resp.Status, n, complete, err)
			}
		})
	}
	clients.Wait()
	t.Logf("%d served, %d refused", served, refused)
	if served == 0 {
		t.Error("none was served")
	}
	// Whoever has not asked within readHeaderTimeout is cut off.
	for _, c := range append(silent, half...) {
		if err := c.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatalf("a connection that never asked is still open: %v", err)
		}
	}
	closeAll(silent)
	closeAll(half)
	await(t, "goroutines and descriptors to be what they were", func() error {
		now := s.scrape()
		s.client.CloseIdleConnections()
		for _, name := range []string{"go_goroutines", "process_open_fds"} {
			if now[name] > before[name]+8 {
				return fmt.Errorf("%s %v, was %v", name, now[name], before[name])
			}
		}
		return nil
	})
	if s.end() != exitOK {
		t.Errorf("log:\n%s", s.log)
	}
}

// A full disk under the state directory: nothing that could not be saved is
// shown, what was shown stays and then goes, and nothing is lost once there is
// room again.
func TestFullDiskUnderTheStateDirectory(t *testing.T) {
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=128k"); err != nil {
		cephtest.SkipOrFail(t, "mount a small disk: "+err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	log := filepath.Join(dir, "ops-log-ceph-client.rgw.a.log")
	uploads := 0
	upload := func(n int) {
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for range n {
			uploads++
			if _, err := fmt.Fprintf(f, `{"bucket":"b","time":"%s","user":"u","operation":"put_obj","uri":"PUT /b/%d HTTP/1.1","http_status":"200","object_size":1,"total_time":1,"trans_id":"tx%d"}`+"\n",
				time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), uploads, uploads); err != nil {
				t.Fatal(err)
			}
		}
	}
	upload(1)
	s := serve(t, append(onlyCollector("rgw"), "--role=host", "--collector.rgw.interval=1s", "--path.run="+dir,
		"--state-dir="+filepath.Join(disk, "state"), "--rgw.ops-log="+filepath.Join(dir, "ops-log-*.log"))...)
	const counted, success = `cephrisk_rgw_uploads_completed_total{ceph_daemon="rgw.a",instance_id="",kind="put"}`, `cephrisk_collector_success{collector="rgw"}`
	shows := func(want int) func() error {
		return func() error {
			if now := s.scrape(); now[success] != 1 || now[counted] != float64(want) {
				return fmt.Errorf("success %v, %v counted, want %d", now[success], now[counted], want)
			}
			return nil
		}
	}
	upload(9)
	await(t, "ten uploads", shows(10))

	fill := filepath.Join(disk, "fill")
	if err := os.WriteFile(fill, make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk takes everything")
	}
	upload(5)
	await(t, "the poll to fail and the series to go", func() error {
		now := s.scrape()
		v, there := now[counted]
		if there && v != 10 {
			t.Fatalf("%v uploads are shown, which is not what is saved", v)
		}
		if now[success] != 0 || there {
			return fmt.Errorf("success %v, there %v", now[success], there)
		}
		return nil
	})
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	upload(5)
	await(t, "all twenty uploads", shows(20))

	// The log is taken away with its directory entry, and another comes.
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	await(t, "the count to outlive the log", shows(20))
	upload(3)
	await(t, "the new log", shows(23))
	if s.end() != exitOK || !strings.Contains(s.log.String(), "no space left on device") {
		t.Errorf("log:\n%s", s.log)
	}
	modes(t, filepath.Join(disk, "state"))
}

// onlyCollector switches every other one off.
func onlyCollector(name string) []string {
	args := []string{"--collector." + name}
	for _, spec := range collector.Specs() {
		if spec.Name != name {
			args = append(args, "--no-collector."+spec.Name)
		}
	}
	return args
}

// modes checks that nobody else can read what is kept.
func modes(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		} else {
			n++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Errorf("%d files, %v", n, err)
	}
}
