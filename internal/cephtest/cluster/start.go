package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Linger times of Start.
const (
	UntilReleased = time.Duration(0)  // ends with the last user
	UntilToldTo   = time.Duration(-1) // ends by Shutdown alone
	// SharedLinger bridges the gap between two packages of one `go test` run.
	SharedLinger = 60 * time.Second
)

// wireVersion is part of a shared cluster's name, so that processes of two
// versions of this package do not meet in one cluster.
const wireVersion = "v1"

func sharedName(r Release) string { return "shared-" + r.String() + "." + wireVersion }

// Start starts a new cluster and takes a lease on it. The cluster ends when
// it has had no lease for the linger time, so with UntilReleased it ends
// with Cluster.Close or with this process, however that ends.
func Start(ctx context.Context, o Options, linger time.Duration, who string) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return startAs(ctx, "", o, linger, who)
}

// Shared leases the cluster of the options' release that all processes of
// this machine share, and starts it with these options when there is none.
// It waits until nobody else's lease is in the way: an exclusive one excludes
// all others. The cluster outlives its last user by SharedLinger, or by what
// LingerEnv says.
func Shared(ctx context.Context, o Options, exclusive bool, who string) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	linger := SharedLinger
	if text := os.Getenv(LingerEnv); text != "" {
		if linger, err = time.ParseDuration(text); err != nil {
			return nil, fmt.Errorf("%s: %w", LingerEnv, err)
		}
	}
	name := sharedName(o.Release)
	for {
		c, err := attach(ctx, filepath.Join(RunDir(), name), exclusive, who)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errNotThere) {
			return nil, err
		}
		c, err = startAs(ctx, name, o, linger, who)
		if err == nil {
			// Between this lease and an exclusive one others may come first.
			if !exclusive {
				return c, nil
			}
			c.Close()
			continue
		}
		if !errors.Is(err, errThereAlready) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("shared cluster of ceph %v: %w", o.Release, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

var (
	errNotThere     = errors.New("no such cluster")
	errThereAlready = errors.New("another process is starting or ending it")
)

// startAs starts a cluster in the folder name below RunDir, or a new one.
func startAs(ctx context.Context, name string, o Options, linger time.Duration, who string) (*Cluster, error) {
	root, err := EnsureRoot(ctx, o.Release, io.Discard)
	if err != nil {
		return nil, err
	}
	binary, err := Binary(ctx)
	if err != nil {
		return nil, err
	}
	dir, locks, err := claim(ctx, name, o.Release)
	if err != nil {
		return nil, err
	}
	defer func() { closeAll(locks) }()
	base, portLock, err := reservePorts(ctx, RunDir())
	if err != nil {
		removeTree(dir)
		return nil, err
	}
	locks = append(locks, portLock)
	rootLock, err := lockDir(ctx, root, unix.LOCK_SH)
	if err != nil {
		removeTree(dir)
		return nil, err
	}
	locks = append(locks, rootLock)
	data, err := json.Marshal(spec{Options: o, Root: root, MonPort: base, Linger: linger})
	if err != nil {
		return nil, fmt.Errorf("start: spec: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, specName), data, 0o644); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if binary, err = copyInto(dir, binary); err != nil {
		removeTree(dir)
		return nil, err
	}
	if err := launch(binary, dir, locks); err != nil {
		removeTree(dir)
		return nil, err
	}
	c, err := attachWhenListening(ctx, dir, who)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	return c, nil
}

// copyInto copies the cephcluster command into the cluster's folder, where it
// stays the same while the cluster runs.
func copyInto(dir, binary string) (string, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return "", fmt.Errorf("start: %w", err)
	}
	path := filepath.Join(dir, "cephcluster")
	if err := writeProgram(path, data); err != nil {
		return "", fmt.Errorf("start: %w", err)
	}
	return path, nil
}

// claim makes and locks the folder of a cluster, and collects what clusters
// left behind that no longer run. Named folders exist once.
func claim(ctx context.Context, name string, r Release) (dir string, locks []*os.File, err error) {
	run := RunDir()
	if err := os.MkdirAll(run, 0o755); err != nil {
		return "", nil, fmt.Errorf("start: %w", err)
	}
	lock, err := lockDir(ctx, run, unix.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer lock.Close()
	collect(run)
	if name != "" {
		dir = filepath.Join(run, name)
		err = os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			return "", nil, errThereAlready
		}
	} else {
		dir, err = os.MkdirTemp(run, r.String()+"-")
	}
	if err != nil {
		return "", nil, fmt.Errorf("start: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("start: %w", err)
	}
	own := tryLockDir(dir)
	if own == nil {
		return "", nil, fmt.Errorf("start: cannot lock %s", dir)
	}
	return dir, []*os.File{own}, nil
}

// collect removes the folders below run that no process has locked: those of
// clusters whose supervisor was killed.
func collect(run string) {
	for _, pattern := range []string{"*-*", "ports/*"} {
		dirs, err := filepath.Glob(filepath.Join(run, pattern))
		if err != nil {
			return
		}
		for _, dir := range dirs {
			if lock := tryLockDir(dir); lock != nil {
				removeTree(dir)
				lock.Close()
			}
		}
	}
}

// Collect removes what clusters left behind that no longer run, and the run
// folder itself when it is empty then. It returns the clusters that do run.
func Collect(ctx context.Context) ([]string, error) {
	run := RunDir()
	lock, err := lockDir(ctx, run, unix.LOCK_EX)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	collect(run)
	live, err := filepath.Glob(filepath.Join(run, "*-*"))
	if err != nil {
		return nil, err
	}
	if len(live) == 0 {
		os.Remove(filepath.Join(run, "ports"))
		os.Remove(run)
	}
	return live, nil
}

// The locks that a supervisor inherits, on its folder, its ports and its
// root, follow stdin, stdout and stderr.
const (
	firstInherited = 3
	inheritedLocks = 3
)

// launch starts the supervisor of the cluster in dir in namespaces of its
// own. It inherits the locks and nothing else: no terminal, no pipe that
// `go test` waits for.
func launch(binary, dir string, locks []*os.File) error {
	out, err := os.Create(filepath.Join(dir, "supervisor.out"))
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer out.Close()
	cmd := exec.Command(binary, "serve", dir)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, locks
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS,
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return fmt.Errorf("start: supervisor in namespaces of its own: %w", err)
	}
	go cmd.Wait() // reaps it if it ends before this process
	return nil
}

// listenLimit bounds the moment between a supervisor's start and its socket.
const listenLimit = time.Minute

// attachWhenListening attaches to a cluster that was just launched.
func attachWhenListening(ctx context.Context, dir, who string) (*Cluster, error) {
	limit, cancel := context.WithTimeout(ctx, listenLimit)
	defer cancel()
	for {
		c, err := attach(ctx, dir, false, who)
		if err == nil || !errors.Is(err, errNotThere) {
			return c, err
		}
		select {
		case <-limit.Done():
			out, _ := os.ReadFile(filepath.Join(dir, "supervisor.out")) // best effort, for the message
			return nil, fmt.Errorf("supervisor does not listen: %w: %s", err, strings.TrimSpace(string(out)))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Attach takes a lease on the running cluster in dir.
func Attach(ctx context.Context, dir string, exclusive bool, who string) (*Cluster, error) {
	return attach(ctx, dir, exclusive, who)
}

func attach(ctx context.Context, dir string, exclusive bool, who string) (*Cluster, error) {
	c, r, err := ask(ctx, dir, request{Op: opLease, Who: who, Exclusive: exclusive}, nil)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: held by %s", err, holders(dir))
		}
		return nil, fmt.Errorf("lease on %s: %w", dir, err)
	}
	return newCluster(c, *r.Status), nil
}

func holders(dir string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, r, err := ask(ctx, dir, request{Op: opStatus}, nil)
	if err != nil {
		return "?"
	}
	c.Close()
	return strings.Join(r.Status.Leases, ", ")
}

// ask sends a first request and returns the connection with the first reply.
func ask(ctx context.Context, dir string, req request, files []*os.File) (*conn, reply, error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, "unix", filepath.Join(dir, socketName))
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) {
			err = fmt.Errorf("%w: %w", errNotThere, err)
		}
		return nil, reply{}, err
	}
	u := raw.(*net.UnixConn)
	stop := context.AfterFunc(ctx, func() { u.Close() })
	c := newConn(u, strings.NewReader(""))
	var r reply
	if err = sendFirst(u, req, files); err == nil {
		if err = c.dec.Decode(&r); err == nil {
			err = r.error()
		} else {
			// The supervisor hung up: it was ending when we came.
			err = fmt.Errorf("%w: %w", errNotThere, err)
		}
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		u.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, reply{}, err
	}
	return c, r, nil
}

// do makes a request with one reply.
func do(ctx context.Context, dir string, req request) (reply, error) {
	c, r, err := ask(ctx, dir, req, nil)
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", req.Op, req.Daemon, err)
	}
	c.Close()
	return r, nil
}

// Shutdown ends the cluster in dir and waits until it is gone.
func Shutdown(ctx context.Context, dir string) error {
	return untilGone(ctx, dir, func() error {
		_, err := do(ctx, dir, request{Op: opShutdown})
		if errors.Is(err, errNotThere) {
			return nil
		}
		return err
	})
}

// untilGone does what ends the cluster in dir and waits until its supervisor
// has ended, which holds a lock on the folder to the last.
func untilGone(ctx context.Context, dir string, end func() error) error {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return end()
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := end(); err != nil {
		return err
	}
	if err := lockFile(ctx, f, unix.LOCK_EX); err != nil {
		return err
	}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
