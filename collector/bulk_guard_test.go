package collector

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
)

// tablePoller decodes the dump of a made-up cluster and exports three series
// per PG: what the pg collector does at most.
type tablePoller struct {
	bulkPoller
	cluster ceph.Commander
	now     func() time.Time
}

func newTablePoller(t testing.TB, pgs int) *tablePoller {
	t.Helper()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Minute); return now }
	c, err := simulate.New(simulate.Config{PGs: pgs, Seed: 1, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return &tablePoller{bulkPoller: *newBulkPoller(0), cluster: c, now: clock}
}

func (p *tablePoller) Poll(ctx context.Context, _ time.Time) (Snapshot, error) {
	answer, err := p.cluster.MgrCommand(ctx, []byte(`{"prefix":"pg dump","dumpcontents":["pgs"],"format":"json"}`))
	if err != nil {
		return nil, err
	}
	table, err := ceph.DecodePGs(answer)
	if err != nil {
		return nil, err
	}
	return tableSnapshot{p, table, ceph.StampOf(p.now())}, nil
}

type tableSnapshot struct {
	p     *tablePoller
	table *ceph.PGTable
	now   ceph.Stamp
}

func (s tableSnapshot) Emit(e *Emitter) {
	pgs := s.table.PGs
	whole := func(t ceph.Stamp) float64 { return math.Floor(t.Seconds()) }
	e.Bulk(len(pgs), []BulkLabel{
		func(b []byte, i int) []byte { return pgs[i].ID.Append(b) },
		func(b []byte, i int) []byte { return pgs[i].ID.AppendPool(b) },
	},
		BulkColumn{s.p.age, func(i int) float64 { return math.Floor((s.now - pgs[i].LastDeepScrub).Seconds()) }},
		BulkColumn{s.p.deep, func(i int) float64 { return whole(pgs[i].LastDeepScrub) }},
		BulkColumn{s.p.shallow, func(i int) float64 { return whole(pgs[i].LastScrub) }})
}

func (p *tablePoller) set() *Set {
	spec := Spec{Name: "bulk", Timeout: time.Minute, Rows: p.Rows}
	return NewSet(p.now, Member{Spec: spec, Poller: p, Deps: Deps{Log: discardLog(), Now: p.now, Interval: time.Hour}})
}

func TestASeriesTakesAtMostNineBytesOnTheWire(t *testing.T) {
	const pgs = 6_000
	set := newTablePoller(t, pgs).set()
	poll(set)
	h := NewHandler(set, nil, HandlerOpts{})
	for _, accept := range []string{accepts[0], accepts[2], accepts[4]} {
		if n := float64(scrapeOnce(h, accept, "gzip")) / (3 * pgs); n > 9 {
			t.Errorf("Accept %q: %.2f bytes per series", accept, n)
		}
	}
}

func TestScrapesAllocateNoMoreForManyPGs(t *testing.T) {
	allocs := func(pgs int, accept, encoding string) float64 {
		set := bulkSet(t, newBulkPoller(pgs))
		poll(set)
		h := NewHandler(set, nil, HandlerOpts{})
		scrapeOnce(h, accept, encoding) // compressed forms are made once
		return testing.AllocsPerRun(5, func() { scrapeOnce(h, accept, encoding) })
	}
	for _, accept := range []string{accepts[0], accepts[2], accepts[4]} {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			few, many := allocs(10, accept, encoding), allocs(8_000, accept, encoding)
			// A collection in between may empty the pools of buffers.
			if many > few+30 {
				t.Errorf("Accept %q, %s: %v allocations for 10 PGs, %v for 8,000", accept, encoding, few, many)
			}
		}
	}
}

// What stays between two polls: the decoded table, the compressed forms of
// three families in the format that Prometheus asks for, nothing of the answer.
func TestAPGTakesAtMost300BytesBetweenPolls(t *testing.T) {
	const pgs = 12_000
	p := newTablePoller(t, pgs)
	set := p.set()
	h := NewHandler(set, nil, HandlerOpts{})
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // pools survive the first
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	if _, err := p.cluster.MgrCommand(context.Background(), []byte(`{"prefix":"pg ls","states":["scrubbing"]}`)); err != nil {
		t.Fatal(err)
	}
	scrapeOnce(h, accepts[2], "gzip")
	before := heap()
	var levels []string
	for range 3 {
		poll(set)
		scrapeOnce(h, accepts[2], "gzip")
		perPG := float64(int64(heap())-int64(before)) / pgs
		levels = append(levels, fmt.Sprintf("%.0f", perPG))
		if perPG > 300 {
			t.Errorf("%.0f bytes per PG", perPG)
		}
	}
	t.Logf("bytes per PG after each poll: %v", levels)
	runtime.KeepAlive(set)
}
