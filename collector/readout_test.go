package collector

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// A reader that is no scrape sees what a scrape would, of every type, and can
// stop early in a family with a series per PG.
func TestReadoutShowsWhatAScrapeWouldAndStopsWhenTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := &Row{Name: "cephrisk_test_value", Kind: Gauge, Help: "Plain", Labels: []string{"b", "a"}}
		histogram := &Row{Name: "cephrisk_test_seconds", Kind: Histogram, Help: "Histogram"}
		summary := &Row{Name: "cephrisk_test_summary", Kind: Summary, Help: "Summary"}
		counter := &Row{Name: "cephrisk_test_total", Kind: Counter, Help: "Counter"}
		perPG := &Row{Name: "cephrisk_test_pg", Kind: Gauge, Help: "Bulk", Labels: []string{"pgid"}}
		rows := []*Row{plain, histogram, summary, counter, perPG}
		asked := 0
		poller := &scripted{poll: func(context.Context, int) (Snapshot, error) {
			return emitFunc(func(e *Emitter) {
				e.Emit(plain, 3, "y", "x")
				e.EmitHistogram(histogram, &dto.Histogram{SampleCount: proto.Uint64(2), SampleSum: proto.Float64(7)})
				e.EmitSummary(summary, 4, 9)
				e.Emit(counter, 5)
				e.Bulk(1000, []BulkLabel{func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(i), 10) }},
					BulkColumn{perPG, func(i int) float64 { asked++; return float64(i) }})
			}), nil
		}}
		deps := testDeps(t, time.Time{})
		deps.Now = time.Now
		set := NewSet(time.Now, Member{Spec: Spec{Name: "test", Timeout: time.Minute, Rows: func() []*Row { return rows }}, Poller: poller, Deps: deps})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); set.Run(ctx) }()
		defer func() { cancel(); <-done }()
		synctest.Wait()

		r, err := set.Read(prometheus.Gatherers{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			help, kind, ok := r.Describe(row.Name)
			n := 0
			before := asked
			r.Each(row.Name, func(s *Sample) bool {
				n++
				text := fmt.Sprintf("%s %v %v %v %v %d %q %v", row.Name, help, kind, ok, slices.Contains(r.Names(), row.Name), r.Len(row.Name), s.Labels, s.Value)
				if s.Count != nil {
					text += fmt.Sprintf(" of %d", *s.Count)
				}
				got = append(got, text)
				return n < 2
			})
			if asked-before > 10 {
				t.Errorf("%s: asked for %d values to show two", row.Name, asked-before)
			}
		}
		want := []string{
			`cephrisk_test_value Plain gauge true true 1 ["a" "x" "b" "y"] 3`,
			`cephrisk_test_seconds Histogram histogram true true 1 [] 7 of 2`,
			`cephrisk_test_summary Summary summary true true 1 [] 9 of 4`,
			`cephrisk_test_total Counter counter true true 1 [] 5`,
			`cephrisk_test_pg Bulk gauge true true 1000 ["pgid" "0"] 0`,
			`cephrisk_test_pg Bulk gauge true true 1000 ["pgid" "1"] 1`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("readout (-want +got):\n%s", diff)
		}
		if _, _, ok := r.Describe("none"); ok || r.Len("none") != 0 {
			t.Error("a family that is not there")
		}
	})
}
