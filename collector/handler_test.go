package collector

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp/zstd" // so that promhttp offers zstd, too
	dto "github.com/prometheus/client_model/go"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// bulkPoller is a collector with bulk rows: n series in each of three families
// and one series beside them.
type bulkPoller struct {
	Table
	count, age, deep, shallow *Row
	n                         int
	polls                     int
	err                       error
}

func newBulkPoller(n int) *bulkPoller {
	p := &bulkPoller{n: n}
	labels := []string{"pgid", "pool_id"}
	p.count = p.Add(Row{Name: "cephrisk_a_pgs", Help: "PGs"})
	p.age = p.Add(Row{Name: "cephrisk_pg_last_deep_scrub_age_seconds", Help: "Age, with a \\ and \"quotes\"", Labels: labels})
	p.deep = p.Add(Row{Name: "cephrisk_pg_last_deep_scrub_timestamp_seconds", Help: "Instant", Labels: labels})
	p.shallow = p.Add(Row{Name: "cephrisk_pg_last_scrub_timestamp_seconds", Help: "Instant", Labels: labels})
	return p
}

func (p *bulkPoller) Poll(context.Context, time.Time) (Snapshot, error) {
	p.polls++
	if p.err != nil {
		return nil, p.err
	}
	return bulkSnapshot{p, p.n, p.polls}, nil
}

type bulkSnapshot struct {
	p        *bulkPoller
	n, polls int
}

func (s bulkSnapshot) Emit(e *Emitter) {
	e.Emit(s.p.count, float64(s.n))
	stamp := func(i int) float64 { return 1764500000 + float64((i*7919+s.polls)%1000000) }
	e.Bulk(s.n, []BulkLabel{bulkPGID, bulkPool},
		BulkColumn{s.p.age, func(i int) float64 { return 1764600000 - stamp(i) }},
		BulkColumn{s.p.deep, func(i int) float64 {
			if i%10 == 4 {
				return math.NaN()
			}
			return stamp(i)
		}},
		BulkColumn{s.p.shallow, stamp})
}

// bulkPGID counts from 1.8000, so that the order of the PGs is that of their
// names, too: what goes through the registry is sorted by name.
func bulkPGID(b []byte, i int) []byte { return bulkID(i).Append(b) }

func bulkPool(b []byte, i int) []byte { return bulkID(i).AppendPool(b) }

func bulkID(i int) ceph.PGID {
	return ceph.PGID{Pool: int32(i>>15 + 1), Seed: uint32(i&0x7fff | 0x8000)}
}

// tabledPoller is a collector with its table.
type tabledPoller interface {
	Poller
	Rows() []*Row
}

// bulkSet is a set with that collector, whose clock stands still.
func bulkSet(t testing.TB, p tabledPoller) *Set {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	spec := Spec{Name: "bulk", Timeout: time.Minute, Rows: p.Rows}
	return NewSet(clock, Member{Spec: spec, Poller: p, Deps: Deps{Log: discardLog(), Now: clock, Interval: time.Minute}})
}

func poll(s *Set) {
	for _, r := range s.runners {
		r.pollOnce(context.Background())
	}
	for _, r := range s.runners { // how long a poll took differs from run to run
		r.status.duration = time.Millisecond
	}
}

