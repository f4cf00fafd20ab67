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
		Name:    "ceph_risk_exporter",
		Section: 8,
		Does:    "Prometheus exporter for the risks of a Ceph cluster",
		Main: func(args []string) int {
			return run(context.Background(), args, os.Stdout, io.Discard)
		},
		Extra: `
.SH "EXIT STATUS"
.TP
0
It ended as asked: by SIGTERM or SIGINT, after \-\-help, \-\-version, a good \-\-config.check, or \-\-once with every collector successful.
.TP
1
It could not start or serve; with \-\-once: some collector failed.
.TP
2
Flags or files are wrong.
.SH "FILES"
.TP
/etc/default/ceph_risk_exporter, /etc/default/ceph_risk_exporter\-host
Flags of the two services that the packages bring.
.TP
/etc/ceph/ceph.client.risk.keyring
The key of the cluster role: mon 'allow r', mgr 'allow r'.
.TP
/var/lib/ceph_risk_exporter, /var/lib/ceph_risk_exporter\-host
What must survive a restart. Nobody else may read it.
.SH "SEE ALSO"
.BR scrubplan (1),
.BR ceph (8),
.BR systemd.service (5)
`}, *update)
}
