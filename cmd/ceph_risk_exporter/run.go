package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/procfs"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/rados"
	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // could not start or serve; with --once: a collector failed
	exitUsage  = 2 // flags or files are wrong
)

// closeTimeout bounds what a shutdown waits for: collectors whose source hangs
// are left behind.
const closeTimeout = 5 * time.Second

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseConfig(args, stdout)
	if errors.Is(err, errShown) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "ceph_risk_exporter: %v\n", err)
		return exitUsage
	}
	log := newLogger(stderr, cfg.logLevel, cfg.logFormat)
	app, err := build(cfg, log)
	if err != nil {
		fmt.Fprintf(stderr, "ceph_risk_exporter: %v\n", err)
		return exitUsage
	}
	defer app.close()
	switch {
	case cfg.check:
		err := app.check()
		if err != nil {
			fmt.Fprintf(stderr, "ceph_risk_exporter: %v\n", err)
			return exitUsage
		}
		fmt.Fprintf(stdout, "configuration is good, collectors: %s\n", app.names())
		return exitOK
	case cfg.once:
		return app.once(ctx, stdout)
	default:
		return app.serve(ctx)
	}
}

// application is the parts of a running program, tied together.
type application struct {
	cfg       *config
	log       *slog.Logger
	rados     *rados.Client // nil: no collector needs it, or --simulate
	recording io.Closer     // nil: none
	set       *collector.Set
	others    prometheus.Gatherers // beside the set
	registry  *prometheus.Registry // of the promhttp handler's own metrics
}

// build turns the configuration into sources and collectors. It asks nobody.
func build(cfg *config, log *slog.Logger) (*application, error) {
	a := &application{cfg: cfg, log: log, registry: prometheus.NewRegistry()}
	commander, err := a.commander()
	if err != nil {
		return nil, err
	}
	stateDir := state.Open(cfg.stateDir, log)
	var members []collector.Member
	var problems []error
	pgs := collector.NewPGFeed()
	for _, ch := range cfg.collectors {
		deps := collector.Deps{
			Log:      log.With("collector", ch.spec.Name),
			State:    stateDir,
			Paths:    cfg.paths,
			Ceph:     commander,
			PGs:      pgs,
			Now:      time.Now,
			Interval: ch.interval,
		}
		poller, err := ch.construct(deps)
		if err != nil {
			problems = append(problems, fmt.Errorf("collector %s: %w", ch.spec.Name, err))
			continue
		}
		members = append(members, collector.Member{Spec: ch.spec, Poller: poller, Deps: deps})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	a.set = collector.NewSet(time.Now, members...)
	a.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	a.others = prometheus.Gatherers{a.registry, collector.NewProcess(a.process(stateDir))}
	return a, nil
}

// commander returns who answers for the cluster: librados, a made-up cluster,
// or nil where no collector asks.
func (a *application) commander() (ceph.Commander, error) {
	needed := a.cfg.needsCeph()
	switch {
	case len(needed) == 0:
		return nil, nil
	case a.cfg.simulate != nil:
		s := a.cfg.simulate
		c, err := simulate.New(simulate.Config{PGs: s.pgs, OSDs: s.osds, Seed: s.seed, Now: time.Now})
		if err != nil {
			return nil, fmt.Errorf("--simulate: %w", err)
		}
		a.log.Warn("exporting a made-up cluster, not a real one (--simulate)")
		return a.recorded(c)
	}
	cfg := a.cfg.ceph
	cfg.Log = a.log.With("component", "rados")
	client, err := rados.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("collectors %s: %w", strings.Join(needed, ", "), err)
	}
	a.rados = client
	return a.recorded(ceph.ReadOnly(client))
}

// recordLimit bounds a recording.
const recordLimit = 1 << 30

// recorded puts a recorder between, where one was asked for.
func (a *application) recorded(c ceph.Commander) (ceph.Commander, error) {
	if a.cfg.record == "" || a.cfg.check {
		return c, nil
	}
	file, err := os.OpenFile(a.cfg.record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--debug.record: %w", err)
	}
	a.recording = file
	a.log.Warn("recording every answer of the cluster", "file", a.cfg.record)
	return ceph.Record(c, file, recordLimit, time.Now, func(err error) {
		a.log.Error("recording ends", "file", a.cfg.record, "err", err)
	}), nil
}

func (a *application) process(stateDir *state.Dir) collector.Process {
	p := collector.Process{
		Version:   version(),
		Simulated: a.cfg.simulate != nil,
		SetAside:  stateDir.SetAside,
		Threads:   threads,
	}
	if a.rados != nil {
		p.Commands = func() collector.CommandStats {
			s := a.rados.Stats()
			return collector.CommandStats{
				MonCalls: s.MonCalls, MgrCalls: s.MgrCalls, Connects: s.Connects,
				Abandoned: s.Abandoned, Returned: s.Returned, Rejected: s.Rejected,
				Bytes: s.Bytes, Stuck: s.Stuck, StuckLimit: s.Limit,
			}
		}
	}
	return p
}

func threads() (int, bool) {
	self, err := procfs.Self()
	if err != nil {
		return 0, false
	}
	stat, err := self.Stat()
	return stat.NumThreads, err == nil
}

// check looks at what can be seen without asking the cluster.
func (a *application) check() error {
	if a.rados == nil {
		return nil
	}
	return rados.Check(a.cfg.ceph)
}

func (a *application) names() string {
	var names []string
	for _, s := range a.set.Status() {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// once polls everything once and prints the exposition.
func (a *application) once(ctx context.Context, stdout io.Writer) int {
	polling, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); a.set.Run(polling) }()
	err := a.set.Polled(ctx)
	// Read before polling ends, which closes the collectors.
	body, encodeErr := a.exposition()
	stop()
	wait(done)
	if err := errors.Join(err, encodeErr); err != nil {
		a.log.Error("could not poll once", "err", err)
		return exitFailed
	}
	if _, err := stdout.Write(body); err != nil {
		a.log.Error("could not print the exposition", "err", err)
		return exitFailed
	}
	code := exitOK
	for _, s := range a.set.Status() {
		if s.Err != nil {
			a.log.Error("collector failed", "collector", s.Name, "err", s.Err)
			code = exitFailed
		}
	}
	return code
}

// serve polls and serves until ctx is done or the server fails.
func (a *application) serve(ctx context.Context) int {
	a.log.Info("starting", "version", version().Version, "role", a.cfg.role, "collectors", a.names(), "pid", os.Getpid())
	if len(a.cfg.collectors) == 0 {
		a.log.Warn("no collector is enabled: only the exporter's own metrics are served")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() { defer close(done); a.set.Run(ctx) }()
	err := a.listen(ctx)
	stop()
	if !wait(done) {
		a.log.Warn("some collector's source hangs: not waiting for it")
	}
	if err != nil {
		a.log.Error("server failed", "err", err)
		return exitFailed
	}
	a.log.Info("ended")
	return exitOK
}

// wait waits for done, but not for ever.
func wait(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(closeTimeout):
		return false
	}
}

func (a *application) close() {
	if a.rados != nil {
		if err := a.rados.Close(); err != nil {
			a.log.Warn("connection to the cluster did not close cleanly", "err", err)
		}
	}
	if a.recording != nil {
		if err := a.recording.Close(); err != nil {
			a.log.Warn("recording did not close cleanly", "err", err)
		}
	}
}
