package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

// promServer is a running Prometheus.
type promServer struct {
	url string
	out *bytes.Buffer
}

// job is a target to be scraped.
type job struct {
	name   string
	server *httptest.Server
}

// startPrometheus runs the binary until the test ends.
func startPrometheus(t *testing.T, binary string, interval time.Duration, args []string, jobs ...job) *promServer {
	t.Helper()
	dir := t.TempDir()
	var conf strings.Builder
	fmt.Fprintf(&conf, "global:\n  scrape_interval: %s\n  scrape_timeout: %s\nscrape_configs:\n", interval, interval)
	for _, j := range jobs {
		fmt.Fprintf(&conf, "  - job_name: %s\n    static_configs:\n      - targets: [%q]\n", j.name, j.server.Listener.Addr())
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(conf.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	s := &promServer{url: "http://" + address, out: &bytes.Buffer{}}
	cmd := exec.Command(binary, append([]string{
		"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
	}, args...)...)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus:\n%s", s.out)
		}
	})
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var errNoAnswer = errors.New("no answer")

// query returns the single number that the expression yields.
func (s *promServer) query(expr string) (float64, error) {
	resp, err := http.Get(s.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var a struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return 0, err
	}
	if len(a.Data.Result) != 1 {
		return 0, errNoAnswer
	}
	text, _ := a.Data.Result[0].Value[1].(string)
	return strconv.ParseFloat(text, 64)
}

