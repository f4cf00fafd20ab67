package main

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/helpdoc"
)

func TestManPageAndCompletionAreCurrent(t *testing.T) {
	helpdoc.Check(t, "../..", helpdoc.Program{
		Name:    "scrubplan",
		Section: 1,
		Does:    "what a change of settings would make of a Ceph cluster's late scrubs",
		Main: func(args []string) int {
			return run(context.Background(), args, os.Stdout, io.Discard)
		},
		Extra: `
.SH "SEE ALSO"
.BR ceph_risk_exporter (8),
.BR ceph (8)
`}, *update)
}
