package cluster

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

//go:embed commander.py
var commanderScript string

// A commander keeps a process with an open librados connection inside the
// root, because the host may have no librados, or one too old for the
// cluster's keys, and because a command on an open connection takes
// milliseconds where the ceph command takes half a second.
type commander struct {
	// command makes a command that runs inside the root.
	command func(name string, args ...string) *exec.Cmd
	conf    string
	keyring string

	busy chan struct{} // one question at a time
	cmd  *exec.Cmd     // nil when there is none
	in   io.WriteCloser
	out  *bufio.Reader
	errs *bytes.Buffer
}

func newCommander(conf, keyring string, command func(name string, args ...string) *exec.Cmd) *commander {
	return &commander{command: command, conf: conf, keyring: keyring, busy: make(chan struct{}, 1)}
}

// ask sends one command to "mon" or "mgr" and returns the raw answer.
func (k *commander) ask(ctx context.Context, to string, command []byte) ([]byte, error) {
	select {
	case k.busy <- struct{}{}:
		defer func() { <-k.busy }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s command: %w", to, ctx.Err())
	}
	if k.cmd == nil {
		if err := k.start(); err != nil {
			return nil, fmt.Errorf("%s command: %w", to, err)
		}
	}
	// Killing the process is the one way to end a call into librados.
	stop := context.AfterFunc(ctx, func() { k.cmd.Process.Kill() })
	answer, err := k.exchange(to, command)
	if !stop() || (err != nil && !isAnswer(err)) {
		said := k.end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%s command %s: %w: %s", to, command, err, said)
	}
	if err != nil {
		return nil, fmt.Errorf("%s command %s: %w", to, command, err)
	}
	return answer, nil
}

// start starts the process; it connects when the first question comes.
func (k *commander) start() error {
	cmd := k.command("python3", "-c", commanderScript, k.conf, "client.admin", k.keyring)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	k.errs = &bytes.Buffer{}
	cmd.Stderr = k.errs
	if err := cmd.Start(); err != nil {
		return err
	}
	k.cmd, k.in, k.out = cmd, in, bufio.NewReader(out)
	return nil
}

// end ends the process and returns the last line that it wrote to stderr.
func (k *commander) end() string {
	k.in.Close()
	k.cmd.Process.Kill() // it may have ended by itself
	k.cmd.Wait()         // killed: how it ended says nothing
	k.cmd = nil
	lines := strings.Split(strings.TrimSpace(k.errs.String()), "\n")
	return lines[len(lines)-1]
}

// An answerError is a refusal by mon or mgr, after which the connection is
// still good.
type answerError struct {
	ret    int
	status string
}

func (e *answerError) Error() string { return fmt.Sprintf("ret=%d: %s", e.ret, e.status) }

func isAnswer(err error) bool {
	var answer *answerError
	return errors.As(err, &answer)
}

func (k *commander) exchange(to string, command []byte) ([]byte, error) {
	question, err := json.Marshal(map[string]string{"to": to, "command": string(command)})
	if err != nil {
		return nil, err
	}
	if _, err := k.in.Write(append(question, '\n')); err != nil {
		return nil, err
	}
	line, err := k.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var head struct {
		Ret    int    `json:"ret"`
		Status string `json:"status"`
		Size   int    `json:"size"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	answer := make([]byte, head.Size)
	if _, err := io.ReadFull(k.out, answer); err != nil {
		return nil, err
	}
	if head.Ret != 0 {
		return nil, &answerError{head.Ret, head.Status}
	}
	return answer, nil
}

// close ends the process, if there is one, when the question under way is
// answered.
func (k *commander) close() {
	k.busy <- struct{}{}
	defer func() { <-k.busy }()
	if k.cmd != nil {
		k.end()
	}
}