func get(h http.Handler, method, target string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// content undoes the content encoding.
func content(t testing.TB, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	var r io.Reader = w.Body
	var err error
	switch e := w.Header().Get("Content-Encoding"); e {
	case "gzip":
		r, err = gzip.NewReader(w.Body)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(w.Body); err == nil {
			defer d.Close()
			r = d
		}
	case "":
	default:
		t.Fatalf("content encoding %q", e)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// accepts are what Prometheus 2.42 and 3.5, curl and others send.
var accepts = []string{
	"",
	"*/*",
	"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;escaping=allow-utf-8",
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=compact-text",
	"text/plain;version=0.0.4;escaping=dots",
	"text/plain;version=1.0.0;escaping=values",
	"text/html",
}

var acceptEncodings = []string{"", "gzip", "gzip, deflate, br, zstd", "zstd;q=1.0, gzip;q=0.8", "identity", "identity;q=0", "*", "*;q=0", "br", "gzip;q=0, zstd", "gzip ; q=0.5 , identity;q=0.4"}

func TestScrapesEqualWhatPromhttpServesOfTheSameFamilies(t *testing.T) {
	p := newBulkPoller(120)
	set := bulkSet(t, p)
	poll(set)
	ours := NewHandler(set, nil, HandlerOpts{})
	theirs := promhttp.HandlerFor(set, promhttp.HandlerOpts{EnableOpenMetrics: true})
	queries := []string{"", "?name[]=cephrisk_pg_last_deep_scrub_timestamp_seconds", "?name[]=cephrisk_a_pgs&name[]=cephrisk_pg_last_scrub_timestamp_seconds", "?name[]=none"}
	for _, accept := range accepts {
		for _, encoding := range acceptEncodings {
			for _, query := range queries {
				header := map[string]string{"Accept": accept, "Accept-Encoding": encoding}
				got, want := get(ours, "GET", "/metrics"+query, header), get(theirs, "GET", "/metrics"+query, header)
				name := fmt.Sprintf("Accept %q, Accept-Encoding %q, %q", accept, encoding, query)
				gotHeader := got.Header().Clone()
				if n := gotHeader.Get("Content-Length"); n != "" && n != strconv.Itoa(got.Body.Len()) {
					t.Errorf("%s: Content-Length %s for %d bytes", name, n, got.Body.Len())
				}
				gotHeader.Del("Content-Length") // promhttp leaves it to the server
				if got.Code != want.Code || !maps.EqualFunc(gotHeader, want.Header(), func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
					t.Errorf("%s:\n%d %v\nwant\n%d %v", name, got.Code, gotHeader, want.Code, want.Header())
					continue
				}
				if g, w := content(t, got), content(t, want); !bytes.Equal(g, w) {
					t.Errorf("%s: bodies differ, %d bytes, want %d:\n%.500q\nwant\n%.500q", name, len(g), len(w), g, w)
				}
			}
		}
	}
}

func TestHeadHasTheHeadersAndNoBody(t *testing.T) {
	set := bulkSet(t, newBulkPoller(500))
	poll(set)
	w := get(NewHandler(set, nil, HandlerOpts{}), "HEAD", "/metrics", map[string]string{"Accept-Encoding": "gzip"})
	if w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Content-Type") == "" {
		t.Errorf("%d %v with %d bytes", w.Code, w.Header(), w.Body.Len())
	}
}

// blockingGatherer holds every gather until it is let go.
type blockingGatherer struct{ in, out chan struct{} }

func (g blockingGatherer) Gather() (none []*dto.MetricFamily, _ error) {
	g.in <- struct{}{}
	<-g.out
	return nil, nil
}

func TestScrapesAboveTheLimitAreRefused(t *testing.T) {
	g := blockingGatherer{make(chan struct{}), make(chan struct{})}
	h := NewHandler(bulkSet(t, newBulkPoller(3)), prometheus.Gatherers{g}, HandlerOpts{MaxScrapes: 1})
	first := make(chan int)
	go func() { first <- get(h, "GET", "/metrics", nil).Code }()
	<-g.in
	if w := get(h, "GET", "/metrics", nil); w.Code != 503 || w.Body.String() != "Limit of concurrent requests reached (1), try again later.\n" {
		t.Errorf("second scrape: %d %q", w.Code, w.Body)
	}
	close(g.out)
	if code := <-first; code != 200 {
		t.Errorf("first scrape: %d", code)
	}
}

func TestAScrapeWithoutAnyFamilyTellsWhy(t *testing.T) {
	fails := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, errors.New("no luck") })
	w := get(NewHandler(NewSet(time.Now), prometheus.Gatherers{fails}, HandlerOpts{}), "GET", "/metrics", map[string]string{"Accept-Encoding": "gzip"})
	if want := "An error has occurred while serving metrics:\n\n[from Gatherer #1] no luck\n"; w.Code != 500 || w.Body.String() != want || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("%d %v %q, want %q", w.Code, w.Header(), w.Body, want)
	}
}

func TestSelfMetricsAreFreshWhereTheBulkIsCached(t *testing.T) {
	p := newBulkPoller(100)
	set := bulkSet(t, p)
	poll(set)
	h := NewHandler(set, nil, HandlerOpts{})
	header := map[string]string{"Accept-Encoding": "gzip"}
	before := content(t, get(h, "GET", "/metrics", header))
	p.err = errors.New("mgr is gone")
	poll(set)
	after := content(t, get(h, "GET", "/metrics", header))
	for _, want := range []string{"cephrisk_collector_success{collector=\"bulk\"} 0\n", "cephrisk_collector_failures_total{collector=\"bulk\"} 1\n"} {
		if !bytes.Contains(after, []byte(want)) || bytes.Contains(before, []byte(want)) {
			t.Errorf("no %q after a failed poll:\n%.1500s", want, after)
		}
	}
	cut := func(b []byte) []byte { return b[bytes.Index(b, []byte("# HELP cephrisk_pg_")):] }
	if !bytes.Equal(cut(before), cut(after)) {
		t.Error("the bulk of the last good poll changed")
	}
	p.err = nil
	poll(set)
	if again := content(t, get(h, "GET", "/metrics", header)); bytes.Equal(cut(again), cut(after)) {
		t.Error("the bulk did not change with the next poll")
	}
}

