package repo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// secrets are what must never be in the tree or in its history. gitleaks (make
// secrets) knows hundreds more; it does not know Ceph's keys.
var secrets = map[string]*regexp.Regexp{
	// 28 or 44 bytes that begin with type 1 or 2 (AES) and end in base64.
	"a Ceph key":           regexp.MustCompile(`\bA[QgwA][A-Za-z0-9+/]{6}A{0,2}[A-Za-z0-9+/]{28,50}={1,2}`),
	"a private key":        regexp.MustCompile(`-----BEGIN ([A-Z]+ )?PRIVATE KEY-----`),
	"an AWS access key":    regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`),
	"a GitHub token":       regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36}\b`),
	"a password in an URL": regexp.MustCompile(`[a-z]+://[a-z0-9]+:[^@/\s"'{}$%]{3,}@[a-z0-9]`),
}

// harmless are matches that are no secrets, each with the reason.
var harmless = map[string]string{
	"AQ" + "BvaX1lAAAAABAAL6Qp2t1aXrJXNQ3F0vJ9Kg==": "made up, for the test of what removes keys from captures",
	"https://u:" + "secret@a":                       "made up, for the test that refuses such addresses",
	"http://user:" + "hunter2@host":                 "the example below",
}

func findSecrets(text []byte) (kind, match string) {
	for kind, re := range secrets {
		for _, m := range re.FindAll(text, -1) {
			if _, ok := harmless[string(m)]; !ok {
				return kind, string(m)
			}
		}
	}
	return "", ""
}

func TestTreeHoldsNoSecret(t *testing.T) {
	for _, file := range files(t) {
		if strings.HasSuffix(file, "go.sum") {
			continue // hashes
		}
		data, err := os.ReadFile(filepath.Join(top(t), file))
		if err != nil {
			t.Fatal(err)
		}
		if kind, match := findSecrets(data); kind != "" {
			t.Errorf("%s: %s: %s...", file, kind, match[:min(12, len(match))])
		}
	}
}

// What was removed is still in the history.
func TestHistoryHoldsNoSecret(t *testing.T) {
	cmd := exec.Command("git", "log", "--all", "--patch", "--unified=0", "--no-color", "--no-ext-diff", "--", ".", ":(exclude)*go.sum")
	cmd.Dir = top(t)
	out, err := cmd.Output()
	if err != nil {
		t.Logf("no history here: %v", err)
		return
	}
	var commit []byte
	for line := range bytes.Lines(out) {
		if rest, ok := bytes.CutPrefix(line, []byte("commit ")); ok {
			commit = bytes.TrimSpace(rest)
		}
		if line[0] != '+' {
			continue
		}
		if kind, match := findSecrets(line); kind != "" {
			t.Errorf("commit %s: %s: %s...", commit, kind, match[:min(12, len(match))])
		}
	}
}

func TestSecretsAreRecognised(t *testing.T) {
	for kind, example := range map[string]string{
		"a Ceph key":           "key = AQ" + "D5wY1lAAAAABAAd3rN0qXk3mB7nHhPqQ2lJcZsVg==",
		"a private key":        "-----BEGIN RSA " + "PRIVATE KEY-----",
		"an AWS access key":    "AKIA" + "ABCDEFGHIJKLMNOP",
		"a GitHub token":       "ghp_" + strings.Repeat("a", 36),
		"a password in an URL": "http://user:" + "hunter2@host",
	} {
		if got, _ := findSecrets([]byte(example)); got != kind {
			t.Errorf("%s is recognised as %q", kind, got)
		}
	}
}
