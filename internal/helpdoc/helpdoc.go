// Package helpdoc makes man pages and completion scripts from what a program
// says of itself, and checks that the committed ones are current. For tests.
package helpdoc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Program is a program that kingpin parses the arguments of.
type Program struct {
	Name    string
	Section int
	Does    string                  // for NAME: one line, no full stop
	Main    func(args []string) int // prints to os.Stdout, returns the exit code
	Extra   string                  // further sections, in roff
}

// Check compares the generated files below top with what the program says now,
// and with update rewrites them.
func Check(t *testing.T, top string, p Program, update bool) {
	t.Helper()
	for path, want := range map[string]string{
		fmt.Sprintf("docs/man/%s.%d", p.Name, p.Section): p.manPage(stdout(t, p, "--help-man")),
		"deploy/completion/" + p.Name + ".bash":          strings.TrimSpace(stdout(t, p, "--completion-script-bash")) + "\n",
		"deploy/completion/_" + p.Name:                   strings.TrimSpace(stdout(t, p, "--completion-script-zsh")) + "\n",
	} {
		path = filepath.Join(top, path)
		if update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not current (make update):\n%s", path, cmp.Diff(want, string(got)))
		}
	}
}

// stdout runs the program. kingpin writes these texts to os.Stdout, whatever
// writer it was given.
func stdout(t *testing.T, p Program, args ...string) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	real := os.Stdout
	os.Stdout = write
	printed := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(read)
		printed <- data
	}()
	code := p.Main(args)
	os.Stdout = real
	_ = write.Close()
	out := <-printed
	_ = read.Close()
	if code != 0 || len(bytes.TrimSpace(out)) == 0 {
		t.Fatalf("%s %s: code %d, printed %q", p.Name, strings.Join(args, " "), code, out)
	}
	return string(out)
}

// manPage makes kingpin's page one that man and its index understand: a header
// without build details, a one-line description, hyphens that can be copied,
// and no text line that roff takes for a request.
func (p Program) manPage(raw string) string {
	var out strings.Builder
	fmt.Fprintf(&out, ".\\\" Generated from the flags (make update).\n.TH %s %d \"\" \"%s\" \"\"\n", strings.ToUpper(p.Name), p.Section, p.Name)
	lines := strings.Split(strings.TrimSpace(raw), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, ".TH "), line == "":
		case i > 0 && lines[i-1] == `.SH "NAME"`:
			fmt.Fprintf(&out, "%s \\- %s\n", line, p.Does)
		case strings.HasPrefix(line, "."):
			out.WriteString(line + "\n")
		default:
			line = strings.ReplaceAll(line, "-", `\-`)
			if strings.HasPrefix(line, "'") {
				line = `\&` + line
			}
			out.WriteString(line + "\n")
		}
	}
	out.WriteString(strings.TrimSpace(p.Extra) + "\n")
	return out.String()
}
