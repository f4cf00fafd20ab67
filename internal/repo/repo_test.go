// Package repo holds the tests of what the repository promises as a whole:
// import directions, no trace of the machine it was made on.
package repo

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ceph-risk/ceph_risk_exporter/"

func top(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files lists the tree's files, as git has them where there is git, and as they
// lie there in an unpacked archive.
func files(t *testing.T) []string {
	t.Helper()
	dir := top(t)
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = dir
	if out, err := cmd.Output(); err == nil {
		var list []string
		for _, f := range strings.Split(strings.Trim(string(out), "\x00"), "\x00") {
			if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
				list = append(list, f)
			}
		}
		return list
	}
	var list []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// imports returns the import paths of one Go file.
func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top(t), file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

// testOnly are packages that serve tests and the demo, never the product.
var testOnly = []string{"internal/cephtest", "internal/msa/msatest", "internal/page/pagetest", "internal/repo", "internal/bench", "internal/helpdoc"}

func isTestOnly(dir string) bool {
	return slices.ContainsFunc(testOnly, func(p string) bool { return dir == p || strings.HasPrefix(dir, p+"/") })
}

// Dependencies point downwards only: cmd, collector, internal. The cluster is
// reached through an interface, so only cmd knows librados.
func TestImportsPointDownwards(t *testing.T) {
	checked := 0
	for _, file := range files(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		checked++
		dir := filepath.ToSlash(filepath.Dir(file))
		for _, path := range imports(t, file) {
			own, isOwn := strings.CutPrefix(path, module)
			switch {
			case path == "C" && dir != "internal/rados":
				t.Errorf("%s: cgo outside of internal/rados", file)
			case strings.HasPrefix(path, "github.com/ceph/go-ceph/") && dir != "internal/rados":
				t.Errorf("%s: go-ceph outside of internal/rados", file)
			case isTestOnly(dir):
			case isOwn && isTestOnly(own):
				t.Errorf("%s: the product imports %s, which is for tests", file, own)
			case isOwn && strings.HasPrefix(own, "cmd/"):
				t.Errorf("%s: imports %s", file, own)
			case own == "internal/rados" && isOwn && !strings.HasPrefix(dir, "cmd/"):
				t.Errorf("%s: imports internal/rados; take a ceph.Commander", file)
			case isOwn && strings.HasPrefix(own, "collector") && strings.HasPrefix(dir, "internal/"):
				t.Errorf("%s: internal imports %s", file, own)
			case strings.HasPrefix(path, "github.com/prometheus/") && strings.HasPrefix(dir, "internal/") && dir != "internal/exposition" && !strings.HasPrefix(path, "github.com/prometheus/exporter-toolkit"):
				t.Errorf("%s: internal knows Prometheus (%s)", file, path)
			case (path == "log" || strings.HasPrefix(path, "github.com/go-kit/log")) && file != "cmd/ceph_risk_exporter/log.go":
				t.Errorf("%s: imports %s; log through log/slog", file, path)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d Go files were checked", checked)
	}
}

// The tree speaks of the product alone.
func TestTreeNamesNoMachinePathAndNoRegistry(t *testing.T) {
	// In pieces, so that this file does not find itself.
	traces := regexp.MustCompile(`(^|[^A-Za-z0-9_.])/(wo` + `rk|fa` + `rm|ro` + `ot)/[a-z]|(proxy|sum)\.golang\.o` + `rg|[a-z]+\.(debian|npmjs)\.o` + `rg`)
	for _, file := range files(t) {
		if file == "go.sum" || strings.HasSuffix(file, "package-lock.json") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(top(t), file))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range bytes.Split(data, []byte("\n")) {
			if m := traces.Find(line); m != nil {
				t.Errorf("%s:%d: %q", file, n+1, m)
			}
		}
	}
}

// A test that cannot run says so, and in CI that is a failure: the one place
// that may skip is cephtest.SkipOrFail.
func TestOnlySkipOrFailSkips(t *testing.T) {
	skip := regexp.MustCompile(`\bt\.Skip(f|Now)?\(`)
	for _, file := range files(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasPrefix(file, "internal/cephtest/") || file == "internal/repo/repo_test.go" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(top(t), file))
		if err != nil {
			t.Fatal(err)
		}
		if skip.Match(data) {
			t.Errorf("%s skips by itself; use cephtest.SkipOrFail", file)
		}
	}
}
