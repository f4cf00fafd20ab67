package asok

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// ForEach calls ask for every socket, at most c.Parallel at a time, and returns
// when all have returned. errs[i] is what ask said of sockets[i]; a panic in ask
// becomes that socket's error. Sockets not begun when ctx ends get its error.
func (c *Client) ForEach(ctx context.Context, sockets []Socket, ask func(context.Context, int, Socket) error) (errs []error) {
	errs = make([]error, len(sockets))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(positive(c.Parallel, DefaultParallel), len(sockets)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = guarded(ctx, i, sockets[i], ask)
			}
		})
	}
	for i := range sockets {
		next <- i
	}
	close(next)
	workers.Wait()
	return errs
}

func guarded(ctx context.Context, i int, s Socket, ask func(context.Context, int, Socket) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("admin socket %s: panic: %v\n%s", s.Path, p, debug.Stack())
		}
	}()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("admin socket %s: not asked: %w", s.Path, err)
	}
	return ask(ctx, i, s)
}
