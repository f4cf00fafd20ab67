package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// daemons runs a cluster's daemons as children of the supervisor, inside the
// root.
type daemons struct {
	root string
	log  string // folder for what daemons write to stderr

	mu  sync.Mutex
	all map[string]*daemon
}

type daemon struct {
	argv []string
	env  []string
	cmd  *exec.Cmd     // nil before the first start
	done chan struct{} // closed when cmd has ended
}

func (d *daemon) running() bool {
	if d.cmd == nil {
		return false
	}
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// rootEnv is the environment of everything that runs inside the root.
func rootEnv(more ...string) []string {
	return append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/tmp"}, more...)
}

// define makes a daemon known without starting it.
func (ds *daemons) define(name string, env []string, argv ...string) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.all[name] = &daemon{argv: argv, env: env}
}

// start starts a daemon that does not run.
func (ds *daemons) start(name string) error {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d, ok := ds.all[name]
	if !ok {
		return fmt.Errorf("start %s: no such daemon", name)
	}
	if d.running() {
		return fmt.Errorf("start %s: it runs already", name)
	}
	out, err := os.OpenFile(filepath.Join(ds.log, name+".stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer out.Close()
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Env = rootEnv(d.env...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: ds.root, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	d.cmd, d.done = cmd, make(chan struct{})
	go func(done chan struct{}) {
		cmd.Wait() // how it ended stands in its log
		close(done)
	}(d.done)
	return nil
}

func (ds *daemons) get(name string) (*daemon, error) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d, ok := ds.all[name]
	if !ok {
		return nil, fmt.Errorf("no daemon %q", name)
	}
	if !d.running() {
		return nil, fmt.Errorf("daemon %s does not run", name)
	}
	return &daemon{cmd: d.cmd, done: d.done}, nil
}

// signal sends a signal; after SIGKILL it waits for the daemon's end.
func (ds *daemons) signal(name string, sig syscall.Signal) error {
	d, err := ds.get(name)
	if err != nil {
		return fmt.Errorf("signal %d: %w", sig, err)
	}
	if err := d.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("signal %d to %s: %w", sig, name, err)
	}
	if sig == syscall.SIGKILL {
		<-d.done
	}
	return nil
}

// stop ends a daemon the orderly way, a stopped (SIGSTOP) one too, and waits
// for its end until ctx is done.
func (ds *daemons) stop(ctx context.Context, name string) error {
	d, err := ds.get(name)
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := d.cmd.Process.Signal(sig); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", name, ctx.Err())
	}
}

// running names the daemons that run, sorted.
func (ds *daemons) running() []string {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	names := []string{}
	for name, d := range ds.all {
		if d.running() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// killAll ends every daemon at once and waits for a moment.
func (ds *daemons) killAll() {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	limit := time.After(10 * time.Second)
	for _, d := range ds.all {
		if d.running() {
			d.cmd.Process.Kill() // it may have ended meanwhile
		}
	}
	for _, d := range ds.all {
		if d.cmd == nil {
			continue
		}
		select {
		case <-d.done:
		case <-limit:
			return
		}
	}
}
