package rados

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// Client sends commands to one cluster. It connects when it is first used, and
// again whenever a call had to be given up or the connection broke. It is safe
// for concurrent use.
type Client struct {
	cfg Config
	log *slog.Logger
	w   watchdog
}

var _ ceph.BufferCommander = (*Client)(nil)

// New returns a client for cfg. It neither reads a file nor asks the cluster;
// for that see Check. Its error is always an *Error.
func New(cfg Config) (*Client, error) {
	if !Available {
		return nil, unavailable()
	}
	return newClient(cfg, dial)
}

func newClient(cfg Config, d dialer) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, log: cfg.Log}
	c.w.init(cfg, func() (conn, error) { return d(cfg) })
	return c, nil
}

// Check tells what is wrong with the settings, ceph.conf and the keyring, as
// far as it can be seen without asking the cluster.
func Check(cfg Config) error {
	if !Available {
		return unavailable()
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	return checkFiles(cfg)
}

// MonCommand implements ceph.Commander. It returns within the context's
// deadline and the limit of ceph.WithCallLimit or else Config.Timeout,
// whatever the cluster does. Its error is always an *Error.
func (c *Client) MonCommand(ctx context.Context, command []byte) ([]byte, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	return c.askMon(ctx, command)
}

// MgrCommand implements ceph.Commander, like MonCommand. The answer is a copy
// of librados' own, and at most 2 GiB.
func (c *Client) MgrCommand(ctx context.Context, command []byte) ([]byte, error) {
	a, err := c.askMgr(ctx, command, conn.mgr)
	return a.data, err
}

// MgrCommandInPlace implements ceph.BufferCommander: use sees librados' own
// buffer, of any size, which is freed when use returns or panics.
func (c *Client) MgrCommandInPlace(ctx context.Context, command []byte, use func(answer []byte) error) error {
	a, err := c.askMgr(ctx, command, conn.mgrInPlace)
	if err != nil {
		return err
	}
	defer a.release()
	return use(a.data)
}

// Close ends the client. Calls under way return ErrClosed. It waits a little
// for the connection to be shut down, but not for ever; its error tells that
// librados still holds on to something.
func (c *Client) Close() error {
	select {
	case <-c.w.close():
		return nil
	case <-time.After(min(c.cfg.Timeout, 5*time.Second)):
		n := c.w.stats().Inside
		return &Error{Op: "close", Kind: ErrGivenUp, Cause: fmt.Errorf("%d calls still inside librados", n)}
	}
}

// limited returns ctx with the call's own limit.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	limit, ok := ceph.CallLimit(ctx)
	if !ok {
		limit = c.cfg.Timeout
	}
	return context.WithTimeout(ctx, limit)
}

func (c *Client) askMon(ctx context.Context, command []byte) ([]byte, error) {
	command = bytes.Clone(command) // a call left behind may outlive the caller's buffer
	a, err := c.w.do(ctx, toMon, func(conn conn) answer { return conn.mon(command) })
	if err == nil {
		return a.data, nil
	}
	if errors.Is(err, errNoAnswer) {
		err = &Error{Kind: ErrNoQuorum, Cause: err, Cure: cureNoQuorum}
	}
	return nil, asError("", err)
}

func (c *Client) askMgr(ctx context.Context, command []byte, how func(conn, []byte) answer) (answer, error) {
	command = bytes.Clone(command)
	ctx, cancel := c.limited(ctx)
	defer cancel()

	// Where a mgr still owes an answer, ask before sending it another command:
	// with no mgr at all each one would wait inside librados for the next mgr.
	if c.w.owed(toMgr) {
		if err := c.mgrState(ctx); errors.Is(err, ErrNoActiveMgr) {
			return answer{}, asError("", err)
		}
	}
	early, leave := leaveEarly(ctx)
	defer leave()
	a, err := c.w.do(early, toMgr, func(conn conn) answer { return how(conn, command) })
	if err == nil {
		return a, nil
	}
	if errors.Is(err, errNoAnswer) {
		err = c.explain(ctx, err)
	}
	return answer{}, asError("", err)
}

// How long it takes to find out why the mgr did not answer: at most diagnosis,
// and never more than a fifth of the call's limit. Monitors that did not answer
// for less than enoughToBlame are not blamed.
const (
	diagnosis     = 2 * time.Second
	enoughToBlame = time.Second
)

// leaveEarly keeps time for a diagnosis.
func leaveEarly(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	reserve := min(time.Until(deadline)/5, diagnosis)
	return context.WithDeadline(ctx, deadline.Add(-reserve))
}

// explain asks the monitors about the mgr that did not answer.
func (c *Client) explain(ctx context.Context, noAnswer error) error {
	began := time.Now()
	err := c.mgrState(ctx)
	var found *Error
	if !errors.As(err, &found) {
		return &Error{Kind: ErrMgrHung, Cause: noAnswer, Cure: cureMgrHung}
	}
	switch {
	case found.Kind == ErrNoActiveMgr, found.Kind == ErrMgrHung,
		found.Kind == ErrNoQuorum && time.Since(began) >= enoughToBlame:
		cause := noAnswer
		if found.Cause != nil {
			cause = fmt.Errorf("%w; %w", noAnswer, found.Cause)
		}
		return &Error{Kind: found.Kind, Cause: cause, Cure: found.Cure}
	}
	return &Error{Cause: fmt.Errorf("%w; which mgr is active could not be found out in the time left", noAnswer)}
}
