package drill

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// faults lists everything that happens in a drill, in this order.
func faults() []fault {
	all := []fault{flagsLeftOn(), wrongSection(), outWhileScrubbing(), uploadsLeft(), opsLogJunk(), pairKilled()}
	return slices.Concat(all, arrayFaults(), shelfFaults())
}

// flagsLeftOn: maintenance is over, the flags are still there, and PGs pass
// their deadline, which is made to be seconds.
func flagsLeftOn() fault {
	return fault{
		name:  "noscrub and nodeep-scrub left on until PGs are late",
		short: true,
		inject: func(d *drill) {
			d.ceph("osd set noscrub")
			d.ceph("osd set nodeep-scrub")
			d.must(d.c.SetConfig(d.ctx, "global", "osd_deep_scrub_interval", "10"))
		},
		pages: func(d *drill) []page {
			out := []page{leftOn("noscrub"), leftOn("nodeep-scrub")}
			for _, pool := range d.pools() {
				out = append(out, late(pool), veryLate(pool))
			}
			return out
		},
		during: []fault{oneKilled(), mgrHangs()},
		repair: func(d *drill) {
			d.ceph("config rm global osd_deep_scrub_interval")
			d.ceph("osd unset noscrub")
			d.ceph("osd unset nodeep-scrub")
		},
	}
}

func leftOn(flag string) page {
	return page{"CephRiskScrubFlagLeftOn", "warning", map[string]string{"flag": flag}, func(d *drill) string {
		var dump struct {
			Flags []string `json:"flags_set"`
		}
		d.cephJSON(&dump, "osd dump")
		if !slices.Contains(dump.Flags, flag) {
			return "nothing: Ceph's flags are " + strings.Join(dump.Flags, ", ")
		}
		return "Flag " + flag + " has been set for 12s in cluster drill"
	}, "Unset it with `ceph osd unset " + flag + "`"}
}

func late(p pool) page {
	return page{
		"CephRiskPGsLate", "warning", map[string]string{"pool_id": fmt.Sprint(p.ID), "level": "deep"},
		func(d *drill) string {
			return fmt.Sprintf("%d PGs of pool %s in cluster drill are late for their deep scrub, and not getting fewer", d.lateByCeph(p.ID), p.Name)
		},
		fmt.Sprintf(`Kept from scrubbing now by: flag %d\. Longest without deep scrub: %d\.`, p.PGs, p.ID),
	}
}

func veryLate(p pool) page {
	return page{
		"CephRiskPGsVeryLate", "critical", map[string]string{"pool_id": fmt.Sprint(p.ID), "level": "deep", "intervals": "3"},
		func(d *drill) string {
			return fmt.Sprintf("%d PGs of pool %s in cluster drill have had no deep scrub for 3 intervals", d.olderThan(p.ID, 30*time.Second), p.Name)
		},
		fmt.Sprintf(`Longest without deep scrub: %d\.`, p.ID),
	}
}

type pool struct {
	ID   int    `json:"pool"`
	Name string `json:"pool_name"`
	PGs  int    `json:"pg_num"`
}

func (d *drill) pools() []pool {
	d.Helper()
	var dump struct {
		Pools []pool `json:"pools"`
	}
	d.cephJSON(&dump, "osd dump")
	return dump.Pools
}

var notDeepScrubbed = regexp.MustCompile(`^pg ([0-9]+)\.[0-9a-f]+ not deep-scrubbed since `)

// lateByCeph counts the PGs of a pool in PG_NOT_DEEP_SCRUBBED.
func (d *drill) lateByCeph(pool int) int {
	d.Helper()
	var health struct {
		Checks map[string]struct {
			Summary struct {
				Count int `json:"count"`
			} `json:"summary"`
			Detail []struct {
				Message string `json:"message"`
			} `json:"detail"`
		} `json:"checks"`
	}
	d.cephJSON(&health, "health detail")
	check := health.Checks["PG_NOT_DEEP_SCRUBBED"]
	if n := len(check.Detail); n < check.Summary.Count {
		d.Errorf("Ceph names %d of %d late PGs: the drill has too many", n, check.Summary.Count)
	}
	n := 0
	for _, x := range check.Detail {
		if m := notDeepScrubbed.FindStringSubmatch(x.Message); m != nil && m[1] == fmt.Sprint(pool) {
			n++
		}
	}
	return n
}

// olderThan counts the PGs of a pool whose last deep scrub is so long ago.
func (d *drill) olderThan(pool int, age time.Duration) int {
	d.Helper()
	var ls struct {
		PGs []struct {
			Stamp string `json:"last_deep_scrub_stamp"`
		} `json:"pg_stats"`
	}
	d.cephJSON(&ls, fmt.Sprintf("pg ls %d", pool))
	n := 0
	for _, pg := range ls.PGs {
		at, err := time.Parse("2006-01-02T15:04:05.999999-0700", pg.Stamp)
		d.must(err)
		if time.Since(at) > age {
			n++
		}
	}
	return n
}

