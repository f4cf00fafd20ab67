package main

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
)

// Client certificates come from exporter-toolkit's file, too: without one that
// the CA has signed no page is served, the pages for people and the debug page
// included.
func TestClientCertificatesGuardEveryPage(t *testing.T) {
	dir, strange := t.TempDir(), t.TempDir()
	pool := certificate(t, dir) // signs itself: server, client and CA
	certificate(t, strange)
	web := filepath.Join(dir, "web.yml")
	text := fmt.Sprintf("tls_server_config:\n  cert_file: %[1]s/cert.pem\n  key_file: %[1]s/key.pem\n  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: %[1]s/cert.pem\n", dir)
	if err := os.WriteFile(web, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--simulate", "--simulate.pgs=50", "--web.config.file="+web)
	https := strings.Replace(s.url, "http://", "https://", 1)
	get := func(certificates string, path string) (int, error) {
		config := &tls.Config{RootCAs: pool}
		if certificates != "" {
			pair, err := tls.LoadX509KeyPair(filepath.Join(certificates, "cert.pem"), filepath.Join(certificates, "key.pem"))
			if err != nil {
				t.Fatal(err)
			}
			// Sent whatever the server says it accepts.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		resp, err := client.Get(https + path)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	for _, path := range []string{"/", "/metrics", "/-/healthy", "/-/ready", "/metric", "/debug/collector?name=pg"} {
		if code, err := get("", path); err == nil {
			t.Errorf("%s without a certificate: %d", path, code)
		}
		if code, err := get(strange, path); err == nil {
			t.Errorf("%s with a certificate of another CA: %d", path, code)
		}
	}
	await(t, "the first poll", func() error {
		code, err := get(dir, "/-/ready")
		if err != nil || code != http.StatusOK {
			return fmt.Errorf("%d %w", code, err)
		}
		return nil
	})
	if code, err := get(dir, "/metrics"); err != nil || code != http.StatusOK {
		t.Errorf("with a certificate: %d %v", code, err)
	}
}

// Secrets are fed in wherever one can be: the keyring, an array's password and
// session keys, the web password and its hash, a client's Authorization header,
// signatures in the ops log. Nothing that comes out holds one: log at level
// debug, every page, the recording, the state directory.
func TestSecretsComeOutNowhere(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := "AQ" + strings.Repeat("Secret0Key", 4)[:36] + "=="
	array := msatest.New(msatest.Options{})
	defer array.Close()
	pool := certificate(t, dir)
	hash, err := bcrypt.GenerateFromPassword([]byte("web-password-9"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	const signature = "51gnatureOfAPresignedURL"
	record := `{"bucket":"b","time":"2026-11-30T11:50:00.000000Z","user":"u","operation":"put_obj","uri":"PUT /b/o?X-Amz-Signature=` + signature + ` HTTP/1.1","http_status":"200","object_size":1,"total_time":1,"user_agent":"` + signature + `","trans_id":"tx1"}`
	write("ops-log-ceph-client.rgw.a.log", record+"\njunk "+signature+"\n"+record[:90]+"\n"+strings.Replace(record, "tx1", "tx2", 1)+"\n")
	stateDir, recording := filepath.Join(dir, "state"), filepath.Join(dir, "recording")
	s := serve(t, "--role=all", "--log.level=debug", "--ceph.timeout=1s",
		"--ceph.config="+write("ceph.conf", "[global]\nmon host = 127.0.0.1:1\nkey = "+key+"\n"),
		"--ceph.keyring="+write("keyring", "[client.risk]\nkey = "+key+"\n"),
		"--collector.msa", "--collector.msa.interval=1s", "--msa.config="+write("msa.yml", fmt.Sprintf(
			"arrays:\n- name: a\n  controllers: [%q, %q]\n  user: %s\n  password_file: %s\n  tls: {ca_file: %s}\n",
			array.A.Address(), array.B.Address(), array.User(), write("password", array.Password()), write("ca", string(array.CertificatePEM())))),
		"--collector.rgw.interval=1s", "--rgw.ops-log="+filepath.Join(dir, "ops-log-*.log"), "--path.run="+dir, "--path.sysfs="+dir,
		"--debug.record="+recording, "--state-dir="+stateDir,
		"--web.config.file="+write("web.yml", fmt.Sprintf("tls_server_config:\n  cert_file: %[1]s/cert.pem\n  key_file: %[1]s/key.pem\nbasic_auth_users:\n  prometheus: %s\n", dir, hash)))
	s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	s.url = strings.Replace(s.url, "http://", "https://", 1)

	var out strings.Builder
	visit := func(path, password string) int {
		req, err := http.NewRequest(http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("prometheus", password)
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := resp.Header.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&out, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	await(t, "the first polls", func() error {
		if code := visit("/-/ready", "web-password-9"); code != http.StatusOK {
			return fmt.Errorf("%d", code)
		}
		return nil
	})
	visit("/metrics", "wrong-password-8")
	polled := regexp.MustCompile(`cephrisk_collector_polls_total\{collector="msa"\} (\d+)\n`)
	polls := func() string {
		visit("/metrics", "web-password-9")
		found := polled.FindAllStringSubmatch(out.String(), -1)
		if len(found) == 0 {
			return ""
		}
		return found[len(found)-1][1]
	}
	for kind := msatest.Junk; kind <= msatest.Refuse; kind++ {
		if kind == msatest.Huge {
			continue
		}
		array.ExpireSessions()
		array.A.SetFault(msatest.Fault{Kind: kind})
		before := polls()
		await(t, "a poll of the array with its fault", func() error { // whatever comes of it
			if now := polls(); now == before {
				return fmt.Errorf("still %s polls", now)
			}
			return nil
		})
	}
	for _, path := range []string{"/", "/metrics", "/metric?name=cephrisk_msa_up", "/-/healthy", "/nothing"} {
		visit(path, "web-password-9")
	}
	for _, name := range []string{"pg", "osd", "forecast", "msa", "rgw", "daemon", "bluestore", "enclosure"} {
		visit("/debug/collector?name="+name, "web-password-9")
	}
	s.end()

	modes(t, stateDir)
	for _, path := range []string{stateDir, recording} {
		err := filepath.Walk(path, func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			out.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := out.String() + s.log.String()
	for _, must := range []string{"cephrisk_msa_", "cephrisk_rgw_uploads_completed_total", "collector fails", `cephrisk_collector_success{collector="pg"} 0`} {
		if !strings.Contains(all, must) {
			t.Errorf("%q was never said: the secrets were not used", must)
		}
	}
	secrets := append([]string{
		key, key[2:30], "web-password-9", "wrong-password-8", string(hash), signature, array.Password(),
		base64.StdEncoding.EncodeToString([]byte("prometheus:web-password-9")), base64.StdEncoding.EncodeToString([]byte("prometheus:wrong-password-8")),
	}, array.Secrets()...)
	if len(secrets) < 12 {
		t.Errorf("only %d secrets were used", len(secrets))
	}
	for _, secret := range secrets {
		if i := strings.Index(all, secret); i >= 0 {
			t.Errorf("%.12q... came out: %q", secret, all[max(0, i-200):i])
		}
	}
}

// A command line can be read by everybody on the host: no flag takes a secret,
// only files that hold one.
func TestNoFlagTakesASecret(t *testing.T) {
	_, help, _ := ended(t, "--help")
	flags := regexp.MustCompile(`(?m)^\s+(?:-\w, )?--(?:\[no-\])?([a-z0-9.-]+)`).FindAllStringSubmatch(help, -1)
	if len(flags) < 40 {
		t.Fatalf("only %d flags found in the help", len(flags))
	}
	for _, f := range flags {
		if name := f[1]; regexp.MustCompile(`pass|secret|token|credential|key$`).MatchString(name) {
			t.Errorf("--%s", name)
		}
	}
}
