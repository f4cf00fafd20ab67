package ceph

import (
	"context"
	"time"
)

// A Commander sends one command to the cluster and returns the raw answer.
// It is implemented by internal/rados for a real cluster and by
// internal/simulate for a made-up one.
//
// The command is the JSON object that librados expects, for instance
// {"prefix":"osd dump","format":"json"}. Both methods return when the answer
// is there, when ctx is done, or when the implementation gives the call up;
// they never outlive ctx. An answer belongs to the caller.
type Commander interface {
	MonCommand(ctx context.Context, command []byte) ([]byte, error)
	MgrCommand(ctx context.Context, command []byte) ([]byte, error)
}

// A BufferCommander is a Commander that can also lend an answer where it lies,
// instead of copying it into Go's heap.
//
// use runs in the caller's goroutine, at most once, and only when the answer
// arrived in time. answer is valid until use returns: nothing may keep a
// reference into it, and nothing may write to it. The error of use is returned
// as it is.
type BufferCommander interface {
	Commander
	MgrCommandInPlace(ctx context.Context, command []byte, use func(answer []byte) error) error
}

// UseMgrAnswer hands the answer of a mgr command to use, in place where c can
// lend it. The rules of BufferCommander hold for use in both cases.
func UseMgrAnswer(ctx context.Context, c Commander, command []byte, use func(answer []byte) error) error {
	if lender, ok := c.(BufferCommander); ok {
		return lender.MgrCommandInPlace(ctx, command, use)
	}
	answer, err := c.MgrCommand(ctx, command)
	if err != nil {
		return err
	}
	return use(answer)
}

type callLimitKey struct{}

// WithCallLimit gives every call made with the returned context a time limit
// of its own, in place of the Commander's default (--ceph.timeout): a dump of
// the whole cluster may take longer than other commands, and a question that
// should be answered at once may take less. The deadline of ctx holds as well.
func WithCallLimit(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, callLimitKey{}, limit)
}

// CallLimit returns the limit that WithCallLimit put into ctx.
func CallLimit(ctx context.Context) (limit time.Duration, ok bool) {
	limit, ok = ctx.Value(callLimitKey{}).(time.Duration)
	return limit, ok && limit > 0
}
