package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"golang.org/x/crypto/bcrypt"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// output collects what the program prints while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// ended runs the program to its end.
func ended(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs output
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code = run(ctx, append(args, "--state-dir="+filepath.Join(t.TempDir(), "state")), &out, &errs)
	if ctx.Err() != nil {
		t.Fatalf("%q did not end by itself", args)
	}
	return code, out.String(), errs.String()
}

// server is the program, serving.
type server struct {
	t      *testing.T
	url    string
	client *http.Client
	stop   context.CancelFunc
	code   chan int
	log    *output
}

func serve(t *testing.T, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{t: t, client: &http.Client{Timeout: 20 * time.Second}, stop: cancel, code: make(chan int, 1), log: &output{}}
	args = append([]string{"--web.listen-address=127.0.0.1:0"}, args...)
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--state-dir=") }) {
		args = append(args, "--state-dir="+filepath.Join(t.TempDir(), "state"))
	}
	go func() { s.code <- run(ctx, args, io.Discard, s.log) }()
	t.Cleanup(cancel)
	address := regexp.MustCompile(`address"?[=:]"?(127\.0\.0\.1:[0-9]+)`)
	for range 600 {
		if m := address.FindStringSubmatch(s.log.String()); m != nil {
			s.url = "http://" + m[1]
			return s
		}
		select {
		case code := <-s.code:
			t.Fatalf("ended with %d:\n%s", code, s.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("does not listen:\n%s", s.log)
	return nil
}

func (s *server) get(path string) (int, string) {
	s.t.Helper()
	resp, err := s.client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (s *server) awaitReady() {
	s.t.Helper()
	for range 600 {
		code, _ := s.get("/-/ready")
		if code == http.StatusOK {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("never ready:\n%s", s.log)
}

func (s *server) end() int {
	s.t.Helper()
	s.stop()
	select {
	case code := <-s.code:
		return code
	case <-time.After(30 * time.Second):
		s.t.Fatalf("does not end:\n%s", s.log)
		return -1
	}
}

func TestFlagsAreCheckedBeforeAnythingStarts(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--no-such-flag"}, "unknown long flag '--no-such-flag'"},
		{[]string{"--role=mgr"}, "enum value must be one of cluster,host,all"},
		{[]string{"--collector.pg.interval=10ms"}, "--collector.pg.interval: 10ms is below one second"},
		{[]string{"--web.max-requests=-1"}, "--web.max-requests: -1 is negative"},
		{[]string{"--web.listen-address=10283"}, "--web.listen-address: address 10283: missing port in address"},
		{[]string{"--web.listen-address=:no"}, "not a port"},
		{[]string{"--web.config.file=/nonexistent/web.yml"}, "--web.config.file"},
		{[]string{"--simulate", "--role=host"}, "--simulate: makes up a cluster, which --role=host does not look at"},
		{[]string{"--simulate", "--simulate.pgs=-5"}, "--simulate"},
		{[]string{"--ceph.config=/nonexistent/ceph.conf", "--config.check"}, "no ceph.conf"},
		{[]string{"--collector.pg.stuck-after=0s", "--simulate"}, "--collector.pg.stuck-after"},
		{[]string{"--collector.msa", "--role=host"}, "collector msa"},
		{[]string{"--ceph.id=client.risk", "--config.check"}, "client.risk"},
	} {
		code, stdout, stderr := ended(t, append(c.args, "--web.listen-address=127.0.0.1:0")[:len(c.args)]...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("%q: code %d, stdout %q, stderr %q does not say %q", c.args, code, stdout, stderr, c.says)
		}
	}
}

func TestConfigCheckNamesTheCollectorsOfARole(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--simulate", "osd, pg"},
		{"--simulate --no-collector.osd", "pg"},
		{"--role=host", "daemon, enclosure"},
	} {
		code, stdout, stderr := ended(t, append(strings.Fields(c.args), "--config.check")...)
		if code != exitOK || !strings.Contains(stdout, "configuration is good, collectors: ") || !strings.Contains(stdout, c.says) {
			t.Errorf("%s: code %d, %q, %q", c.args, code, stdout, stderr)
		}
	}
}

func TestHelpAndVersionEndWell(t *testing.T) {
	for _, flag := range []string{"--help", "-h", "--version"} {
		code, stdout, stderr := ended(t, flag)
		if code != exitOK || len(stdout) < 20 || stderr != "" {
			t.Errorf("%s: code %d, %d bytes, stderr %q", flag, code, len(stdout), stderr)
		}
	}
}

// The whole output of a process, in one piece, through promtool's own lint and
// promtool itself.
func TestOncePrintsAnExpositionThatPromtoolAccepts(t *testing.T) {
	code, stdout, stderr := ended(t, "--simulate", "--simulate.pgs=200", "--once", "--collector.pg.timestamps")
	if code != exitOK {
		t.Fatalf("code %d: %s", code, stderr)
	}
	for _, series := range []string{`cephrisk_collector_success{collector="pg"} 1`, "cephrisk_simulated 1", "cephrisk_build_info{", "cephrisk_pg_last_deep_scrub_age_seconds{"} {
		if !strings.Contains(stdout, series) {
			t.Errorf("no %s", series)
		}
	}
	problems, err := promlint.New(strings.NewReader(stdout)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	cephtest.RequireTool(t, "promtool")
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(stdout)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestOnceFailsWhereACollectorFails(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "ceph.conf")
	if err := os.WriteFile(conf, []byte("[global]\nmon host = 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := ended(t, "--once", "--ceph.config="+conf, "--ceph.keyring=/nonexistent/keyring", "--ceph.timeout=1s")
	if code != exitFailed || !strings.Contains(stdout, `cephrisk_collector_success{collector="pg"} 0`) || !strings.Contains(stderr, "monitors") {
		t.Errorf("code %d, stderr %s", code, stderr)
	}
}

func TestServerServesItsPagesAndEndsInOrder(t *testing.T) {
	s := serve(t, "--simulate", "--simulate.pgs=100")
	s.awaitReady()
	for path, want := range map[string]struct {
		code int
		says string
	}{
		"/":            {200, "Ceph risk exporter"},
		"/-/healthy":   {200, "alive"},
		"/-/ready":     {200, "ready"},
		"/metrics":     {200, "cephrisk_pool_pgs_late{"},
		"/nothing":     {404, ""},
		"/debug/pprof": {404, ""},
	} {
		if code, body := s.get(path); code != want.code || !strings.Contains(body, want.says) {
			t.Errorf("%s: %d, %.200s", path, code, body)
		}
	}
	resp, err := s.client.Post(s.url+"/metrics", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", resp.StatusCode)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, s.log)
	}
	for _, message := range []string{"msg=starting", "msg=ended", "made-up cluster"} {
		if !strings.Contains(s.log.String(), message) {
			t.Errorf("log does not say %s:\n%s", message, s.log)
		}
	}
}

func TestHostRoleWithoutCollectorsStartsAndSaysSo(t *testing.T) {
	args := []string{"--role=host", "--log.format=json"}
	for _, spec := range collector.Specs() {
		args = append(args, "--no-collector."+spec.Name)
	}
	s := serve(t, args...)
	s.awaitReady()
	if code, body := s.get("/metrics"); code != 200 || !strings.Contains(body, "cephrisk_build_info{") {
		t.Errorf("%d, %.200s", code, body)
	}
	if s.end() != exitOK || !strings.Contains(s.log.String(), "no collector is enabled") || !strings.Contains(s.log.String(), `"level":"warn"`) {
		t.Errorf("log:\n%s", s.log)
	}
}

func TestTakenPortIsAnErrorThatEndsTheProgram(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, _, stderr := ended(t, "--simulate", "--simulate.pgs=10", "--web.listen-address="+l.Addr().String())
	if code != exitFailed || !strings.Contains(stderr, "address already in use") {
		t.Errorf("code %d: %s", code, stderr)
	}
}

// TLS and basic auth come from exporter-toolkit's file; without the password
// nothing is served, the landing page included.
func TestTLSAndBasicAuthGuardEveryPage(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret-word"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	web := filepath.Join(dir, "web.yml")
	text := fmt.Sprintf("tls_server_config:\n  cert_file: %[1]s/cert.pem\n  key_file: %[1]s/key.pem\nbasic_auth_users:\n  prometheus: %s\n", dir, hash)
	if err := os.WriteFile(web, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--simulate", "--simulate.pgs=50", "--web.config.file="+web)
	s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	https := strings.Replace(s.url, "http://", "https://", 1)
	for _, path := range []string{"/", "/metrics", "/-/ready", "/-/healthy"} {
		for password, want := range map[string]int{"": 401, "wrong": 401, "secret-word": 200} {
			var code int
			for range 600 { // until the first poll has ended
				req, err := http.NewRequest(http.MethodGet, https+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if password != "" {
					req.SetBasicAuth("prometheus", password)
				}
				resp, err := s.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if code = resp.StatusCode; code != http.StatusServiceUnavailable {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			if code != want {
				t.Errorf("%s with password %q: %d, want %d", path, password, code, want)
			}
		}
	}
	if code, _ := s.get("/metrics"); code == 200 {
		t.Error("served without TLS")
	}
	if s.end(); strings.Contains(s.log.String(), "secret-word") {
		t.Error("the password is in the log")
	}
}

func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return pool
}
