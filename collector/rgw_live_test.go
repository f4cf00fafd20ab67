package collector

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// child is a program of this repository or beside it that runs for a test.
type child struct {
	t    testing.TB
	argv []string
	out  string
	cmd  *exec.Cmd
}

func (c *child) start() {
	c.t.Helper()
	out, err := os.OpenFile(c.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer out.Close()
	c.cmd = exec.Command(c.argv[0], c.argv[1:]...)
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) end(sig syscall.Signal) {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Signal(sig)
	_ = c.cmd.Wait()
	c.cmd = nil
}

func newChild(t testing.TB, argv ...string) *child {
	c := &child{t: t, argv: argv, out: filepath.Join(t.TempDir(), "output")}
	c.start()
	t.Cleanup(func() {
		c.end(syscall.SIGKILL)
		if t.Failed() {
			text, _ := os.ReadFile(c.out)
			t.Logf("%s:\n%s", filepath.Base(argv[0]), text)
		}
	})
	return c
}

// buildExporter builds the program as for hosts without librados.
func buildExporter(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ceph_risk_exporter")
	cmd := exec.Command("go", "build", "-o", path, "../cmd/ceph_risk_exporter")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// startExporter runs the rgw collector alone.
func startExporter(t testing.TB, program, address string, more ...string) *child {
	argv := append([]string{program, "--role=host", "--web.listen-address=" + address, "--state-dir=" + filepath.Join(t.TempDir(), "state"),
		"--rgw.view=complete", "--collector.rgw.interval=1s"}, more...)
	for _, s := range Specs() {
		if s.Name != "rgw" {
			argv = append(argv, "--no-collector."+s.Name)
		}
	}
	return newChild(t, argv...)
}

// awaitThat waits until look is content.
func awaitThat(t testing.TB, limit time.Duration, look func() (string, bool)) {
	t.Helper()
	saw := ""
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		var done bool
		if saw, done = look(); done {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("not within %v; last seen: %s", limit, saw)
}

// scraped is a scrape of the exporter: family -> samples.
type scraped map[string]*dto.MetricFamily

func scrapeURL(url string) (scraped, error) {
	res, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	return families, err
}

// sum adds up the samples of a family that have the given labels.
func (s scraped) sum(name string, labels ...string) float64 {
	var total float64
	for _, m := range s["cephrisk_rgw_"+name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.Label {
			have[l.GetName()] = l.GetValue()
		}
		match := true
		for i := 0; i < len(labels); i += 2 {
			match = match && have[labels[i]] == labels[i+1]
		}
		if match {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// ledger is what the exporter has counted.
func (s scraped) ledger() s3Ledger {
	return s3Ledger{
		Put: s.sum("uploads_completed_total", "kind", "put"), Multipart: s.sum("uploads_completed_total", "kind", "multipart"),
		Copy: s.sum("uploads_completed_total", "kind", "copy"), Post: s.sum("uploads_completed_total", "kind", "post"),
		PutBytes: s.sum("uploaded_bytes_total", "kind", "put"), MultipartBytes: s.sum("uploaded_bytes_total", "kind", "multipart"),
		PostBytes: s.sum("uploaded_bytes_total", "kind", "post"), Aborted: s.sum("multipart_aborted_total"), Open: s.sum("multipart_open"),
		FailedPut: s.sum("upload_failures_total", "kind", "put", "status_class", "4xx"), FailedMultipart: s.sum("upload_failures_total", "kind", "multipart"),
	}
}

func (l s3Ledger) minus(o s3Ledger) s3Ledger {
	return s3Ledger{
		l.Put - o.Put, l.Multipart - o.Multipart, l.Copy - o.Copy, l.Post - o.Post,
		l.PutBytes - o.PutBytes, l.MultipartBytes - o.MultipartBytes, l.PostBytes - o.PostBytes,
		l.Aborted - o.Aborted, l.Open - o.Open, l.FailedPut - o.FailedPut, l.FailedMultipart - o.FailedMultipart, l.Unauthenticated - o.Unauthenticated,
	}
}

// rgwRig is a cluster with two gateways behind a round-robin, the exporter that
// reads their logs, and a Prometheus that scrapes it.
type rgwRig struct {
	t          *testing.T
	ctx        context.Context
	c          *cephtest.Cluster
	lb         *balancer
	s3         *s3Client
	exporter   *child
	metrics    string
	prometheus *promServer
	before     scraped // history: what earlier tests left in the logs
	began      time.Time
}

func newRGWRig(t *testing.T, release cephtest.Release, exporter string) *rgwRig {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	t.Cleanup(cancel)
	r := &rgwRig{t: t, ctx: ctx, c: cephtest.SharedExclusive(t, release)}
	r.must(r.c.EnsureRGWs(ctx, 2))
	r.must(r.c.SetConfig(ctx, "client", "rgw_multipart_min_part_size", "1"))
	t.Cleanup(func() {
		if _, err := r.c.Ceph(context.Background(), "config", "rm", "client", "rgw_multipart_min_part_size"); err != nil {
			t.Error(err)
		}
	})
	name := fmt.Sprintf("uploads-%d", time.Now().UnixNano())
	access, secret, err := r.c.CreateS3User(ctx, name)
	r.must(err)
	r.lb = newBalancer(t, r.c.RGWEndpoint(0), r.c.RGWEndpoint(1))
	r.s3 = newS3Client(t, ctx, r.lb.URL, access, secret, name)

	address := freeAddress(t)
	r.metrics = "http://" + address + "/metrics"
	r.exporter = startExporter(t, exporter, address, "--path.run="+r.c.AsokDir(),
		"--rgw.ops-log="+filepath.Join(filepath.Dir(r.c.OpsLogPath(0)), "ops-log-*.log"))
	awaitThat(t, time.Minute, func() (string, bool) {
		s, err := scrapeURL(r.metrics)
		if err != nil || s.sum("ops_log_files") < 2 || s.sum("own_puts_total", "ceph_daemon", "rgw.a") == 0 && s.sum("ops_log_enabled") < 2 {
			return fmt.Sprint(err, len(s)), false
		}
		r.before = s
		return "", true
	})
	r.startPrometheus(address)
	return r
}

func (r *rgwRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rgwRig) startPrometheus(target string) {
	r.prometheus = startRGWPrometheus(r.t, target)
	r.began = time.Now()
	awaitThat(r.t, time.Minute, func() (string, bool) {
		v, err := r.prometheus.query("count(cephrisk_rgw_uploads_completed_total)")
		return fmt.Sprint(v, err), err == nil && v > 0
	})
}

// startRGWPrometheus runs a Prometheus that scrapes target once a second.
func startRGWPrometheus(t *testing.T, target string, args ...string) *promServer {
	cephtest.RequireTool(t, "prometheus")
	return startPrometheus(t, "prometheus", time.Second, args, job{"x", &httptest.Server{Listener: listenerAt{at: target}}})
}

// listenerAt is a listener of another process.
type listenerAt struct {
	net.Listener
	at string
}

func (l listenerAt) Addr() net.Addr {
	addr, err := net.ResolveTCPAddr("tcp", l.at)
	if err != nil {
		panic(err) // it was printed from one
	}
	return addr
}

// rename is what logrotate does by default: the gateway goes on with the
// renamed file until it is told, and finds a new one then.
func (r *rgwRig) rename(i, n int) {
	log := r.c.OpsLogPath(i)
	r.must(os.Rename(log, fmt.Sprintf("%s.%d-%d", log, n, os.Getpid())))
	r.must(r.c.Signal(r.ctx, "rgw."+string(rune('a'+i)), syscall.SIGHUP))
}

// copyTruncate needs a quiet moment: what is written between copy and cut is
// lost, by its nature.
func (r *rgwRig) copyTruncate(i, n int) {
	r.lb.held.Lock()
	defer r.lb.held.Unlock()
	log := r.c.OpsLogPath(i)
	size := int64(-1)
	awaitThat(r.t, 10*time.Second, func() (string, bool) {
		info, err := os.Stat(log)
		if err != nil {
			return err.Error(), false
		}
		same := info.Size() == size
		size = info.Size()
		return fmt.Sprint(size), same
	})
	text, err := os.ReadFile(log)
	r.must(err)
	r.must(os.WriteFile(fmt.Sprintf("%s.%d-%d", log, n, os.Getpid()), text, 0o600))
	r.must(os.Truncate(log, 0))
}

// restartGateway restarts a gateway while no request is under way.
func (r *rgwRig) restartGateway(name string, i int) {
	r.lb.held.Lock()
	defer r.lb.held.Unlock()
	r.must(r.c.Restart(r.ctx, name))
	awaitThat(r.t, time.Minute, func() (string, bool) {
		res, err := http.Get(r.c.RGWEndpoint(i))
		if err != nil {
			return err.Error(), false
		}
		res.Body.Close()
		return "", true
	})
}

func (r *rgwRig) killExporter(sig syscall.Signal) {
	r.exporter.end(sig)
	r.exporter.start()
}

// disturb does everything to logs, exporter and gateway that must not matter.
// pause waits for a part of the load to be done.
func (r *rgwRig) disturb(pause func()) {
	for n, step := range []func(int){
		func(n int) { r.rename(0, n) },
		func(int) { r.killExporter(syscall.SIGKILL) },
		func(n int) { r.copyTruncate(1, n) },
		func(int) { r.restartGateway("rgw.b", 1) },
		func(int) { r.killExporter(syscall.SIGTERM) },
		func(n int) { r.rename(1, n) },
		func(n int) { r.exporter.end(syscall.SIGKILL); r.rename(0, n); pause(); r.exporter.start() },
		func(n int) { r.copyTruncate(0, n) },
		func(int) { r.killExporter(syscall.SIGKILL) },
	} {
		pause()
		step(n)
	}
}

// TestLiveUploadsAreCountedOnce: two real gateways, a real client, and all that
// happens to logs and processes in a year: what is counted is what the client
// knows.
func TestLiveUploadsAreCountedOnce(t *testing.T) {
	operations := 160
	if cephtest.Long() {
		operations = 2000
	}
	exporter := buildExporter(t)
	for _, release := range cephtest.Releases() {
		t.Run(fmt.Sprint(release), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			r := newRGWRig(t, release, exporter)
			ready := time.Since(begin)
			r.run(operations)
			loaded := time.Since(begin) - ready
			r.check()
			t.Logf("ready after %v, load %v, checks %v", ready, loaded, time.Since(begin)-ready-loaded)
		})
	}
}

// run loads the gateways and disturbs them meanwhile.
func (r *rgwRig) run(operations int) {
	done := make(chan error, 1)
	go func() {
		if err := r.s3.copiedParts(70_000); err != nil {
			done <- err
			return
		}
		done <- r.s3.load(6, operations)
	}()
	var ended bool
	const pauses = 12
	seen := int64(0)
	r.disturb(func() {
		seen += int64(operations) / pauses
		for !ended && r.s3.serial.Load() < seen {
			select {
			case err := <-done:
				r.must(err)
				ended = true
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	if !ended {
		r.must(<-done)
	}
}

func (r *rgwRig) check() {
	t := r.t
	want := r.s3.ledger
	if r.c.Release() >= cephtest.R18 { // older ones do not log what they cannot authenticate
		want.FailedPut += want.Unauthenticated
	}
	want.Unauthenticated = 0
	var last scraped
	awaitThat(t, 90*time.Second, func() (string, bool) {
		s, err := scrapeURL(r.metrics)
		if err != nil {
			return err.Error(), false
		}
		last = s
		diff := cmp.Diff(want, s.ledger().minus(r.before.ledger()))
		return diff, diff == ""
	})
	t.Logf("as the client knows it: %+v", want)
	for name, want := range map[string]float64{
		"uploads_unsized_total": 0, "ops_log_gaps_total": 0, "ops_log_junk_bytes_total": 0, "ops_log_foreign_objects_total": 0,
	} {
		if got := last.sum(name) - r.before.sum(name); got != want {
			t.Errorf("%s grew by %v, want %v", name, got, want)
		}
	}
	if view, enabled := last.sum("multipart_view_complete"), last.sum("ops_log_enabled"); view != 1 || enabled != 2 {
		t.Errorf("view complete %v, %v ops logs enabled; want 1, 2", view, enabled)
	}
	// RGW's own counter moves for the same requests as ours (rgw.a ran through).
	grown := func(name string) float64 {
		return last.sum(name, "ceph_daemon", "rgw.a") - r.before.sum(name, "ceph_daemon", "rgw.a")
	}
	if rgw, ours := grown("own_puts_total"), grown("put_requests_total"); rgw != ours {
		t.Errorf("rgw.a counted %v puts, its ops log has %v", rgw, ours)
	}
	r.checkPrometheus(want)
}

// checkPrometheus looks at what a Prometheus made of it that scraped all along.
func (r *rgwRig) checkPrometheus(want s3Ledger) {
	window := strconv.Itoa(int(time.Since(r.began).Seconds())+10) + "s"
	value := func(q string) float64 {
		v, err := r.prometheus.query(strings.ReplaceAll(q, "WINDOW", window))
		r.must(err)
		return v
	}
	var got s3Ledger
	grown := func(family, kind string) float64 {
		series := `cephrisk_rgw_` + family + `{kind="` + kind + `"}[WINDOW]`
		return value("sum(max_over_time(" + series + ") - min_over_time(" + series + "))")
	}
	awaitThat(r.t, 20*time.Second, func() (string, bool) { // the last scrape
		got = s3Ledger{
			Put: grown("uploads_completed_total", "put"), Multipart: grown("uploads_completed_total", "multipart"),
			Copy: grown("uploads_completed_total", "copy"), Post: grown("uploads_completed_total", "post"),
			PutBytes: grown("uploaded_bytes_total", "put"), MultipartBytes: grown("uploaded_bytes_total", "multipart"), PostBytes: grown("uploaded_bytes_total", "post"),
			Aborted: want.Aborted, Open: want.Open, FailedPut: want.FailedPut, FailedMultipart: want.FailedMultipart,
		}
		diff := cmp.Diff(want, got)
		return diff, diff == ""
	})
	for _, family := range []string{
		"uploads_completed_total", "uploaded_bytes_total", "upload_failures_total", "part_bytes_total", "multipart_aborted_total",
		"ops_log_records_total", "upload_size_bytes_count", "upload_size_bytes_bucket", "upload_duration_seconds_count",
	} {
		if n := value("sum(resets(cephrisk_rgw_" + family + "[WINDOW]))"); n != 0 {
			r.t.Errorf("Prometheus saw %v resets of %s", n, family)
		}
	}
}

// TestNativeHistogramsReachPrometheus: a Prometheus that knows native
// histograms takes ours.
func TestNativeHistogramsReachPrometheus(t *testing.T) {
	cephtest.RequireTool(t, "prometheus")
	dir := t.TempDir()
	var log strings.Builder
	for i := range 100 {
		log.WriteString(rgwRecord(rgwNow.Add(time.Duration(i)*time.Second), "put_obj", "PUT /photos/k HTTP/1.1", "200", 1000*(i+1), i))
	}
	if err := os.WriteFile(filepath.Join(dir, "ops-log-ceph-client.rgw.a.log"), []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	startExporter(t, buildExporter(t), address, "--path.run="+dir, "--rgw.ops-log="+filepath.Join(dir, "*.log"))
	p := startRGWPrometheus(t, address, "--enable-feature=native-histograms")
	awaitThat(t, time.Minute, func() (string, bool) {
		n, err := p.query(`histogram_count(cephrisk_rgw_upload_size_bytes{kind="put"})`)
		return fmt.Sprint(n, err), n == 100
	})
	for q, want := range map[string][2]float64{
		`histogram_sum(cephrisk_rgw_upload_size_bytes{kind="put"})`:                 {5050e3, 5050e3},
		`histogram_quantile(0.5, cephrisk_rgw_upload_size_bytes{kind="put"})`:       {42e3, 60e3},
		`histogram_count(cephrisk_rgw_upload_duration_seconds{kind="put"})`:         {100, 100},
		`histogram_quantile(0.9, cephrisk_rgw_upload_duration_seconds{kind="put"})`: {.075, .108},
	} {
		if got, err := p.query(q); err != nil || got < want[0] || got > want[1] {
			t.Errorf("%s = %v, %v; want %v", q, got, err, want)
		}
	}
}
