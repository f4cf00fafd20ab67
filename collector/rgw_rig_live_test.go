package collector

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	promtest "github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/prometheus"
)

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
	sockets    rgwReader // another exporter, on the gateways' sockets
	prometheus *promtest.Server
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
	r.sockets = newRGWReader(t, exporter, "--rgw.ops-log=", "--rgw.ops-log-socket="+filepath.Join(filepath.Dir(r.c.OpsSocketPath(0)), "*.ops.sock"))
	return r
}

// rgwReader is an exporter that is left alone, and what it had counted of
// earlier tests' requests, which gateways keep for a reader.
type rgwReader struct {
	metrics string
	before  s3Ledger
}

func newRGWReader(t *testing.T, exporter string, args ...string) rgwReader {
	address := freeAddress(t)
	r := rgwReader{metrics: "http://" + address + "/metrics"}
	startExporter(t, exporter, address, append(args, "--path.run="+t.TempDir())...)
	records, since := -1.0, time.Now()
	awaitThat(t, time.Minute, func() (string, bool) {
		s, err := scrapeURL(r.metrics)
		if err != nil || s.sum("stream_senders") < 2 {
			return fmt.Sprint(err), false
		}
		if n := s.sum("ops_log_records_total"); n != records {
			records, since = n, time.Now()
		}
		r.before = s.ledger()
		return fmt.Sprintf("%v records", records), time.Since(since) > 7*time.Second // longer than to the next checkpoint
	})
	return r
}

// check compares what does not need the books to settle.
func (r rgwReader) check(t *testing.T, want s3Ledger) {
	t.Helper()
	want.MultipartBytes, want.Open = 0, 0
	awaitThat(t, time.Minute, func() (string, bool) {
		s, err := scrapeURL(r.metrics)
		if err != nil {
			return err.Error(), false
		}
		got := s.ledger().minus(r.before)
		got.MultipartBytes, got.Open = 0, 0
		diff := cmp.Diff(want, got)
		return diff, diff == ""
	})
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
		v, err := r.prometheus.Number("count(cephrisk_rgw_uploads_completed_total)")
		return fmt.Sprint(v, err), err == nil && v > 0
	})
}

// startRGWPrometheus runs a Prometheus that scrapes target once a second.
func startRGWPrometheus(t *testing.T, target string, args ...string) *promtest.Server {
	return startPrometheus(t, "", time.Second, args, job{"x", target})
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
