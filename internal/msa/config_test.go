package msa

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestConfigurationIsReadWhole(t *testing.T) {
	c, err := ParseConfig([]byte(`
arrays:
- name: one
  controllers: [192.0.2.1, "https://msa-b.example.net:8443/"]
  user: monitor
  password_file: /etc/one
- name: two
  controllers: ["http://192.0.2.3", "2001:db8::1"]
  user: u
  password_file: two
  hash: md5
  api: /v3/api
  timeout: 45s
  tls: {insecure_skip_verify: true, server_name: msa, min_version: "1.0"}
`))
	if err != nil {
		t.Fatal(err)
	}
	type plain struct {
		Name, User, File string
		URLs             []string
		Hash             Hash
		Base             string
		Timeout          time.Duration
		Skip             bool
		Server           string
		Version          uint16
	}
	var got []plain
	for _, a := range c.Arrays() {
		p := plain{
			Name: a.Name, User: a.User, File: a.PasswordFile, Hash: a.Hash, Base: a.Base, Timeout: a.Timeout,
			Skip: a.TLS.InsecureSkipVerify, Server: a.TLS.ServerName, Version: a.TLS.MinVersion,
		}
		for _, u := range a.Controllers {
			p.URLs = append(p.URLs, u.String())
		}
		got = append(got, p)
	}
	want := []plain{
		{"one", "monitor", "/etc/one", []string{"https://192.0.2.1", "https://msa-b.example.net:8443"}, HashAuto, "", DefaultTimeout, false, "", tls.VersionTLS12},
		{"two", "u", "two", []string{"http://192.0.2.3", "https://[2001:db8::1]"}, HashMD5, "/v3/api", 45 * time.Second, true, "msa", tls.VersionTLS10},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if n := len(c.Arrays()[0].TLS.CipherSuites); n != 0 {
		t.Errorf("%d suites are set although TLS 1.2 is the least", n)
	}
}

func TestConfigurationErrorsSayWhatIsWrong(t *testing.T) {
	const good = "  controllers: [192.0.2.1]\n  user: u\n  password_file: p\n"
	for _, test := range []struct{ text, want string }{
		{"", "no arrays"},
		{"arrays: []", "no arrays"},
		{"arrays: 5", "decode: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!int `5` into []msa.arrayYAML"},
		{"arrays:\n- name: a\n  pasword_file: x\n", "decode: yaml: unmarshal errors:\n  line 3: field pasword_file not found in type msa.arrayYAML"},
		{"arrays:\n- name: a\n  password: secret\n" + good, "decode: yaml: unmarshal errors:\n  line 3: field password not found in type msa.arrayYAML"},
		{"arrays:\n- {}", "array 1 (\"\"): name is missing\nuser is missing\npassword_file is missing\ncontrollers: one or two addresses are needed, not 0"},
		{"arrays:\n- name: a\n" + good + "- name: a\n" + good, "array 2 (\"a\"): name is taken by an array above"},
		{"arrays:\n- {name: a, user: u, password_file: p, controllers: [a, b, c]}", "array 1 (\"a\"): controllers: one or two addresses are needed, not 3"},
		{"arrays:\n- {name: a, user: u, password_file: p, controllers: [a, \"https://a\"]}", "array 1 (\"a\"): controllers: a is there twice"},
		{"arrays:\n- {name: a, user: u, password_file: p, controllers: [\"ftp://a\"]}", "array 1 (\"a\"): controllers: a: scheme \"ftp\" is neither https nor http"},
		{"arrays:\n- {name: a, user: u, password_file: p, controllers: [\"https://u:secret@a\"]}", "array 1 (\"a\"): controllers: a: user and password do not belong into the address"},
		{"arrays:\n- {name: a, user: u, password_file: p, controllers: [\"u:secret@a b\"]}", "array 1 (\"a\"): controllers: an address is not a host, host:port or URL"},
		{"arrays:\n- {name: a, user: u, password_file: p, controllers: [\"a/api\"]}", "array 1 (\"a\"): controllers: \"https://a/api\" is not a host, host:port or URL without a path"},
		{"arrays:\n- name: a\n  hash: sha1\n" + good, "array 1 (\"a\"): hash: \"sha1\" is none of auto, md5, sha256"},
		{"arrays:\n- name: a\n  api: /x\n" + good, "array 1 (\"a\"): api: \"/x\" is none of auto, /api, /v3/api"},
		{"arrays:\n- name: a\n  timeout: 2m\n" + good, "array 1 (\"a\"): timeout: \"2m\" is not a duration from 1s to 1m0s"},
		{"arrays:\n- name: a\n  tls: {min_version: \"0.9\"}\n" + good, "array 1 (\"a\"): tls: min_version: \"0.9\" is none of 1.0, 1.1, 1.2, 1.3"},
		{"arrays:\n- name: a\n  tls: {ca_file: /nowhere/ca.pem}\n" + good, "array 1 (\"a\"): tls: ca_file: open /nowhere/ca.pem: no such file or directory"},
		{"arrays:\n- name: a\n  tls: {ca_file: x, insecure_skip_verify: true}\n" + good, "array 1 (\"a\"): tls: ca_file and insecure_skip_verify exclude each other"},
	} {
		if _, err := ParseConfig([]byte(test.text)); errorText(err) != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.text, errorText(err), test.want)
		}
	}
}

func TestPasswordFileIsCheckedAtStart(t *testing.T) {
	dir := t.TempDir()
	password, config := filepath.Join(dir, "password"), filepath.Join(dir, "msa.yml")
	text := "arrays:\n- {name: a, user: u, controllers: [a], password_file: " + password + "}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadConfig(config)
	if want := "msa configuration " + config + ": array \"a\": password_file: open " + password + ": no such file or directory"; errorText(err) != want {
		t.Errorf("got  %s\nwant %s", errorText(err), want)
	}
	for text, want := range map[string]string{"": "", "\n": "", "pass word \r\n": "pass word ", "x": "x"} {
		if err := os.WriteFile(password, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadConfig(config)
		if (err == nil) != (want != "") {
			t.Errorf("%q: error %v", text, err)
		}
		if err == nil {
			if got, _ := c.Arrays()[0].password(); got.reveal() != want {
				t.Errorf("%q: password %q", text, got.reveal())
			}
		}
	}
}
