package page_test

import (
	"flag"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/page"
	"github.com/ceph-risk/ceph_risk_exporter/internal/page/pagetest"
)

var update = flag.Bool("update", false, "rewrite the goldens")

var now = time.Date(2026, 11, 30, 21, 30, 0, 0, time.UTC)

var names = []string{"pg", "forecast", "osd", "msa", "rgw", "daemon", "bluestore", "enclosure"}

func handler(t testing.TB, r page.Reading) *page.Handler {
	t.Helper()
	h, err := page.New(page.Config{
		Version: "1.0.0", Role: "all", Read: func() page.Reading { return r }, Log: slog.New(slog.DiscardHandler),
		Declared: []page.Declared{
			{Name: "cephrisk_pool_pgs_late", Help: "PGs that are late", Kind: "gauge", Collector: "pg", Cardinality: "one per pool and level", Source: "mgr `pg dump pgs`"},
			{Name: "cephrisk_osd_up", Help: "1 when the OSD is up", Kind: "gauge", Collector: "osd", Cardinality: "one per OSD", Source: "mon `osd dump`"},
			{Name: "cephrisk_collector_success", Help: "1 when the last poll succeeded", Kind: "gauge"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// get returns a page without its style.
func get(t testing.TB, h *page.Handler, address string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, address, nil)
	if strings.HasPrefix(address, "/metric") {
		h.Metric(w, req)
	} else {
		h.Overview(w, req)
	}
	return w.Code, regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAllString(w.Body.String(), "<style></style>")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func small() string {
	return pagetest.MadeUp(now, pagetest.Size{Pools: 3, OSDs: 8, Shelves: 2, Slots: 3, Gateways: 2, Arrays: 1})
}

func TestOverviewShowsWhatTheCollectorsRead(t *testing.T) {
	code, body := get(t, handler(t, pagetest.Parse(t, now, pagetest.AllWork(now, names...), small())), "/")
	if code != http.StatusOK {
		t.Errorf("status %d", code)
	}
	golden(t, "overview.html", body)
}

// Each way of not having something is told apart.
func TestOverviewSaysWhatIsAbsentAndWhy(t *testing.T) {
	states := []page.Collector{
		{Name: "pg"},
		{Name: "forecast", Polled: true, Err: "mon versions: no answer within 15s", LastErr: "mon versions: no answer within 15s", LastErrAt: now.Add(-time.Minute), LastSuccess: now.Add(-time.Hour), Failures: 61, Duration: 15 * time.Second, Interval: 10 * time.Minute},
		{Name: "osd", Polled: true, Err: "mgr osd df: no answer", LastErr: "mgr osd df: no answer", LastErrAt: now.Add(-time.Minute), At: now.Add(-time.Minute), Failures: 1, Duration: 15 * time.Second, Interval: time.Minute},
		{Name: "msa", Off: "it runs only when asked for, with --collector.msa"},
		{Name: "rgw", Polled: true, At: now, LastSuccess: now, Interval: time.Minute},
		{Name: "daemon", Polled: true, LastSuccess: now.Add(-time.Hour), Interval: time.Minute},
		{Name: "bluestore", Off: "it was switched off with --no-collector.bluestore"},
		{Name: "enclosure", Off: "it belongs to the host role, which the exporter on each Ceph host has; this one has --role=cluster"},
	}
	_, body := get(t, handler(t, pagetest.Parse(t, now, states, "")), "/")
	golden(t, "absent.html", body)
}

func TestMetricPageShowsTheSeriesThatWereAskedFor(t *testing.T) {
	h := handler(t, pagetest.Parse(t, now, pagetest.AllWork(now, names...), small()))
	for _, c := range []struct {
		address, file string
		code          int
	}{
		{"/metric?__name__=cephrisk_pool_pgs_late&level=deep", "metric.html", 200},
		{"/metric?__name__=cephrisk_scrub_forecast_first_late_timestamp_seconds", "metric_undeclared.html", 200},
		{"/metric?__name__=cephrisk_pool_pgs_late&level=none", "metric_no_match.html", 200},
		{"/metric?__name__=cephrisk_collector_success", "metric_none.html", 200},
		{"/metric?__name__=%3Cb%3E", "metric_unknown.html", 404},
		{"/metric?filter=late+pgs", "families.html", 200},
	} {
		code, body := get(t, h, c.address)
		if code != c.code {
			t.Errorf("%s: %d", c.address, code)
		}
		golden(t, c.file, body)
	}
}

// The collectors' own goldens: what real clusters, shelves and arrays gave.
func TestOverviewReadsWhatTheCollectorsReallyExport(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", "collector", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct {
		files []string
		says  []string
	}{
		{[]string{"pg_18.txt", "forecast_18.txt", "osd_18.txt", "enclosure/ok.metrics", "rgw.metrics", "msa/faulty.txt"}, []string{
			`aria-label="PGs by age of the last deep scrub"`, `aria-label="Late PGs, deep: `, "META", `class="slots"`, "power supply 1 (PSU B)", "rgw.", "<strong class=\"bad\">",
		}},
		{[]string{"pg_16.txt", "osd_16.txt", "enclosure/gone.metrics", "rgw_none.metrics", "msa/gone.txt"}, []string{
			"The shelf has gone. What follows is remembered.", "does not answer",
		}},
		{[]string{"pg_20.txt", "osd_20.txt", "enclosure/volume_missing.metrics", "msa/p2000.txt"}, []string{"late by Ceph"}},
	} {
		var texts []string
		for _, f := range c.files {
			texts = append(texts, read(f))
		}
		h := handler(t, pagetest.Parse(t, now, pagetest.AllWork(now, names...), texts...))
		code, body := get(t, h, "/")
		for _, want := range c.says {
			if code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%v: no %q", c.files, want)
			}
		}
		seriesBehindLinks(t, h, body)
	}
}

// seriesBehindLinks follows every link of a page: a label that the collectors do
// not give would lead to nothing.
func seriesBehindLinks(t *testing.T, h *page.Handler, body string) {
	t.Helper()
	links := map[string]bool{}
	for _, m := range regexp.MustCompile(`href="(metric\?[^"]+)"`).FindAllStringSubmatch(body, -1) {
		links["/"+html.UnescapeString(m[1])] = true
	}
	for link := range links {
		if strings.Contains(link, "cephrisk_collector_") {
			continue // not in the goldens
		}
		if _, got := get(t, h, link); !strings.Contains(got, `class="samples"`) {
			t.Errorf("%s shows no series", link)
		}
	}
	if len(links) < 30 {
		t.Errorf("only %d links", len(links))
	}
}

// 400 pools, 4,000 OSDs, 30 shelves, 200 gateways and arrays: a page that a
// phone can load, with the rest counted.
func TestHugeClustersMakeNoHugePage(t *testing.T) {
	r := pagetest.Parse(t, now, pagetest.AllWork(now, names...), pagetest.MadeUp(now, pagetest.Size{Pools: 400, OSDs: 4000, Shelves: 30, Slots: 130, Gateways: 200, Arrays: 200}))
	h := handler(t, r)
	_, body := get(t, h, "/")
	if len(body) > 700<<10 {
		t.Errorf("the overview has %d bytes", len(body))
	}
	for _, want := range []string{">385 more pools<", " more busy OSDs<", ">3985 more OSDs<", ">185 more gateways<", ">24 more shelves<", ">10 more slots<", ">185 more arrays<"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
	code, body := get(t, h, "/metric?__name__=cephrisk_osd_up")
	if code != http.StatusOK || len(body) > 100<<10 || !strings.Contains(body, "and 3800 more series") || strings.Count(body, "<tr>") != 201 {
		t.Errorf("%d, %d bytes, %d rows", code, len(body), strings.Count(body, "<tr>"))
	}
}

// Names come from users of the cluster, from daemons and from shelves.
func TestHostileNamesStayText(t *testing.T) {
	evil := `"><script>alert(1)</script><img src=x onerror=alert(2)>'` + "\u202e\x00" + strings.Repeat("A", 5000)
	r := pagetest.Parse(t, now, pagetest.AllWork(now, names...), pagetest.MadeUp(now, pagetest.Size{
		Pools: 4, OSDs: 5, Shelves: 1, Slots: 4, Gateways: 2, Arrays: 1, Name: func(n string) string { return n + evil },
	}))
	r.States[0].Err, r.States[0].LastErr = evil, evil
	r.States[1].Off = evil
	h := handler(t, r)
	for _, address := range []string{
		"/", "/metric", "/metric?__name__=cephrisk_pool_info", "/metric?__name__=cephrisk_rgw_multipart_open&x=" + strings.Repeat("y", 10000),
		"/metric?__name__=cephrisk_pool_info&%22%3E%3Cscript%3E=%22%3E%3Cscript%3E", "/metric?filter=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/metric?__name__=%22%3E%3Cscript%3Ealert(1)",
	} {
		_, body := get(t, h, address)
		if strings.Contains(body, "<script") || strings.Contains(body, "<img") {
			t.Errorf("%s: markup got through", address)
		}
		if address == "/" && (!strings.Contains(body, html.EscapeString(`"><script>alert(1)`)) || len(body) > 300<<10) {
			t.Errorf("%s: %d bytes, the names are not there", address, len(body))
		}
	}
}

func TestPagesForbidScriptsOthersAndFrames(t *testing.T) {
	w := httptest.NewRecorder()
	handler(t, pagetest.Parse(t, now, nil, "")).Overview(w, httptest.NewRequest(http.MethodGet, "/", nil))
	policy := regexp.MustCompile(`^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$`)
	want := map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8"}
	for name, value := range want {
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := w.Header().Get("Content-Security-Policy"); !policy.MatchString(got) {
		t.Errorf("policy %q", got)
	}
}

// slowReading holds every view until it is let go.
type slowReading struct {
	*pagetest.Reading
	entered, release chan struct{}
}

func (s *slowReading) Names() []string {
	s.entered <- struct{}{}
	<-s.release
	return s.Reading.Names()
}

func TestOnlySoManyPagesAreMadeAtATime(t *testing.T) {
	s := &slowReading{pagetest.Parse(t, now, nil, ""), make(chan struct{}), make(chan struct{})}
	h := handler(t, s)
	done := make(chan int)
	for range 8 {
		go func() { code, _ := get(t, h, "/metric"); done <- code }()
		<-s.entered
	}
	if code, body := get(t, h, "/"); code != http.StatusServiceUnavailable || !strings.Contains(body, "try again") {
		t.Errorf("the ninth view: %d %s", code, body)
	}
	close(s.release)
	for range 8 {
		if code := <-done; code != http.StatusOK {
			t.Errorf("one of the first eight: %d", code)
		}
	}
	if code, _ := get(t, h, "/"); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}

func BenchmarkOverviewOfAHugeCluster(b *testing.B) {
	r := pagetest.Parse(b, now, pagetest.AllWork(now, names...), pagetest.MadeUp(now, pagetest.Size{Pools: 400, OSDs: 4000, Shelves: 30, Slots: 60, Gateways: 20, Arrays: 20}))
	h := handler(b, r)
	size := 0
	for b.Loop() {
		_, body := get(b, h, "/")
		size = len(body)
	}
	b.ReportMetric(float64(size), "bytes")
	b.ReportAllocs()
}

func ExampleSample_Get() {
	s := page.Sample{Labels: []string{"ceph_daemon", "osd.3", "role", "block"}}
	fmt.Println(s.Get("role"))
	// Output: block
}
