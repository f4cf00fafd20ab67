package main

import (
	"net/http"
	"strings"
	"testing"
)

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
