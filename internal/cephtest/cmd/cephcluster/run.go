package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/capture"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/cluster"
)

const usage = `usage: cephcluster COMMAND [flags]

  roots [16 18 20]     make the Debian roots that are missing (all by default)
  up                   start a cluster; it ends with Ctrl-C, or by down if detached
  exec -- NAME ARG...  run a command inside a cluster
  list                 list the running clusters
  down                 end clusters and remove what dead ones left behind
  capture              write a cluster's answers as fixtures

cephcluster COMMAND -h lists the flags of one.
`

type command func(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error)

func run(args []string, stdout, stderr io.Writer) int {
	commands := map[string]command{
		"roots": roots, "up": up, "exec": execute, "list": list, "down": down, "capture": captureAnswers, "serve": serve,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(stderr, usage)
		return 2
	}
	ctx := context.Background()
	if name := args[0]; name != "exec" && name != "serve" { // these see to signals themselves
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
		defer stop()
	}
	code, err := commands[args[0]](ctx, args[1:], stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 2
	case err != nil:
		fmt.Fprintf(stderr, "cephcluster %s: %v\n", args[0], err)
		return max(code, 1)
	}
	return code
}

func flags(name string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("cephcluster "+name, flag.ContinueOnError)
	f.SetOutput(stderr)
	return f
}

// roots makes the roots side by side, after debootstrap where it is missing.
func roots(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	f := flags("roots", stderr)
	quiet := f.Bool("quiet", false, "do not show what debootstrap and apt say")
	if err := f.Parse(args); err != nil {
		return 2, err
	}
	which := cluster.Releases()
	if f.NArg() > 0 {
		which = nil
		for _, arg := range f.Args() {
			r, err := cluster.ParseRelease(arg)
			if err != nil {
				return 2, err
			}
			which = append(which, r)
		}
	}
	if err := cluster.CheckHost(); err != nil {
		return 1, err
	}
	if err := ensureDebootstrap(ctx, stderr); err != nil {
		return 1, err
	}
	log := io.Writer(stderr)
	if *quiet {
		log = io.Discard
	}
	dirs := make([]string, len(which))
	g, ctx := errgroup.WithContext(ctx)
	for i, r := range which {
		g.Go(func() (err error) {
			dirs[i], err = cluster.EnsureRoot(ctx, r, log)
			return err
		})
	}
	err := g.Wait()
	for i, r := range which {
		if dirs[i] != "" {
			fmt.Fprintf(stdout, "%v\t%s\n", r, dirs[i])
		}
	}
	return 0, err
}

// ensureDebootstrap installs debootstrap where it is missing.
func ensureDebootstrap(ctx context.Context, stderr io.Writer) error {
	if _, err := exec.LookPath("debootstrap"); err == nil {
		return nil
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "debootstrap"}} {
		cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = stderr, stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("install debootstrap: apt-get %s: %w", args[0], err)
		}
	}
	return nil
}

func serve(_ context.Context, args []string, _, _ io.Writer) (int, error) {
	if len(args) != 1 {
		return 2, errors.New("serve is how cephcluster calls itself; use up")
	}
	return 0, cluster.Serve(args[0])
}

func up(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	f := flags("up", stderr)
	release := f.String("release", "16", "16, 18 or 20")
	o := cluster.Options{}
	f.IntVar(&o.OSDs, "osds", 3, "number of OSDs")
	f.IntVar(&o.RGWs, "rgw", 0, "number of gateways")
	f.BoolVar(&o.RGWOpsLog, "rgw-ops-log", false, "gateways write their ops log to a file")
	detach := f.Bool("detach", false, "return when the cluster is up; it runs until down")
	if err := f.Parse(args); err != nil {
		return 2, err
	}
	r, err := cluster.ParseRelease(*release)
	if err != nil {
		return 2, err
	}
	o.Release = r
	linger := cluster.UntilReleased
	if *detach {
		linger = cluster.UntilToldTo
	}
	c, err := cluster.Start(ctx, o, linger, "cephcluster up")
	if err != nil {
		return 1, err
	}
	fmt.Fprintf(stdout, "dir\t%s\nconf\t%s\n", c.Dir(), c.ConfPath())
	if *detach {
		return 0, c.Close()
	}
	<-ctx.Done()
	return 0, c.CloseWait(context.Background())
}

