package asok_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
	"github.com/ceph-risk/ceph_risk_exporter/internal/asok/asoktest"
)

// Every value a Command can have is tried on a socket that notes what arrives.
// Before adding a line here, read in Ceph's source that the command only reads.
func TestOnlyTheseCommandsCanBeSent(t *testing.T) {
	srv := asoktest.Serve(t, filepath.Join(asoktest.Dir(t), "s"), asoktest.Func(func(string) []byte { return []byte("{}") }))
	var c asok.Client
	for v := range 256 {
		_, err := c.Ask(context.Background(), srv.Path, asok.Command(v))
		if listed := slices.Contains(asok.Commands(), asok.Command(v)); listed != (err == nil) {
			t.Errorf("value %d: listed %t, error %v", v, listed, err)
		}
	}
	want := []string{
		`{"prefix":"version","format":"json"}`,
		`{"prefix":"status","format":"json"}`,
		`{"prefix":"perf dump","format":"json"}`,
		`{"prefix":"perf histogram dump","format":"json"}`,
		`{"prefix":"counter dump","format":"json"}`,
		`{"prefix":"dump_scrubs","format":"json"}`,
		`{"prefix":"dump_scrub_reservations","format":"json"}`,
		`{"prefix":"dump_recovery_reservations","format":"json"}`,
		`{"prefix":"config show","format":"json"}`,
		`{"prefix":"bluefs stats","format":"json"}`,
	}
	var got []string
	for _, q := range srv.Questions() {
		got = append(got, strings.TrimSuffix(q, "\x00"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// In this package bytes leave through one call of Write, in exchange, whose
// argument comes from Command.wire in Ask, exchange's only caller; and no other
// package of the product speaks the wire format or dials an admin socket.
func TestNoOtherWayToSend(t *testing.T) {
	calls := map[string][]string{} // what is called -> by which function
	for _, f := range productFiles(t, ".") {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					name := called(call)
					calls[name] = append(calls[name], fn.Name.Name)
				}
				return true
			})
		}
	}
	want := map[string][]string{
		"Write":       {"exchange"},
		"exchange":    {"Ask"},
		"dial":        {"exchange"},
		"DialContext": {"dial", "dial"},
		"wire":        {"Ask"},
	}
	for name, by := range want {
		if !slices.Equal(calls[name], by) {
			t.Errorf("%s is called by %q, want %q", name, calls[name], by)
		}
	}
	for name := range calls {
		if _, listed := want[name]; !listed && (strings.HasPrefix(name, "Write") || strings.HasPrefix(name, "Dial") || name == "Copy" || name == "ReadFrom" || name == "SyscallConn") {
			t.Errorf("%s is called by %q", name, calls[name])
		}
	}
}

func TestNoOtherPackageNamesAnAdminSocketsCommands(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || name == "asok" || name == "asoktest" || name == "cephtest" || strings.HasPrefix(name, ".") && name != ".." {
			return filepath.SkipDir
		}
		for _, f := range productFiles(t, path) {
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil && strings.HasSuffix(s, "\x00") && strings.Contains(s, "prefix") {
						t.Errorf("%s holds an admin-socket question: %s", path, lit.Value)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// productFiles parses the Go files of one directory that are not tests.
func productFiles(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func called(call *ast.CallExpr) string {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
}
