package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec runs a command inside the cluster in dir with this process's stdin,
// stdout and stderr, passes signals on, and returns its exit code, which is
// 128 plus the signal's number for a command that a signal ended. It is the
// body of `cephcluster exec`: when this process dies, so does the command.
func Exec(ctx context.Context, dir string, env, argv []string) (int, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT)
	defer signal.Stop(signals)
	c, _, err := ask(ctx, dir, request{Op: opExec, Argv: argv, Env: env}, []*os.File{os.Stdin, os.Stdout, os.Stderr})
	if err != nil {
		return 0, fmt.Errorf("exec: %w", err)
	}
	defer c.Close()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case sig := <-signals:
				if c.enc.Encode(request{Signal: int(sig.(syscall.Signal))}) != nil {
					return
				}
			case <-ended:
				return
			}
		}
	}()
	var r reply
	if err := c.dec.Decode(&r); err != nil {
		return 0, errors.New("exec: the cluster has ended")
	}
	if err := r.error(); err != nil {
		return 0, fmt.Errorf("exec: %w", err)
	}
	if r.Signal != 0 {
		return 128 + r.Signal, nil
	}
	return r.Code, nil
}
