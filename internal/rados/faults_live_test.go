//go:build cgo

package rados

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// live is one cluster with the exporter's key.
type live struct {
	*cephtest.Cluster
	keyring, key string
}

func TestHungClusterNeitherHangsNorKills(t *testing.T) {
	releases := []cephtest.Release{cephtest.R16, cephtest.R20}
	if cephtest.Long() {
		releases = cephtest.Releases()
	}
	for _, release := range releases {
		t.Run(release.String(), func(t *testing.T) {
			t.Parallel()
			// The worst case: the option that kills is set in every place
			// where it can be.
			const killer = "rados_mon_op_timeout"
			c := live{Cluster: cephtest.New(t, cephtest.Options{
				Release: release, OSDs: 1,
				Conf:  map[string]map[string]string{"client.risk": {killer: "1"}},
				Pools: []cephtest.Pool{{Name: "many", PGs: 1024, Size: 1}},
			})}
			ctx := t.Context()
			must(t, c.SetConfig(ctx, "client.risk", killer, "1"))
			c.keyring, c.key = c.createKey(t, "client.risk", "mon", "allow r", "mgr", "allow r")
			type part struct {
				name string
				run  func(*testing.T, live)
			}
			stopped := func(first time.Duration) part {
				return part{"mgr stopped for " + first.String(), func(t *testing.T, c live) { liveHungMgr(t, c, first) }}
			}
			parts := []part{
				{"errors name the cause", liveErrors},
				{"in place and copied are the same", liveInPlace},
				stopped(10 * time.Second),
				{"mon stopped", liveHungMon},
				{"no mgr", liveNoMgr},
				{"key revoked", liveKeyRevoked},
			}
			if cephtest.Long() {
				parts = append(parts, stopped(time.Minute), part{"connecting leaves nothing behind", liveReconnect})
			}
			for _, part := range parts {
				if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
					return
				}
			}
		})
	}
}

func (c live) createKey(t *testing.T, user string, caps ...string) (path, key string) {
	t.Helper()
	path, err := c.CreateKey(t.Context(), user, caps...)
	must(t, err)
	data, err := os.ReadFile(path)
	must(t, err)
	key, found := findKey(data, user)
	if !found {
		t.Fatalf("no key of %s", user)
	}
	return path, key
}

