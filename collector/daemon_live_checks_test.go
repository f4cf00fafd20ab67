package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/asok"
)

// rawOSD is what an OSD says of itself, read without the collector's code.
type rawOSD struct {
	count map[string]uint64     // by op
	ns    map[string]int64      // by op
	steps map[string][32]uint64 // by op
}

func (l *daemonLive) raw(t *testing.T, osd int) rawOSD {
	t.Helper()
	r := rawOSD{count: map[string]uint64{}, ns: map[string]int64{}, steps: map[string][32]uint64{}}
	var perf struct {
		OSD map[string]json.RawMessage `json:"osd"`
	}
	var histograms struct {
		OSD map[string]struct{ Values [][]uint64 } `json:"osd"`
	}
	l.ask(t, osd, asok.PerfDump, &perf)
	l.ask(t, osd, asok.PerfHistogramDump, &histograms)
	for op, names := range map[string][2]string{
		"read":  {"op_r_latency", "op_r_latency_out_bytes_histogram"},
		"write": {"op_w_latency", "op_w_latency_in_bytes_histogram"},
		"rw":    {"op_rw_latency", "op_rw_latency_out_bytes_histogram"},
	} {
		var avg struct {
			Avgcount uint64
			Sum      json.Number
		}
		if err := json.Unmarshal(perf.OSD[names[0]], &avg); err != nil {
			t.Fatal(err)
		}
		ns, err := strconv.ParseInt(strings.Replace(avg.Sum.String(), ".", "", 1), 10, 64) // nine decimals
		if err != nil {
			t.Fatal(err)
		}
		var steps [32]uint64
		for k, row := range histograms.OSD[names[1]].Values {
			for _, n := range row {
				steps[k] += n
			}
		}
		r.count[op], r.ns[op], r.steps[op] = avg.Avgcount, ns, steps
	}
	return r
}

