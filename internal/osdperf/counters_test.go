package osdperf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counters decodes what the daemon collector reads of each release.
func counters(t testing.TB) map[string]*Counters {
	t.Helper()
	all := map[string]*Counters{}
	for release, data := range fixtures(t, "perf_dump.json") {
		c, err := DecodePerfDump(data)
		if err != nil {
			t.Fatalf("%s: %v", release, err)
		}
		all[release] = c
	}
	for release, data := range fixtures(t, "counter_dump.json") {
		c, err := DecodeCounterDump(data)
		if err != nil {
			t.Fatalf("%s: %v", release, err)
		}
		all[release+" counter dump"] = c
	}
	return all
}

// The fixtures were taken from OSDs without clients at that moment.
func TestHistogramsHoldEachOperationOnce(t *testing.T) {
	histograms := fixtures(t, "perf_histogram_dump.json")
	for name, c := range counters(t) {
		release, _, _ := strings.Cut(name, " ")
		steps, err := DecodeHistograms(histograms[release])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		g, ok := GrowthOf(c, steps)
		if !ok {
			t.Fatalf("%s: counters missing", name)
		}
		var plain uint64
		for op, counter := range [NumOps]string{Read: "op_r", Write: "op_w", ReadWrite: "op_rw"} {
			n := c.Get("osd", counter).N
			if g.Ops[op].Count != n || g.Steps[op].Count() != n || n == 0 && Op(op) != ReadWrite {
				t.Errorf("%s: %s %d, latency counter %d, histogram %d", name, counter, n, g.Ops[op].Count, g.Steps[op].Count())
			}
			if mean, has := g.Ops[op].Mean(); has && (mean < 1e-5 || mean > 10) {
				t.Errorf("%s: %s takes %g s on average", name, counter, mean)
			}
			plain += n
		}
		if all := c.Get("osd", "op").N; all != plain || g.Operations() != all {
			t.Errorf("%s: %d operations, by kind %d", name, all, plain)
		}
		if g.Subops.Count == 0 || g.Subops.Count != c.Get("osd", "subop").N {
			t.Errorf("%s: subops %d, want %d", name, g.Subops.Count, c.Get("osd", "subop").N)
		}
	}
}

func TestWorkCountersOfEachRelease(t *testing.T) {
	for name, c := range counters(t) {
		w := WorkOf(c)
		if scrubs := strings.HasPrefix(name, "20"); w.Recovery == 0 || (w.Scrub > 0) != scrubs {
			t.Errorf("%s: got %+v; want recovery, and scrub from 19 on", name, w)
		}
	}
}

func TestWorkLeavesOutWhatFallsOrWaits(t *testing.T) {
	c := &Counters{Plain: map[string]map[string]Counter{"osd": {}}}
	for _, name := range []string{"loadavg", "op_r", "scrub_replicated_replicas_in_reservation", "scrub_resrv_repnum_vs_duration",
		"scrub_replicated_reservation_process_failure", "l_osd_recovery_context_queue_latency", "numpg_removing"} {
		c.Plain["osd"][name] = Counter{N: 1, ok: true}
	}
	if w := WorkOf(c); w != (Work{}) {
		t.Errorf("got %+v, want none", w)
	}
	if s := Deleting(c); !s.Other {
		t.Error("PGs being removed are not seen")
	}
	c.Plain["osd"]["scrub_replicated_read_cnt"] = Counter{N: 2, ok: true}
	c.Plain["osd"]["push"] = Counter{N: 3, ok: true}
	c.Labelled = []LabelledCounters{{"osd_scrub_sh_ec", nil, map[string]Counter{"chunk_selected": {N: 5, ok: true}}}, {"other", nil, map[string]Counter{"chunk_selected": {N: 7, ok: true}}}}
	if w := WorkOf(c); w != (Work{Scrub: 7, Recovery: 3}) {
		t.Errorf("got %+v", w)
	}
}

