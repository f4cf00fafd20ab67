package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
)

// The page names families by their names: each must be one that a collector
// declares, with these labels.
func TestPagesReadFamiliesThatExist(t *testing.T) {
	exists := map[string]bool{}
	for _, d := range declared() {
		exists[d.Name] = true
	}
	sources, err := filepath.Glob("../../internal/page/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, "../../internal/page/pagetest/pagetest.go")
	seen := 0
	for _, file := range sources {
		text, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, name := range regexp.MustCompile(`"(cephrisk_[a-z0-9_]*[a-z0-9])"`).FindAllStringSubmatch(string(text), -1) {
			seen++
			if !exists[name[1]] {
				t.Errorf("%s reads %s, which nobody exports", file, name[1])
			}
		}
		for _, name := range regexp.MustCompile(`shelf\("([a-z_]+)"`).FindAllStringSubmatch(string(text), -1) {
			if !exists["cephrisk_enclosure_"+name[1]] {
				t.Errorf("%s reads cephrisk_enclosure_%s, which nobody exports", file, name[1])
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d names were found", seen)
	}
}

// Which collectors run here, and why the others do not.
func TestOverviewOfEachRoleSaysWhatIsOffAndWhy(t *testing.T) {
	empty := t.TempDir()
	host := []string{"--path.run=" + empty, "--path.sysfs=" + empty, "--path.dev=" + empty, "--path.rootfs=" + empty}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"--simulate", "--simulate.pgs=50", "--no-collector.osd"}, []string{
			"Collector enclosure does not run here: it belongs to the host role, which the exporter on each Ceph host has; this one has --role=cluster.",
			"Collector msa does not run here: it runs only when asked for, with --collector.msa.",
			"Collector osd does not run here: it was switched off with --no-collector.osd.",
			"This cluster is made up",
		}},
		{append(host, "--role=host"), []string{
			"Collector pg does not run here: it belongs to the cluster role, which one exporter per cluster has; this one has --role=host.",
			"What this exporter sees",
		}},
	} {
		s := serve(t, c.args...)
		s.awaitReady()
		_, body := s.get("/")
		for _, want := range c.says {
			if !strings.Contains(body, want) {
				t.Errorf("%q: the page does not say %q", c.args, want)
			}
		}
		s.end()
	}
}

// Without the pages, the exporter serves metrics and its health, and no more.
func TestPagesCanBeSwitchedOff(t *testing.T) {
	s := serve(t, "--simulate", "--simulate.pgs=50", "--no-web.pages")
	s.awaitReady()
	for path, want := range map[string]int{"/": 404, "/metric": 404, "/debug/collector?name=pg": 404, "/metrics": 200, "/-/healthy": 200} {
		if code, _ := s.get(path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	s.end()
}

// A page view is served while polls hang: nobody is asked.
func TestPagesAreServedWhileTheClusterHangs(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "ceph.conf")
	if err := os.WriteFile(conf, []byte("[global]\nmon host = 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--ceph.config="+conf, "--ceph.keyring="+conf, "--ceph.timeout=5m")
	for _, path := range []string{"/", "/metric?__name__=cephrisk_pool_pgs_late", "/debug/collector?name=pg"} {
		if code, body := s.get(path); code != http.StatusOK || !regexp.MustCompile("has not ended its first poll yet|No poll has|fails|none since the start").MatchString(body) {
			t.Errorf("%s: %d\n%s", path, code, body)
		}
	}
	s.stop()
}

// --once polls every collector that was chosen, each once, and its code says
// whether all succeeded.
func TestOncePollsEveryCollectorAndItsCodeSaysHowItWent(t *testing.T) {
	empty := t.TempDir()
	broken := filepath.Join(empty, "not-a-directory")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run  string
		code int
	}{{empty, exitOK}, {broken, exitFailed}} {
		code, stdout, stderr := ended(t, "--once", "--role=all", "--simulate", "--simulate.pgs=100",
			"--path.run="+c.run, "--path.sysfs="+empty, "--path.dev="+empty, "--path.rootfs="+empty)
		var polled, failed []string
		for _, m := range regexp.MustCompile(`cephrisk_collector_success\{collector="([a-z]+)"\} ([01])`).FindAllStringSubmatch(stdout, -1) {
			polled = append(polled, m[1])
			if m[2] == "0" {
				failed = append(failed, m[1])
			}
		}
		var want []string
		for _, s := range collector.Specs() {
			if s.Roles != 0 {
				want = append(want, s.Name)
			}
		}
		slices.Sort(want)
		if !slices.Equal(polled, want) || code != c.code || (len(failed) > 0) != (code == exitFailed) {
			t.Errorf("polled %q, want %q; failed %q, code %d, want %d\n%s", polled, want, failed, code, c.code, stderr)
		}
	}
}

func TestDebugPageTellsWhatACollectorAskedAndCanBeSwitchedOff(t *testing.T) {
	s := serve(t, "--simulate", "--simulate.pgs=100")
	s.awaitReady()
	code, body := s.get("/debug/collector?name=pg")
	for _, want := range []string{"ended well", "mgr  pg ls scrubbing recovering", "mon  health detail: ", "mgr  pg dump pgs: ", ": 100 PGs, 0 entries bad, mgr ready: true"} {
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d, no %q in:\n%s", code, want, body)
		}
	}
	if code, body := s.get("/debug/collector?name=daemon"); code != http.StatusNotFound || !strings.Contains(body, "takes one of: forecast, osd, pg") {
		t.Errorf("%d %s", code, body)
	}
	s.end()

	s = serve(t, "--simulate", "--simulate.pgs=100", "--no-web.pages")
	if code, _ := s.get("/debug/collector?name=pg"); code != http.StatusNotFound {
		t.Errorf("served with --no-web.pages: %d", code)
	}
	s.end()
}

func TestProfilesAreServedByFlagOnly(t *testing.T) {
	paths := []string{"/debug/pprof/", "/debug/pprof/heap?debug=1", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/trace?seconds=0.01"}
	for _, c := range []struct {
		args []string
		want int
	}{{nil, http.StatusNotFound}, {[]string{"--web.pprof"}, http.StatusOK}} {
		s := serve(t, append(c.args, "--simulate", "--simulate.pgs=100")...)
		for _, path := range paths {
			if code, _ := s.get(path); code != c.want {
				t.Errorf("%q: %s: %d, want %d", c.args, path, code, c.want)
			}
		}
		s.end()
	}
}
