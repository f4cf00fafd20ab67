package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// notifyEnd subscribes to the signals that end a process in order.
func notifyEnd(c chan<- os.Signal) { signal.Notify(c, unix.SIGTERM, unix.SIGINT, unix.SIGHUP) }

// exec runs a command inside the root with the files of the asker as its
// stdin, stdout and stderr, passes signals on and tells how it ended. The
// command is killed when the connection ends first.
func (s *supervisor) exec(c *conn, req request, files []*os.File) error {
	if len(files) != 3 || len(req.Argv) == 0 {
		return c.enc.Encode(reply{Err: "exec: want a command and three files"})
	}
	path, err := lookInRoot(s.Root, req.Argv[0])
	if err != nil {
		return c.enc.Encode(reply{Err: err.Error()})
	}
	cmd := &exec.Cmd{
		Path: path, Args: req.Argv, Env: rootEnv(req.Env...), Dir: "/",
		Stdin: files[0], Stdout: files[1], Stderr: files[2],
		SysProcAttr: &syscall.SysProcAttr{Chroot: s.Root, Setpgid: true},
	}
	if req.Dir != "" {
		cmd.Dir = req.Dir
	}
	if err := cmd.Start(); err != nil {
		return c.enc.Encode(reply{Err: fmt.Sprintf("exec %s: %v", path, err)})
	}
	for _, f := range files {
		f.Close() // so that the asker sees the end of the output
	}
	done := make(chan struct{})
	s.goRecovered("exec", func() {
		for {
			var more request
			if err := c.dec.Decode(&more); err != nil {
				break
			}
			cmd.Process.Signal(syscall.Signal(more.Signal)) // it may have ended meanwhile
		}
		select {
		case <-done:
		default:
			unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // the asker is gone; so is who could be told
		}
	})
	if err := c.enc.Encode(reply{PID: cmd.Process.Pid}); err != nil {
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
	err = cmd.Wait()
	close(done)
	r := reply{Exited: true}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		status := exit.Sys().(syscall.WaitStatus)
		r.Code = status.ExitStatus()
		if status.Signaled() {
			r.Signal = int(status.Signal())
		}
	case err != nil:
		r.Err = err.Error()
	}
	return c.enc.Encode(r)
}

// lookInRoot finds a program by name in the usual folders of the root.
func lookInRoot(root, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range []string{"/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"} {
		if unix.Access(root+dir+name, unix.X_OK) == nil {
			return dir + name, nil
		}
	}
	return "", fmt.Errorf("exec %s: not found in the root", name)
}

// rootCommand returns a command inside the root for the supervisor itself.
func (s *supervisor) rootCommand(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir = rootEnv(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.Root, Setpgid: true}
	return cmd
}

// run runs a command inside the root.
func (s *supervisor) run(ctx context.Context, argv ...string) error {
	path, err := lookInRoot(s.Root, argv[0])
	if err != nil {
		return err
	}
	cmd := s.rootCommand(ctx, path, argv[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
