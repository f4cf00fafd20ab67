package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A Cluster is a lease on a running cluster. Its methods are safe for
// concurrent use.
type Cluster struct {
	dir     string
	release Release
	status  Status // as of the lease
	lease   *conn

	commander *commander
	closeOnce sync.Once
	closeErr  error
	mu        sync.Mutex
	tools     map[string]string // host path of a program -> its copy in the cluster's folder
}

func newCluster(lease *conn, s Status) *Cluster {
	c := &Cluster{dir: s.Dir, release: s.Release, status: s, lease: lease}
	c.commander = newCommander(c.ConfPath(), c.KeyringPath(), func(name string, args ...string) *exec.Cmd {
		return c.Command(context.Background(), name, args...)
	})
	return c
}

// Close ends the lease. A cluster that was started with UntilReleased then
// ends by itself. A second Close does nothing.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		c.commander.close()
		c.closeErr = c.lease.Close()
	})
	return c.closeErr
}

// CloseWait is Close, then waits until the cluster is gone.
func (c *Cluster) CloseWait(ctx context.Context) error {
	return untilGone(ctx, c.dir, c.Close)
}

// Release returns the cluster's major release.
func (c *Cluster) Release() Release { return c.release }

// FSID returns the cluster's identity.
func (c *Cluster) FSID() string { return c.status.FSID }

// Dir returns the cluster's folder, the same path on the host as inside.
func (c *Cluster) Dir() string { return c.dir }

// Root returns the folder of the Debian root that the cluster runs from.
func (c *Cluster) Root() string { return c.status.Root }

// ConfPath returns the path of ceph.conf. It names the mon on loopback and
// a keyring with client.admin, and serves the host's librados too.
func (c *Cluster) ConfPath() string { return filepath.Join(c.dir, "ceph.conf") }

// KeyringPath returns the keyring with client.admin and the daemons.
func (c *Cluster) KeyringPath() string { return filepath.Join(c.dir, "ceph.keyring") }

// MonAddr returns the mon's address (v1 protocol) as host:port.
func (c *Cluster) MonAddr() string { return "127.0.0.1:" + strconv.Itoa(c.status.MonPort+1) }

// AsokDir returns the folder of the admin sockets, named as on a real host:
// ceph-osd.0.asok, ceph-client.rgw.a.PID.ADDRESS.asok.
func (c *Cluster) AsokDir() string { return filepath.Join(c.dir, "run") }

// AsokPath returns the admin socket of a mon, mgr or OSD, such as "osd.1".
func (c *Cluster) AsokPath(daemon string) string {
	return filepath.Join(c.AsokDir(), "ceph-"+daemon+".asok")
}

// LogPath returns the log file of a daemon such as "osd.1" or "rgw.a".
func (c *Cluster) LogPath(daemon string) string {
	if strings.HasPrefix(daemon, "rgw.") {
		daemon = "client." + daemon
	}
	return filepath.Join(c.dir, "log", "ceph-"+daemon+".log")
}

// ClusterLogPath returns the mon's copy of the cluster log, which has the
// "scrub ok" lines.
func (c *Cluster) ClusterLogPath() string { return filepath.Join(c.dir, "log", "ceph.log") }

// Status returns the supervisor's view of the cluster.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	r, err := do(ctx, c.dir, request{Op: opStatus})
	if err != nil {
		return Status{}, err
	}
	return *r.Status, nil
}

// Command returns a command that runs a program inside the cluster's root
// and namespaces, on the host's network. A name without a slash is looked up
// in the root; a path is one of the host's, and the program is copied into
// the cluster's folder first. Host paths below Dir are the same inside; no
// others exist there. Stdin, Stdout, Stderr, exit code and signals (those
// that can be caught) behave as if it ran directly; killing the command
// kills the program. The program does not see the caller's environment, only
// what CommandEnv hands in.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return c.CommandEnv(ctx, nil, name, args...)
}

// CommandEnv is Command with environment variables, each NAME=VALUE.
func (c *Cluster) CommandEnv(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	argv := []string{"exec", "--dir", c.dir}
	for _, e := range env {
		argv = append(argv, "--env", e)
	}
	inside, err := c.bringIn(name)
	argv = append(append(argv, "--", inside), args...)
	cmd := exec.CommandContext(ctx, c.status.Binary, argv...)
	if err != nil {
		cmd.Err = err
	}
	return cmd
}

