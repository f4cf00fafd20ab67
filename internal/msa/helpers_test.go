package msa

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
)

// noon is the time of a test's first poll.
var noon = time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)

// startPeer runs a made-up array.
func startPeer(t testing.TB, o msatest.Options) *msatest.Array {
	t.Helper()
	peer := msatest.New(o)
	t.Cleanup(peer.Close)
	return peer
}

// configure writes the files of a configuration for that array and loads it.
// extra are more lines of YAML.
func configure(t testing.TB, peer *msatest.Array, extra ...string) ArrayConfig {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	password := write("password", []byte(peer.Password()+"\n"))
	ca := write("ca.pem", peer.CertificatePEM())
	text := fmt.Sprintf("arrays:\n- name: a1\n  controllers: [%q, %q]\n  user: %s\n  password_file: %s\n",
		peer.A.Address(), peer.B.URL(), peer.User(), password)
	if !strings.Contains(strings.Join(extra, "\n"), "tls:") {
		text += "  tls: {ca_file: " + ca + "}\n"
	}
	for _, line := range extra {
		text += "  " + line + "\n"
	}
	c, err := LoadConfig(write("msa.yml", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return c.Arrays()[0]
}

// open prepares an array's client for a peer.
func open(t testing.TB, peer *msatest.Array, extra ...string) *Array {
	t.Helper()
	a := NewArray(configure(t, peer, extra...))
	t.Cleanup(func() { a.Close(context.Background()) })
	return a
}

// impatient shortens the request timeout below what a configuration may say, for
// controllers whose answers are not waited for in vain on a busy machine: those
// that are made to fail.
func impatient(a *Array, controllers ...int) {
	for _, n := range controllers {
		a.controllers[n].timeout = 300 * time.Millisecond
	}
}

func patient(a *Array) {
	for _, c := range a.controllers {
		c.timeout = DefaultTimeout
	}
}

// limited shortens the longest answer.
func limited(a *Array) *Array {
	for _, c := range a.controllers {
		c.limit = 256 << 10
	}
	return a
}

// up says which controllers answered.
func up(r *Report) []bool {
	var list []bool
	for _, c := range r.Controllers {
		list = append(list, c.Err == nil)
	}
	return list
}

// failed lists the commands that failed.
func failed(r *Report) []string {
	list := []string{}
	for _, c := range r.Commands {
		if c.Err != nil {
			list = append(list, c.Command)
		}
	}
	return list
}
