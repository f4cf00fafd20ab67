package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/rados"
	"github.com/ceph-risk/ceph_risk_exporter/internal/scrub/forecast"
	"github.com/ceph-risk/ceph_risk_exporter/internal/simulate"
)

// Exit codes, for cron.
const (
	exitInTime = 0 // nobody is late at the horizon
	exitFailed = 1
	exitLate   = 2 // somebody is, as things are or with the changes asked for
)

const help = `Says which PGs will be late with their scrubs, and what a change of settings would make of it. Changes nothing.

Without --set it shows where things stand; with --set, before and after side by side; with --solve, the smallest changes that make nobody late. Exit code: 0 nobody is late at the horizon, 2 somebody is, 1 it could not be found out.`

// config is what the flags say.
type config struct {
	ceph     rados.Config
	saved    savedFiles
	simulate *simulate.Config
	location *time.Location
	sets     []string
	solve    bool
	margin   float64 // by how much longer scrubs may take with a solution
	horizon  time.Duration
	seeds    int
	seed     uint64
	recovery time.Duration // below zero: it stays as it is
	observe  time.Duration // how long to watch scrubs before
	loadHigh bool
	json     bool
	plot     bool
	quiet    bool
}

func parse(args []string, stdout, stderr io.Writer) (*config, error) {
	app := kingpin.New("scrubplan", help).UsageWriter(stdout).ErrorWriter(stderr)
	c := &config{}
	sim := simulate.Config{}
	var made bool
	var zone, horizon, recovery, observe string
	app.Flag("ceph.config", "Path of ceph.conf.").Default("/etc/ceph/ceph.conf").StringVar(&c.ceph.ConfFile)
	app.Flag("ceph.id", `Ceph user, the part after "client."; it needs mon 'allow r' and mgr 'allow r'.`).Default(rados.DefaultID).StringVar(&c.ceph.ID)
	app.Flag("ceph.keyring", "Path of that user's keyring; empty: where ceph.conf or Ceph's defaults say.").StringVar(&c.ceph.Keyring)
	app.Flag("ceph.timeout", "Time after which a command to mon or mgr is given up.").Default("2m").DurationVar(&c.ceph.Timeout)
	c.saved.flags(app)
	app.Flag("simulate", "Plan for a made-up cluster, for a first look.").BoolVar(&made)
	app.Flag("simulate.pgs", "PGs of the made-up cluster.").Default("2048").IntVar(&sim.PGs)
	app.Flag("simulate.osds", "OSDs of the made-up cluster; 0: as many as fit the PGs.").Default("0").IntVar(&sim.OSDs)
	app.Flag("simulate.seed", "The same seed makes the same cluster.").Default("1").Uint64Var(&sim.Seed)
	app.Flag("simulate.release", "Release of the made-up cluster: 16, 18 or 20.").Default("20").IntVar(&sim.Release)
	app.Flag("set", "A change to try, repeatable: osd_max_scrubs=2, osd_scrub_begin_hour=22, osd_deep_scrub_interval=14d, pool.NAME.deep_scrub_interval=14d, noscrub=false.").PlaceHolder("NAME=VALUE").StringsVar(&c.sets)
	app.Flag("solve", "Search the smallest changes that make nobody late.").BoolVar(&c.solve)
	app.Flag("margin", "By how much longer than expected scrubs may take with a solution of --solve still sufficing: 0.25 is a quarter.").Default("0.25").Float64Var(&c.margin)
	app.Flag("horizon", "How far to look ahead.").Default("14d").StringVar(&horizon)
	app.Flag("timezone", "The OSDs' time zone, in which scrub hours are meant: Local, UTC, Europe/Berlin.").Default("Local").StringVar(&zone)
	app.Flag("recovery-ends", "When recovery and backfill will be over; \"never\": they stay as they are.").Default("never").StringVar(&recovery)
	app.Flag("observe", "Watch a live cluster's scrubs for so long first, for how long they take: release 16 does not tell.").Default("0s").StringVar(&observe)
	app.Flag("load-high", "Take the OSDs' hosts to be loaded above osd_scrub_load_threshold all the time.").BoolVar(&c.loadHigh)
	app.Flag("seeds", "Number of simulations.").Default("20").IntVar(&c.seeds)
	app.Flag("seed", "Seed of the first.").Default("1").Uint64Var(&c.seed)
	app.Flag("json", "Print JSON.").BoolVar(&c.json)
	app.Flag("plot", "Draw late PGs over time.").BoolVar(&c.plot)
	app.Flag("quiet", "No progress on stderr.").Short('q').BoolVar(&c.quiet)
	app.HelpFlag.Short('h')
	done := false
	app.Terminate(func(int) { done = true })
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	if done {
		return nil, nil
	}
	if made {
		c.simulate = &sim
	}
	if c.seeds < 1 {
		return nil, fmt.Errorf("--seeds: %d: want at least 1", c.seeds)
	}
	if !(c.margin >= 0 && c.margin <= 10) {
		return nil, fmt.Errorf("--margin: %g: want a share such as 0.25", c.margin)
	}
	var err error
	if c.horizon, err = parseDuration(horizon); err != nil || c.horizon < time.Minute {
		return nil, fmt.Errorf("--horizon: %q: want a time of a minute and more, such as 14d or 36h", horizon)
	}
	c.recovery = -1
	if recovery != "never" {
		if c.recovery, err = parseDuration(recovery); err != nil {
			return nil, fmt.Errorf("--recovery-ends: %q: want a time such as 6h, or never", recovery)
		}
	}
	if c.observe, err = parseDuration(observe); err != nil {
		return nil, fmt.Errorf("--observe: %q: want a time such as 30m", observe)
	}
	if c.location, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("--timezone: %w", err)
	}
	return c, nil
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stdout, stderr)
	if err == nil && c == nil {
		return exitInTime // --help
	}
	var late bool
	if err == nil {
		late, err = plan(ctx, c, stdout, newProgress(stderr, c != nil && c.quiet))
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "scrubplan: %v\n", err)
		return exitFailed
	case late:
		return exitLate
	}
	return exitInTime
}