// await waits until the expression has the value.
func (s *promServer) await(t *testing.T, expr string, want float64, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		got, err := s.query(expr)
		if err == nil && got == want {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s is %v (%v), want %v", expr, got, err, want)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// prometheus3 returns the Prometheus of Debian's next release, unpacked beside
// the roots of the test clusters.
func prometheus3(t *testing.T) string {
	t.Helper()
	cephtest.RequireTool(t, "apt-get", "dpkg")
	dir := filepath.Join(cluster.CacheDir(), "prometheus-3")
	binary := filepath.Join(dir, "usr/bin/prometheus")
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	root, err := cluster.EnsureRoot(ctx, cephtest.R20, io.Discard)
	if errors.Is(err, cluster.ErrUnavailable) {
		cephtest.SkipOrFail(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	for _, sub := range []string{"lists/partial", "cache/archives/partial", "root"} {
		if err := os.MkdirAll(filepath.Join(work, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	apt := []string{
		"-o", "Dir::Etc::sourcelist=" + filepath.Join(root, "etc/apt/sources.list"), "-o", "Dir::Etc::sourceparts=/dev/null",
		"-o", "Dir::State::lists=" + filepath.Join(work, "lists"), "-o", "Dir::Cache=" + filepath.Join(work, "cache"),
		"-o", "Dir::State::status=/dev/null", "-o", "Acquire::Check-Valid-Until=false", "-o", "APT::Sandbox::User=root",
	}
	run := func(name string, args ...string) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			cephtest.SkipOrFail(t, fmt.Sprintf("%s %v: %v\n%s", name, args, err, out))
		}
	}
	run("apt-get", append(apt, "update")...)
	run("apt-get", append(apt, "download", "prometheus")...)
	debs, err := filepath.Glob(filepath.Join(work, "prometheus_*.deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("downloaded %v (%v)", debs, err)
	}
	run("dpkg", "-x", debs[0], filepath.Join(work, "root"))
	run("cp", "-r", filepath.Join(work, "root"), dir)
	return binary
}

// promServers are the servers to test with and what makes each ask for another
// format.
func promServers(t *testing.T) map[string][]string {
	servers := map[string][]string{
		"2 openmetrics": {promBinary(t)},
		"2 protobuf":    {promBinary(t), "--enable-feature=native-histograms"},
	}
	if cephtest.Long() {
		servers["3 openmetrics"] = []string{prometheus3(t)}
		servers["3 protobuf"] = []string{prometheus3(t), "--enable-feature=native-histograms"}
	}
	return servers
}

func promBinary(t *testing.T) string {
	t.Helper()
	cephtest.RequireTool(t, "prometheus")
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrometheusIngestsEverySeries(t *testing.T) {
	const pgs = 2000
	p := newTablePoller(t, pgs)
	set := p.set()
	poll(set)
	var mu sync.Mutex
	var formats []string
	h := NewHandler(set, nil, HandlerOpts{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		mu.Lock()
		defer mu.Unlock()
		formats = append(formats, w.Header().Get("Content-Type")+" "+w.Header().Get("Content-Encoding"))
	}))
	defer server.Close()
	families, err := set.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := 0
	for _, f := range families {
		samples += len(f.Metric)
	}
	for name, command := range promServers(t) {
		t.Run(name, func(t *testing.T) {
			s := startPrometheus(t, command[0], time.Second, command[1:], job{"risk", server})
			const limit = 2 * time.Minute
			s.await(t, `up{job="risk"}`, 1, limit)
			s.await(t, `scrape_samples_scraped{job="risk"}`, float64(samples), limit)
			for _, f := range families {
				for _, m := range []int{0, len(f.Metric) / 2, len(f.Metric) - 1} {
					if f.Metric[m].Gauge == nil {
						continue
					}
					var match []string
					for _, l := range f.Metric[m].Label {
						match = append(match, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
					}
					s.await(t, f.GetName()+"{"+strings.Join(match, ",")+"}", f.Metric[m].Gauge.GetValue(), limit)
				}
				s.await(t, "count("+f.GetName()+")", float64(len(f.Metric)), limit)
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	t.Logf("served as %q", slices.Compact(formats))
}

// A scrape of 600,000 series takes Prometheus hardly longer than the same bytes
// from a server that has nothing else to do.
func TestScrapeOf600000SeriesTakesLittleLongerThanStaticBytes(t *testing.T) {
	if !cephtest.Long() {
		t.Log("only with CEPHRISK_LONG=1")
		return
	}
	const (
		pgs      = 200_000
		interval = 30 * time.Second
		scrapes  = 7
		limit    = 25 * time.Minute // on a machine that does other things, too
	)
	for _, binary := range []string{promBinary(t), prometheus3(t)} {
		set := newTablePoller(t, pgs).set()
		poll(set)
		h := NewHandler(set, nil, HandlerOpts{})
		ours := httptest.NewServer(h)
		defer ours.Close()
		static := httptest.NewServer(staticHandler(h))
		defer static.Close()

		s := startPrometheus(t, binary, interval, nil, job{"risk", ours}, job{"static", static})
		var risk, same []float64
		seen := map[float64]bool{}
		for end := time.Now().Add(limit); time.Now().Before(end) && len(risk) < scrapes; time.Sleep(interval / 4) {
			at, err1 := s.query(`timestamp(scrape_duration_seconds{job="risk"})`)
			r, err2 := s.query(`scrape_duration_seconds{job="risk"}`)
			b, err3 := s.query(`scrape_duration_seconds{job="static"}`)
			n, err4 := s.query(`scrape_samples_scraped{job="risk"}`)
			if errors.Join(err1, err2, err3, err4) != nil || seen[at] {
				continue
			}
			seen[at] = true
			if n < 3*pgs {
				t.Fatalf("%v samples", n)
			}
			if len(seen) <= 2 {
				continue // the first ones create the series
			}
			risk, same = append(risk, r), append(same, b)
		}
		if len(risk) < scrapes {
			t.Fatalf("%d scrapes in time", len(risk))
		}
		slices.Sort(risk)
		slices.Sort(same)
		a, b := risk[len(risk)/2], same[len(same)/2]
		t.Logf("%s: scrape %.3f s, of static bytes %.3f s, ratio %.2f (medians of %d)", binary, a, b, a/b, len(risk))
		if a > 1.2*b {
			t.Errorf("a scrape takes %.2f times what static bytes take", a/b)
		}
		runtime.KeepAlive(set)
	}
}

// staticHandler serves the bytes that the handler served to the first request
// of the kind.
func staticHandler(h http.Handler) http.Handler {
	type answer struct {
		header http.Header
		body   []byte
	}
	known := map[string]answer{}
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Accept") + r.Header.Get("Accept-Encoding")
		mu.Lock()
		a, ok := known[key]
		if !ok {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			a = answer{rec.Header(), rec.Body.Bytes()}
			known[key] = a
		}
		mu.Unlock()
		for k, v := range a.header {
			w.Header()[k] = v
		}
		_, _ = w.Write(a.body)
	})
}
