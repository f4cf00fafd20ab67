package collector

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
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
	limit *= 4 // what others do on the machine takes time, too
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
