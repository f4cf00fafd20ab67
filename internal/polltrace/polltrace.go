// Package polltrace notes what one poll asked of whom and what came back: sizes,
// times and errors, never an answer itself. It travels in the poll's context, so
// that a source notes what it does without knowing for whom.
//
// Memory is bounded: the first steps of each kind and the first failures are kept,
// the rest is only counted. So what is asked of a thousand daemons does not crowd
// out what is asked once.
package polltrace

import (
	"context"
	"strings"
	"sync"
	"time"
)

const (
	maxOfKind   = 20
	maxSteps    = 200
	maxFailures = 50
	maxText     = 400 // bytes of one text
)

// Step is one question to one source and what came of it.
type Step struct {
	Target  string // who was asked: mon, an admin socket's path, an array's address
	Asked   string // what: a command, a page; never a secret
	Began   time.Time
	Ended   bool          // it was answered and decoded, or it failed
	Took    time.Duration // until the answer was there, or until the failure; 0 while neither is
	Bytes   int           // of the answer; -1 before there is one
	Decoded string        // what the answer holds: "64 PGs"
	Decode  time.Duration // what decoding took
	Err     string        // empty: none
}

// Kind is what tells steps of different kinds apart: who was asked for what,
// without numbers, so that osd.1 and osd.2 are of one kind.
func (s *Step) Kind() string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s.Target+"\x00"+s.Asked)
}

// Report is what a trace holds at one instant.
type Report struct {
	Steps   []Step // in the order in which they began, failures beyond the limits last
	Asked   int    // all questions, those left out of Steps included
	Open    int    // questions that have no answer yet
	Failed  int
	Bytes   int64 // of all answers
	LeftOut int   // questions that are not in Steps
}

// Trace collects the steps of one poll. The zero value is ready. Its methods may
// be called from several goroutines, also after the poll has ended.
type Trace struct {
	mu     sync.Mutex
	steps  []*Step
	failed []*Step // beyond the limits
	kinds  map[string]int
	asked  int
	open   int
	errors int
	bytes  int64
}

type key struct{}

// With returns a context that carries the trace.
func With(ctx context.Context, t *Trace) context.Context { return context.WithValue(ctx, key{}, t) }

// Carry returns to with the trace that from carries: for work that outlives the
// poll that began it.
func Carry(to, from context.Context) context.Context {
	if t, ok := from.Value(key{}).(*Trace); ok {
		return With(to, t)
	}
	return to
}

// Begin notes that target is asked for something. Where ctx carries no trace it
// returns nil, whose methods do nothing.
func Begin(ctx context.Context, target, asked string) *Open {
	t, ok := ctx.Value(key{}).(*Trace)
	if !ok {
		return nil
	}
	o := &Open{trace: t, step: &Step{Target: cut(target), Asked: cut(asked), Began: time.Now(), Bytes: -1}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	t.open++
	if len(t.steps) >= maxSteps {
		return o
	}
	if kind := o.step.Kind(); t.kinds[kind] < maxOfKind {
		if t.kinds == nil {
			t.kinds = map[string]int{}
		}
		t.kinds[kind]++
		t.steps = append(t.steps, o.step)
		o.listed = true
	}
	return o
}

// Open is a step under way.
type Open struct {
	trace  *Trace
	step   *Step
	listed bool
}

// Answered notes that an answer of that many bytes is there.
func (o *Open) Answered(bytes int) {
	if o == nil {
		return
	}
	o.trace.mu.Lock()
	defer o.trace.mu.Unlock()
	o.step.Took, o.step.Bytes = time.Since(o.step.Began), bytes
	o.trace.bytes += int64(bytes)
}

// End notes how the step ended: with what was decoded, which may be empty, or
// with an error.
func (o *Open) End(decoded string, err error) {
	if o == nil {
		return
	}
	o.trace.mu.Lock()
	defer o.trace.mu.Unlock()
	s := o.step
	if s.Ended {
		return
	}
	s.Ended = true
	o.trace.open--
	if s.Bytes < 0 {
		s.Took = time.Since(s.Began)
	} else {
		s.Decode = time.Since(s.Began) - s.Took
	}
	if err == nil {
		s.Decoded = cut(decoded)
		return
	}
	s.Err = cut(err.Error())
	o.trace.errors++
	if !o.listed && len(o.trace.failed) < maxFailures {
		o.trace.failed = append(o.trace.failed, s)
	}
}

// Report returns a copy of what the trace holds now.
func (t *Trace) Report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Report{Asked: t.asked, Open: t.open, Failed: t.errors, Bytes: t.bytes}
	for _, list := range [][]*Step{t.steps, t.failed} {
		for _, s := range list {
			r.Steps = append(r.Steps, *s)
		}
	}
	r.LeftOut = t.asked - len(r.Steps)
	return r
}

// cut bounds a text and keeps it on one line.
func cut(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}
