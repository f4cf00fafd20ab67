package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An aptSource is one archive of the machine's apt configuration.
type aptSource struct {
	uri        string
	suites     []string
	components []string
}

// debianSuites are the names that an entry for Debian's own archive carries.
// Other vendors' archives rarely use them, and those that do have other
// components than `main` or sit behind their own URI in a later file.
var debianSuites = [...]string{
	"buster", "bullseye", "bookworm", "trixie", "forky", "sid",
	"oldstable", "stable", "testing", "unstable",
}

// debianMirror returns the URI of Debian's archive as the machine's apt
// configuration below etc (normally /etc/apt) names it.
func debianMirror(etc string) (string, error) {
	sources, err := readAptSources(etc)
	if err != nil {
		return "", err
	}
	for _, s := range sources {
		known := slices.ContainsFunc(s.suites, func(suite string) bool {
			return slices.Contains(debianSuites[:], suite)
		})
		if known && slices.Contains(s.components, "main") {
			return resolveMirrorFile(s.uri)
		}
	}
	return "", fmt.Errorf("apt configuration %s: no source of Debian's archive (a known suite with component main)", etc)
}

// resolveMirrorFile follows apt's mirror+file: scheme, which debootstrap does
// not know, to the first mirror of the list.
func resolveMirrorFile(uri string) (string, error) {
	path, ok := strings.CutPrefix(uri, "mirror+file:")
	if !ok {
		return strings.TrimSuffix(uri, "/"), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("apt mirror list: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			return strings.TrimSuffix(f[0], "/"), nil
		}
	}
	return "", fmt.Errorf("apt mirror list %s: empty", path)
}

// readAptSources reads sources.list and sources.list.d below etc, both the
// one-line and the deb822 format, in the order apt does.
func readAptSources(etc string) ([]aptSource, error) {
	files := []string{filepath.Join(etc, "sources.list")}
	more, err := filepath.Glob(filepath.Join(etc, "sources.list.d", "*"))
	if err != nil {
		return nil, fmt.Errorf("apt configuration %s: %w", etc, err)
	}
	files = append(files, more...)
	var all []aptSource
	for _, name := range files {
		data, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("apt configuration: %w", err)
		}
		switch filepath.Ext(name) {
		case ".list":
			all = append(all, parseOneLine(string(data))...)
		case ".sources":
			all = append(all, parseDeb822(string(data))...)
		}
	}
	return all, nil
}

// parseOneLine reads lines like
// "deb [arch=amd64 signed-by=FILE] URI suite component...".
func parseOneLine(data string) []aptSource {
	var out []aptSource
	for line := range strings.Lines(data) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb")
		if !ok || rest == "" || (rest[0] != ' ' && rest[0] != '\t') {
			continue
		}
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "[") {
			if _, rest, ok = strings.Cut(rest, "]"); !ok {
				continue
			}
		}
		if f := strings.Fields(rest); len(f) >= 2 {
			out = append(out, aptSource{uri: f[0], suites: f[1:2], components: f[2:]})
		}
	}
	return out
}

// parseDeb822 reads stanzas of "Field: value" lines, in which a line that
// begins with a blank continues the one before. A stanza with several URIs
// or suites stands for each of them.
func parseDeb822(data string) []aptSource {
	var out []aptSource
	fields := map[string]string{}
	last := ""
	flush := func() {
		types := strings.Fields(fields["types"])
		if slices.Contains(types, "deb") && !strings.EqualFold(strings.TrimSpace(fields["enabled"]), "no") {
			for _, uri := range strings.Fields(fields["uris"]) {
				out = append(out, aptSource{
					uri:        uri,
					suites:     strings.Fields(fields["suites"]),
					components: strings.Fields(fields["components"]),
				})
			}
		}
		fields, last = map[string]string{}, ""
	}
	lines := bufio.NewScanner(strings.NewReader(data))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if last != "" {
				fields[last] += " " + strings.TrimSpace(line)
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			last = strings.ToLower(strings.TrimSpace(name))
			fields[last] = strings.TrimSpace(value)
		}
	}
	flush()
	return out
}
