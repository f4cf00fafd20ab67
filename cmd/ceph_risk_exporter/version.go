package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/rados"
)

// release is set by the linker: -ldflags "-X main.release=1.2.3".
var release = "dev"

func version() collector.Version {
	v := collector.Version{Version: release, GoVersion: runtime.Version(), Librados: rados.Available}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	return v
}

func versionText() string {
	v := version()
	with := "with librados"
	if !v.Librados {
		with = "without librados (host role and msa only)"
	}
	return fmt.Sprintf("ceph_risk_exporter %s (revision %s, %s, %s)", v.Version, v.Revision, v.GoVersion, with)
}