// find returns the folder of the cluster that dir names, or of the only one.
func find(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	live, err := filepath.Glob(filepath.Join(cluster.RunDir(), "*-*"))
	if err != nil {
		return "", err
	}
	if len(live) != 1 {
		return "", fmt.Errorf("%d clusters run: name one with --dir", len(live))
	}
	return live[0], nil
}

type stringList []string

func (l *stringList) String() string     { return strings.Join(*l, ",") }
func (l *stringList) Set(s string) error { *l = append(*l, s); return nil }

func execute(ctx context.Context, args []string, _, stderr io.Writer) (int, error) {
	f := flags("exec", stderr)
	dir := f.String("dir", "", "the cluster's folder; the only one's by default")
	var env stringList
	f.Var(&env, "env", "environment variable NAME=VALUE; may be repeated")
	if err := f.Parse(args); err != nil {
		return 2, err
	}
	where, err := find(*dir)
	if err != nil {
		return 1, err
	}
	argv := f.Args()
	if len(argv) == 0 {
		return 2, errors.New("want a command")
	}
	env = append(env, "CEPH_CONF="+filepath.Join(where, "ceph.conf"))
	return cluster.Exec(ctx, where, env, argv)
}

func list(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	if err := flags("list", stderr).Parse(args); err != nil {
		return 2, err
	}
	live, err := cluster.Collect(ctx)
	for _, dir := range live {
		fmt.Fprintln(stdout, dir)
	}
	return 0, err
}

func down(ctx context.Context, args []string, _, stderr io.Writer) (int, error) {
	f := flags("down", stderr)
	dir := f.String("dir", "", "the cluster's folder; the only one's by default")
	shared := f.Bool("shared", false, "the clusters that tests share")
	all := f.Bool("all", false, "every cluster")
	if err := f.Parse(args); err != nil {
		return 2, err
	}
	var dirs []string
	var err error
	switch {
	case *all:
		dirs, err = filepath.Glob(filepath.Join(cluster.RunDir(), "*-*"))
	case *shared:
		dirs, err = filepath.Glob(filepath.Join(cluster.RunDir(), "shared-*"))
	default:
		var one string
		one, err = find(*dir)
		dirs = []string{one}
	}
	if err != nil {
		return 1, err
	}
	for _, dir := range dirs {
		err = errors.Join(err, cluster.Shutdown(ctx, dir))
	}
	_, collectErr := cluster.Collect(ctx)
	return 0, errors.Join(err, collectErr)
}

// captureAnswers plays the scene on a cluster of its own, or takes a running
// one as it is, and writes what it answers.
func captureAnswers(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	f := flags("capture", stderr)
	release := f.String("release", "16", "16, 18 or 20: start a cluster for it")
	dir := f.String("dir", "", "the folder of a running cluster to take instead")
	out := f.String("out", "", "where to write; a folder")
	daemons := f.String("daemons", "osd.0,rgw.a", "whose admin sockets to ask")
	if err := f.Parse(args); err != nil {
		return 2, err
	}
	if *out == "" {
		return 2, errors.New("want --out")
	}
	var c *cluster.Cluster
	var err error
	if *dir != "" {
		c, err = cluster.Attach(ctx, *dir, false, "cephcluster capture")
	} else {
		var r cluster.Release
		if r, err = cluster.ParseRelease(*release); err != nil {
			return 2, err
		}
		c, err = capture.Scene(ctx, r)
	}
	if err != nil {
		return 1, err
	}
	err = capture.Write(ctx, c, *out, strings.Split(*daemons, ","))
	if *dir != "" {
		return 0, errors.Join(err, c.Close())
	}
	return 0, errors.Join(err, c.CloseWait(context.Background()))
}
