package cephtest

import (
	"fmt"
	"testing"
)

// A verdict is a testing.TB that records how a test would have ended first.
type verdict struct {
	testing.TB
	said string
}

func (v *verdict) Helper()                   {}
func (v *verdict) Skip(args ...any)          { v.end("skip: " + fmt.Sprint(args...)) }
func (v *verdict) Fatalf(f string, a ...any) { v.end("fail: " + fmt.Sprintf(f, a...)) }

func (v *verdict) end(how string) {
	if v.said == "" {
		v.said = how
	}
}

func TestMissingToolSkipsOnALaptopAndFailsInCI(t *testing.T) {
	for _, tt := range []struct{ ci, want string }{
		{"", `skip: exec: "no-such-tool": executable file not found in $PATH`},
		{"false", `skip: exec: "no-such-tool": executable file not found in $PATH`},
		{"true", `fail: needed where CI=true: exec: "no-such-tool": executable file not found in $PATH`},
	} {
		t.Setenv("CI", tt.ci)
		v := &verdict{}
		RequireTool(v, "sh", "no-such-tool")
		if v.said != tt.want {
			t.Errorf("CI=%q: %q, want %q", tt.ci, v.said, tt.want)
		}
	}
	v := &verdict{}
	if RequireTool(v, "sh"); v.said != "" {
		t.Errorf("a tool that is there: %q", v.said)
	}
}

func TestLongFormIsAskedForByEnvironment(t *testing.T) {
	for env, want := range map[string]string{"": "skip: runs in the long form only, with CEPHRISK_LONG=1", "1": ""} {
		t.Setenv("CEPHRISK_LONG", env)
		v := &verdict{}
		if SkipUnlessLong(v); v.said != want {
			t.Errorf("CEPHRISK_LONG=%q: %q, want %q", env, v.said, want)
		}
	}
}
