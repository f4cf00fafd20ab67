package main

import (
	"context"
	_ "embed"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
)

// browserLimit bounds what a browser is waited for. On a quiet machine all of it
// takes seconds.
const browserLimit = 5 * time.Minute

// browserChecks are functions that look at a page from inside.
//
//go:embed testdata/checks.js
var browserChecks string

// browser is a headless Chromium. It notes what a page complains about and whom
// it asks.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
	asked    []string
}

// view is how wide a page is looked at, and in which scheme.
type view struct {
	name          string
	width, height int64
	dark          bool
}

var (
	desktop     = view{"desktop", 1200, 900, false}
	desktopDark = view{"desktop-dark", 1200, 900, true}
	phone       = view{"phone", 360, 740, false}
	phoneDark   = view{"phone-dark", 360, 740, true}
)

// requireBrowser returns the path of Debian's Chromium, or ends the test.
func requireBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	cephtest.SkipOrFail(t, "neither chromium-headless-shell nor chromium is in PATH")
	return ""
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := requireBrowser(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(browserLimit),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.DisableGPU)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's refuses to work for root
	}
	// Debian's program is a script that starts the browser: what is killed at the
	// end is its process group.
	var process *exec.Cmd
	options = append(options, chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		process = cmd
	}))
	// Not the test's context, which ends before the browser has been told to.
	limit, cancelLimit := context.WithTimeout(context.Background(), browserLimit)
	allocator, cancelAllocator := chromedp.NewExecAllocator(limit, options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the process to end
		cancel()
		if process != nil && process.Process != nil {
			_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
		}
		cancelAllocator()
		cancelLimit()
	})
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(network.Enable(), log.Enable(), runtime.Enable())
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.problems = append(b.problems, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, "console: "+e.Type.String())
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Error())
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open shows a page in a view.
func (b *browser) open(address string, v view) {
	b.t.Helper()
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	b.do(emulation.SetDeviceMetricsOverride(v.width, v.height, 1, v.width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(address), chromedp.WaitReady("body"))
}

// check calls one of the functions in testdata/checks.js and fails for each line
// it returns.
func (b *browser) check(where, function string) {
	b.t.Helper()
	var found []string
	b.do(chromedp.Evaluate(browserChecks+"\n"+function+"()", &found))
	for i, text := range found {
		if i == 8 {
			b.t.Errorf("%s: %s: and %d more", where, function, len(found)-i)
			break
		}
		b.t.Errorf("%s: %s: %s", where, function, text)
	}
}

// quiet fails where a page complained or asked anybody but its own server.
func (b *browser) quiet(server string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Errorf("the browser complains: %s", p)
	}
	own, err := url.Parse(server)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, address := range b.asked {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "data" && u.Host != own.Host {
			b.t.Errorf("a page asks for %s", address)
		}
	}
	if len(b.asked) == 0 {
		b.t.Error("no request was seen")
	}
}

// style returns a computed style of the first element that matches.
func (b *browser) style(selector, property string) string {
	b.t.Helper()
	var value string
	b.do(chromedp.Evaluate(`getComputedStyle(document.querySelector("`+selector+`")).getPropertyValue("`+property+`")`, &value))
	return value
}

// screenshot writes a picture of the whole page.
func (b *browser) screenshot(file string, v view, height int64) {
	b.t.Helper()
	var png []byte
	b.do(emulation.SetDeviceMetricsOverride(v.width, height, 1, v.width < 600), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		png, err = cdpage.CaptureScreenshot().WithFormat(cdpage.CaptureScreenshotFormatPng).WithOptimizeForSpeed(false).Do(ctx)
		return err
	}))
	if err := os.WriteFile(file, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// tabs presses Tab until the focus has been everywhere, and returns what each
// stop looked like.
func (b *browser) tabs(most int) []string {
	b.t.Helper()
	var stops []string
	for range most {
		var stop string
		b.do(chromedp.KeyEvent("\t"), chromedp.Evaluate(browserChecks+"\nfocused()", &stop))
		if stop == "" {
			break // the focus has left the page
		}
		stops = append(stops, stop)
	}
	return stops
}

func (b *browser) text(expression string) string {
	b.t.Helper()
	var out string
	b.do(chromedp.Evaluate(browserChecks+"\n"+expression, &out))
	return strings.TrimSpace(out)
}