// oneKilled: the other exporter of the pair goes on, and no critical page comes.
func oneKilled() fault {
	return fault{
		name:   "one exporter of the pair killed while PGs are late",
		short:  true,
		inject: func(d *drill) { d.pair[0].Stop(syscall.SIGKILL) },
		pages:  func(d *drill) []page { return []page{down(d, 0)} },
		repair: func(d *drill) { d.pair[0].Run() },
	}
}

func down(d *drill, i int) page {
	at := instance(d.pair[i])
	return page{
		"CephRiskExporterDown", "warning", map[string]string{"job": "ceph_risk_exporter", "instance": at},
		func(*drill) string { return "ceph_risk_exporter " + at + " does not answer in cluster drill" }, at,
	}
}

func pairKilled() fault {
	return fault{
		name:  "both exporters killed",
		short: false,
		inject: func(d *drill) {
			d.pair[0].Stop(syscall.SIGKILL)
			d.pair[1].Stop(syscall.SIGKILL)
		},
		pages: func(d *drill) []page {
			return []page{down(d, 0), down(d, 1), {
				"CephRiskClusterUnseen", "warning", nil,
				func(*drill) string { return "No exporter sees Ceph in cluster drill" }, "",
			}}
		},
		repair: func(d *drill) {
			d.pair[0].Run()
			d.pair[1].Run()
		},
	}
}

func failing(collector string) page {
	return page{
		"CephRiskCollectorFailing", "warning", map[string]string{"collector": collector},
		says("Collector " + collector + " fails in cluster drill"), "",
	}
}

// mgrHangs: what only the mgr knows is gone; what was late is still late.
func mgrHangs() fault {
	return fault{
		name:   "mgr stopped (SIGSTOP) and resumed while PGs are late",
		inject: func(d *drill) { d.must(d.c.Signal(d.ctx, "mgr.x", syscall.SIGSTOP)) },
		pages:  func(*drill) []page { return []page{failing("pg"), failing("osd")} },
		// How many commands hang depends on how long the mgr does.
		may: []string{"CephRiskCephCommandsStuck", "CephRiskClusterUnseen", "CephRiskCollectorFailing"},
		repair: func(d *drill) {
			d.must(d.c.Signal(d.ctx, "mgr.x", syscall.SIGCONT))
			d.must(d.c.WaitClean(d.ctx))
		},
	}
}

// outWhileScrubbing: scrubs and recovery meet, no client suffers, nobody is paged.
func outWhileScrubbing() fault {
	meet := func(d *drill, what, expr string) {
		await(d, what, func() error {
			n, err := d.Number(expr)
			if err == nil && n == 0 {
				err = fmt.Errorf("%s is 0", expr)
			}
			return err
		})
	}
	return fault{
		name: "OSD out with scrubs running",
		inject: func(d *drill) {
			d.must(d.c.PutObjects(d.ctx, "data", 800, 4096))
			d.must(d.c.SetConfig(d.ctx, "osd", "osd_recovery_sleep", "0.5"))
			d.must(d.c.SetConfig(d.ctx, "osd", "osd_scrub_during_recovery", "true"))
			d.must(d.c.DeepScrub(d.ctx, "data"))
			meet(d, "scrubs to run", "cephrisk:scrubbing_pgs")
			d.ceph("osd out 3")
			meet(d, "scrub and recovery to meet", "cephrisk:scrub_recovery_overlap_osds")
			d.pause(20 * time.Second) // longer than any window
		},
		pages: func(*drill) []page { return nil },
		// A scrub lasts longer here than the six hours of that alert.
		may: []string{"CephRiskScrubNeverFinishes"},
		repair: func(d *drill) {
			d.ceph("config rm osd osd_recovery_sleep")
			d.ceph("config rm osd osd_scrub_during_recovery")
			d.ceph("osd in 3")
			d.must(d.c.WaitClean(d.ctx))
		},
	}
}

// wrongSection: the OSDs follow another interval than the mgr warns by.
func wrongSection() fault {
	return fault{
		name:   "interval set on the section osd instead of global",
		inject: func(d *drill) { d.must(d.c.SetConfig(d.ctx, "osd", "osd_deep_scrub_interval", "1209600")) },
		pages: func(*drill) []page {
			return []page{{
				"CephRiskScrubIntervalMismatch", "warning", map[string]string{"option": "osd_deep_scrub_interval"},
				func(d *drill) string {
					return fmt.Sprintf("%d OSDs run with another osd_deep_scrub_interval than the mgr in cluster drill", d.differing())
				}, `Set now: osd 1209600 s\.`,
			}}
		},
		repair: func(d *drill) { d.ceph("config rm osd osd_deep_scrub_interval") },
	}
}

// differing counts the OSDs that run with another deep interval than the mgr.
func (d *drill) differing() int {
	d.Helper()
	value := func(who string) string {
		out, err := d.c.Ceph(d.ctx, "config", "show", who, "osd_deep_scrub_interval")
		d.must(err)
		return strings.TrimSpace(string(out))
	}
	osds, err := d.c.OSDs(d.ctx)
	d.must(err)
	n, want := 0, value("mgr.x")
	for i := range osds {
		if value(fmt.Sprintf("osd.%d", i)) != want {
			n++
		}
	}
	return n
}