func (c live) config() Config {
	return Config{ConfFile: c.ConfPath(), Keyring: c.keyring, Timeout: 2 * time.Second}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func liveErrors(t *testing.T, c live) {
	write := func(name, content string) string {
		path := filepath.Join(c.Dir(), name)
		must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	monOnly, otherKey := c.createKey(t, "client.mononly", "mon", "allow r")
	noCaps, _ := c.createKey(t, "client.nocaps")
	tests := []struct {
		name   string
		change func(*Config)
		kind   string
	}{
		{"no ceph.conf", func(cfg *Config) { cfg.ConfFile = c.Dir() + "/none.conf" }, "conf"},
		{"no monitors", func(cfg *Config) { cfg.ConfFile = write("empty.conf", "[global]\n") }, "monitors"},
		{"no keyring", func(cfg *Config) { cfg.Keyring = c.Dir() + "/none" }, "keyring"},
		{"user not in keyring", func(cfg *Config) { cfg.Keyring = monOnly }, "keyring"},
		{"key of another user", func(cfg *Config) {
			cfg.Keyring = write("other.keyring", keyringOf("client.risk", otherKey))
		}, "wrong key"},
		{"unknown user", func(cfg *Config) {
			cfg.ID = "nobody"
			cfg.Keyring = write("nobody.keyring", keyringOf("client.nobody", otherKey))
		}, "wrong key"},
		{"damaged key", func(cfg *Config) {
			cfg.Keyring = write("damaged.keyring", keyringOf("client.risk", c.key[:20]))
		}, "unreadable"},
		{"no mgr capability", func(cfg *Config) { cfg.ID, cfg.Keyring = "mononly", monOnly }, "caps"},
		{"no capability at all", func(cfg *Config) { cfg.ID, cfg.Keyring = "nocaps", noCaps }, "wrong key"},
		{"nothing wrong", func(*Config) {}, ""},
	}
	if c.Release() == cephtest.R16 {
		tests = append(tests, struct {
			name   string
			change func(*Config)
			kind   string
		}{"key newer than librados", func(cfg *Config) {
			cfg.Keyring = write("new.keyring", keyringOf("client.risk", madeUpKey(2, 32)))
		}, "too new"})
	}
	var p *inside
	for _, test := range tests {
		cfg := c.config()
		cfg.Timeout = 10 * time.Second
		test.change(&cfg)
		if p == nil {
			p = goInside(t, c.Cluster, cfg)
		} else {
			p.do(request{Op: "open", Config: &cfg})
		}
		r := p.mgr(0)
		if test.kind == "" {
			r.want(t, test.name)
		} else {
			r.want(t, test.name, test.kind)
		}
		for _, key := range []string{c.key, otherKey} {
			if strings.Contains(r.Err, key) {
				t.Errorf("%s: the key is in the error", test.name)
			}
		}
		p.do(request{Op: "close"}).want(t, test.name+": close")
	}
	p.neverSaid(c.key)
	p.neverSaid(otherKey)

	cfg := c.config()
	cfg.ID, cfg.Keyring = "mononly", monOnly
	p.do(request{Op: "open", Config: &cfg})
	p.mgr(0).want(t, "before the capability was granted", "caps")
	_, err := c.Ceph(t.Context(), "auth", "caps", "client.mononly", "mon", "allow r", "mgr", "allow r")
	must(t, err)
	p.mgr(0).want(t, "the capability was granted")
	p.do(request{Op: "close"}).want(t, "close")
}

// liveInPlace compares both ways to take an answer of some megabytes, which
// stays the same as long as the only OSD is stopped. A process of its own takes
// it each way, often enough to show that memory stays level.
func liveInPlace(t *testing.T, c live) {
	must(t, c.Signal(t.Context(), "osd.0", syscall.SIGSTOP))
	defer func() { must(t, c.Signal(context.Background(), "osd.0", syscall.SIGCONT)) }()
	processes := [2]*inside{goInside(t, c.Cluster, c.config()), goInside(t, c.Cluster, c.config())}
	ask := func(way int) response {
		r := processes[way].do(request{Op: "ask", To: toMgr, Command: pgDump, InPlace: way == 1, Limit: 20 * time.Second})
		r.want(t, [2]string{"copied", "in place"}[way])
		return r
	}
	var copied, inPlace response
	eventually(t, 30*time.Second, "the same answer both ways", func() bool {
		copied, inPlace = ask(0), ask(1)
		return t.Failed() || copied.Sum == inPlace.Sum
	})
	if copied.Size != inPlace.Size || copied.Size < 3<<20 {
		t.Errorf("copied %d bytes, in place %d; want some megabytes", copied.Size, inPlace.Size)
	}
	if copied.Heap < uint64(copied.Size) || inPlace.Heap > uint64(copied.Size)/20 {
		t.Errorf("on Go's heap: copied %d, in place %d", copied.Heap, inPlace.Heap)
	}

	var early, late [2]Levels
	for way, p := range processes {
		for i := range 24 {
			ask(way)
			if i == 3 {
				early[way] = p.do(request{Op: "levels"}).Levels
			}
		}
		late[way] = p.do(request{Op: "levels"}).Levels
	}
	t.Logf("answer of %d bytes; on Go's heap: copied %d, in place %d; process after 24: copied %+v, in place %+v",
		copied.Size, copied.Heap, inPlace.Heap, late[0], late[1])
	if late[1].Peak >= late[0].Peak {
		t.Errorf("peak in place %d kB, copied %d kB", late[1].Peak, late[0].Peak)
	}
	if grown := late[1].Anon - early[1].Anon; grown > copied.Size>>10/2 {
		t.Errorf("in place, 20 answers of %d bytes made the process grow by %d kB", copied.Size, grown)
	}
}

// liveHungMgr stops the mgr twice: after the second time the process takes no
// more than after the first.
func liveHungMgr(t *testing.T, c live, first time.Duration) {
	p := goInside(t, c.Cluster, c.config())
	p.await("before", p.mgr)
	p.hangMgr(c, first)
	before := p.allBack()
	p.hangMgr(c, 4*time.Second)
	after := p.allBack()
	t.Logf("after the first time %+v, after the second %+v", before, after)
	if after.Threads > before.Threads+2 || after.Descriptors > before.Descriptors || after.Goroutines > before.Goroutines {
		t.Errorf("levels rose from %+v to %+v", before, after)
	}
	p.do(request{Op: "close"}).want(t, "close")
	p.neverSaid(c.key)
}

// stop stops a daemon, and returns the error of the first command that it did
// not answer: the kernel takes a moment to stop all of its threads.
func (p *inside) stop(c live, daemon string, ask func(time.Duration) response) (r response) {
	p.t.Helper()
	must(p.t, c.Signal(p.t.Context(), daemon, syscall.SIGSTOP))
	eventually(p.t, 30*time.Second, daemon+" answers no more", func() bool {
		r = ask(2 * time.Second)
		return r.Err != ""
	})
	return r
}

func (p *inside) hangMgr(c live, atLeast time.Duration) {
	t := p.t
	t.Helper()
	p.stop(c, "mgr.x", p.mgr).want(t, "mgr stopped", "given up", "mgr hung")
	began := time.Now()
	seen := map[string]int{}
	for time.Since(began) < atLeast {
		began := time.Now()
		r := p.mgr(2 * time.Second)
		if r.Err == "" {
			t.Fatal("a stopped mgr answered")
		}
		seen[fmt.Sprint(r.Kinds)]++
		p.mon(10*time.Second).want(t, "mon, while the mgr hangs")
		if time.Since(began) < 500*time.Millisecond { // refused or told at once
			time.Sleep(time.Second)
		}
	}
	s := p.stats()
	t.Logf("mgr stopped for %v: %v, %+v, %+v", time.Since(began).Round(time.Second), seen, s, p.do(request{Op: "levels"}).Levels)
	if s.Stuck == 0 || s.Stuck > s.Limit {
		t.Errorf("while the mgr was stopped: %v, %+v", seen, s)
	}
	for kinds := range seen {
		switch kinds {
		case "[given up mgr hung]", "[given up no mgr]", "[no mgr]", "[refused]":
		default:
			t.Errorf("while the mgr was stopped: kinds %s", kinds)
		}
	}
	must(t, c.Signal(t.Context(), "mgr.x", syscall.SIGCONT))
	p.await("after the mgr went on", p.mgr)
}

func liveHungMon(t *testing.T, c live) {
	p := goInside(t, c.Cluster, c.config())
	p.await("before", p.mon)
	p.stop(c, "mon.a", p.mon).want(t, "mon stopped while connected", "quorum", "given up")
	for range 2 {
		r := p.mon(2 * time.Second)
		if len(r.Kinds) == 0 || r.Kinds[len(r.Kinds)-1] != "quorum" {
			t.Errorf("mon stopped, new connection: %q %s", r.Kinds, r.Err)
		}
	}
	if s := p.stats(); s.Abandoned == 0 {
		t.Errorf("%+v", s)
	}
	must(t, c.Signal(t.Context(), "mon.a", syscall.SIGCONT))
	p.await("after the mon went on", p.mon)
	p.await("after the mon went on", p.mgr)
	p.allBack()
	p.do(request{Op: "close"}).want(t, "close")
}

func liveNoMgr(t *testing.T, c live) {
	p := goInside(t, c.Cluster, c.config())
	p.await("before", p.mgr)
	must(t, c.Stop(t.Context(), "mgr.x"))
	// Otherwise the mon waits for its beacon for half a minute.
	if _, err := c.Ceph(t.Context(), "mgr", "fail", "x"); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		r := p.mgr(2 * time.Second)
		if len(r.Kinds) == 0 || r.Kinds[len(r.Kinds)-1] != "no mgr" {
			t.Errorf("without a mgr: %q %s", r.Kinds, r.Err)
		}
	}
	if s := p.stats(); s.Stuck != 1 {
		t.Errorf("%d commands wait for a mgr, want 1", s.Stuck)
	}
	must(t, c.Start(t.Context(), "mgr.x"))
	p.await("after the mgr came", p.mgr)
	p.allBack()
	p.do(request{Op: "close"}).want(t, "close")
}

// liveKeyRevoked shows that a connection outlives its key (its tickets do), and
// that a new one says what is wrong.
func liveKeyRevoked(t *testing.T, c live) {
	ctx := t.Context()
	keyring, _ := c.createKey(t, "client.short", "mon", "allow r", "mgr", "allow r")
	cfg := c.config()
	cfg.ID, cfg.Keyring = "short", keyring
	p := goInside(t, c.Cluster, cfg)
	p.await("before", p.mgr)
	must(t, c.RemoveKey(ctx, "client.short"))
	p.mgr(2*time.Second).want(t, "revoked, while connected")
	// Have the connection replaced.
	p.stop(c, "mgr.x", p.mgr)
	must(t, c.Signal(ctx, "mgr.x", syscall.SIGCONT))
	p.mon(2*time.Second).want(t, "revoked, new connection", "wrong key")
	if _, err := c.Ceph(ctx, "auth", "add", "client.short", "-i", keyring, "mon", "allow r", "mgr", "allow r"); err != nil {
		t.Fatal(err)
	}
	p.await("the key was given back", p.mgr)
	p.allBack()
	p.do(request{Op: "close"}).want(t, "close")
}

// liveReconnect connects as often as an exporter does in hours in which each
// poll fails, once with a key that is accepted and once with one that is not.
func liveReconnect(t *testing.T, c live) {
	good, bad := c.config(), c.config()
	bad.Keyring = filepath.Join(c.Dir(), "bad.keyring")
	must(t, os.WriteFile(bad.Keyring, []byte(keyringOf("client.risk", madeUpKey(1, 16))), 0o600))
	for name, cfg := range map[string]Config{"accepted": good, "not accepted": bad} {
		p := goInside(t, c.Cluster, cfg)
		var before Levels
		for i := range 600 {
			p.do(request{Op: "open", Config: &cfg})
			if r := p.mon(10 * time.Second); (r.Err == "") != (name == "accepted") {
				t.Fatalf("%s: %s", name, r.Err)
			}
			p.do(request{Op: "close"})
			if i == 299 {
				before = p.do(request{Op: "levels"}).Levels
			}
		}
		after := p.do(request{Op: "levels"}).Levels
		t.Logf("%s: after 300 connections %+v, after 600 %+v", name, before, after)
		if after.Threads > before.Threads+2 || after.Descriptors > before.Descriptors || after.Anon > before.Anon+4<<10 {
			t.Errorf("%s: levels rose from %+v to %+v", name, before, after)
		}
	}
}
