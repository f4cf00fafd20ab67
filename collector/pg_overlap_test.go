package collector

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A late PG whose primary recovers another is blocked by that; a late one that
// recovers itself is not clean. Both are there with noscrub off.
func TestOverlapBlockedAndLatePGsOfEachOSD(t *testing.T) {
	on := func(pg, up, acting string) string {
		return strings.Replace(strings.Replace(pg, `"up":[0,1]`, `"up":`+up, 1), `"acting":[0,1]`, `"acting":`+acting, 1)
	}
	pgs := []string{
		smallPG("5.0", "active+clean", 1000, 2e6, ""),
		smallPG("5.1", "active+clean", 2e6, 2e6, ""),
		on(smallPG("5.2", "active+remapped+backfilling", 1000, 2e6, ""), "[0,2]", "[0,1]"),
		on(smallPG("5.3", "active+clean+scrubbing+deep", 1000, 1000, ""), "[1,3]", "[1,3]"),
		smallPG("5.4", "active+remapped+backfill_wait", 1000, 1000, ""),
	}
	a := small(pgs...)
	a["pg ls"] = `{"pg_ready":true,"pg_stats":[` + strings.Join(pgs[2:4], ",") + `]}`
	got := newPGBench(t).mustPoll(a)
	wanted := map[string]float64{
		"cephrisk_osd_recovering_pgs{ceph_daemon=osd.0}":                            1,
		"cephrisk_osd_recovering_pgs{ceph_daemon=osd.1}":                            1,
		"cephrisk_osd_recovering_pgs{ceph_daemon=osd.2}":                            1,
		"cephrisk_scrub_recovery_overlap_osds{}":                                    1,
		"cephrisk_scrub_recovery_overlap_pgs{doing=scrub}":                          1,
		"cephrisk_scrub_recovery_overlap_pgs{doing=recovery}":                       1,
		"cephrisk_scrub_recovery_overlap_pgs{doing=both}":                           0,
		"cephrisk_osd_late_pgs{ceph_daemon=osd.0,level=deep}":                       3,
		"cephrisk_osd_late_pgs{ceph_daemon=osd.0,level=shallow}":                    1,
		"cephrisk_osd_late_pgs{ceph_daemon=osd.1,level=deep}":                       0,
		"cephrisk_osd_late_pgs{ceph_daemon=osd.1,level=shallow}":                    0,
		"cephrisk_pool_pgs_scrub_blocked{level=deep,pool_id=5,reason=flag}":         0,
		"cephrisk_pool_pgs_scrub_blocked{level=deep,pool_id=5,reason=not_clean}":    1,
		"cephrisk_pool_pgs_scrub_blocked{level=deep,pool_id=5,reason=recovery}":     2,
		"cephrisk_pool_pgs_scrub_blocked{level=deep,pool_id=5,reason=snaptrim}":     0,
		"cephrisk_pool_pgs_scrub_blocked{level=deep,pool_id=5,reason=window}":       0,
		"cephrisk_pool_pgs_scrub_blocked{level=deep,pool_id=5,reason=slots}":        0,
		"cephrisk_pool_pgs_scrub_blocked{level=shallow,pool_id=5,reason=flag}":      0,
		"cephrisk_pool_pgs_scrub_blocked{level=shallow,pool_id=5,reason=not_clean}": 0,
		"cephrisk_pool_pgs_scrub_blocked{level=shallow,pool_id=5,reason=recovery}":  1,
		"cephrisk_pool_pgs_scrub_blocked{level=shallow,pool_id=5,reason=snaptrim}":  0,
		"cephrisk_pool_pgs_scrub_blocked{level=shallow,pool_id=5,reason=window}":    0,
		"cephrisk_pool_pgs_scrub_blocked{level=shallow,pool_id=5,reason=slots}":     0,
	}
	if diff := cmp.Diff(wanted, overlapSeries(got)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	// Without any OSD's options window and slots are not known; without the
	// mgr's nobody is late.
	a["config show"] = errors.New("not heard from that OSD yet")
	s, err := newPGBench(t).poll(a)
	if err == nil {
		t.Error("no error without the options of any OSD")
	}
	for name := range overlapSeries(s) {
		if strings.Contains(name, "reason=window") || strings.Contains(name, "reason=slots") {
			t.Errorf("%s without options", name)
		}
	}
	delete(a, "mgr dump")
	s, err = newPGBench(t).poll(a)
	if err == nil {
		t.Error("no error without the mgr's name")
	}
	for name := range overlapSeries(s) {
		if strings.Contains(name, "blocked") || strings.Contains(name, "late") {
			t.Errorf("%s without a rule", name)
		}
	}
}

func overlapSeries(all map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for name, v := range all {
		for _, family := range []string{"cephrisk_osd_recovering_pgs", "cephrisk_scrub_recovery_overlap", "cephrisk_osd_late_pgs", "cephrisk_pool_pgs_scrub_blocked"} {
			if strings.HasPrefix(name, family) {
				out[name] = v
			}
		}
	}
	return out
}
