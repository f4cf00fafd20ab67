package main

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/page"
	"github.com/ceph-risk/ceph_risk_exporter/internal/page/pagetest"
)

var madeUpNow = time.Date(2026, 11, 30, 21, 30, 0, 0, time.UTC)

// madeUpPages serves the pages of a made-up reading in which every section has
// something to show.
func madeUpPages(t *testing.T, size pagetest.Size) *httptest.Server {
	t.Helper()
	var names []string
	for _, s := range collector.Specs() {
		names = append(names, s.Name)
	}
	r := pagetest.Parse(t, madeUpNow, pagetest.AllWork(madeUpNow, names...), pagetest.MadeUp(madeUpNow, size))
	h, err := page.New(page.Config{Version: "1.0.0", Role: "all", Declared: declared(), Read: func() page.Reading { return r }})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.Overview)
	mux.HandleFunc("GET /metric", h.Metric)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// The pages at every width, in both schemes: nothing sticks out, every text has
// its contrast, and nothing complains.
func TestPagesInABrowserFitReadAndStayAtHome(t *testing.T) {
	real := serve(t, "--simulate", "--simulate.pgs=600")
	real.awaitReady()
	whole := madeUpPages(t, pagetest.Size{Pools: 10, OSDs: 60, Shelves: 2, Slots: 24, Gateways: 3, Arrays: 1})
	hostile := madeUpPages(t, pagetest.Size{Pools: 9, OSDs: 24, Shelves: 1, Slots: 12, Gateways: 2, Arrays: 1, Name: func(n string) string {
		return n + strings.Repeat("W", 120) + `"><script>alert(1)</script>`
	}})
	b := startBrowser(t)
	for _, server := range []struct {
		name, url string
		paths     []string
	}{
		{"exporter", real.url, []string{"/", "/metric", "/metric?__name__=no_such_metric"}},
		{"made up", whole.URL, []string{"/", "/metric?__name__=cephrisk_pool_pgs_older"}},
		{"hostile", hostile.URL, []string{"/", "/metric?__name__=cephrisk_pool_info&pool_id=2"}},
	} {
		for _, path := range server.paths {
			grounds := map[string]string{}
			for _, v := range []view{desktop, desktopDark, phone, phoneDark} {
				where := server.name + " " + path + " " + v.name
				b.open(server.url+path, v)
				b.check(where, "contrast")
				if !v.dark { // the scheme changes colours only
					b.check(where, "overflow")
					b.check(where, "spill")
					b.check(where, "structure")
				}
				grounds[v.name] = b.style("body", "background-color") + b.style("a", "color")
			}
			if grounds["desktop"] == grounds["desktop-dark"] || grounds["phone"] == grounds["phone-dark"] {
				t.Errorf("%s %s: light and dark are the same: %v", server.name, path, grounds)
			}
		}
		b.mu.Lock() // 404 is what the page of an unknown metric answers
		b.problems = deleteMatching(b.problems, "status of 404")
		b.mu.Unlock()
		b.quiet(server.url)
		b.mu.Lock()
		b.asked, b.problems = nil, nil
		b.mu.Unlock()
	}
	real.end()
}

func deleteMatching(list []string, text string) []string {
	var out []string
	for _, s := range list {
		if !strings.Contains(s, text) {
			out = append(out, s)
		}
	}
	return out
}

// Tab goes to every link once, in the order of the document, and each stop can be
// seen. The first one skips what is on every page.
func TestKeyboardReachesEveryLinkInOrder(t *testing.T) {
	whole := madeUpPages(t, pagetest.Size{Pools: 4, OSDs: 12, Shelves: 1, Slots: 12, Gateways: 2, Arrays: 1})
	b := startBrowser(t)
	for _, path := range []string{"/", "/metric?__name__=cephrisk_pool_pgs&pool_id=1"} {
		b.open(whole.URL+path, phone)
		want := b.text("String(stops().length)")
		stops := b.tabs(1000)
		for i, stop := range stops {
			if stop != fmt.Sprint(i) {
				t.Errorf("%s: stop %d is %s", path, i, stop)
			}
		}
		if fmt.Sprint(len(stops)) != want || len(stops) < 5 {
			t.Errorf("%s: the keyboard reaches %d of %s stops", path, len(stops), want)
		}
	}
	b.open(whole.URL+"/", desktop)
	b.do(chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	if got := b.text("document.activeElement.id"); got != "content" {
		t.Errorf("the skip link leads to %q", got)
	}
	b.do(chromedp.KeyEvent("\t"))
	if got := b.text("String(document.querySelector('main').contains(document.activeElement))"); got != "true" {
		t.Errorf("after the skip link Tab leads to %s", b.text("document.activeElement.outerHTML"))
	}
}

// Links of the overview lead to pages that show what they promise.
func TestEveryLinkOfTheRealOverviewLeadsToItsSeries(t *testing.T) {
	s := serve(t, "--simulate", "--simulate.pgs=600")
	s.awaitReady()
	if err := linksLeadToSeries(func(path string) (string, error) {
		code, body := s.get(path)
		if code != http.StatusOK {
			return "", fmt.Errorf("status %d", code)
		}
		return body, nil
	}); err != nil {
		t.Error(err)
	}
	s.end()
}

// linksLeadToSeries follows every link of the overview. What leads to a metric
// must show samples of it.
func linksLeadToSeries(get func(path string) (string, error)) error {
	body, err := get("/")
	if err != nil {
		return err
	}
	links, families := map[string]bool{}, 0
	for _, m := range regexp.MustCompile(`href="([^"#]+)"`).FindAllStringSubmatch(body, -1) {
		links[html.UnescapeString(m[1])] = true
	}
	var problems []error
	for link := range links {
		if strings.HasPrefix(link, "data:") {
			continue
		}
		got, err := get("/" + link)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", link, err))
		}
		if strings.HasPrefix(link, "metric?") {
			families++
			if !strings.Contains(got, `class="samples"`) {
				problems = append(problems, fmt.Errorf("%s shows no series", link))
			}
		}
	}
	if families < 50 {
		problems = append(problems, fmt.Errorf("only %d links lead to series", families))
	}
	return errors.Join(problems...)
}

// Screenshots are written when asked for, from a reading that stands still.
func TestScreenshots(t *testing.T) {
	if !*update {
		return
	}
	whole := madeUpPages(t, pagetest.Size{Pools: 8, OSDs: 96, Shelves: 1, Slots: 60, Gateways: 3, Arrays: 1})
	b := startBrowser(t)
	for _, shot := range []struct {
		view   view
		height int64
	}{{desktop, 1850}, {desktopDark, 1850}, {phone, 2000}} {
		b.open(whole.URL+"/", shot.view)
		b.screenshot(filepath.Join("..", "..", "docs", "page-"+shot.view.name+".png"), shot.view, shot.height)
	}
	b.open(whole.URL+"/", desktop)
	var shelves []byte
	b.do(chromedp.Screenshot("section[aria-labelledby=shelves]", &shelves))
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "page-shelves.png"), shelves, 0o644); err != nil {
		t.Fatal(err)
	}
}
