package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every module that we ask for ourselves is listed with its reason, under what
// it is for.
func TestDependenciesAreListedWithTheirReason(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(top(t), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	listed := map[string][]string{}
	section := ""
	for line := range strings.Lines(read("docs/dependencies.md")) {
		if s, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(s)
		}
		if m := regexp.MustCompile("^\\| `([^`]+)` \\| .{5,} \\|\n$").FindStringSubmatch(line); m != nil {
			listed[section] = append(listed[section], m[1])
		}
	}
	want := map[string][]string{"Tools": directives(read("tools/go.mod"), "tool")}
	product := productImports(t)
	for _, m := range directives(read("go.mod"), "require") {
		where := "In tests alone"
		if slices.ContainsFunc(product, func(p string) bool { return p == m || strings.HasPrefix(p, m+"/") }) {
			where = "In the programs"
		}
		want[where] = append(want[where], m)
	}
	for _, s := range []string{"In the programs", "In tests alone", "Tools"} {
		if !slices.Equal(listed[s], want[s]) {
			t.Errorf("docs/dependencies.md, %s:\n%s\nwant:\n%s", s, strings.Join(listed[s], "\n"), strings.Join(want[s], "\n"))
		}
	}
}

// directives returns the modules of require or tool blocks, indirect ones left
// out.
func directives(mod, name string) []string {
	var out []string
	in := false
	for line := range strings.Lines(mod) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == name && f[1] == "(":
			in = true
		case len(f) == 1 && f[0] == ")":
			in = false
		case in && len(f) > 0 && !strings.Contains(line, "// indirect"):
			out = append(out, f[0])
		}
	}
	return out
}

// productImports returns what the programs' packages import.
func productImports(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, file := range files(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !isTestOnly(dir) {
			out = append(out, imports(t, file)...)
		}
	}
	return out
}