func TestCounterValues(t *testing.T) {
	for text, want := range map[string]Counter{
		`0`:                    {ok: true},
		`18446744073709551615`: {N: 18446744073709551615, ok: true},
		`-1`:                   {},
		`0.5`:                  {},
		`{"avgcount":2,"sum":0.000000007,"avgtime":0}`: {N: 2, SumNS: 7, Avg: true, ok: true},
		`{"avgcount":3,"sum":12.5}`:                    {N: 3, SumNS: 12_500_000_000, Avg: true, ok: true},
		`{"avgcount":3,"sum":9999999999.123456789}`:    {N: 3, SumNS: 9_999_999_999_123_456_789, Avg: true, ok: true},
		`{"avgcount":3,"sum":1e3}`:                     {N: 3, ok: true},
		`{"avgcount":3,"sum":-1.5}`:                    {N: 3, ok: true},
		`{"avgcount":322,"sum":17920407857.421568398}`: {N: 322, ok: true},
		`{"sum":1.5}`:                {},
		`{"avgcount":"x","sum":1.5}`: {},
		`{"min":1}`:                  {},
		`"text"`:                     {},
		`[1]`:                        {},
	} {
		var got Counter
		if err := got.UnmarshalJSON([]byte(text)); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestBrokenCounterAnswersAreErrors(t *testing.T) {
	for _, answer := range []string{``, `{"osd": {"op": `, `[]`, `{"osd":[]}`, "\xff\xfe"} {
		if c, err := DecodePerfDump([]byte(answer)); err == nil {
			t.Errorf("perf dump %q: got %v, want an error", answer, c)
		}
	}
	for _, answer := range []string{``, `{"osd":[{"labels":`, `[]`, `{"osd":{"op":1}}`} {
		if c, err := DecodeCounterDump([]byte(answer)); err == nil {
			t.Errorf("counter dump %q: got %v, want an error", answer, c)
		}
	}
}

func TestOnlySectionsAskedForAreRead(t *testing.T) {
	c, err := DecodeCounterDump([]byte(`{"osd":[{"labels":{},"counters":{"op":1}}],"osd_scrub_x":[{"labels":{"level":"deep"},"counters":{"a":2}}],"rest":7,"none":null}`), "osd", "osd_scrub_*", "none")
	if err != nil {
		t.Fatal(err)
	}
	if c.Get("osd", "op").N != 1 || len(c.Plain) != 1 || len(c.Labelled) != 1 || c.Labelled[0].Counters["a"].N != 2 {
		t.Errorf("got %+v", c)
	}
	if c.Get("bluefs", "x").OK() || c.Get("osd", "x").OK() {
		t.Error("a counter that is not there is OK")
	}
}

func scrubTable(s Scrubs) []string {
	names := [NumScrubCounters]string{"started", "succeeded", "failed", "seconds ok", "seconds failed", "reserved", "reservation failed", "aborted", "skipped", "preempted", "chunks", "busy", "writes blocked", "locked"}
	var rows []string
	for p, pool := range PoolTypes() {
		for i, c := range s[p] {
			if c.OK() {
				rows = append(rows, fmt.Sprintf("%s %s %d %d", pool, names[i], c.N, c.SumNS))
			}
		}
	}
	return rows
}

// The same scrubs, as 19 and as 20 print them.
func TestScrubCountersAreAlikeFrom19On(t *testing.T) {
	nineteen := `{"osd":[{"labels":{},"counters":{"op":1}}],
"osd_scrub_sh_repl":[{"labels":{"level":"shallow","pooltype":"replicated"},"counters":{"num_scrubs_started":3,"successful_scrubs":2,"failed_scrubs":1,"successful_scrubs_elapsed":{"avgcount":2,"sum":1.5},"failed_scrubs_elapsed":{"avgcount":1,"sum":0.25},"preemptions":4,"chunk_selected":9,"chunk_busy":2,"locked_object":1,"write_blocked_by_scrub":5,"scrub_reservations_completed":3,"reservation_process_aborted":1,"reservation_process_failure":2,"reservation_process_skipped":0,"replicas_in_reservation":2}}],
"osd_scrub_dp_repl":[{"labels":{"level":"deep","pooltype":"replicated"},"counters":{"num_scrubs_started":1,"successful_scrubs":1,"failed_scrubs":0,"successful_scrubs_elapsed":{"avgcount":1,"sum":10},"failed_scrubs_elapsed":{"avgcount":0,"sum":0},"preemptions":0,"chunk_selected":1,"chunk_busy":0,"locked_object":0,"write_blocked_by_scrub":1,"scrub_reservations_completed":1,"reservation_process_aborted":0,"reservation_process_failure":0,"reservation_process_skipped":1}}],
"osd_scrub_dp_ec":[{"labels":{"level":"deep","pooltype":"ec"},"counters":{"num_scrubs_started":6}}]}`
	twenty := `{"osd":[{"labels":{},"counters":{"num_scrubs_started_replicated":4,"successful_scrubs_replicated":3,"failed_scrubs_replicated":1,"successful_scrubs_replicated_elapsed":{"avgcount":3,"sum":11.5},"failed_scrubs_replicated_elapsed":{"avgcount":1,"sum":0.25},"scrub_replicated_scrub_reservations_completed":4,"scrub_replicated_reservation_process_aborted":1,"scrub_replicated_reservation_process_failure":2,"scrub_replicated_reservation_process_skipped":1,"num_scrubs_started_ec":6}}],
"osd_scrub_sh_repl":[{"labels":{"level":"shallow","pooltype":"replicated"},"counters":{"preemptions":4,"chunk_selected":9,"chunk_busy":2,"locked_object":1,"write_blocked_by_scrub":5}}],
"osd_scrub_dp_repl":[{"labels":{"level":"deep","pooltype":"replicated"},"counters":{"preemptions":0,"chunk_selected":1,"chunk_busy":0,"locked_object":0,"write_blocked_by_scrub":1}}]}`
	want := []string{
		"replicated started 4 0", "replicated succeeded 3 0", "replicated failed 1 0",
		"replicated seconds ok 3 11500000000", "replicated seconds failed 1 250000000",
		"replicated reserved 4 0", "replicated reservation failed 2 0", "replicated aborted 1 0", "replicated skipped 1 0",
		"replicated preempted 4 0", "replicated chunks 10 0", "replicated busy 2 0", "replicated writes blocked 6 0", "replicated locked 1 0",
		"ec started 6 0",
	}
	for name, answer := range map[string]string{"19": nineteen, "20": twenty} {
		c, err := DecodeCounterDump([]byte(answer), "osd", "osd_scrub_*")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, scrubTable(ScrubsOf(c))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestScrubCountersOfRealDaemons(t *testing.T) {
	for name, c := range counters(t) {
		all := scrubTable(ScrubsOf(c))
		switch {
		case name == "20 counter dump" && (len(all) != 2*int(NumScrubCounters) || slices.Contains(all, "replicated started 0 0")):
			t.Errorf("%s: got %q, want all counters and some scrubs", name, all)
		case !strings.HasPrefix(name, "20") && len(all) != 0:
			t.Errorf("%s: got %q, want none", name, all)
		}
	}
}

func FuzzDecodeCounters(f *testing.F) {
	for _, name := range []string{"perf_dump.json", "counter_dump.json"} {
		for _, data := range fixtures(f, name) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		if c, err := DecodePerfDump(answer); err == nil {
			WorkOf(c)
			ScrubsOf(c)
			GrowthOf(c, &[NumOps]Steps{})
		}
		if c, err := DecodeCounterDump(answer); err == nil {
			WorkOf(c)
			ScrubsOf(c)
		}
	})
}
