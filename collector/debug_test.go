package collector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

// debugPage gets the account and compares all of it with a golden file.
func debugPage(t *testing.T, set *Set, file string) {
	t.Helper()
	code, body := debugGet(set, "test")
	if code != http.StatusOK {
		t.Errorf("status %d", code)
	}
	golden(t, "debug/"+file, body)
}

func debugGet(set *Set, name string) (int, string) {
	w := httptest.NewRecorder()
	NewDebugHandler(set).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/collector?name="+name, nil))
	return w.Code, w.Body.String()
}

// On the bubble's clock every time in the account is exact.
func TestDebugTellsWhatTheLastPollAskedAndGot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row, release := benchRow(), make(chan struct{})
		b := startBench(t, &scripted{poll: func(ctx context.Context, n int) (Snapshot, error) {
			mon := polltrace.Begin(ctx, "mon", "osd dump")
			time.Sleep(3 * time.Millisecond)
			mon.Answered(4711)
			time.Sleep(1500 * time.Microsecond)
			mon.End("6 OSDs, 4 pools", nil)
			if n == 1 {
				rare := polltrace.Begin(ctx, "mgr", "pg dump pgs")
				rare.Answered(120000)
				rare.End("64 PGs", nil)
			}
			socket := polltrace.Begin(ctx, "/run/ceph/ceph-osd.3.asok", "perf dump")
			time.Sleep(2 * time.Second)
			switch n {
			case 1:
				socket.Answered(90)
				socket.End("", nil)
				return emitFunc(func(e *Emitter) { e.Emit(row, 1); e.Emit(row, 2) }), nil
			case 2:
				socket.End("", errors.New("no answer\nwithin 2s"))
				return emitFunc(func(e *Emitter) { e.Emit(row, 1) }), errors.New("osd.3: no answer\nosd.4: no answer")
			default:
				<-release
				return nil, ctx.Err()
			}
		}}, 10*time.Second)
		defer b.stop()
		defer close(release)
		time.Sleep(time.Second)
		debugPage(t, b.set, "first.txt")
		time.Sleep(29 * time.Second)
		debugPage(t, b.set, "good.txt")
		time.Sleep(time.Minute)
		debugPage(t, b.set, "failed.txt")
		time.Sleep(45 * time.Second)
		debugPage(t, b.set, "hangs.txt")
	})
}

func TestDebugSaysThatNoPollHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deps := testDeps(t, time.Now())
		debugPage(t, NewSet(deps.Now, Member{Spec: Spec{Name: "test", Help: "tests", Timeout: time.Minute}, Deps: deps}), "before.txt")
	})
}

func TestDebugNamesTheCollectorsWhereItIsAskedForAnother(t *testing.T) {
	set := NewSet(time.Now, Member{Spec: Spec{Name: "pg"}}, Member{Spec: Spec{Name: "osd"}})
	code, body := debugGet(set, "<script>")
	if want := "this exporter runs no collector of that name; ?name= takes one of: osd, pg\n"; code != http.StatusNotFound || body != want {
		t.Errorf("%d %q, want 404 %q", code, body, want)
	}
}

// secretive answers every command with a text that must not be seen anywhere.
type secretive struct{}

func (secretive) MonCommand(context.Context, []byte) ([]byte, error) {
	return []byte(`{"fsid":"AQBsecretkeyAAAA=="`), nil
}

func (secretive) MgrCommand(context.Context, []byte) ([]byte, error) {
	return []byte(`[{"name":"AQBsecretkeyAAAA=="}]`), nil
}

func TestDebugKeepsSizesAndNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &ceph.Client{Commander: secretive{}}
		b := startBench(t, &scripted{poll: func(ctx context.Context, _ int) (Snapshot, error) {
			_, monErr := client.OSDDump(ctx)
			_, mgrErr := client.ConfigShow(ctx, "osd.1")
			return nil, errors.Join(monErr, mgrErr)
		}}, time.Minute)
		defer b.stop()
		synctest.Wait()
		_, body := debugGet(b.set, "test")
		if strings.Contains(body, "AQB") {
			t.Errorf("an answer is shown:\n%s", body)
		}
		for _, want := range []string{"mon  osd dump: 28 bytes in 0s, not usable: ", "mgr  config show osd.1: 31 bytes in 0s"} {
			if !strings.Contains(body, want) {
				t.Errorf("no %q in:\n%s", want, body)
			}
		}
	})
}

// Questions that are asked rarely do not pile up either.
func TestDebugForgetsWhatWasNotAskedForLongest(t *testing.T) {
	var a lastAsked
	begin := time.Unix(1000, 0)
	for i := range 500 {
		a.add([]polltrace.Step{{Target: "mgr", Asked: "always", Began: begin.Add(time.Duration(i)*time.Second + time.Millisecond)}, {Target: "mgr", Asked: strings.Repeat("x", i), Began: begin.Add(time.Duration(i) * time.Second)}})
	}
	got := a.before(begin.Add(time.Hour))
	if len(got) != maxAsked || len(got[0].Asked) != 401 || got[len(got)-1].Asked != "always" {
		t.Errorf("%d questions, from one of %d bytes to %.20q", len(got), len(got[0].Asked), got[len(got)-1].Asked)
	}
}

// 4,000 OSDs are asked in one poll: the account stays small.
func TestDebugIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startBench(t, &scripted{poll: func(ctx context.Context, _ int) (Snapshot, error) {
			var errs []error
			for i := range 4000 {
				err := fmt.Errorf("osd.%d: %s", i, strings.Repeat("long ", 1000))
				polltrace.Begin(ctx, fmt.Sprintf("/run/ceph/ceph-osd.%d.asok", i), "perf dump").End("", err)
				errs = append(errs, err)
			}
			return nil, errors.Join(errs...)
		}}, time.Minute)
		defer b.stop()
		synctest.Wait()
		_, body := debugGet(b.set, "test")
		if len(body) > 200_000 || !strings.Contains(body, "questions: 4000, failed: 4000, without answer yet: 0, bytes answered: 0") ||
			!strings.Contains(body, "and 3930 more questions, of which only the count is kept") {
			t.Errorf("%d bytes:\n%.2000s", len(body), body)
		}
	})
}
