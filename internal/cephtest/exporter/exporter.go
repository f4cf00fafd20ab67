// Package exporter runs the real exporter beside a cluster of package cephtest:
// inside the cluster's root, so that its librados fits the cluster's keys, with
// the documented capabilities and no more.
package exporter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// Exporter is a running exporter process.
type Exporter struct {
	URL string // http://127.0.0.1:PORT

	t       testing.TB
	cluster *cephtest.Cluster
	dir     string // its files, visible to both sides
	args    []string
	binary  string

	mu    sync.Mutex
	cmd   *exec.Cmd
	log   *syncBuffer
	ended chan struct{}
}

// Start builds the exporter, makes a key and runs it with --role=cluster and
// args. It ends with the test. Starts are told apart by name.
func Start(t testing.TB, c *cephtest.Cluster, name string, args ...string) *Exporter {
	t.Helper()
	return start(t, c, build(t), name, args)
}

// Another runs one more exporter beside the same cluster, as Start does.
func (e *Exporter) Another(name string, args ...string) *Exporter {
	e.t.Helper()
	return start(e.t, e.cluster, e.binary, name, args)
}

func start(t testing.TB, c *cephtest.Cluster, binary, name string, args []string) *Exporter {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	e := &Exporter{t: t, cluster: c, dir: filepath.Join(c.Dir(), "exporter-"+name), binary: binary}
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	keyring, err := c.CreateKey(ctx, "client."+name, "mon", "allow r", "mgr", "allow r")
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	e.URL = "http://" + address
	e.args = append([]string{
		"--role=cluster", "--ceph.config=" + c.ConfPath(), "--ceph.id=" + name, "--ceph.keyring=" + keyring,
		"--path.run=" + c.AsokDir(), "--state-dir=" + filepath.Join(e.dir, "state"),
		"--debug.record=" + e.recording(), "--web.listen-address=" + address,
	}, args...)
	t.Cleanup(func() { e.Stop(syscall.SIGTERM) })
	e.Run()
	return e
}

// build builds the exporter into the test's folder; the build cache makes all
// but the first cheap.
func build(t testing.TB) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "ceph_risk_exporter")
	cmd := exec.Command("go", "build", "-o", out, "github.com/ceph-risk/ceph_risk_exporter/cmd/ceph_risk_exporter")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (e *Exporter) recording() string { return filepath.Join(e.dir, "recording.jsonl") }

// Run starts the process and waits until every collector has polled once. It is
// for starting it again after Stop.
func (e *Exporter) Run() {
	e.t.Helper()
	e.mu.Lock()
	e.log, e.ended = &syncBuffer{}, make(chan struct{})
	e.cmd = e.cluster.Command(context.Background(), e.binary, e.args...)
	e.cmd.Stdout, e.cmd.Stderr = e.log, e.log
	cmd, ended := e.cmd, e.ended
	err := cmd.Start()
	e.mu.Unlock()
	if err != nil {
		e.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	e.Await("every collector to end its first poll", 2*time.Minute, func() error {
		_, err := e.Get("/-/ready")
		return err
	})
}

// Stop sends the signal and waits for the end.
func (e *Exporter) Stop(sig syscall.Signal) {
	e.mu.Lock()
	cmd, ended := e.cmd, e.ended
	e.mu.Unlock()
	if cmd == nil || cmd.Process == nil {
		return
	}
	_ = cmd.Process.Signal(sig)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
}

// Alive reports whether the process runs.
func (e *Exporter) Alive() bool {
	e.mu.Lock()
	ended := e.ended
	e.mu.Unlock()
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// syncBuffer collects the log while tests may read it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Log returns what the process has logged so far.
func (e *Exporter) Log() string { return e.log.String() }

// scrapeLimit is how long a scrape may take before the test fails: scrapes
// never wait for Ceph, and this is a small part of what a command waits.
const scrapeLimit = 10 * time.Second

// Get fetches a path.
func (e *Exporter) Get(path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(body))
	}
	return string(body), err
}

// Series is a scrape: value by series, in the form name{label="value",...} with
// the labels in name order. Of histograms and summaries count and sum.
type Series map[string]float64

// Scrape fetches and decodes /metrics.
func (e *Exporter) Scrape() Series {
	e.t.Helper()
	s, err := e.TryScrape()
	if err != nil {
		e.t.Fatalf("scrape: %v\n%s", err, e.log)
	}
	return s
}

// TryScrape is Scrape with an error.
func (e *Exporter) TryScrape() (Series, error) {
	body, err := e.Get("/metrics")
	if err != nil {
		return nil, err
	}
	return Parse(body)
}

// Parse decodes the text format.
func Parse(body string) (Series, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	out := Series{}
	for name, f := range families {
		for _, m := range f.Metric {
			labels := labelText(m)
			switch {
			case m.Gauge != nil:
				out[name+labels] = m.Gauge.GetValue()
			case m.Counter != nil:
				out[name+labels] = m.Counter.GetValue()
			case m.Untyped != nil:
				out[name+labels] = m.Untyped.GetValue()
			case m.Histogram != nil:
				out[name+"_count"+labels] = float64(m.Histogram.GetSampleCount())
				out[name+"_sum"+labels] = m.Histogram.GetSampleSum()
			case m.Summary != nil:
				out[name+"_count"+labels] = float64(m.Summary.GetSampleCount())
				out[name+"_sum"+labels] = m.Summary.GetSampleSum()
			}
		}
	}
	return out, nil
}

func labelText(m *dto.Metric) string {
	if len(m.Label) == 0 {
		return ""
	}
	var parts []string
	for _, l := range m.Label {
		parts = append(parts, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// With returns the series of one family.
func (s Series) With(name string) Series {
	out := Series{}
	for k, v := range s {
		if k == name || strings.HasPrefix(k, name+"{") {
			out[k] = v
		}
	}
	return out
}

// Sum adds up the series of one family.
func (s Series) Sum(name string) float64 {
	sum := 0.0
	for _, v := range s.With(name) {
		sum += v
	}
	return sum
}

// Recording returns every answer that the exporter has received so far.
func (e *Exporter) Recording() []ceph.RecordedAnswer {
	e.t.Helper()
	f, err := os.Open(e.recording())
	if err != nil {
		e.t.Fatal(err)
	}
	defer f.Close()
	r, err := ceph.ReadRecording(f)
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

// patience is by what factor waits may outlast what a machine of one's own
// needs: waiting longer costs nothing where what is awaited happens.
const patience = 4

// Await polls until look returns nil, and fails the test with its last error
// when patience times the limit is over or the exporter has ended.
func (e *Exporter) Await(what string, limit time.Duration, look func() error) {
	e.t.Helper()
	limit *= patience
	deadline := time.Now().Add(limit)
	for {
		err := look()
		if err == nil {
			return
		}
		if !e.Alive() {
			e.t.Fatalf("the exporter has ended while waiting for %s (%v):\n%s", what, err, e.log)
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("waited %s for %s: %v", limit, what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
