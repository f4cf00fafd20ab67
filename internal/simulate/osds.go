package simulate

import (
	"encoding/json"
	"fmt"
	"strings"
)

func (c *Cluster) hostName(o int) string { return fmt.Sprintf("host-%03d", c.osds[o].host) }

// osdDump answers `osd dump`.
func (c *Cluster) osdDump(*command) ([]byte, error) {
	r := c.release
	flags := "sortbitwise,recovery_deletes,purged_snapdirs,pglog_hardlimit"
	num := 5799936
	set := `"pglog_hardlimit","purged_snapdirs","recovery_deletes","sortbitwise"`
	if c.flags["nodeep-scrub"] {
		num |= 1 << 12
		set = `"nodeep-scrub",` + set
	}
	if c.flags["noscrub"] {
		num |= 1 << 11
		set = strings.Replace(set, `"pglog_hardlimit"`, `"noscrub","pglog_hardlimit"`, 1)
	}
	if s := c.flagNames(); s != "" {
		flags = s + "," + flags
	}
	b := fmt.Appendf(make([]byte, 0, 2000*len(c.osds)), `{"epoch":9120,"fsid":%q,"created":%q,"modified":%q,"last_up_change":%q,"last_in_change":%q,`+
		`"flags":%q,"flags_num":%d,"flags_set":[%s],"crush_version":31,"full_ratio":0.95,"backfillfull_ratio":0.9,"nearfull_ratio":0.85,`+
		`"cluster_snapshot":"","pool_max":%d,"max_osd":%d,"require_min_compat_client":"luminous","min_compat_client":"jewel","require_osd_release":%q,`,
		c.fsid(), stampText(c.start-400*day), stampText(c.start-day), stampText(c.start-9*day), stampText(c.start-40*day),
		flags, num, set, c.pools[len(c.pools)-1].id, len(c.osds), r.name)
	if r.number >= 18 {
		b = append(b, `"allow_crimson":false,`...)
	}
	b = append(b, `"pools":[`...)
	for i := range c.pools {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.appendPool(b, &c.pools[i])
	}
	b = append(b, `],"osds":[`...)
	for o := range c.osds {
		if o > 0 {
			b = append(b, ',')
		}
		b = c.appendOSD(b, o)
	}
	b = append(b, `],"osd_xinfo":[`...)
	for o := range c.osds {
		if o > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"osd":%d,"down_stamp":"0.000000","laggy_probability":0,"laggy_interval":0,"features":4540701547738038271,`+
			`"old_weight":0,"last_purged_snaps_scrub":%q,"dead_epoch":0}`, o, stampText(c.start-day/2))
	}
	return c.appendMapTail(append(b, ']')), nil
}

func (c *Cluster) appendMapTail(b []byte) []byte {
	b = append(b, `,"pg_upmap":[],"pg_upmap_items":[]`...)
	if c.release.number >= 18 {
		b = append(b, `,"pg_upmap_primaries":[]`...)
	}
	b = append(b, `,"pg_temp":[],"primary_temp":[],"blocklist":{},"range_blocklist":{}`...)
	b = append(b, `,"erasure_code_profiles":{`...)
	first := true
	for i := range c.pools {
		p := &c.pools[i]
		if !p.erasure {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = fmt.Appendf(b, `"ec%d%d":{"crush-device-class":"","crush-failure-domain":"host","crush-root":"default","k":"%d","m":"%d",`+
			`"plugin":"jerasure","technique":"reed_sol_van"}`, p.k, p.m, p.k, p.m)
	}
	return append(b, `},"removed_snaps_queue":[],"new_removed_snaps":[],"new_purged_snaps":[],"crush_node_flags":{},"device_class_flags":{},`+
		`"stretch_mode":{"stretch_mode_enabled":false,"stretch_bucket_count":0,"degraded_stretch_mode":0,"recovering_stretch_mode":0,"stretch_mode_bucket":0}}`...)
}

func (c *Cluster) appendPool(b []byte, p *pool) []byte {
	r := c.release
	kind, profile, stripe, flag, flags := 1, "", 0, 1, "hashpspool"
	if p.erasure {
		kind, profile, stripe = 3, fmt.Sprintf("ec%d%d", p.k, p.m), p.k*4096
		flag, flags = 1<<17|1, "hashpspool,ec_overwrites"
	}
	b = fmt.Appendf(b, `{"pool":%d,"pool_name":%q,"create_time":%q,"flags":%d,"flags_names":%q,"type":%d,"size":%d,"min_size":%d,"crush_rule":0,`+
		`"peering_crush_bucket_count":0,"peering_crush_bucket_target":0,"peering_crush_bucket_barrier":0,"peering_crush_bucket_mandatory_member":2147483647,`,
		p.id, p.name, stampText(c.start-400*day), flag, flags, kind, p.size, p.minSize)
	if r.number >= 20 {
		b = append(b, `"is_stretch_pool":false,`...)
	}
	b = fmt.Appendf(b, `"object_hash":2,"pg_autoscale_mode":"off","pg_num":%d,"pg_placement_num":%d,"pg_placement_num_target":%d,"pg_num_target":%d,"pg_num_pending":%d,`+
		`"last_pg_merge_meta":{"source_pgid":"0.0","ready_epoch":0,"last_epoch_started":0,"last_epoch_clean":0,"source_version":"0'0","target_version":"0'0"},`+
		`"last_change":"31","last_force_op_resend":"0","last_force_op_resend_prenautilus":"0","last_force_op_resend_preluminous":"0","auid":0,`+
		`"snap_mode":"selfmanaged","snap_seq":0,"snap_epoch":0,"pool_snaps":[],"removed_snaps":"[]","quota_max_bytes":0,"quota_max_objects":0,`+
		`"tiers":[],"tier_of":-1,"read_tier":-1,"write_tier":-1,"cache_mode":"none","target_max_bytes":0,"target_max_objects":0,`+
		`"cache_target_dirty_ratio_micro":400000,"cache_target_dirty_high_ratio_micro":600000,"cache_target_full_ratio_micro":800000,`+
		`"cache_min_flush_age":0,"cache_min_evict_age":0,"erasure_code_profile":%q,"hit_set_params":{"type":"none"},"hit_set_period":0,"hit_set_count":0,`+
		`"use_gmt_hitset":true,"min_read_recency_for_promote":0,"min_write_recency_for_promote":0,"hit_set_grade_decay_rate":0,"hit_set_search_last_n":0,`+
		`"grade_table":[],"stripe_width":%d,"expected_num_objects":0,"fast_read":false,`,
		p.pgs, p.pgs, p.pgs, p.pgs, p.pgs, profile, stripe)
	if r.number >= 20 {
		b = append(b, `"nonprimary_shards":"{}",`...)
	}
	b = append(b, `"options":{`...)
	for i, o := range p.options {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%g", o.name, o.value)
	}
	b = fmt.Appendf(b, `},"application_metadata":{%q:{}}`, p.app)
	if r.number >= 18 {
		b = append(b, `,"read_balance":{`...)
		if r.number >= 20 {
			b = append(b, `"score_type":"Fair distribution",`...)
		}
		b = append(b, `"score_acting":1,"score_stable":1,"optimal_score":1,"raw_score_acting":1,"raw_score_stable":1,`+
			`"primary_affinity_weighted":1,"average_primary_affinity":1,"average_primary_affinity_weighted":1}`...)
	}
	return append(b, '}')
}

func (c *Cluster) appendOSD(b []byte, o int) []byte {
	h := hasher(c.seed ^ uint64(o) ^ 0x05d)
	host, port := c.osds[o].host, 6800+8*(o%100)
	return fmt.Appendf(b, `{"osd":%d,"uuid":"%08x-7a1c-4b8e-9d55-%012x","up":1,"in":1,"weight":1,"primary_affinity":1,"last_clean_begin":0,"last_clean_end":0,`+
		`"up_from":%d,"up_thru":9100,"down_at":0,"lost_at":0,"public_addrs":%s,"cluster_addrs":%s,"heartbeat_back_addrs":%s,"heartbeat_front_addrs":%s,`+
		`"public_addr":%s,"cluster_addr":%s,"heartbeat_back_addr":%s,"heartbeat_front_addr":%s,"state":["exists","up"]}`,
		o, uint32(h.next()), h.next()&0xffffffffffff, 20+h.next()%5000,
		addrVec(host, port), addrVec(host, port+2), addrVec(host, port+4), addrVec(host, port+6),
		addr(host, port), addr(host, port+2), addr(host, port+4), addr(host, port+6))
}

// usage is what an OSD holds, in KiB, from the PGs placed on it.
type usage struct{ size, data, omap, meta, pgs int64 }

func (c *Cluster) usages() []usage {
	u := make([]usage, len(c.osds))
	for i := range c.pgs {
		g := &c.pgs[i]
		p := c.poolOf(g)
		share := g.Bytes
		if p.erasure {
			share /= int64(p.k)
		}
		for _, o := range c.sets[g.Acting] {
			u[o].data += share >> 10
			u[o].omap += p.omap >> 10
			u[o].pgs++
		}
	}
	var most int64 = 1 << 20
	for i := range u {
		most = max(most, u[i].data+u[i].omap)
	}
	for i := range u {
		h := hasher(c.seed ^ uint64(i) ^ 0x4d455441)
		u[i].meta = 700<<10 + int64(h.next()%(3<<20))
		if h.float() < 0.03 {
			u[i].meta *= 9 // the ones that will be slow to boot
		}
		u[i].size = most * 10 / 7
	}
	return u
}

// osdDF answers `osd df`.
func (c *Cluster) osdDF(*command) ([]byte, error) {
	us := c.usages()
	var total usage
	for _, u := range us {
		total.size += u.size
		total.data += u.data
		total.omap += u.omap
		total.meta += u.meta
	}
	used := total.data + total.omap + total.meta
	average := 100 * float64(used) / float64(total.size)
	b := append(make([]byte, 0, 500*len(us)+1000), `{"nodes":[`...)
	low, high := 1.0, 1.0
	for o, u := range us {
		if o > 0 {
			b = append(b, ',')
		}
		kb := u.data + u.omap + u.meta
		utilization := 100 * float64(kb) / float64(u.size)
		v := utilization / average
		low, high = min(low, v), max(high, v)
		b = fmt.Appendf(b, `{"id":%d,"device_class":"hdd","name":"osd.%d","type":"osd","type_id":0,"crush_weight":%.17g,"depth":2,"pool_weights":{},"reweight":1,`+
			`"kb":%d,"kb_used":%d,"kb_used_data":%d,"kb_used_omap":%d,"kb_used_meta":%d,"kb_avail":%d,"utilization":%.17g,"var":%.17g,"pgs":%d,"status":"up"}`,
			o, o, float64(u.size)/(1<<30), u.size, kb, u.data, u.omap, u.meta, u.size-kb, utilization, v, u.pgs)
	}
	return fmt.Appendf(b, `],"stray":[],"summary":{"total_kb":%d,"total_kb_used":%d,"total_kb_used_data":%d,"total_kb_used_omap":%d,"total_kb_used_meta":%d,`+
		`"total_kb_avail":%d,"average_utilization":%.17g,"min_var":%.17g,"max_var":%.17g,"dev":%.17g}}`,
		total.size, used, total.data, total.omap, total.meta, total.size-used, average, low, high, 1.5), nil
}

// osdStats answers `pg dump osds`.
func (c *Cluster) osdStats() []byte {
	us := c.usages()
	b := append(make([]byte, 0, 1000*len(us)+100), `{"pg_ready":true,"osd_stats":[`...)
	for o, u := range us {
		if o > 0 {
			b = append(b, ',')
		}
		h := hasher(c.seed ^ uint64(o))
		kb := u.data + u.omap + u.meta
		b = fmt.Appendf(b, `{"osd":%d,"up_from":53,"seq":227633266694,"num_pgs":%d,"num_osds":1,"num_per_pool_osds":1,"num_per_pool_omap_osds":1,`+
			`"kb":%d,"kb_used":%d,"kb_used_data":%d,"kb_used_omap":%d,"kb_used_meta":%d,"kb_avail":%d,`+
			`"statfs":{"total":%d,"available":%d,"internally_reserved":0,"allocated":%d,"data_stored":%d,`+
			`"data_compressed":0,"data_compressed_allocated":0,"data_compressed_original":0,"omap_allocated":%d,"internal_metadata":%d},`+
			`"hb_peers":[],"snap_trim_queue_len":0,"num_snap_trimming":0,"num_shards_repaired":0,"op_queue_age_hist":{"histogram":[],"upper_bound":1},`+
			`"perf_stat":{"commit_latency_ms":3,"apply_latency_ms":3,"commit_latency_ns":3000000,"apply_latency_ns":3000000},"alerts":[]`,
			o, u.pgs, u.size, kb, u.data, u.omap, u.meta, u.size-kb,
			u.size<<10, (u.size-kb)<<10, u.data<<10, u.data<<10-int64(h.next()%(1<<30)), u.omap<<10+int64(h.next()%1024), u.meta<<10+int64(h.next()%1024))
		if c.release.number < 20 {
			b = append(b, `,"network_ping_times":[]`...)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// osdMetadata answers `osd metadata`, of one OSD or of all.
func (c *Cluster) osdMetadata(cmd *command) ([]byte, error) {
	us := c.usages()
	one := func(o int) []byte {
		m := c.metadata(o, us[o])
		text, _ := json.Marshal(m) // strings cannot fail
		return append(fmt.Appendf(nil, `{"id":%d,`, o), text[1:]...)
	}
	if cmd.ID != nil {
		if *cmd.ID < 0 || *cmd.ID >= int64(len(c.osds)) {
			return nil, fmt.Errorf("osd.%d does not exist", *cmd.ID)
		}
		return one(int(*cmd.ID)), nil
	}
	b := []byte{'['}
	for o := range c.osds {
		if o > 0 {
			b = append(b, ',')
		}
		b = append(b, one(o)...)
	}
	return append(b, ']'), nil
}

// metadata is a map, as Ceph keeps it: keys in order.
func (c *Cluster) metadata(o int, u usage) map[string]string {
	r, host, port := c.release, c.osds[o].host, 6800+8*(o%100)
	disk := "sd" + string(rune('a'+o%24))
	serial := fmt.Sprintf("SIMDISK_%07d", o)
	hasDB := host%2 == 1
	vec := func(p int) string {
		ip := fmt.Sprintf("10.%d.%d.%d", 20+host>>16, host>>8&255, host&255)
		return fmt.Sprintf("[v2:%s:%d/%d,v1:%s:%d/%d]", ip, p, 1000+port, ip, p+1, 1000+port)
	}
	m := map[string]string{
		"arch": "x86_64", "back_addr": vec(port + 2), "back_iface": "", "bluefs": "1",
		"bluefs_dedicated_db": "0", "bluefs_dedicated_wal": "0", "bluefs_single_shared_device": "1",
		"bluestore_bdev_access_mode": "blk", "bluestore_bdev_block_size": "4096",
		"bluestore_bdev_devices": disk, "bluestore_bdev_driver": "KernelDevice",
		"bluestore_bdev_path": fmt.Sprintf("/var/lib/ceph/osd/ceph-%d/block", o), "bluestore_bdev_rotational": "1",
		"bluestore_bdev_size": fmt.Sprint(u.size << 10), "bluestore_bdev_support_discard": "0", "bluestore_bdev_type": "hdd",
		"bluestore_min_alloc_size": "4096", "ceph_release": r.name, "ceph_version": r.banner(), "ceph_version_short": r.version,
		"ceph_version_when_created": r.banner(), "created_at": strings.Replace(stampText(c.start-400*day), "+0000", "Z", 1),
		"cpu": "AMD EPYC 7302P 16-Core Processor", "default_device_class": "hdd", "device_ids": disk + "=" + serial,
		"device_paths": disk + "=/dev/disk/by-path/pci-0000:03:00.0-sas-phy" + fmt.Sprint(o%24) + "-lun-0", "devices": disk,
		"distro": "debian", "distro_description": "Debian GNU/Linux", "front_addr": vec(port + 4), "front_iface": "",
		"hb_back_addr": vec(port + 6), "hb_front_addr": vec(port + 6), "hostname": c.hostName(o), "journal_rotational": "1",
		"kernel_description": "#1 SMP", "kernel_version": "6.1.0", "mem_swap_kb": "0", "mem_total_kb": "263783424",
		"network_numa_unknown_ifaces": "back_iface,front_iface", "objectstore_numa_unknown_devices": disk, "os": "Linux",
		"osd_data": fmt.Sprintf("/var/lib/ceph/osd/ceph-%d", o), "osd_objectstore": "bluestore", "osdspec_affinity": "", "rotational": "1",
	}
	if r.number < 20 {
		m["distro_version"] = "12"
	}
	if r.number >= 18 {
		m["bluestore_allocation_from_file"], m["bluestore_bdev_optimal_io_size"] = "1", "0"
	}
	if r.number >= 20 {
		m["bluestore_allocator"], m["bluestore_write_mode"], m["bluestore_onode_segmentation"] = "hybrid", "classic", "inactive"
	}
	if hasDB {
		nvme := "nvme0n1"
		m["bluefs_dedicated_db"], m["bluefs_single_shared_device"] = "1", "0"
		m["bluefs_db_devices"], m["bluefs_db_rotational"], m["bluefs_db_type"] = nvme, "0", "ssd"
		m["bluefs_db_size"], m["bluefs_db_driver"], m["bluefs_db_block_size"] = "64424509440", "KernelDevice", "4096"
		m["bluefs_db_access_mode"], m["bluefs_db_dev_node"] = "blk", "/dev/dm-99"
		m["devices"] = nvme + "," + disk
		m["device_ids"] = nvme + "=SIMNVME_" + fmt.Sprint(host) + "," + m["device_ids"]
		m["journal_rotational"] = "0"
	}
	return m
}