// What is copied from poll to poll must be what would be made afresh.
func TestTheBulkAfterManyPollsIsThatOfAFirstPoll(t *testing.T) {
	const pgs, polls = 3000, 6
	p, fresh := newSteadyPoller(pgs), newSteadyPoller(pgs)
	set := bulkSet(t, p)
	h := NewHandler(set, nil, HandlerOpts{})
	for n := range polls {
		poll(set)
		fresh.polls = n
		first := bulkSet(t, fresh)
		poll(first)
		want := NewHandler(first, nil, HandlerOpts{})
		for _, accept := range []string{accepts[0], accepts[2], accepts[4]} {
			for _, encoding := range []string{"gzip", "zstd"} {
				bulk := func(h http.Handler, encoding string) []byte {
					b := content(t, get(h, "GET", "/metrics", map[string]string{"Accept": accept, "Accept-Encoding": encoding}))
					return b[bytes.Index(b, []byte("cephrisk_pg_")):]
				}
				if !bytes.Equal(bulk(h, encoding), bulk(want, "identity")) {
					t.Fatalf("poll %d, Accept %q, %s: other bulk than that of a first poll", n+1, accept, encoding)
				}
			}
		}
	}
}

func TestBulkThatContradictsItsDeclarationIsDroppedAndCounted(t *testing.T) {
	p := newBulkPoller(4)
	labels := []BulkLabel{bulkPGID, bulkPool}
	one := func(int) float64 { return 1 }
	other := &Row{Name: "cephrisk_other", Labels: []string{"pgid", "pool_id"}}
	for name, tc := range map[string]struct {
		emit    func(e *Emitter)
		dropped int
		want    string
	}{
		"row of another table": {func(e *Emitter) { e.Bulk(4, labels, BulkColumn{other, one}) }, 4, `cephrisk_other[]: row is not in the collector's table`},
		"labels":               {func(e *Emitter) { e.Bulk(4, labels[:1], BulkColumn{p.age, one}) }, 4, `cephrisk_pg_last_deep_scrub_age_seconds[]: 1 bulk label values for the labels ["pgid" "pool_id"], in a table with labels ["pgid" "pool_id"]`},
		"no labels":            {func(e *Emitter) { e.Bulk(1, nil, BulkColumn{p.count, one}) }, 1, `cephrisk_a_pgs[]: 0 bulk label values for the labels [], in a table with labels []`},
		"twice":                {func(e *Emitter) { e.Bulk(4, labels, BulkColumn{p.age, one}, BulkColumn{p.age, one}) }, 4, `cephrisk_pg_last_deep_scrub_age_seconds[]: samples in bulk and others in one row`},
		"after a sample": {func(e *Emitter) { e.Emit(p.age, 1, "1.0", "1"); e.Bulk(4, labels, BulkColumn{p.age, one}) }, 4,
			`cephrisk_pg_last_deep_scrub_age_seconds[]: samples in bulk and others in one row`},
		"before a sample": {func(e *Emitter) { e.Bulk(4, labels, BulkColumn{p.age, one}); e.Emit(p.age, 1, "1.0", "1") }, 1,
			`cephrisk_pg_last_deep_scrub_age_seconds["1.0" "1"]: samples in bulk and others in one row`},
		"same labels": {func(e *Emitter) {
			e.Bulk(4, []BulkLabel{func(b []byte, i int) []byte { return bulkPGID(b, i/2) }, bulkPool}, BulkColumn{p.age, one})
		}, 2, `cephrisk_pg_last_deep_scrub_age_seconds[]: 2 rows refused, the first is row 1, ["1.8000" "1"]: a second row with the same labels`},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmitter(p.Rows())
			tc.emit(e)
			if e.dropped != tc.dropped || len(e.problems) != 1 || e.problems[0].Error() != tc.want {
				t.Errorf("%d dropped, problems %q, want %d, %q", e.dropped, e.problems, tc.dropped, tc.want)
			}
		})
	}
}

func discardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestScrapesWhilePollsPublishAreWhole(t *testing.T) {
	set := bulkSet(t, newBulkPoller(700))
	poll(set)
	h := NewHandler(set, nil, HandlerOpts{})
	var scrapers sync.WaitGroup
	done := make(chan struct{})
	for i := range 6 {
		header := map[string]string{"Accept": accepts[i%3], "Accept-Encoding": []string{"gzip", "zstd", ""}[i/2]}
		scrapers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				body := content(t, get(h, "GET", "/metrics", header))
				if n := bytes.Count(body, []byte("\ncephrisk_pg_last_scrub_timestamp_seconds{")); n != 700 {
					t.Errorf("%v: %d series", header, n)
					return
				}
			}
		})
	}
	for range 20 {
		for _, r := range set.runners {
			r.pollOnce(context.Background())
		}
	}
	close(done)
	scrapers.Wait()
}
