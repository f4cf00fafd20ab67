package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMirrorIsReadFromAptConfiguration(t *testing.T) {
	list := filepath.Join(t.TempDir(), "mirrors.txt")
	write(t, list, "# nearest first\nhttp://first.test/debian/ priority:1\nhttp://second.test/debian\n")
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // "" means an error
	}{
		{"one-line", map[string]string{"sources.list": "# deb http://commented.test/debian bookworm main\n" +
			"deb-src http://source.test/debian bookworm main\n" +
			"deb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian/ bookworm main contrib # here\n"}, "http://mirror.test/debian"},
		{"deb822", map[string]string{"sources.list.d/debian.sources": "Types: deb\n# a comment\nURIs: http://mirror.test/debian\n" +
			"Suites: bookworm\n bookworm-updates\nComponents: main\n\nTypes: deb\nURIs: http://security.test\nSuites: bookworm-security\nComponents: main\n"},
			"http://mirror.test/debian"},
		{"security and vendors first", map[string]string{
			"sources.list":               "deb http://security.test trixie-security main\ndeb http://vendor.test/apt stable vendor\n",
			"sources.list.d/z.sources":   "Types: deb deb-src\nURIs: http://mirror.test/d\nSuites: trixie\nComponents: main\n",
			"sources.list.d/a.list.save": "deb http://saved.test bookworm main\n",
		}, "http://mirror.test/d"},
		{"disabled", map[string]string{"sources.list.d/d.sources": "Types: deb\nEnabled: no\nURIs: http://mirror.test\nSuites: sid\nComponents: main\n"}, ""},
		{"mirror list", map[string]string{"sources.list": "deb mirror+file:" + list + " sid main\n"}, "http://first.test/debian"},
		{"none", nil, ""},
		{"nonsense", map[string]string{"sources.list": "deb\ndeb [\ndebug x y\ndeb http://only-uri\n", "sources.list.d/x.sources": " begins with a blank\nno colon\n"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			etc := t.TempDir()
			for name, data := range tt.files {
				write(t, filepath.Join(etc, name), data)
			}
			got, err := debianMirror(etc)
			if got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("debianMirror = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}
