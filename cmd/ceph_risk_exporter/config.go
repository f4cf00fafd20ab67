package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/rados"
)

// defaultAddress has the port registered for nobody else that we know of.
const defaultAddress = ":10283"

// config is what the flags say, validated. It can only be had from parseConfig.
type config struct {
	collectors []chosen // those that run, in registry order
	paths      collector.Paths
	ceph       rados.Config
	simulate   *simulateConfig // nil: a real cluster
	stateDir   string
	web        *web.FlagConfig
	maxScrapes int
	noPages    bool // serve no page for people
	pprof      bool
	logLevel   slog.Level
	logFormat  string
	record     string // path of a recording; empty: none
	check      bool
	once       bool
	role       string
}

// chosen is a collector that runs.
type chosen struct {
	spec      collector.Spec
	interval  time.Duration
	construct collector.Constructor
}

type simulateConfig struct {
	pgs, osds int
	seed      uint64
}

// errShown ends the program successfully after --help or --version.
var errShown = errors.New("help or version shown")

// collectorFlags are the flags that each collector has.
type collectorFlags struct {
	spec           collector.Spec
	enabled        bool
	set            bool
	interval       time.Duration
	withItsOptions collector.Constructor
}

// parseConfig turns arguments into a configuration. Help goes to stdout.
func parseConfig(args []string, stdout io.Writer) (*config, error) {
	app := kingpin.New("ceph_risk_exporter", "Exports the risks of a Ceph cluster that Ceph's own metrics do not show.")
	shown := false
	app.Terminate(func(int) { shown = true })
	app.UsageWriter(stdout)
	app.ErrorWriter(stdout)
	app.Version(versionText())
	app.HelpFlag.Short('h')

	c := &config{}
	var level string
	app.Flag("role", "Which collectors run by default: those that need the cluster once, those that run on every Ceph host, or both.").
		Default("cluster").EnumVar(&c.role, "cluster", "host", "all")
	flags := defineCollectors(app)
	app.Flag("ceph.config", "Path of ceph.conf.").Default("/etc/ceph/ceph.conf").StringVar(&c.ceph.ConfFile)
	app.Flag("ceph.id", "Ceph user, the part after \"client.\".").Default(rados.DefaultID).StringVar(&c.ceph.ID)
	app.Flag("ceph.keyring", "Path of that user's keyring; empty: where ceph.conf or Ceph's defaults say.").StringVar(&c.ceph.Keyring)
	app.Flag("ceph.timeout", "Time after which a command to mon or mgr is given up.").Default(rados.DefaultTimeout.String()).DurationVar(&c.ceph.Timeout)
	app.Flag("path.run", "Directory of the admin sockets.").Default("/var/run/ceph").StringVar(&c.paths.Run)
	app.Flag("path.sysfs", "Where sysfs is mounted.").Default("/sys").StringVar(&c.paths.Sysfs)
	app.Flag("path.dev", "Where the device nodes are.").Default("/dev").StringVar(&c.paths.Dev)
	app.Flag("path.rootfs", "Root of the host's file system, as seen from here.").Default("/").StringVar(&c.paths.Rootfs)
	app.Flag("state-dir", "Directory for what must survive a restart.").Default("/var/lib/ceph_risk_exporter").StringVar(&c.stateDir)
	sim := simulateConfig{}
	simulated := app.Flag("simulate", "Export a made-up cluster instead of a real one, for a first look. The series cephrisk_simulated says so.").Bool()
	app.Flag("simulate.pgs", "PGs of the made-up cluster.").Default("2048").IntVar(&sim.pgs)
	app.Flag("simulate.osds", "OSDs of the made-up cluster; 0: as many as fit the PGs.").Default("0").IntVar(&sim.osds)
	app.Flag("simulate.seed", "The same seed makes the same cluster.").Default("1").Uint64Var(&sim.seed)
	c.web = kingpinflag.AddFlags(app, defaultAddress)
	app.Flag("web.max-requests", "Scrapes served at once; further ones get 503. 0: no limit.").Default("40").IntVar(&c.maxScrapes)
	pages := app.Flag("web.pages", "Serve the pages for people: /, /metric and /debug/collector. They show what /metrics shows, errors of collectors, and what each poll asked of whom.").Default("true").Bool()
	app.Flag("web.pprof", "Serve Go's profiles of the running exporter at /debug/pprof/.").BoolVar(&c.pprof)
	app.Flag("log.level", "Least severe messages to log.").Default("info").EnumVar(&level, "debug", "info", "warn", "error")
	app.Flag("log.format", "Format of the log.").Default("logfmt").EnumVar(&c.logFormat, "logfmt", "json")
	app.Flag("debug.record", "Append every answer of the cluster to this file (0600, at most 1 GiB), to reproduce a problem. It holds the cluster's configuration.").StringVar(&c.record)
	app.Flag("config.check", "Check flags and files, start nothing, and end.").BoolVar(&c.check)
	app.Flag("once", "Poll every collector once, print the exposition, and end: 0 when all succeeded, 1 otherwise.").BoolVar(&c.once)

	_, err := app.Parse(args)
	if shown {
		return nil, errShown
	}
	if err != nil {
		return nil, fmt.Errorf("%w (--help lists the flags)", err)
	}
	if err := c.logLevel.UnmarshalText([]byte(level)); err != nil {
		return nil, err
	}
	c.noPages = !*pages
	if *simulated {
		c.simulate = &sim
	}
	c.collectors = choose(flags, c.role)
	return c, c.validate()
}

