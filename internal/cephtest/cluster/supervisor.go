package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A spec is what the process that starts a cluster tells its supervisor.
type spec struct {
	Options Options
	Root    string
	MonPort int // first of the port block
	// Linger is how long the cluster outlives its last user; negative: until
	// it is told to end.
	Linger time.Duration
}

const specName = "spec.json"

const (
	// firstUser is how long a new cluster waits for a first user.
	firstUser = time.Minute
	// stopLimit bounds the orderly end of a daemon.
	stopLimit = 2 * time.Minute
)

// A supervisor is the first process in a cluster's PID namespace: when it
// ends, for whatever reason, the kernel ends all others there.
type supervisor struct {
	spec
	dir     string
	fsid    string
	binary  string
	log     *slog.Logger
	daemons *daemons
	admin   *commander
	leases  leases
	ctx     context.Context // ends with the cluster
	end     context.CancelFunc

	up    chan struct{} // closed when the bring-up has ended
	upErr error         // how; read after up

	mu   sync.Mutex // guards what grows, and one growth at a time
	osds int
	rgws []int
}

// Serve runs the supervisor of the cluster in dir until the cluster ends. It
// must be the first process of new PID and mount namespaces, and removes dir
// in the end.
func Serve(dir string) error {
	if os.Getpid() != 1 {
		return errors.New("serve: not the first process of a PID namespace")
	}
	data, err := os.ReadFile(filepath.Join(dir, specName))
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	for fd := range inheritedLocks {
		unix.CloseOnExec(firstInherited + fd) // the locks are the supervisor's alone
	}
	s := &supervisor{dir: dir, binary: binary, up: make(chan struct{})}
	if err := json.Unmarshal(data, &s.spec); err != nil {
		return fmt.Errorf("serve: spec: %w", err)
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	defer s.end()
	if os.Getenv(KeepEnv) == "" {
		defer removeTree(dir)
	}
	logFile, err := os.Create(filepath.Join(dir, "supervisor.log"))
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer logFile.Close()
	s.log = slog.New(slog.NewTextHandler(logFile, nil))
	if err := enterRoot(s.Root, dir); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName), Net: "unix"})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	s.daemons = &daemons{root: s.Root, log: filepath.Join(dir, "log"), all: map[string]*daemon{}}
	defer func() {
		s.end()
		s.admin.close()
		s.daemons.killAll()
	}()
	s.admin = newCommander(s.confPath(), s.keyringPath(), func(name string, args ...string) *exec.Cmd {
		return s.rootCommand(s.ctx, "/usr/bin/"+name, args...)
	})
	s.watchUsers()
	s.watchSignals()
	context.AfterFunc(s.ctx, func() { l.Close() })
	s.goRecovered("bring up", func() {
		defer close(s.up)
		if s.upErr = s.bringUp(s.ctx); s.upErr != nil {
			s.log.Error("bring up", "err", s.upErr)
		}
	})
	s.accept(l)
	return nil
}

// goRecovered runs f in a goroutine; a panic ends the cluster, in order.
func (s *supervisor) goRecovered(what string, f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("panic", "in", what, "value", p)
				s.end()
			}
		}()
		f()
	}()
}

// watchUsers ends the cluster when nobody has used it for the linger time.
func (s *supervisor) watchUsers() {
	if s.Linger < 0 {
		return
	}
	timer := time.AfterFunc(firstUser, s.end)
	s.leases.changed = func(users int) {
		timer.Stop()
		if users == 0 {
			timer.Reset(s.Linger)
		}
	}
}

func (s *supervisor) watchSignals() {
	signals := make(chan os.Signal, 1)
	notifyEnd(signals)
	s.goRecovered("signals", func() {
		select {
		case sig := <-signals:
			s.log.Info("ending", "signal", sig.String())
			s.end()
		case <-s.ctx.Done():
		}
	})
}

func (s *supervisor) accept(l *net.UnixListener) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return // closed: the cluster ends
		}
		s.goRecovered("connection", func() {
			defer c.Close()
			if err := s.handle(c); err != nil && !errors.Is(err, io.EOF) {
				s.log.Warn("connection", "err", err)
			}
		})
	}
}

// handle serves one connection. Its context ends with the connection.
func (s *supervisor) handle(raw *net.UnixConn) error {
	head, files, err := receiveFirst(raw)
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	c := newConn(raw, bytes.NewReader(head))
	var req request
	if err := c.dec.Decode(&req); err != nil {
		return err
	}
	switch req.Op {
	case opLease:
		return s.lease(c, req)
	case opExec:
		return s.exec(c, req, files)
	}
	var r reply
	switch req.Op {
	case opStatus:
		r.Status = s.status()
	case opStart:
		err = s.daemons.start(req.Daemon)
	case opStop:
		ctx, cancel := context.WithTimeout(s.ctx, stopLimit)
		err = s.daemons.stop(ctx, req.Daemon)
		cancel()
	case opSignal:
		err = s.daemons.signal(req.Daemon, syscall.Signal(req.Signal))
	case opAddOSD:
		r.Name, err = s.addOSD(s.ctx)
	case opAddRGW:
		err = s.growRGWs(s.ctx, req.N)
	case opShutdown:
		defer s.end()
	default:
		err = fmt.Errorf("unknown operation %q", req.Op)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return c.enc.Encode(r)
}

// lease answers when the lease is granted and the cluster is up, and holds
// the lease until the connection ends.
func (s *supervisor) lease(c *conn, req request) error {
	one := s.leases.ask(req.Who, req.Exclusive)
	defer s.leases.end(one)
	gone := make(chan struct{})
	s.goRecovered("lease", func() {
		defer close(gone)
		var more request
		for c.dec.Decode(&more) == nil { // nothing is expected but the end
		}
	})
	for _, wait := range []chan struct{}{s.up, one.granted} {
		select {
		case <-wait:
		case <-gone:
			return nil
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	r := reply{Status: s.status()}
	if s.upErr != nil {
		r.Err = s.upErr.Error()
	}
	if err := c.enc.Encode(r); err != nil {
		return err
	}
	select {
	case <-gone:
	case <-s.ctx.Done():
	}
	return nil
}

func (s *supervisor) status() *Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Status{
		Release: s.Options.Release,
		FSID:    s.fsid,
		Dir:     s.dir,
		Root:    s.Root,
		Binary:  s.binary,
		MonPort: s.MonPort,
		OSDs:    s.osds,
		RGWs:    append([]int{}, s.rgws...),
		Running: s.daemons.running(),
		Leases:  s.leases.holders(),
	}
}
