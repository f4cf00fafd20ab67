package collector

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// webConfig writes a certificate for 127.0.0.1 and a web config file that uses
// it, and returns a TLS configuration that trusts it.
func webConfig(t *testing.T, more string) (path string, client *tls.Config) {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(dir, "web.yml")
	if err := os.WriteFile(path, []byte("tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return path, &tls.Config{RootCAs: pool}
}

// completed polls until the gateway has that many plain PUTs.
func completed(t *testing.T, p *rgwPoller, rows []*Row, daemon string, want int) {
	t.Helper()
	line := fmt.Sprintf("cephrisk_rgw_uploads_completed_total{ceph_daemon=%q,instance_id=\"\",kind=\"put\"} %d\n", daemon, want)
	text := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text = pollText(t, rows, p, time.Now()); strings.Contains(text, line) {
			return
		}
	}
	t.Fatalf("no %s in\n%s", line, text)
}

func liveClockDeps(t *testing.T) Deps {
	d := testDeps(t, rgwNow)
	d.Now = time.Now
	d.Log = slog.New(slog.NewTextHandler(io.Discard, nil)) // servers outlive tests by a moment
	d.State = state.Open(t.TempDir(), d.Log)
	return d
}

func TestRGWRecordsOverTLS(t *testing.T) {
	config, client := webConfig(t, "")
	address := freeAddress(t)
	p, rows := newTestRGW(t, liveClockDeps(t), "--rgw.ops-log=", "--rgw.listen-address=tcp://"+address, "--rgw.web-config-file="+config)
	pollText(t, rows, p, time.Now())
	conn, err := tls.Dial("tcp", address, client)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, `{"ceph_daemon":"rgw.a"}`+rgwRecord(rgwNow, "put_obj", "PUT /photos/a HTTP/1.1", "200", 7, 1)); err != nil {
		t.Fatal(err)
	}
	completed(t, p, rows, "rgw.a", 1)
}

func TestRGWPostsNeedThePassword(t *testing.T) {
	// The password is "secret".
	config, client := webConfig(t, "basic_auth_users:\n  shipper: $2a$04$3JKwCYgGu5Cr16H.Q57OKuQI.lyMztN6ACWrvPNtyHsacik12J9CS\n")
	address := freeAddress(t)
	p, rows := newTestRGW(t, liveClockDeps(t), "--rgw.ops-log=", "--rgw.listen-address=http://"+address, "--rgw.web-config-file="+config)
	pollText(t, rows, p, time.Now())
	post := func(password string) int {
		req, err := http.NewRequest(http.MethodPost, "https://"+address+"/?ceph_daemon=rgw.a", strings.NewReader(rgwRecord(rgwNow, "put_obj", "PUT /photos/a HTTP/1.1", "200", 7, 1)))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("shipper", password)
		res, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: client, DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if diff := cmp.Diff([]int{401, 204, 204}, []int{post("guess"), post("secret"), post("secret")}); diff != "" {
		t.Error(diff)
	}
	completed(t, p, rows, "rgw.a", 1) // the second was the same record
}

func TestRGWStreamCannotAskForPasswords(t *testing.T) {
	config, _ := webConfig(t, "basic_auth_users:\n  shipper: $2a$04$3JKwCYgGu5Cr16H.Q57OKuQI.lyMztN6ACWrvPNtyHsacik12J9CS\n")
	if _, err := newRGWListener("tcp://127.0.0.1:1", config); err == nil || !strings.Contains(err.Error(), "passwords") {
		t.Errorf("got %v, want an error that says why", err)
	}
}

// fakeGateway answers on an admin socket as radosgw does.
func fakeGateway(t *testing.T, path string, answers map[string]string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 1024)
			n, _ := conn.Read(buf)
			answer := `{}`
			for prefix, a := range answers {
				if strings.Contains(string(buf[:n]), `"`+prefix+`"`) {
					answer = a
				}
			}
			_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
			_ = conn.Close()
		}
	})
}

func TestRGWWithoutOpsLogIsReportedOnce(t *testing.T) {
	dir := t.TempDir()
	fakeGateway(t, filepath.Join(dir, "ceph-client.rgw.a.11.22.asok"), map[string]string{
		"perf dump": `{"rgw":{"put":7}}`, "config show": `{"rgw_enable_ops_log":"false","rgw_ops_log_file_path":"/x"}`})
	// The socket of a gateway that was killed.
	if err := os.WriteFile(filepath.Join(dir, "ceph-client.rgw.b.33.44.asok"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	d := testDeps(t, rgwNow)
	d.Log = slog.New(slog.NewTextHandler(&log, nil))
	d.Paths.Run = dir
	s := newRGWSockets(d)
	for range 2 {
		if diff := cmp.Diff("[{daemon:rgw.a knowsEnabled:true enabled:false puts:7}]", fmt.Sprintf("%+v", s.ask(context.Background()))); diff != "" {
			t.Error(diff)
		}
	}
	if n := strings.Count(log.String(), "ceph config set client.rgw.a rgw_enable_ops_log true"); n != 1 {
		t.Errorf("said %d times how to enable it, want once:\n%s", n, log.String())
	}
}