func (l *daemonLive) ask(t *testing.T, osd int, cmd asok.Command, v any) {
	t.Helper()
	var c asok.Client
	answer, err := c.Ask(l.ctx, l.c.AsokPath(fmt.Sprintf("osd.%d", osd)), cmd)
	if err == nil {
		err = json.Unmarshal(answer, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reservations are 1 where the OSD holds one now. One that does not answer
// holds none.
func (l *daemonLive) reservations(osd int) (scrub, recovery int) {
	var c asok.Client
	path := l.c.AsokPath(fmt.Sprintf("osd.%d", osd))
	var s struct {
		Local  int             `json:"scrubs_local"`
		Remote int             `json:"scrubs_remote"`
		Held   json.RawMessage `json:"remote_scrub_reservations"`
	}
	if answer, err := c.Ask(l.ctx, path, asok.DumpScrubReservations); err == nil && json.Unmarshal(answer, &s) == nil {
		if s.Local+s.Remote > 0 || bytes.Contains(s.Held, []byte(`"item"`)) {
			scrub = 1
		}
	}
	var r map[string]struct {
		InProgress []any `json:"in_progress"`
	}
	if answer, err := c.Ask(l.ctx, path, asok.DumpRecoveryReservations); err == nil && json.Unmarshal(answer, &r) == nil {
		if len(r["local_reservations"].InProgress)+len(r["remote_reservations"].InProgress) > 0 {
			recovery = 1
		}
	}
	return scrub, recovery
}

func liveSeries(name, osd, op, activity string) string {
	return fmt.Sprintf(`cephrisk_osd_op_latency_%s{activity=%q,ceph_daemon=%q,op=%q}`, name, activity, osd, op)
}

func liveActivities() []string {
	return []string{"none", "scrub", "recovery", "scrub_recovery", "other"}
}

// equal checks that over all activities the collector has the OSDs' own numbers.
// A stray operation of Ceph's own modules between the poll and the look at the
// OSD is caught up with by the next poll.
func (l *daemonLive) equal(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, 2*time.Minute)
	defer cancel()
	if err := l.c.Await(ctx, func(context.Context) (bool, string, error) {
		l.poll(t)
		differences := l.differences(t)
		return len(differences) == 0, strings.Join(differences, "\n"), nil
	}); err != nil {
		t.Error(err)
	}
}

func (l *daemonLive) differences(t *testing.T) (all []string) {
	t.Helper()
	for i := range liveOSDs {
		osd, now := fmt.Sprintf("osd.%d", i), l.raw(t, i)
		for _, op := range []string{"read", "write", "rw"} {
			var n, sum, buckets, inHistogram float64
			for _, a := range liveActivities() {
				n += l.last[liveSeries("seconds_count", osd, op, a)]
				sum += l.last[liveSeries("seconds_sum", osd, op, a)]
				inHistogram += l.last[liveSeries("distribution_seconds_count", osd, op, a)]
				buckets += l.last[fmt.Sprintf(`cephrisk_osd_op_latency_distribution_seconds_bucket{activity=%q,ceph_daemon=%q,op=%q,le="+Inf"}`, a, osd, op)]
			}
			want := float64(now.count[op] - l.base[i].count[op])
			wantSum := float64(now.ns[op]-l.base[i].ns[op]) / 1e9
			if n != want || buckets != want || inHistogram != want || math.Abs(sum-wantSum) > 1e-6 {
				all = append(all, fmt.Sprintf("%s %s: booked %v operations (buckets %v, count %v) in %v s; the OSD says %v in %v s", osd, op, n, buckets, inHistogram, sum, want, wantSum))
			}
		}
	}
	return all
}

// attributed checks that of what the OSDs did in a phase nearly all was booked
// to the activities given, and that the quantiles of it are the OSDs' own.
func (p *phase) attributed(t *testing.T, osds []int, activities ...string) {
	t.Helper()
	if len(osds) == 0 {
		t.Errorf("only OSDs %v were doing it all the time", osds)
	}
	var all, right float64
	for _, i := range osds {
		osd := fmt.Sprintf("osd.%d", i)
		for _, op := range []string{"read", "write", "rw"} {
			did := float64(p.after[i].count[op] - p.before[i].count[op])
			var booked float64
			var steps [32]float64
			for _, a := range activities {
				booked += p.booked[liveSeries("seconds_count", osd, op, a)]
				p.addSteps(&steps, osd, op, a)
			}
			all, right = all+did, right+booked
			if booked < 0.95*did || booked > did+5 { // a stray operation before the phase
				t.Errorf("%s %s: %v of %v operations booked to %q", osd, op, booked, did, activities)
			}
			var own [32]float64
			for k := range own {
				own[k] = float64(p.after[i].steps[op][k] - p.before[i].steps[op][k])
			}
			compareQuantiles(t, osd+" "+op, own, steps)
		}
	}
	t.Logf("booked to %q: %.2f %% of %v operations, OSDs %v", activities, 100*right/all, all, osds)
}

// addSteps adds the steps of a per-OSD histogram's growth.
func (p *phase) addSteps(steps *[32]float64, osd, op, activity string) {
	below := 0.0
	for k := 1; k < 31; k++ {
		le := strconv.FormatFloat(float64(int64(100_000)<<(k-1))/1e9, 'g', -1, 64)
		v := p.booked[fmt.Sprintf(`cephrisk_osd_op_latency_distribution_seconds_bucket{activity=%q,ceph_daemon=%q,op=%q,le=%q}`, activity, osd, op, le)]
		steps[k] += v - below
		below = v
	}
}

func compareQuantiles(t *testing.T, what string, own, booked [32]float64) {
	t.Helper()
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		a, b := quantileStep(own, q), quantileStep(booked, q)
		// Step 7 ends at 6.4 ms, step 8 at 12.8.
		if a >= 8 && (b < a-1 || b > a+1) {
			t.Errorf("%s: quantile %v is in step %d, the OSD's own in %d", what, q, b, a)
		}
	}
}

func quantileStep(steps [32]float64, q float64) int {
	total := 0.0
	for _, n := range steps {
		total += n
	}
	sum := 0.0
	for k, n := range steps {
		if sum += n; total > 0 && sum >= q*total {
			return k
		}
	}
	return 0
}

// contrast logs latency by activity over all OSDs: what docs/performance.md has.
func (p *phase) contrast(t *testing.T, what string, osds []int, activities ...string) {
	t.Helper()
	for _, op := range []string{"read", "write"} {
		var n, sum float64
		var steps [32]float64
		for _, i := range osds {
			osd := fmt.Sprintf("osd.%d", i)
			for _, a := range activities {
				n += p.booked[liveSeries("seconds_count", osd, op, a)]
				sum += p.booked[liveSeries("seconds_sum", osd, op, a)]
				p.addSteps(&steps, osd, op, a)
			}
		}
		if n == 0 {
			continue
		}
		edge := func(q float64) float64 { return 1e-4 * math.Pow(2, float64(quantileStep(steps, q)-1)) * 1e3 }
		t.Logf("%s: %s %v operations, mean %.3f ms, p50 <= %.1f ms, p99 <= %.1f ms, p999 <= %.1f ms", what, op, n, sum/n*1e3, edge(0.5), edge(0.99), edge(0.999))
	}
}

func allLiveOSDs() []int {
	all := make([]int, liveOSDs)
	for i := range all {
		all[i] = i
	}
	return all
}
