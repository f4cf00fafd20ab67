package cluster

import (
	"context"
	"fmt"
	"time"
)

const (
	// pollPause lies between two looks at a cluster.
	pollPause = 200 * time.Millisecond
	// lookLimit bounds one look, so that a daemon that hangs does not take
	// the whole time that there is.
	lookLimit = 20 * time.Second
)

// poll calls look until it says true or ctx is done. The error then carries
// what the last look saw, or why it failed.
func poll(ctx context.Context, look func(context.Context) (done bool, saw string, err error)) error {
	last := "nothing seen"
	for {
		done, saw, err := look(ctx)
		if err == nil && done {
			return nil
		}
		if ctx.Err() == nil || saw != "" {
			last = saw
			if err != nil {
				last = err.Error()
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %w: %s", ctx.Err(), last)
		case <-time.After(pollPause):
		}
	}
}
