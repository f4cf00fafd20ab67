package collector

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

// NewDebugHandler answers ?name=<collector> with what its last poll did: what was
// asked of whom, what came back and how long it took, what became of it. Answers
// themselves, and with them all that could be secret in them, are never kept.
func NewDebugHandler(set *Set) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		name := r.URL.Query().Get("name")
		text, ok := set.debug(name)
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			var names []string
			for _, r := range set.runners {
				names = append(names, r.spec.Name)
			}
			text = fmt.Appendf(nil, "this exporter runs no collector of that name; ?name= takes one of: %s\n", strings.Join(names, ", "))
		}
		_, _ = w.Write(text)
	})
}

// debug returns the account of one collector.
func (s *Set) debug(name string) ([]byte, bool) {
	for _, r := range s.runners {
		if r.spec.Name == name {
			return r.debug(s.now()), true
		}
	}
	return nil, false
}

// records returns what is known of the last poll and the one under way, either of
// which may be nil, and what was asked before the last one.
func (r *runner) records() (last, running *pollRecord, earlier []polltrace.Step, status pollStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		earlier = r.asked.before(r.last.begin)
	}
	return r.last, r.running, earlier, r.status
}

func (r *runner) debug(now time.Time) []byte {
	published, _ := r.snapshot(now)
	last, running, earlier, st := r.records()
	var b bytes.Buffer
	fmt.Fprintf(&b, "collector %s: %s\n\n", r.spec.Name, r.spec.Help)
	fmt.Fprintf(&b, "interval in force  %s (configured %s), a poll may take %s\n", short(st.interval), r.interval, r.spec.Timeout)
	fmt.Fprintf(&b, "last success       %s\n", instantText(st.lastSuccess, now, "none since the start"))
	if published != nil {
		fmt.Fprintf(&b, "scrapes show       the snapshot of %s, for at most %s\n", instantText(published.at, now, ""), short(published.maxAge))
	} else {
		b.WriteString("scrapes show       nothing: there is no snapshot young enough\n")
	}
	fmt.Fprintf(&b, "polls that failed  %d since the start, panics %d, samples dropped %d, refused %d\n", st.failures, st.panics, st.dropped, st.refused)
	fmt.Fprintf(&b, "last error         %s\n", errorText(st, now))
	switch {
	case last == nil && running == nil:
		b.WriteString("\nNo poll has begun yet.\n")
	case last == nil:
		b.WriteString("\nNo poll has ended yet.\n")
	default:
		last.write(&b, now)
		if len(earlier) > 0 {
			b.WriteString("\nASKED IN EARLIER POLLS, the last of each kind\n")
			writeSteps(&b, earlier)
		}
	}
	// A poll that hangs has a record already, and is still under way.
	if running != nil && (last == nil || last.trace != running.trace) {
		fmt.Fprintf(&b, "\nPOLL UNDER WAY, begun %s\n", instantText(running.at, now, ""))
		writeTrace(&b, running.trace.Report())
	}
	return b.Bytes()
}

// maxAsked bounds lastAsked.
const maxAsked = 100

// lastAsked remembers by kind the question that was asked last: a collector asks
// some in every poll and others rarely.
type lastAsked map[string]polltrace.Step

// add takes in the steps of a poll. Where there are too many questions, those
// that were not asked for longest go.
func (a *lastAsked) add(steps []polltrace.Step) {
	if *a == nil {
		*a = lastAsked{}
	}
	for _, s := range steps {
		(*a)[s.Kind()] = s
	}
	if over := len(*a) - maxAsked; over > 0 {
		keys := slices.SortedFunc(maps.Keys(*a), func(x, y string) int { return (*a)[x].Began.Compare((*a)[y].Began) })
		for _, k := range keys[:over] {
			delete(*a, k)
		}
	}
}

// before returns the steps that were begun before that instant, in their order.
func (a lastAsked) before(t time.Time) []polltrace.Step {
	var out []polltrace.Step
	for _, s := range a {
		if s.Began.Before(t) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y polltrace.Step) int {
		return cmp.Or(x.Began.Compare(y.Began), strings.Compare(x.Target, y.Target), strings.Compare(x.Asked, y.Asked))
	})
	return out
}

func (p *pollRecord) write(b *bytes.Buffer, now time.Time) {
	fmt.Fprintf(b, "\nLAST POLL, begun %s, took %s\n", instantText(p.at, now, ""), short(p.took))
	switch {
	case p.err == nil:
		b.WriteString("ended well\n")
	case p.families > 0:
		fmt.Fprintf(b, "ended with an error, and with a snapshot all the same: %s\n", indent(p.err.Error()))
	default:
		fmt.Fprintf(b, "failed: %s\n", indent(p.err.Error()))
	}
	fmt.Fprintf(b, "families made: %d, samples: %d, dropped as a bug of ours: %d, refused as too many: %d\n", p.families, p.samples, p.dropped, p.refused)
	for _, problem := range p.problems {
		fmt.Fprintf(b, "  dropped: %v\n", problem)
	}
	writeTrace(b, p.trace.Report())
}

// writeTrace lists the steps, one line each and one more for an error.
func writeTrace(b *bytes.Buffer, r polltrace.Report) {
	if r.Asked == 0 {
		b.WriteString("asked nobody: it works from what was read before, or from what others have read\n")
		return
	}
	fmt.Fprintf(b, "questions: %d, failed: %d, without answer yet: %d, bytes answered: %d\n", r.Asked, r.Failed, r.Open, r.Bytes)
	writeSteps(b, r.Steps)
	if r.LeftOut > 0 {
		fmt.Fprintf(b, "  and %d more questions, of which only the count is kept\n", r.LeftOut)
	}
}

func writeSteps(b *bytes.Buffer, steps []polltrace.Step) {
	width := 0
	for i := range steps {
		width = max(width, len(steps[i].Target))
	}
	for i := range steps {
		s := &steps[i]
		fmt.Fprintf(b, "  %s  %-*s  %s: ", s.Began.UTC().Format("15:04:05.000"), min(width, 60), s.Target, s.Asked)
		switch {
		case !s.Ended && s.Bytes < 0:
			b.WriteString("no answer yet\n")
		case !s.Ended:
			fmt.Fprintf(b, "%d bytes in %s, being decoded\n", s.Bytes, short(s.Took))
		case s.Bytes < 0 && s.Err != "":
			fmt.Fprintf(b, "failed after %s: %s\n", short(s.Took), s.Err)
		case s.Err != "":
			fmt.Fprintf(b, "%d bytes in %s, not usable: %s\n", s.Bytes, short(s.Took), s.Err)
		default:
			fmt.Fprintf(b, "%d bytes in %s", max(s.Bytes, 0), short(s.Took))
			if s.Decoded != "" {
				fmt.Fprintf(b, "; decoded in %s: %s", short(s.Decode), s.Decoded)
			}
			b.WriteByte('\n')
		}
	}
}

func instantText(t, now time.Time, never string) string {
	if t.IsZero() {
		return never
	}
	return fmt.Sprintf("%s (%s ago)", t.UTC().Format(time.RFC3339), short(now.Sub(t)))
}

func errorText(st pollStatus, now time.Time) string {
	if st.lastErr == nil {
		return "none since the start"
	}
	return fmt.Sprintf("%s: %s", instantText(st.lastErrAt, now, ""), indent(st.lastErr.Error()))
}

// short writes a duration as a person would.
func short(d time.Duration) string {
	switch {
	case d >= time.Minute || d <= -time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}

// indent keeps the lines of an error apart from the account's own.
func indent(text string) string {
	const most = 4000
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\n", "\n    ")
}
