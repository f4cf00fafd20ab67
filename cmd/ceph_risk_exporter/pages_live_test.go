package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

// The overview of a real cluster: every number leads to its series, the browser
// has nothing to complain of, and the debug page tells what Ceph was asked.
func TestPagesBesideARealCluster(t *testing.T) {
	requireBrowser(t)
	c := cephtest.Shared(t, cephtest.R20)
	e := exporter.Start(t, c, "pages", "--collector.pg.interval=2s", "--collector.pg.fast-interval=1s", "--collector.osd.interval=2s")
	// Series come and go with what the cluster does, so one look may meet a gap.
	e.Await("an overview whose links all lead to series", 5*time.Minute, func() error {
		body, err := e.Get("/")
		if err == nil && !strings.Contains(body, "PGs by age of the last deep scrub") {
			err = errors.New("no ages yet")
		}
		if err != nil {
			return err
		}
		return linksLeadToSeries(e.Get)
	})
	e.Await("the pg collector's account", 5*time.Minute, func() error {
		body, err := e.Get("/debug/collector?name=pg")
		if err == nil && (!strings.Contains(body, "mgr  pg ls scrubbing") || !strings.Contains(body, "bytes in")) {
			err = errors.New(body)
		}
		return err
	})
	b := startBrowser(t)
	for _, v := range []view{desktop, phone} {
		b.open(e.URL+"/", v)
		for _, check := range []string{"contrast", "overflow", "spill", "structure"} {
			b.check("real cluster, "+v.name, check)
		}
	}
	b.quiet(e.URL)
}
