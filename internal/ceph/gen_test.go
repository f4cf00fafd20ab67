package ceph

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// madeUpDump returns an answer of `pg dump pgs` with n PGs in the shape of
// 18.2.7 and 20.2.4, compact and in hash order as the mgr writes it.
func madeUpDump(n int, seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString(`{"pg_ready":true,"pg_stats":[`)
	for i, seed := range rnd.Perm(n) {
		if i > 0 {
			b.WriteByte(',')
		}
		madeUpPG(&b, rnd, seed)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func madeUpPG(b *strings.Builder, rnd *rand.Rand, seed int) {
	stamp := func() string {
		return fmt.Sprintf("2026-11-%02dT%02d:%02d:%02d.%06d+0000",
			1+rnd.IntN(30), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1e6))
	}
	version := func() string { return fmt.Sprintf("%d'%d", rnd.IntN(9000), rnd.IntN(9e6)) }
	state := "active+clean"
	if rnd.IntN(20) == 0 {
		state += "+scrubbing+deep"
	}
	fmt.Fprintf(b, `{"pgid":"%d.%x","version":"%s","reported_seq":%d,"reported_epoch":%d,"state":"%s"`,
		1+seed%4, seed/4, version(), rnd.IntN(1e7), rnd.IntN(9000), state)
	for _, key := range []string{
		"last_fresh", "last_change", "last_active", "last_peered", "last_clean", "last_became_active",
		"last_became_peered", "last_unstale", "last_undegraded", "last_fullsized",
	} {
		fmt.Fprintf(b, `,"%s":"%s"`, key, stamp())
	}
	fmt.Fprintf(b, `,"mapping_epoch":%d,"log_start":"%s","ondisk_log_start":"%s","created":%d,"last_epoch_clean":%d,`+
		`"parent":"0.0","parent_split_bits":0,"last_scrub":"%s","last_scrub_stamp":"%s","last_deep_scrub":"%s",`+
		`"last_deep_scrub_stamp":"%s","last_clean_scrub_stamp":"%s","objects_scrubbed":%d,"log_size":%d,`+
		`"log_dups_size":0,"ondisk_log_size":%d,"stats_invalid":false,"dirty_stats_invalid":false,`+
		`"omap_stats_invalid":false,"hitset_stats_invalid":false,"hitset_bytes_stats_invalid":false,`+
		`"pin_stats_invalid":false,"manifest_stats_invalid":false,"snaptrimq_len":0,"last_scrub_duration":%d,`+
		`"scrub_schedule":"periodic deep scrub scheduled @ %s","scrub_duration":%d.%d,"objects_trimmed":0,`+
		`"snaptrim_duration":0,"stat_sum":{"num_bytes":%d,"num_objects":%d`,
		rnd.IntN(9000), version(), version(), rnd.IntN(9000), rnd.IntN(9000), version(), stamp(), version(),
		stamp(), stamp(), rnd.IntN(9000), rnd.IntN(9000), rnd.IntN(9000), rnd.IntN(900), stamp(), rnd.IntN(900),
		rnd.IntN(1000), rnd.IntN(1e11), rnd.IntN(1e5))
	for _, key := range []string{
		"num_object_clones", "num_object_copies", "num_objects_missing_on_primary", "num_objects_missing",
		"num_objects_degraded", "num_objects_misplaced", "num_objects_unfound", "num_objects_dirty",
		"num_whiteouts", "num_read", "num_read_kb", "num_write", "num_write_kb", "num_scrub_errors",
		"num_shallow_scrub_errors", "num_deep_scrub_errors", "num_objects_recovered", "num_bytes_recovered",
		"num_keys_recovered", "num_objects_omap", "num_objects_hit_set_archive", "num_bytes_hit_set_archive",
		"num_flush", "num_flush_kb", "num_evict", "num_evict_kb", "num_promote", "num_flush_mode_high",
		"num_flush_mode_low", "num_evict_mode_some", "num_evict_mode_full", "num_objects_pinned",
		"num_legacy_snapsets", "num_large_omap_objects", "num_objects_manifest", "num_omap_bytes",
		"num_omap_keys", "num_objects_repaired",
	} {
		value := 0
		if strings.HasSuffix(key, "_kb") || key == "num_read" || key == "num_write" {
			value = rnd.IntN(1e7)
		}
		fmt.Fprintf(b, `,"%s":%d`, key, value)
	}
	a, c, d := rnd.IntN(900), rnd.IntN(900), rnd.IntN(900)
	fmt.Fprintf(b, `},"up":[%d,%d,%d],"acting":[%d,%d,%d],"avail_no_missing":[],"object_location_counts":[],`+
		`"blocked_by":[],"up_primary":%d,"acting_primary":%d,"purged_snaps":[]}`, a, c, d, a, c, d, a, a)
}
