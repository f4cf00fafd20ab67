package main

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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

const (
	manyPGs     = 2400
	scrapeEvery = 15 * time.Second
	phase       = 3 * time.Minute
	soak        = 10 * time.Minute
)

// TestALiveClusterWithThousandsOfPGs polls one for ten minutes, during which
// memory stays level, and measures what that costs the mgr and the exporter,
// beside the mgr's own prometheus module on the same cluster.
func TestALiveClusterWithThousandsOfPGs(t *testing.T) {
	if !cephtest.Long() {
		t.Log("only with CEPHRISK_LONG=1")
		return
	}
	cephtest.RequireTool(t, "go")
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	exe := filepath.Join(t.TempDir(), "ceph_risk_exporter")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := cephtest.New(t, cephtest.Options{
		Release: cephtest.R20,
		Conf: map[string]map[string]string{"global": {
			"mon_max_pg_per_osd": "5000", "osd_max_pg_per_osd_hard_ratio": "10", "osd_pool_default_pg_autoscale_mode": "off",
		}},
		Pools: []cephtest.Pool{{Name: "many", PGs: manyPGs / 2, Size: 2, Objects: 2000}, {Name: "more", PGs: manyPGs / 2, Size: 2, Objects: 2000}},
	})
	if err := c.WaitClean(ctx); err != nil {
		t.Fatal(err)
	}
	pids := processes(t, c.Dir(), "ceph-mgr")
	if len(pids) != 1 {
		t.Fatalf("ceph-mgr runs as %v", pids)
	}
	mgr := pids[0]

	idle := watch(ctx, t, phase, mgr, 0, "")
	t.Logf("mgr alone: %s", idle)

	t.Run("the mgr's module", func(t *testing.T) {
		port := freePort(t)
		for option, value := range map[string]string{"server_addr": "127.0.0.1", "server_port": port} {
			if err := c.SetConfig(ctx, "mgr", "mgr/prometheus/"+option, value); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Ceph(ctx, "mgr", "module", "enable", "prometheus"); err != nil {
			t.Fatal(err)
		}
		url := "http://127.0.0.1:" + port + "/metrics"
		awaitHTTP(ctx, t, url, 2*time.Minute) // enabling a module restarts the mgr, once it has answered
		pids := processes(t, c.Dir(), "ceph-mgr")
		t.Logf("mgr with its prometheus module, scraped every %s: %s", scrapeEvery, watch(ctx, t, phase, pids[0], 0, url))
		if _, err := c.Ceph(ctx, "mgr", "module", "disable", "prometheus"); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("the exporter", func(t *testing.T) {
		keyring, err := c.CreateKey(ctx, "client.risk", "mon", "allow r", "mgr", "allow r")
		if err != nil {
			t.Fatal(err)
		}
		address := "127.0.0.1:" + freePort(t)
		cmd := c.Command(ctx, exe, "--role=cluster", "--ceph.config="+c.ConfPath(), "--ceph.id=risk", "--ceph.keyring="+keyring,
			"--state-dir="+filepath.Join(c.Dir(), "risk"), "--web.listen-address="+address, "--collector.pg.timestamps")
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("exporter:\n%s", log.String())
			}
		}()
		url := "http://" + address + "/metrics"
		awaitHTTP(ctx, t, url, 0)
		// The mgr has just been restarted, so the first polls may fail.
		awaitSeries(ctx, t, url, "cephrisk_pg_last_deep_scrub_age_seconds", manyPGs)
		mgr := processes(t, c.Dir(), "ceph-mgr")[0]
		own := processes(t, c.Dir(), "ceph_risk_exporter")
		if len(own) != 1 {
			t.Fatalf("the exporter runs as %v", own)
		}
		u := watch(ctx, t, soak, mgr, own[0], url)
		t.Logf("the exporter, scraped every %s: %s", scrapeEvery, u)
		if u.failed > 0 {
			t.Errorf("%d scrapes failed", u.failed)
		}
		half := len(u.rss) / 2
		if early, late := slices.Max(u.rss[:half]), slices.Max(u.rss[half:]); late > early*1.1+4 {
			t.Errorf("resident memory rose from %.1f to %.1f MiB: %.1f", early, late, u.rss)
		}
	})
}

// usage is what was seen while something was scraped for a while.
type usage struct {
	mgr, own float64 // CPU seconds per minute
	scrapes  []time.Duration
	failed   int // scrapes
	bytes    int
	series   int
	rss      []float64 // MiB of the exporter, at every scrape
}

func (u usage) String() string {
	s := fmt.Sprintf("mgr %.3f CPU s/min", u.mgr)
	if len(u.scrapes) > 0 {
		slices.Sort(u.scrapes)
		s += fmt.Sprintf(", %d series in %d bytes, last byte after %s (median of %d, highest %s)", u.series, u.bytes,
			u.scrapes[len(u.scrapes)/2].Round(10*time.Microsecond), len(u.scrapes), u.scrapes[len(u.scrapes)-1].Round(10*time.Microsecond))
	}
	if u.failed > 0 {
		s += fmt.Sprintf(", %d scrapes failed", u.failed)
	}
	if len(u.rss) > 0 {
		s += fmt.Sprintf(", exporter %.3f CPU s/min, %.1f to %.1f MiB", u.own, slices.Min(u.rss), slices.Max(u.rss))
	}
	return s
}

// watch scrapes the URL, if any, for that long and measures the processes.
func watch(ctx context.Context, t *testing.T, d time.Duration, mgr, own int, url string) usage {
	t.Helper()
	var u usage
	m0, o0, begin := cpuSeconds(t, mgr), cpuSeconds(t, own), time.Now()
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for time.Since(begin) < d {
		select {
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-tick.C:
		}
		if url == "" {
			continue
		}
		body, took, err := fetch(ctx, url)
		if err != nil {
			t.Log(err)
			u.failed++
			continue
		}
		u.scrapes, u.bytes = append(u.scrapes, took), len(body)
		u.series = len(bytes.Split(body, []byte("\n"))) - bytes.Count(body, []byte("\n#")) - 2
		if own != 0 {
			u.rss = append(u.rss, rssMiB(t, own))
		}
	}
	minutes := time.Since(begin).Minutes()
	u.mgr, u.own = (cpuSeconds(t, mgr)-m0)/minutes, (cpuSeconds(t, own)-o0)/minutes
	return u
}

// fetch returns the body, uncompressed, and the time to its last byte.
func fetch(ctx context.Context, url string) ([]byte, time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	took := time.Since(begin)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", url, resp.Status, body)
	}
	return body, took, err
}

