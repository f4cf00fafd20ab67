package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
)

// Limits of the server. A scrape of the largest supported cluster over a slow
// line fits into the write timeout; a client that reads slower than that is cut
// off so that it cannot hold one of the few scrape places for ever.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 2 * time.Minute
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	shutdownTimeout   = 5 * time.Second
)

// listen serves until ctx is done, then lets running requests end for a short
// while: longer than any scrape needs, shorter than what service managers wait
// before they kill.
func (a *application) listen(ctx context.Context) error {
	handler, err := a.handler()
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(serverLog{a.log.Handler()}, slog.LevelError),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.ListenAndServe(server, a.cfg.web, a.log) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		_ = server.Close() // some client does not let go
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serverLog takes the lines of net/http's server. What any client can cause by
// what it sends, or does not send, is for debugging.
type serverLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (l serverLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error") || strings.HasPrefix(r.Message, "http2:") {
		r.Level = slog.LevelDebug
	}
	if !l.Enabled(ctx, r.Level) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

func (a *application) handler() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics())
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ceph_risk_exporter is alive\n"))
	})
	mux.HandleFunc("GET /-/ready", a.ready)
	if !a.cfg.noPages {
		if err := a.pages(mux); err != nil {
			return nil, err
		}
	}
	if a.cfg.pprof {
		profiles(mux)
	}
	return mux, nil
}

// profiles serves Go's own profiles. A CPU profile or trace lasts as long as the
// client asks, within the server's write timeout.
func profiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// metrics serves what the last polls left. It asks neither Ceph nor a device.
func (a *application) metrics() http.Handler {
	return collector.NewHandler(a.set, a.others, collector.HandlerOpts{
		MaxScrapes: a.cfg.maxScrapes,
		Registry:   a.registry,
		ErrorLog:   errorLog{a},
	})
}

type errorLog struct{ a *application }

func (l errorLog) Println(v ...any) { l.a.log.Error("scrape", "err", v) }

// ready answers 200 once every collector has ended its first poll, whatever
// came of it: a broken cluster is something to be scraped, not to wait for.
func (a *application) ready(w http.ResponseWriter, _ *http.Request) {
	for _, s := range a.set.Status() {
		if !s.Polled {
			http.Error(w, "first poll of collector "+s.Name+" has not ended", http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = w.Write([]byte("ceph_risk_exporter is ready\n"))
}

// exposition returns everything in the text format.
func (a *application) exposition() ([]byte, error) {
	families, err := append(slices.Clone(a.others), a.set).Gather()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
