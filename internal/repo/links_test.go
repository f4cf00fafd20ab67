package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// A document that links to a file of the tree links to one that is there, and
// every document of docs/ can be found from the README.
func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	linked := map[string]bool{}
	var documents []string
	for _, file := range files(t) {
		if !strings.HasSuffix(file, ".md") {
			continue
		}
		if filepath.Dir(file) == "docs" {
			documents = append(documents, file)
		}
		data, err := os.ReadFile(filepath.Join(top(t), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			to := filepath.Join(filepath.Dir(file), m[1])
			if _, err := os.Stat(filepath.Join(top(t), to)); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			}
			if file == "README.md" {
				linked[to] = true
			}
		}
	}
	for _, d := range documents {
		if !linked[d] {
			t.Errorf("README.md does not lead to %s", d)
		}
	}
}