func defineCollectors(app *kingpin.Application) []*collectorFlags {
	var out []*collectorFlags
	for _, spec := range collector.Specs() {
		f := &collectorFlags{spec: spec}
		name := "collector." + spec.Name
		app.Flag(name, spec.Help+" (default: "+rolesText(spec.Roles)+")").IsSetByUser(&f.set).BoolVar(&f.enabled)
		app.Flag(name+".interval", "Poll interval.").Default(spec.Interval.String()).DurationVar(&f.interval)
		f.withItsOptions = spec.Configure(app)
		out = append(out, f)
	}
	return out
}

func rolesText(r collector.Role) string {
	switch r {
	case collector.RoleCluster:
		return "on in role cluster"
	case collector.RoleHost:
		return "on in role host"
	case collector.RoleCluster | collector.RoleHost:
		return "on"
	default:
		return "off"
	}
}

func roleOf(role string) collector.Role {
	return map[string]collector.Role{
		"cluster": collector.RoleCluster,
		"host":    collector.RoleHost,
		"all":     collector.RoleCluster | collector.RoleHost,
	}[role]
}

// choose applies the role's defaults, which a collector's own flag overrides.
func choose(flags []*collectorFlags, role string) []chosen {
	roles := roleOf(role)
	var out []chosen
	for _, f := range flags {
		on := f.spec.Roles&roles != 0
		if f.set {
			on = f.enabled
		}
		if on {
			out = append(out, chosen{spec: f.spec, interval: f.interval, construct: f.withItsOptions})
		}
	}
	return out
}

func (c *config) validate() error {
	var problems []error
	for _, ch := range c.collectors {
		if ch.interval < time.Second {
			problems = append(problems, fmt.Errorf("--collector.%s.interval: %s is below one second", ch.spec.Name, ch.interval))
		}
	}
	if c.maxScrapes < 0 {
		problems = append(problems, fmt.Errorf("--web.max-requests: %d is negative", c.maxScrapes))
	}
	if c.simulate != nil && c.role == "host" {
		problems = append(problems, errors.New("--simulate: makes up a cluster, which --role=host does not look at"))
	}
	if f := *c.web.WebConfigFile; f != "" {
		if err := web.Validate(f); err != nil {
			problems = append(problems, fmt.Errorf("--web.config.file: %w", err))
		}
	}
	for _, a := range *c.web.WebListenAddresses {
		if err := checkAddress(a); err != nil {
			problems = append(problems, fmt.Errorf("--web.listen-address: %w", err))
		}
	}
	return errors.Join(problems...)
}

// checkAddress catches a mistyped address before the first poll rather than
// after it. Forms that only the toolkit knows (vsock://) are left to it.
func checkAddress(a string) error {
	if len(a) > 8 && a[:8] == "vsock://" {
		return nil
	}
	_, port, err := net.SplitHostPort(a)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%s: not a port: %q", a, port)
	}
	return nil
}

// needsCeph reports whether any of the collectors asks mon or mgr.
func (c *config) needsCeph() []string {
	var names []string
	for _, ch := range c.collectors {
		if ch.spec.NeedsCeph {
			names = append(names, ch.spec.Name)
		}
	}
	return names
}
