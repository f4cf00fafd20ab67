package drill

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is a line of docs/fire-drill.md: a fault and a page.
type row struct {
	fault           string
	notice          notice // zero: nobody was paged
	paged, resolved time.Duration
}

const recordFile = "../../docs/fire-drill.md"

const recordHead = `# Fire drill

What the pack does when things break: a real Ceph, two exporters as a pair, a real Prometheus with the rules of ` + "`mixin/`" + ` and a real Alertmanager. Each
fault was injected, each page compared with what Ceph itself said at that moment, then the fault was repaired and the page had to be taken back. A page that no
fault explains fails the drill, and so does one that is taken back while its fault lasts.

` + "`make drill`" + ` (a quarter of an hour, as root on Debian) repeats it and writes this file; ` + "`make test`" + ` runs a short form. Days are seconds in it: most windows are
12 s and most ` + "`for`" + ` 2 s (` + "`mixin/drill/drill.jsonnet`" + `), so the times show that pages come and go, not how long they take in production, which is what
` + "`mixin/config/`" + ` says. Critical pages wake somebody, warnings are for the next working day.

`

// writeRecord writes docs/fire-drill.md.
func writeRecord(rows []*row) error {
	var b strings.Builder
	b.WriteString(recordHead)
	b.WriteString("| fault | alert | severity | labels | said, and equal to what Ceph said | to page | to resolve |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.notice.Labels == nil {
			fmt.Fprintf(&b, "| %s | nobody is paged | | | | | |\n", r.fault)
			continue
		}
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(r.notice.Labels)) {
			if k != "alertname" && k != "severity" && k != "cluster" {
				labels = append(labels, fmt.Sprintf("%s=%q", k, r.notice.Labels[k]))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.0f s | %.0f s |\n", r.fault, r.notice.name(), r.notice.to, strings.Join(labels, ", "),
			r.notice.Annotations["summary"], r.paged.Seconds(), r.resolved.Seconds())
	}
	return os.WriteFile(recordFile, []byte(b.String()), 0o644)
}

// A drill that has changed is run again before it is released.
func TestRecordHasEveryFault(t *testing.T) {
	text, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) > 1 {
			recorded[strings.TrimPrefix(cells[0], "| ")] = true
		}
	}
	for _, f := range faults() {
		for _, f := range append(f.during, f) {
			if !recorded[f.name] {
				t.Errorf("%s has no line about %q; run make drill", recordFile, f.name)
			}
		}
	}
}
