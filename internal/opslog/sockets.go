package opslog

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// socketRetry is the pause before a gateway's socket is tried again.
	socketRetry = time.Second
	// socketLook is how often new sockets are looked for.
	socketLook = 5 * time.Second
	// streamBytes is the size of one read from a socket or connection.
	streamBytes = 64 << 10
)

// ReadSockets reads the ops log sockets that match the globs until ctx is done.
// The gateway is the server, and feeds one reader at a time. Bytes that were
// taken off a socket and not saved yet are lost when this process is killed.
func (e *Engine) ReadSockets(ctx context.Context, globs []string, log *slog.Logger) {
	var wg sync.WaitGroup
	defer wg.Wait()
	reading := map[string]bool{}
	look := time.NewTicker(socketLook)
	defer look.Stop()
	for {
		for _, g := range globs {
			paths, err := filepath.Glob(g)
			if err != nil {
				log.Error("ops log socket", "glob", g, "err", err)
				return
			}
			for _, p := range paths {
				if !reading[p] {
					reading[p] = true
					wg.Go(func() { e.readSocket(ctx, p, log) })
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// readSocket reads one socket, connecting again whenever the gateway goes.
func (e *Engine) readSocket(ctx context.Context, path string, log *slog.Logger) {
	var last string
	for ctx.Err() == nil {
		err := guarded(func() error { return e.readConn(ctx, path) })
		if s := fmt.Sprint(err); s != last && ctx.Err() == nil {
			log.Info("ops log socket: waiting for the gateway", "socket", path, "err", err)
			last = s
		}
		select {
		case <-ctx.Done():
		case <-time.After(socketRetry):
		}
	}
}

func (e *Engine) readConn(ctx context.Context, path string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	return e.pump(ctx, conn, e.NewStream(path))
}

// pump moves bytes from a connection into the books until one of them ends.
func (e *Engine) pump(ctx context.Context, conn net.Conn, s *Stream) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	e.connections.Add(1)
	defer e.connections.Add(-1)
	buf := make([]byte, streamBytes)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			if err := s.Feed(ctx, buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			// What is incomplete stays so: the sender begins anew.
			if endErr := s.finish(ctx); endErr != nil {
				return endErr
			}
			return err
		}
	}
}

func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
