// Command scrubplan tells which PGs of a Ceph cluster will be late with their
// scrubs, what a change of settings would make of it, and which change is the
// smallest that helps. It changes nothing itself.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
