package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

// overlapFamilies are the families that overlap returns all series of, and
// blockedFamilies those of blocked.
var (
	overlapFamilies = []string{"cephrisk_osd_recovering_pgs", "cephrisk_scrub_recovery_overlap_osds", "cephrisk_scrub_recovery_overlap_pgs"}
	blockedFamilies = []string{"cephrisk_pool_pgs_scrub_blocked", "cephrisk_osd_late_pgs", "cephrisk_osd_objects"}
)

const plainHole = 2147483647

func (p *plainPG) recovers() bool { return p.has("recovering") || p.has("backfilling") }

// everywhere are the OSDs of acting and up set.
func (p *plainPG) everywhere() []int {
	all := slices.Concat(p.Acting, p.Up)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(o int) bool { return o == plainHole })
}

// overlap returns the series of where scrub and recovery meet, from the answer
// to the frequent question.
func (v *plainView) overlap(active []plainPG) exporter.Series {
	out := exporter.Series{"cephrisk_scrub_recovery_overlap_osds": 0}
	doing := func(what string) string { return "cephrisk_scrub_recovery_overlap_pgs" + labelText("doing", what) }
	for _, what := range []string{"scrub", "recovery", "both"} {
		out[doing(what)] = 0
	}
	recovering := func(osd int) string {
		return "cephrisk_osd_recovering_pgs" + labelText("ceph_daemon", fmt.Sprintf("osd.%d", osd))
	}
	for _, o := range v.osds.OSDs {
		if o.Up == 1 {
			out[recovering(o.ID)] = 0
		}
	}
	scrubs, recovers := map[int]bool{}, map[int]bool{}
	for _, p := range active {
		if p.has("scrubbing") {
			for _, osd := range p.Acting {
				scrubs[osd] = osd != plainHole
			}
		}
		if p.recovers() {
			for _, osd := range p.everywhere() {
				recovers[osd] = true
				out[recovering(osd)]++
			}
		}
	}
	for osd := range recovers {
		if scrubs[osd] {
			out["cephrisk_scrub_recovery_overlap_osds"]++
		}
	}
	for _, p := range active {
		meets := func(osd int) bool { return scrubs[osd] && recovers[osd] }
		switch {
		case p.has("scrubbing") && p.recovers():
			if slices.ContainsFunc(p.everywhere(), meets) {
				out[doing("both")]++
			}
		case p.recovers():
			if slices.ContainsFunc(p.everywhere(), meets) {
				out[doing("recovery")]++
			}
		case p.has("scrubbing"):
			if slices.ContainsFunc(p.Acting, meets) {
				out[doing("scrub")]++
			}
		}
	}
	return out
}

// blocked returns the series of late PGs by primary and by what blocks them, for
// a cluster without a time window, and those of objects by OSD.
func (v *plainView) blocked(now int64, release int) exporter.Series {
	out := exporter.Series{}
	reasons := []string{"flag", "not_clean", "recovery", "snaptrim", "window", "slots"}
	name := func(pool, level, reason string) string {
		return "cephrisk_pool_pgs_scrub_blocked" + labelText("level", level, "pool_id", pool, "reason", reason)
	}
	for _, pool := range v.osds.Pools {
		for _, level := range plainLevels {
			for _, reason := range reasons {
				out[name(strconv.Itoa(pool.ID), level, reason)] = 0
			}
		}
	}
	late := func(osd int, level string) string {
		return "cephrisk_osd_late_pgs" + labelText("ceph_daemon", fmt.Sprintf("osd.%d", osd), "level", level)
	}
	objects := func(osd int) string {
		return "cephrisk_osd_objects" + labelText("ceph_daemon", fmt.Sprintf("osd.%d", osd))
	}
	for _, o := range v.osds.OSDs {
		if o.Up == 1 {
			out[late(o.ID, "deep")], out[late(o.ID, "shallow")], out[objects(o.ID)] = 0, 0, 0
		}
	}
	for i := range v.pgs {
		p := &v.pgs[i]
		for _, level := range plainLevels {
			if p.State == "unknown" || !v.late(p, level, now) {
				continue
			}
			if p.Primary >= 0 {
				out[late(p.Primary, level)]++
			}
			if reason := v.reason(p, level, release); reason != "" {
				out[name(p.pool(), level, reason)]++
			}
		}
	}
	for i := range v.pgs {
		for _, osd := range v.pgs[i].Acting {
			if osd != plainHole {
				out[objects(osd)] += v.pgs[i].Stats.Objects
			}
		}
	}
	for i := range v.pgs { // of which nothing is known
		for _, osd := range v.pgs[i].Acting {
			if v.pgs[i].State == "unknown" {
				delete(out, objects(osd))
			}
		}
	}
	return out
}

func (v *plainView) reason(p *plainPG, level string, release int) string {
	flagged := func(flag string) bool {
		for _, pool := range v.osds.Pools {
			if strconv.Itoa(pool.ID) == p.pool() && slices.Contains(strings.Split(pool.Flags, ","), flag) {
				return true
			}
		}
		return slices.Contains(v.osds.Flags, flag)
	}
	switch {
	case p.has("scrubbing"):
		return ""
	case level == "deep" && flagged("nodeep-scrub"), level == "shallow" && flagged("noscrub"),
		level == "shallow" && release < 19 && p.Stats.DeepErrors > 0 && flagged("nodeep-scrub"):
		return "flag"
	case !p.has("active") || !p.has("clean"):
		return "not_clean"
	case v.holdsReservation(p.Primary) && v.osdOption(p.Primary)("osd_scrub_during_recovery") != "true":
		return "recovery"
	case release >= 17 && (p.has("snaptrim") || p.has("snaptrim_wait")):
		return "snaptrim"
	}
	for _, osd := range p.Acting {
		if osd != plainHole && v.full(osd, osd == p.Primary, release) {
			return "slots"
		}
	}
	return ""
}

// holdsReservation: every part of a recovering PG does; of a backfilling one its
// primary and the OSDs that it moves to.
func (v *plainView) holdsReservation(osd int) bool {
	for i := range v.pgs {
		p := &v.pgs[i]
		if p.has("recovering") && slices.Contains(p.everywhere(), osd) ||
			p.has("backfilling") && (p.Primary == osd || slices.Contains(p.Up, osd) && !slices.Contains(p.Acting, osd)) {
			return true
		}
	}
	return false
}

// full: up to 18 an OSD's scrubs in both roles share its slots.
func (v *plainView) full(osd int, asPrimary bool, release int) bool {
	n := 0.0
	for i := range v.pgs {
		p := &v.pgs[i]
		if p.has("scrubbing") && slices.Contains(p.Acting, osd) && (release < 19 || (p.Primary == osd) == asPrimary) {
			n++
		}
	}
	return n > 0 && n >= number(v.osdOption(osd)("osd_max_scrubs"))
}
