// Package asok asks Ceph daemons on this host through their admin sockets.
//
// Every question is one connection: a JSON object and a NUL byte go out, four
// bytes of big-endian length and that many bytes of answer come back. Only the
// read-only commands listed as Command can be sent.
//
// A socket may hang, close early, or send junk of any size; none of that costs
// more than the client's timeout and MaxAnswer bytes of memory, and it never
// touches the other sockets.
package asok

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/polltrace"
)

// Defaults of a Client.
const (
	// DefaultTimeout bounds one question. A healthy daemon answers in
	// milliseconds, a busy one in some hundred.
	DefaultTimeout = 2 * time.Second
	// DefaultMaxAnswer bounds one answer. The longest in practice are some
	// hundred kB (config show, counter dump of a gateway).
	DefaultMaxAnswer = 4 << 20
	// DefaultParallel is how many sockets are asked at once.
	DefaultParallel = 16
)

// ErrTooLong says that a daemon announced an answer longer than MaxAnswer.
var ErrTooLong = errors.New("answer too long")

// A DaemonError is a daemon's refusal: it was reached, but did not do what it
// was asked. An old release that does not know the command answers this way.
type DaemonError struct {
	Command Command
	Text    string // the daemon's words: "(22) Invalid argument ..."
}

func (e *DaemonError) Error() string {
	return fmt.Sprintf("%v: daemon says: %s", e.Command, e.Text)
}

// Client asks admin sockets. The zero value works, with the defaults above. It
// keeps no connection and no state, and may be used by many goroutines.
type Client struct {
	Timeout   time.Duration // per question
	MaxAnswer int           // bytes
	Parallel  int           // sockets asked at once by ForEach
}

// Ask sends one command to the socket at path and returns the answer, which
// belongs to the caller. It returns when the answer is complete, when ctx is
// done or when the client's timeout is over, whichever comes first.
//
// errors.As finds a *DaemonError where the daemon refused;
// errors.Is(err, syscall.ECONNREFUSED) and fs.ErrNotExist mean that no daemon
// listens there (any more).
func (c *Client) Ask(ctx context.Context, path string, cmd Command) (_ []byte, err error) {
	question, err := cmd.wire()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, positive(c.Timeout, DefaultTimeout))
	defer cancel()
	step := polltrace.Begin(ctx, path, cmd.String())
	defer func() { step.End("", err) }()
	answer, err := exchange(ctx, path, question, positive(c.MaxAnswer, DefaultMaxAnswer))
	if err != nil {
		// A deadline on the connection says "i/o timeout"; the caller wants to
		// know whether it was its own context.
		if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		return nil, fmt.Errorf("admin socket %s: %v: %w", path, cmd, err)
	}
	step.Answered(len(answer))
	if text, refused := bytes.CutPrefix(answer, []byte("ERROR: ")); refused {
		return nil, fmt.Errorf("admin socket %s: %w", path, &DaemonError{Command: cmd, Text: excerpt(text)})
	}
	return answer, nil
}

// exchange does one question and answer on a connection of its own.
func exchange(ctx context.Context, path string, question []byte, limit int) (_ []byte, err error) {
	conn, err := dial(ctx, path)
	if err != nil {
		return nil, err
	}
	// Nothing is left to lose once the answer is read.
	defer func() { _ = conn.Close() }()
	// Closing is what wakes a blocked read or write when ctx ends.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	if _, err := conn.Write(question); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return readAnswer(conn, limit)
}

// readAnswer reads the length and then exactly that many bytes. Memory grows
// with what arrives, not with what was announced.
func readAnswer(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read length: %d of 4 bytes: %w", n, short(err))
	}
	size := binary.BigEndian.Uint32(head[:])
	if uint64(size) > uint64(limit) {
		return nil, fmt.Errorf("%w: %d bytes announced, limit %d", ErrTooLong, size, limit)
	}
	var body bytes.Buffer
	body.Grow(int(min(size, 64<<10)))
	n, err := io.CopyN(&body, r, int64(size))
	if err != nil {
		return nil, fmt.Errorf("read answer: %d of %d bytes: %w", n, size, short(err))
	}
	return body.Bytes(), nil
}

// short names the end of a stream for what it is here: an early close.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// maxSocketPath is what fits into a sockaddr_un with its NUL byte.
const maxSocketPath = 107

// dial connects to a unix socket. Paths below a container's mount of the host
// easily exceed what a socket address holds; those go through the descriptor
// of their directory.
func dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	if len(path) <= maxSocketPath {
		return d.DialContext(ctx, "unix", path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // opened only for its name
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}

// excerpt makes a daemon's words fit for a log line.
func excerpt(text []byte) string {
	const most = 200
	if len(text) > most {
		text = text[:most]
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\uFFFD")), " ")
}

func positive[T time.Duration | int](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}
