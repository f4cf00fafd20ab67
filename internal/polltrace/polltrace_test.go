package polltrace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var noTimes = cmpopts.IgnoreFields(Step{}, "Began", "Took", "Decode")

func TestAStepSaysWhoWasAskedWhatAndHowItEnded(t *testing.T) {
	trace := &Trace{}
	ctx := With(context.Background(), trace)
	good := Begin(ctx, "mon", "osd dump")
	good.Answered(120)
	good.End("6 OSDs", nil)
	bad := Begin(ctx, "mgr", "pg dump\nsecond line\x00")
	bad.End("", errors.New("no answer\n within 15s"))
	bad.End("again", nil) // the first word counts
	undecodable := Begin(ctx, "mgr", "osd df")
	undecodable.Answered(3)
	undecodable.End("", errors.New("decode osd df: broken"))
	Begin(ctx, "mgr", "pg ls")

	want := Report{
		Steps: []Step{
			{Target: "mon", Asked: "osd dump", Ended: true, Bytes: 120, Decoded: "6 OSDs"},
			{Target: "mgr", Asked: "pg dump second line", Ended: true, Bytes: -1, Err: "no answer  within 15s"},
			{Target: "mgr", Asked: "osd df", Ended: true, Bytes: 3, Err: "decode osd df: broken"},
			{Target: "mgr", Asked: "pg ls", Bytes: -1},
		},
		Asked: 4, Open: 1, Failed: 2, Bytes: 123,
	}
	if diff := cmp.Diff(want, trace.Report(), noTimes); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestAContextWithoutATraceCostsNothingAndCarriesNone(t *testing.T) {
	o := Begin(context.Background(), "mon", "osd dump")
	if o != nil {
		t.Error("a step without a trace")
	}
	o.Answered(1)
	o.End("", nil)
	if ctx := Carry(context.Background(), context.Background()); ctx != context.Background() {
		t.Error("carried what was not there")
	}
	trace := &Trace{}
	Begin(Carry(context.Background(), With(context.Background(), trace)), "mon", "x")
	if trace.Report().Asked != 1 {
		t.Error("the carried trace saw nothing")
	}
}

func TestATraceIsBoundedAndKeepsFailures(t *testing.T) {
	trace := &Trace{}
	ctx := With(context.Background(), trace)
	var wg sync.WaitGroup
	const n = 5000
	for i := range n {
		wg.Go(func() {
			o := Begin(ctx, "osd "+strings.Repeat("x", i%23), strings.Repeat("long ", 1000))
			if i%10 == 0 {
				o.End("", fmt.Errorf("failure %d %s", i, strings.Repeat("x", 5000)))
				return
			}
			o.Answered(7)
			o.End("something", nil)
		})
	}
	wg.Wait()
	r := trace.Report()
	failures := 0
	for _, s := range r.Steps {
		if len(s.Asked) > maxText+3 || len(s.Err) > maxText+3 {
			t.Fatalf("a text of %d bytes", max(len(s.Asked), len(s.Err)))
		}
		if s.Err != "" {
			failures++
		}
	}
	if len(r.Steps) != maxSteps+maxFailures || r.Asked != n || r.Open != 0 || r.Failed != n/10 || r.Bytes != 7*n*9/10 || r.LeftOut != n-len(r.Steps) || failures < maxFailures {
		t.Errorf("%d steps, %d failures in them, %+v", len(r.Steps), failures, Report{Asked: r.Asked, Open: r.Open, Failed: r.Failed, Bytes: r.Bytes, LeftOut: r.LeftOut})
	}
}

func TestWhatIsAskedOfManyDoesNotCrowdOutWhatIsAskedOnce(t *testing.T) {
	trace := &Trace{}
	ctx := With(context.Background(), trace)
	for i := range 4000 {
		Begin(ctx, "mgr", fmt.Sprintf("config show osd.%d", i)).End("", nil)
	}
	Begin(ctx, "mgr", "pg dump pgs").End("", nil)
	r := trace.Report()
	if len(r.Steps) != maxOfKind+1 || r.Steps[maxOfKind].Asked != "pg dump pgs" || r.Asked != 4001 || r.LeftOut != 4000-maxOfKind {
		t.Errorf("%d steps, %d asked, %d left out, the last is %q", len(r.Steps), r.Asked, r.LeftOut, r.Steps[len(r.Steps)-1].Asked)
	}
}