// plan reads the cluster, simulates, and prints.
func plan(ctx context.Context, c *config, stdout io.Writer, p *progress) (late bool, err error) {
	defer p.end()
	s, err := c.readState(ctx, p)
	if err != nil {
		return false, err
	}
	in, err := s.input(c.location)
	if err != nil {
		return false, err
	}
	changes, err := parseChanges(c.sets, in)
	if err != nil {
		return false, err
	}
	r := &report{cfg: c, state: s, input: in, changes: changes}
	if r.before, err = c.forecast(in, p, "simulating"); err != nil {
		return false, err
	}
	if r.before.PGs == 0 {
		return false, fmt.Errorf("the mgr has no report of any PG (of %d), so nothing can be said of them", r.before.Unknown)
	}
	decides := r.before
	if len(changes) > 0 {
		if r.after, err = c.forecast(apply(in, changes), p, "simulating the change"); err != nil {
			return false, err
		}
		decides = r.after
	}
	if c.solve {
		if r.solutions, err = c.search(ctx, apply(in, changes), decides, p); err != nil {
			return false, err
		}
		r.solved = true
	}
	p.end()
	if c.json {
		err = r.writeJSON(stdout)
	} else {
		err = r.writeText(stdout)
	}
	return !inTime(decides), err
}

// points are the instants of the curve.
const points = 60

func (c *config) curve() []time.Duration {
	out := make([]time.Duration, points)
	for i := range out {
		out[i] = c.horizon * time.Duration(i+1) / points
	}
	return out
}

// marks are the instants that a summary shows.
func (c *config) marks() []time.Duration {
	const day = 24 * time.Hour
	var out []time.Duration
	for _, h := range []time.Duration{day, 3 * day, 7 * day} {
		if h < c.horizon {
			out = append(out, h)
		}
	}
	if len(out) < 2 {
		out = []time.Duration{c.horizon / 4, c.horizon / 2}
	}
	return append(out, c.horizon)
}

// horizons are both, ascending.
func (c *config) horizons() []time.Duration {
	all := append(c.curve(), c.marks()...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *config) forecast(in *forecast.Input, p *progress, what string) (*forecast.Forecast, error) {
	return c.forecastSlower(in, 0, p, what)
}

func (c *config) forecastSlower(in *forecast.Input, slower float64, p *progress, what string) (*forecast.Forecast, error) {
	p.begin(what, c.seeds)
	return forecast.Simulate(in, forecast.Run{
		Horizons: c.horizons(), Seeds: c.seeds, Seed: c.seed, RecoveryEnds: c.recovery, LoadHigh: c.loadHigh, Slower: slower, Progress: p.set,
	})
}

// inTime reports whether nobody is late at the horizon, in all simulations.
func inTime(f *forecast.Forecast) bool {
	last := len(f.Horizons) - 1
	return f.Total[0].Late[last].Mean == 0 && f.Total[1].Late[last].Mean == 0
}

// readState asks whoever the flags name.
func (c *config) readState(ctx context.Context, p *progress) (*state, error) {
	progress := func(done, all int) { p.begin("asking OSDs for their options", all); p.set(done) }
	switch {
	case c.saved.given():
		return c.saved.read()
	case c.simulate != nil:
		// Let it live for two weeks, so that its scrubs have found their pace.
		now := time.Now()
		clock := now.Add(-14 * 24 * time.Hour)
		c.simulate.Now = func() time.Time { return clock }
		made, err := simulate.New(*c.simulate)
		if err != nil {
			return nil, err
		}
		clock = now
		return read(ctx, &ceph.Client{Commander: made}, time.Now, progress)
	}
	c.ceph.Log = slog.New(slog.DiscardHandler)
	client, err := rados.New(c.ceph)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	asks := &ceph.Client{Commander: ceph.ReadOnly(client)}
	measured, err := observe(ctx, asks, c.observe, p)
	if err != nil {
		return nil, err
	}
	s, err := read(ctx, asks, time.Now, progress)
	if err != nil {
		return nil, err
	}
	s.measured = measured
	return s, nil
}

// progress draws a bar on a terminal; elsewhere nothing.
type progress struct {
	w     io.Writer
	what  string
	all   int
	drawn bool
}

func newProgress(w io.Writer, quiet bool) *progress {
	f, ok := w.(*os.File)
	if !ok || quiet {
		return &progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{w: w}
}

func (p *progress) begin(what string, all int) { p.what, p.all = what, max(1, all) }

func (p *progress) set(done int) {
	if p.w == nil {
		return
	}
	const width = 30
	full := min(width, done*width/p.all)
	fmt.Fprintf(p.w, "\r\x1b[K%s [%s%s] %d/%d", p.what, strings.Repeat("#", full), strings.Repeat(".", width-full), done, p.all)
	p.drawn = true
}

func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
