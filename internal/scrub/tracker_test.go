package scrub

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

func TestCompletionsFollowTheStamps(t *testing.T) {
	unknown := func(p *ceph.PG) {
		p.State = ceph.StateUnknown
		p.LastScrub, p.LastDeepScrub = ago(1), ago(1) // the mgr's invention
	}
	shallowAt := func(s, d float64) func(*ceph.PG) {
		return func(p *ceph.PG) { p.LastScrub, p.LastDeepScrub = ago(s), ago(d) }
	}
	for name, c := range map[string]struct {
		steps []func(*ceph.PG) // nil entry: the PG is not in the table
		want  []Level          // completions over all steps
	}{
		"nothing moved":                {[]func(*ceph.PG){shallowAt(10, 20), shallowAt(10, 20)}, nil},
		"shallow":                      {[]func(*ceph.PG){shallowAt(10, 20), shallowAt(5, 20)}, []Level{Shallow}},
		"deep moves both":              {[]func(*ceph.PG){shallowAt(10, 20), shallowAt(5, 5)}, []Level{Deep}},
		"one after the other":          {[]func(*ceph.PG){shallowAt(10, 20), shallowAt(5, 5), shallowAt(3, 5)}, []Level{Deep, Shallow}},
		"backwards":                    {[]func(*ceph.PG){shallowAt(10, 20), shallowAt(15, 25)}, nil},
		"first sight":                  {[]func(*ceph.PG){nil, shallowAt(5, 5)}, nil},
		"gone and back":                {[]func(*ceph.PG){shallowAt(10, 20), nil, shallowAt(5, 5)}, nil},
		"unknown invents nothing":      {[]func(*ceph.PG){shallowAt(10, 20), unknown, shallowAt(10, 20)}, nil},
		"unknown throughout":           {[]func(*ceph.PG){unknown, unknown}, nil},
		"unknown at first":             {[]func(*ceph.PG){unknown, shallowAt(5, 5)}, nil},
		"scrubbed while unknown":       {[]func(*ceph.PG){shallowAt(10, 20), unknown, unknown, shallowAt(5, 20)}, []Level{Shallow}},
		"from an unset deep stamp":     {[]func(*ceph.PG){func(p *ceph.PG) { p.LastDeepScrub = 0 }, shallowAt(5, 5)}, nil},
		"to an unset deep stamp":       {[]func(*ceph.PG){shallowAt(10, 20), func(p *ceph.PG) { p.LastDeepScrub = 0; p.LastScrub = ago(5) }}, nil},
		"shallow with an unset deep":   {[]func(*ceph.PG){func(p *ceph.PG) { p.LastDeepScrub = 0 }, func(p *ceph.PG) { p.LastDeepScrub = 0; p.LastScrub = ago(5) }}, []Level{Shallow}},
		"shallow from an unset stamp":  {[]func(*ceph.PG){func(p *ceph.PG) { p.LastScrub = 0 }, func(p *ceph.PG) { p.LastScrub = ago(5) }}, nil},
		"deep stamp becomes readable":  {[]func(*ceph.PG){func(p *ceph.PG) { p.LastDeepScrub = ceph.BadStamp }, shallowAt(5, 5)}, nil},
		"deep stamp stays unreadable":  {[]func(*ceph.PG){func(p *ceph.PG) { p.LastDeepScrub = ceph.BadStamp }, func(p *ceph.PG) { p.LastDeepScrub = ceph.BadStamp; p.LastScrub = ago(5) }}, nil},
		"shallow stamp gets lost":      {[]func(*ceph.PG){shallowAt(10, 20), func(p *ceph.PG) { p.LastDeepScrub = ago(20); p.LastScrub = ceph.NoStamp }}, nil},
		"deep though shallow is lost":  {[]func(*ceph.PG){shallowAt(10, 20), func(p *ceph.PG) { p.LastDeepScrub = ago(5); p.LastScrub = ceph.NoStamp }}, []Level{Deep}},
		"ahead of the clock is a date": {[]func(*ceph.PG){shallowAt(10, 20), shallowAt(-30, -30)}, []Level{Deep}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := NewTracker()
			var got []Level
			for _, step := range c.steps {
				// Neighbours on both sides keep the merge of the tables honest.
				pgs := []ceph.PG{pg(1, 0, nil)}
				if step != nil {
					pgs = append(pgs, pg(1, 1, step))
				}
				pgs = append(pgs, pg(1, 2, nil), pg(2, 1, nil))
				for _, done := range tr.Full(table(pgs...), testNow) {
					if done.PG != (ceph.PGID{Pool: 1, Seed: 1}) || done.Bytes != 1000 {
						t.Errorf("completion %+v", done)
					}
					got = append(got, done.Level)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDurationComesFromTheReleaseOrFromWhatWasSeen(t *testing.T) {
	idle := pg(1, 0, func(p *ceph.PG) { p.LastScrub, p.LastDeepScrub = ago(5000), ago(9000) })
	scrubbing := idle
	scrubbing.State |= ceph.StateScrubbing | ceph.StateDeep
	scrubbing.LastChange = ago(400)
	done := pg(1, 0, func(p *ceph.PG) { p.LastScrub, p.LastDeepScrub = ago(100), ago(100) })
	told := done
	told.LastScrubSeconds = 290
	seconds := func(c []Completion) float64 {
		if len(c) != 1 {
			t.Fatalf("completions %+v", c)
		}
		return c[0].Seconds
	}

	tr := NewTracker()
	tr.Full(table(idle), testNow)
	if got := seconds(tr.Full(table(done), testNow)); got != -1 {
		t.Errorf("never seen running: %v", got)
	}
	for name, last := range map[string]ceph.PG{"16": done, "17 and newer": told} {
		tr := NewTracker()
		tr.Full(table(idle), testNow.Add(-410*time.Second))
		tr.Running(table(scrubbing), testNow.Add(-390*time.Second))
		tr.Running(table(scrubbing), testNow.Add(-200*time.Second))
		tr.Running(table(), testNow.Add(-90*time.Second)) // ended before the next full dump
		want := map[string]float64{"16": 300, "17 and newer": 290}[name]
		if got := seconds(tr.Full(table(last), testNow)); got != want {
			t.Errorf("%s: %v s, want %v", name, got, want)
		}
		if len(tr.ended) != 0 || len(tr.running) != 0 {
			t.Errorf("%s: memory is not cleared: %v %v", name, tr.ended, tr.running)
		}
	}

	// A shallow scrub that follows at once does not lend its start to the deep one.
	tr = NewTracker()
	tr.Full(table(idle), testNow)
	tr.Running(table(scrubbing), testNow.Add(-390*time.Second))
	next := done
	next.State |= ceph.StateScrubbing
	next.LastChange = ago(50)
	if got := seconds(tr.Full(table(next), testNow)); got != 300 {
		t.Errorf("followed by another scrub: %v s, want 300", got)
	}
	if p := tr.Progress(testNow, time.Hour)[1]; p[Shallow].OldestStart != ago(50) || p[Deep].OldestStart != ceph.NoStamp {
		t.Errorf("running after it: %+v", p)
	}
}

// A deep scrub begun while noscrub is set may never end: same state, same
// stamps, no object more.
func TestScrubWithoutProgressIsStuckAndCountedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		objects func(hour int) int64
		stuck   int
	}{
		"no progress":      {func(int) int64 { return 40 }, 1},
		"not shown (16)":   {func(int) int64 { return -1 }, 1},
		"progress":         {func(h int) int64 { return int64(h) }, 0},
		"stopped at three": {func(h int) int64 { return int64(min(h, 3)) }, 1},
		"stopped at ten":   {func(h int) int64 { return int64(min(h, 10)) }, 0},
	} {
		tr := NewTracker()
		begin := testNow.Add(-12 * time.Hour)
		for h := range 13 {
			p := pg(1, 0, func(p *ceph.PG) {
				p.State |= ceph.StateScrubbing | ceph.StateDeep
				p.LastChange, p.ObjectsScrubbed = ceph.StampOf(begin), c.objects(h)
			})
			if h%4 == 0 {
				tr.Full(table(p), begin.Add(time.Duration(h)*time.Hour))
			} else {
				tr.Running(table(p), begin.Add(time.Duration(h)*time.Hour))
			}
		}
		got := tr.Progress(testNow, 6*time.Hour)
		want := map[int32]*[2]Progress{1: {
			Shallow: {OldestStart: ceph.NoStamp},
			Deep:    {OldestStart: ceph.StampOf(begin), Stuck: c.stuck},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		tr.Running(table(), testNow)
		if got := tr.Progress(testNow, time.Hour); len(got) != 0 {
			t.Errorf("%s: after its end: %v", name, got)
		}
	}
}
