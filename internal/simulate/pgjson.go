package simulate

import (
	"strconv"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// object writes the members of a JSON object in Ceph's order.
type object struct{ b []byte }

func (o *object) int(key string, v int64) {
	o.b = strconv.AppendInt(append(o.b, key...), v, 10)
}

func (o *object) stamp(key string, s ceph.Stamp) {
	o.b = append(appendStamp(append(o.b, key...), s), '"')
}

func (o *object) osds(key string, set []int32) {
	o.b = append(o.b, key...)
	for i, v := range set {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = strconv.AppendInt(o.b, int64(v), 10)
	}
	o.b = append(o.b, ']')
}

// version writes an eversion_t: epoch'version.
func (o *object) version(key string, epoch, v int64) {
	o.b = strconv.AppendInt(append(o.b, key...), epoch, 10)
	o.b = strconv.AppendInt(append(o.b, '\''), v, 10)
	o.b = append(o.b, '"')
}

func (o *object) id(id ceph.PGID) {
	o.b = strconv.AppendInt(append(o.b, `{"pgid":"`...), int64(id.Pool), 10)
	o.b = strconv.AppendUint(append(o.b, '.'), uint64(id.Seed), 16)
	o.b = append(o.b, '"')
}

func (c *Cluster) appendBrief(b []byte, g *pg) []byte {
	o := object{b}
	o.id(g.ID)
	o.b = append(appendState(append(o.b, `,"state":"`...), g.State), '"')
	o.osds(`,"up":[`, c.sets[g.Up])
	o.osds(`,"acting":[`, c.sets[g.Acting])
	o.int(`,"up_primary":`, int64(g.UpPrimary))
	o.int(`,"acting_primary":`, int64(g.ActingPrimary))
	return append(o.b, '}')
}

// appendPG writes a PG as pg_stat_t::dump does (ceph src/osd/osd_types.cc).
func (c *Cluster) appendPG(b []byte, g *pg) []byte {
	v := c.view(g)
	h := hasher(c.seed ^ uint64(g.ID.Pool)<<32 ^ uint64(g.ID.Seed))
	writes := int64(h.next()%900_000) + g.Objects
	epoch := int64(g.epoch)
	fresh := max(v.LastChange, c.clock-ceph.Stamp(h.next()%500e6))

	o := object{b}
	o.id(g.ID)
	o.version(`,"version":"`, epoch, writes)
	o.int(`,"reported_seq":`, writes*2)
	o.int(`,"reported_epoch":`, epoch+7)
	o.b = append(appendState(append(o.b, `,"state":"`...), v.State), '"')
	o.stamp(`,"last_fresh":"`, fresh)
	o.stamp(`,"last_change":"`, v.LastChange)
	o.stamp(`,"last_active":"`, fresh)
	o.stamp(`,"last_peered":"`, fresh)
	clean, whole := fresh, fresh
	if !v.State.Has(ceph.StateClean) {
		clean = v.LastChange
	}
	if v.State.Any(ceph.StateDegraded) {
		whole = v.LastChange
	}
	o.stamp(`,"last_clean":"`, clean)
	became := c.start - ceph.Stamp(h.next()%uint64(30*day))
	o.stamp(`,"last_became_active":"`, became)
	o.stamp(`,"last_became_peered":"`, became)
	o.stamp(`,"last_unstale":"`, fresh)
	o.stamp(`,"last_undegraded":"`, whole)
	o.stamp(`,"last_fullsized":"`, whole)
	o.int(`,"mapping_epoch":`, epoch)
	logSize := min(writes, 3000)
	o.version(`,"log_start":"`, epoch-40, writes-logSize)
	o.version(`,"ondisk_log_start":"`, epoch-40, writes-logSize)
	o.int(`,"created":`, 20+int64(g.ID.Pool))
	o.int(`,"last_epoch_clean":`, epoch)
	o.b = append(o.b, `,"parent":"0.0","parent_split_bits":0`...)
	o.version(`,"last_scrub":"`, epoch, writes-writes/50)
	o.stamp(`,"last_scrub_stamp":"`, v.LastScrub)
	o.version(`,"last_deep_scrub":"`, epoch, writes-writes/20)
	o.stamp(`,"last_deep_scrub_stamp":"`, v.LastDeepScrub)
	o.stamp(`,"last_clean_scrub_stamp":"`, v.LastCleanScrub)
	if c.release.number >= 17 {
		o.int(`,"objects_scrubbed":`, v.ObjectsScrubbed)
	}
	o.int(`,"log_size":`, logSize)
	if c.release.number >= 18 {
		o.int(`,"log_dups_size":`, min(writes-logSize, 3000))
	}
	o.int(`,"ondisk_log_size":`, logSize)
	o.b = append(o.b, `,"stats_invalid":false,"dirty_stats_invalid":false,"omap_stats_invalid":false,`+
		`"hitset_stats_invalid":false,"hitset_bytes_stats_invalid":false,"pin_stats_invalid":false,"manifest_stats_invalid":false`...)
	o.int(`,"snaptrimq_len":`, int64(v.SnapTrimQueue))
	if c.release.number >= 17 {
		o.int(`,"last_scrub_duration":`, int64(v.LastScrubSeconds))
		o.b = append(c.appendSchedule(append(o.b, `,"scrub_schedule":"`...), g, &v), '"')
		o.int(`,"scrub_duration":`, int64(v.LastScrubSeconds))
		o.b = append(o.b, ".125"...)
		o.b = append(o.b, `,"objects_trimmed":0,"snaptrim_duration":0`...)
	}
	o.statSum(c, &v, writes)
	acting := c.sets[g.Acting]
	o.osds(`,"up":[`, c.sets[g.Up])
	o.osds(`,"acting":[`, acting)
	o.b = append(o.b, `,"avail_no_missing":[],"object_location_counts":[],"blocked_by":[]`...)
	o.int(`,"up_primary":`, int64(v.UpPrimary))
	o.int(`,"acting_primary":`, int64(v.ActingPrimary))
	o.b = append(o.b, `,"purged_snaps":[]}`...)
	return o.b
}

// statSum writes object_stat_sum_t::dump.
func (o *object) statSum(c *Cluster, v *ceph.PG, writes int64) {
	copies := int64(len(c.sets[v.Acting]))
	var degraded, misplaced int64
	switch {
	case v.State.Any(ceph.StateDegraded):
		degraded = v.Objects / 9
	case v.State.Any(ceph.StateRemapped):
		misplaced = v.Objects / 2
	}
	o.int(`,"stat_sum":{"num_bytes":`, v.Bytes)
	o.int(`,"num_objects":`, v.Objects)
	o.b = append(o.b, `,"num_object_clones":0`...)
	o.int(`,"num_object_copies":`, v.Objects*copies)
	o.b = append(o.b, `,"num_objects_missing_on_primary":0,"num_objects_missing":0`...)
	o.int(`,"num_objects_degraded":`, degraded)
	o.int(`,"num_objects_misplaced":`, misplaced)
	o.b = append(o.b, `,"num_objects_unfound":0`...)
	o.int(`,"num_objects_dirty":`, v.Objects)
	o.b = append(o.b, `,"num_whiteouts":0`...)
	o.int(`,"num_read":`, writes*3)
	o.int(`,"num_read_kb":`, writes*96)
	o.int(`,"num_write":`, writes)
	o.int(`,"num_write_kb":`, writes*64)
	o.int(`,"num_scrub_errors":`, int64(v.ShallowErrors)+int64(v.DeepErrors))
	o.int(`,"num_shallow_scrub_errors":`, int64(v.ShallowErrors))
	o.int(`,"num_deep_scrub_errors":`, int64(v.DeepErrors))
	o.int(`,"num_objects_recovered":`, v.Objects/3)
	o.int(`,"num_bytes_recovered":`, v.Bytes/3)
	o.b = append(o.b, `,"num_keys_recovered":0`...)
	omap := c.pools[c.poolIndex(v.ID.Pool)].omap
	o.int(`,"num_objects_omap":`, min(omap, v.Objects))
	o.b = append(o.b, `,"num_objects_hit_set_archive":0,"num_bytes_hit_set_archive":0,"num_flush":0,"num_flush_kb":0,`+
		`"num_evict":0,"num_evict_kb":0,"num_promote":0,"num_flush_mode_high":0,"num_flush_mode_low":0,`+
		`"num_evict_mode_some":0,"num_evict_mode_full":0,"num_objects_pinned":0,"num_legacy_snapsets":0,`+
		`"num_large_omap_objects":0,"num_objects_manifest":0`...)
	o.int(`,"num_omap_bytes":`, omap)
	o.int(`,"num_omap_keys":`, omap/200)
	o.b = append(o.b, `,"num_objects_repaired":0}`...)
}