// bringIn copies a host program into the cluster's folder, once.
func (c *Cluster) bringIn(name string) (string, error) {
	if !strings.Contains(name, "/") || strings.HasPrefix(name, c.dir+"/") {
		return name, nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return name, fmt.Errorf("command %s: %w", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if inside, ok := c.tools[path]; ok {
		return inside, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return name, fmt.Errorf("command %s: %w", name, err)
	}
	dir, err := os.MkdirTemp(filepath.Join(c.dir, "bin"), "")
	if err != nil {
		return name, fmt.Errorf("command %s: %w", name, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return name, fmt.Errorf("command %s: %w", name, err)
	}
	inside := filepath.Join(dir, filepath.Base(path))
	if err := writeProgram(inside, data); err != nil {
		return name, fmt.Errorf("command %s: %w", name, err)
	}
	if c.tools == nil {
		c.tools = map[string]string{}
	}
	c.tools[path] = inside
	return inside, nil
}

// Run runs a command as Command does and returns what it printed. An error
// carries what it wrote to stderr.
func (c *Cluster) Run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := c.Command(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// Ceph runs the root's ceph command as client.admin and returns its output.
func (c *Cluster) Ceph(ctx context.Context, args ...string) ([]byte, error) {
	return c.Run(ctx, "ceph", append([]string{"-c", c.ConfPath(), "--connect-timeout", "30"}, args...)...)
}

// CephJSON runs Ceph with --format json and decodes the answer into v.
func (c *Cluster) CephJSON(ctx context.Context, v any, args ...string) error {
	out, err := c.Ceph(ctx, append(args, "--format", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, v); err != nil {
		return fmt.Errorf("ceph %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// MonCommand sends one command (the JSON object that librados takes) to the
// mon as client.admin and returns the raw answer. With MgrCommand it makes a
// Cluster a ceph.Commander, so that tests of collectors need no librados on
// the host. Commands of one lease run one at a time.
func (c *Cluster) MonCommand(ctx context.Context, command []byte) ([]byte, error) {
	return c.commander.ask(ctx, "mon", command)
}

// MgrCommand sends one command to the active mgr; see MonCommand.
func (c *Cluster) MgrCommand(ctx context.Context, command []byte) ([]byte, error) {
	return c.commander.ask(ctx, "mgr", command)
}

// SetConfig sets an option in the mon's configuration database (`ceph config
// set`), for who = "global", "osd", "osd.1", "mgr", "osd/class:hdd" and so on.
func (c *Cluster) SetConfig(ctx context.Context, who, option, value string) error {
	return c.mon(ctx, command{"prefix": "config set", "who": who, "name": option, "value": value})
}

// Signal sends a signal to a daemon ("mon.a", "mgr.x", "osd.1", "rgw.a").
// After SIGKILL it returns when the daemon is dead.
func (c *Cluster) Signal(ctx context.Context, daemon string, sig syscall.Signal) error {
	_, err := do(ctx, c.dir, request{Op: opSignal, Daemon: daemon, Signal: int(sig)})
	return err
}

// Stop ends a daemon with SIGTERM and returns when it has ended.
func (c *Cluster) Stop(ctx context.Context, daemon string) error {
	_, err := do(ctx, c.dir, request{Op: opStop, Daemon: daemon})
	return err
}

// Start starts a daemon that was stopped or killed. It does not wait until
// the daemon serves: see AwaitUp, WaitClean.
func (c *Cluster) Start(ctx context.Context, daemon string) error {
	_, err := do(ctx, c.dir, request{Op: opStart, Daemon: daemon})
	return err
}

// Restart is Stop, then Start.
func (c *Cluster) Restart(ctx context.Context, daemon string) error {
	if err := c.Stop(ctx, daemon); err != nil {
		return err
	}
	return c.Start(ctx, daemon)
}

// AddOSD makes one more OSD and returns its name when it is up and in.
func (c *Cluster) AddOSD(ctx context.Context) (string, error) {
	r, err := do(ctx, c.dir, request{Op: opAddOSD})
	return r.Name, err
}

// OSDs returns the number of OSDs, running or not.
func (c *Cluster) OSDs(ctx context.Context) (int, error) {
	s, err := c.Status(ctx)
	return s.OSDs, err
}
