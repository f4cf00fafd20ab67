package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
	promtest "github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/prometheus"
)

// job is a target to be scraped.
type job struct {
	name, address string
}

// startPrometheus runs the binary until the test ends.
func startPrometheus(t *testing.T, binary string, interval time.Duration, args []string, jobs ...job) *promtest.Server {
	t.Helper()
	var scrapes []any
	for _, j := range jobs {
		scrapes = append(scrapes, map[string]any{"job_name": j.name, "static_configs": []any{map[string]any{"targets": []string{j.address}}}})
	}
	return promtest.Start(t, promtest.Options{Binary: binary, Args: args, Config: map[string]any{
		"global":         map[string]string{"scrape_interval": interval.String(), "scrape_timeout": interval.String()},
		"scrape_configs": scrapes,
	}})
}

func freeAddress(t *testing.T) string { return promtest.FreeAddress(t) }

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
			s := startPrometheus(t, command[0], time.Second, command[1:], job{"risk", server.Listener.Addr().String()})
			s.Await(t, `up{job="risk"}`, 1)
			s.Await(t, `scrape_samples_scraped{job="risk"}`, float64(samples))
			for _, f := range families {
				for _, m := range []int{0, len(f.Metric) / 2, len(f.Metric) - 1} {
					if f.Metric[m].Gauge == nil {
						continue
					}
					var match []string
					for _, l := range f.Metric[m].Label {
						match = append(match, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
					}
					s.Await(t, f.GetName()+"{"+strings.Join(match, ",")+"}", f.Metric[m].Gauge.GetValue())
				}
				s.Await(t, "count("+f.GetName()+")", float64(len(f.Metric)))
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

		s := startPrometheus(t, binary, interval, nil, job{"risk", ours.Listener.Addr().String()}, job{"static", static.Listener.Addr().String()})
		var risk, same []float64
		seen := map[float64]bool{}
		for end := time.Now().Add(limit); time.Now().Before(end) && len(risk) < scrapes; time.Sleep(interval / 4) {
			at, err1 := s.Number(`timestamp(scrape_duration_seconds{job="risk"})`)
			r, err2 := s.Number(`scrape_duration_seconds{job="risk"}`)
			b, err3 := s.Number(`scrape_duration_seconds{job="static"}`)
			n, err4 := s.Number(`scrape_samples_scraped{job="risk"}`)
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
