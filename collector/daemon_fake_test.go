package collector

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok/asoktest"
)

// fakeOSD answers on an admin socket as an OSD of its release does: captured
// answers, in which operations, reservations and scrub counters can be moved.
type fakeOSD struct {
	*asoktest.Server
	release string

	mu      sync.Mutex
	answers map[string]json.RawMessage
	perf    map[string]map[string]json.RawMessage // counters by section
	axes    map[string]json.RawMessage            // of the histograms, by name
	ops     [3]fakeLatency                        // read, write, rw
	local   int                                   // scrub reservations
	remote  int
	recover int // recovery reservations
}

type fakeLatency struct {
	count, ns uint64
	steps     [32]uint64
}

func fixture(t testing.TB, release, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "internal", "osdperf", "testdata", release, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// serveOSD starts osd.<id> of a release below dir, as if it had just started.
func serveOSD(t testing.TB, dir string, id int, release string) *fakeOSD {
	t.Helper()
	o := &fakeOSD{release: release, axes: map[string]json.RawMessage{}, answers: map[string]json.RawMessage{
		"version":     fixture(t, release, "version.json"),
		"config show": fixture(t, release, "config_show.json"),
	}}
	if err := json.Unmarshal(fixture(t, release, "perf_dump.json"), &o.perf); err != nil {
		t.Fatal(err)
	}
	var histograms struct {
		OSD map[string]struct {
			Axes json.RawMessage `json:"axes"`
		} `json:"osd"`
	}
	if err := json.Unmarshal(fixture(t, release, "perf_histogram_dump.json"), &histograms); err != nil {
		t.Fatal(err)
	}
	for name, h := range histograms.OSD {
		o.axes[name] = h.Axes
	}
	o.Server = asoktest.Serve(t, filepath.Join(dir, fmt.Sprintf("ceph-osd.%d.asok", id)), asoktest.Func(o.answer))
	return o
}

func (o *fakeOSD) answer(prefix string) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch prefix {
	case "perf dump":
		return o.perfDump()
	case "counter dump":
		if o.release == "16" {
			break
		}
		return o.counterDump()
	case "perf histogram dump":
		return o.histogramDump()
	case "dump_scrub_reservations":
		if o.release == "20" {
			return fmt.Appendf(nil, `{"scrubs_local":%d,"osd_max_scrubs":3,"remote_scrub_reservations":{"max_allowed":3,"min_priority":0,"queues":[],"in_progress":%s}}`, o.local, items(o.remote))
		}
		return fmt.Appendf(nil, `{"scrubs_local":%d,"scrubs_remote":%d,"osd_max_scrubs":1}`, o.local, o.remote)
	case "dump_recovery_reservations":
		return fmt.Appendf(nil, `{"local_reservations":{"queues":[],"in_progress":%s},"remote_reservations":{"queues":[],"in_progress":[]}}`, items(o.recover))
	}
	if a, ok := o.answers[prefix]; ok {
		return a
	}
	return []byte("ERROR: (22) Invalid argument\nunknown command prefix " + prefix)
}

func items(n int) string {
	list := make([]map[string]any, n)
	for i := range list {
		list[i] = map[string]any{"item": fmt.Sprintf("2.%d", i), "prio": 151, "can_preempt": true}
	}
	out, _ := json.Marshal(list) // of these types it cannot fail
	return string(out)
}

func (o *fakeOSD) perfDump() []byte {
	names := [3]string{"op_r_latency", "op_w_latency", "op_rw_latency"}
	for i, l := range o.ops {
		o.perf["osd"][names[i]] = fmt.Appendf(nil, `{"avgcount":%d,"sum":%d.%09d,"avgtime":0}`, l.count, l.ns/1e9, l.ns%1e9)
	}
	out, _ := json.Marshal(o.perf)
	return out
}

func (o *fakeOSD) counterDump() []byte {
	o.perfDump()
	sets := map[string]any{}
	for section, counters := range o.perf {
		sets[section] = []any{map[string]any{"labels": map[string]string{}, "counters": counters}}
	}
	sets["osd_scrub_dp_repl"] = []any{map[string]any{
		"labels":   map[string]string{"level": "deep", "pooltype": "replicated"},
		"counters": map[string]int{"preemptions": 1, "chunk_selected": 39, "chunk_busy": 2, "locked_object": 0, "write_blocked_by_scrub": 4},
	}}
	out, _ := json.Marshal(sets)
	return out
}

func (o *fakeOSD) histogramDump() []byte {
	names := [3]string{"op_r_latency_out_bytes_histogram", "op_w_latency_in_bytes_histogram", "op_rw_latency_in_bytes_histogram"}
	dump := map[string]any{}
	for i, l := range o.ops {
		var values [32][32]uint64
		for k, n := range l.steps {
			values[k][k%7] = n / 2 // spread over the sizes
			values[k][9] = n - n/2
		}
		dump[names[i]] = map[string]any{"axes": o.axes[names[i]], "values": values}
	}
	out, _ := json.Marshal(map[string]any{"osd": dump})
	return out
}

// do counts n operations: 0 reads, 1 writes, 2 does both.
func (o *fakeOSD) do(op, n int, each time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := &o.ops[op]
	k := 1
	for k < 31 && each.Nanoseconds() >= int64(100_000)<<(k-1) {
		k++
	}
	l.count += uint64(n)
	l.ns += uint64(n) * uint64(each)
	l.steps[k] += uint64(n)
}

// doing sets the reservations held.
func (o *fakeOSD) doing(local, remote, recover int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.local, o.remote, o.recover = local, remote, recover
}

// set changes a plain counter of section osd.
func (o *fakeOSD) set(counter string, value int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.perf["osd"][counter] = fmt.Appendf(nil, "%d", value)
}

// restart is a new process behind the same path: counters begin again.
func (o *fakeOSD) restart(t testing.TB) {
	t.Helper()
	o.Close()
	o.mu.Lock()
	o.ops = [3]fakeLatency{}
	o.mu.Unlock()
	o.Server = asoktest.Serve(t, o.Path, asoktest.Func(o.answer))
}