// awaitHTTP waits until the URL has answered for that long.
func awaitHTTP(ctx context.Context, t *testing.T, url string, steady time.Duration) {
	t.Helper()
	var since time.Time
	for {
		_, _, err := fetch(ctx, url)
		switch {
		case err != nil:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		if err == nil && time.Since(since) >= steady {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// awaitSeries waits until the family has that many series.
func awaitSeries(ctx context.Context, t *testing.T, url, family string, want int) {
	t.Helper()
	for {
		body, _, err := fetch(ctx, url)
		n := bytes.Count(body, []byte("\n"+family+"{"))
		if err == nil && n >= want {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %d series, want %d (%v)", family, n, want, err)
		case <-time.After(time.Second):
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// processes returns the ids of the processes of a program whose command line
// names the folder.
func processes(t *testing.T, dir, program string) []int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, path := range lines {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		name, rest, _ := bytes.Cut(data, []byte{0})
		if filepath.Base(string(name)) != program || !bytes.Contains(append(name, rest...), []byte(dir)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// cpuSeconds is the CPU time that a process has used.
func cpuSeconds(t *testing.T, pid int) float64 {
	t.Helper()
	if pid == 0 {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	var ticks float64
	for _, i := range []int{11, 12} { // utime, stime
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += v
	}
	return ticks / 100 // USER_HZ
}

func rssMiB(t *testing.T, pid int) float64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("process %d has no VmRSS", pid)
	}
	kb, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1024
}
