package collector

// pgTable is everything the pg collector exports.
type pgTable struct {
	Table

	clusterInfo, poolInfo *Row

	pgs, pgsUnknown, pgsUnreadable, pgsInFuture, pgsBad, sanitised, layoutMisses *Row
	late, lateByOSD, overdue, bytesLate, older                                   *Row
	lateWithin, oldest, warnInterval, neverDeep                                  *Row
	scrubErrors, inconsistent                                                    *Row

	deepAge, deepStamp, scrubStamp, seriesDropped, snapshotStamp, fastStamp *Row
	worstAge, worstBlocked                                                  *Row

	running, osdRunning, osdSlots, oldestStart, stuck *Row
	completions, completedBytes, duration             *Row

	osdRecovering, overlapOSDs, overlapPGs, blocked, osdLate, osdObjects *Row

	clusterFlag, poolFlag                     *Row
	option, optionInfo, optionOSDs, optionMgr *Row
	optionMismatch, optionOSDsUnknown         *Row
	healthItems, healthMuted                  *Row
}

const (
	fromDump    = "mgr `pg dump pgs`"
	fromLs      = "mgr `pg ls` with the states scrubbing, recovering, backfilling, snaptrim, inconsistent"
	fromOSDDump = "mon `osd dump`"
	fromShow    = "mgr `config show-with-defaults`, `config show`"
	fromConfig  = "mon `config dump`"
	fromHealth  = "mon `health detail`"

	perPool      = "one per pool"
	perPoolLevel = "one per pool and level"
)

func newPGTable() *pgTable {
	t := &pgTable{}
	t.addClusterRows()
	t.addLatenessRows()
	t.addSeriesRows()
	t.addScrubRows()
	t.addOverlapRows()
	t.addOptionRows()
	return t
}

func (t *pgTable) gauge(name, help, cardinality, source string, labels ...string) *Row {
	return t.Add(Row{Name: "cephrisk_" + name, Help: help, Kind: Gauge, Labels: labels, Cardinality: cardinality, Source: source})
}

func (t *pgTable) addClusterRows() {
	t.clusterInfo = t.gauge("cluster_info", "1, with the cluster's fsid and the release that its OSDs are required to run", "one", fromOSDDump+", fsid and require_osd_release", "fsid", "release")
	t.poolInfo = t.gauge("pool_info", "1, with the pool's name and type (replicated or erasure)", perPool, fromOSDDump, "pool_id", "name", "type")
	t.pgs = t.gauge("pool_pgs", "PGs of the pool, unknown ones included", perPool, fromDump, "pool_id")
	t.pgsUnknown = t.gauge("pool_pgs_unknown", "PGs of which the mgr has no report, for instance after it was restarted: they have no age and are not judged", perPool, fromDump+", state", "pool_id")
	t.pgsUnreadable = t.gauge("pool_pgs_stamp_unreadable", "PGs whose stamp is missing or cannot be read: they have no age at that level and are not judged", perPoolLevel, fromDump, "pool_id", "level")
	t.pgsInFuture = t.gauge("pool_pgs_stamp_in_future", "PGs whose stamp is ahead of the exporter's clock; their age counts as 0", perPoolLevel, fromDump, "pool_id", "level")
	t.pgsBad = t.gauge("pg_entries_bad", "Entries of the last dump with something that could not be used; the rest of such an entry, where it has one, still counts", "one", fromDump)
	t.sanitised = t.gauge("pg_dump_sanitised_tokens", "Bare nan and inf in the last dump, which are no JSON and were taken as absent", "one", fromDump)
	t.layoutMisses = t.gauge("pg_dump_layout_misses", "Entries of the last dump whose keys came in another order than those of the first one, and were decoded the slower way", "one", fromDump)
	t.clusterFlag = t.gauge("cluster_flag", "1 when the cluster flag is set", "one per flag of a fixed list", fromOSDDump+", flags_set", "flag")
	t.poolFlag = t.gauge("pool_flag", "1 when the pool's own flag is set", "one per pool and flag: noscrub, nodeep-scrub", fromOSDDump+", flags_names", "pool_id", "flag")
	t.healthItems = t.gauge("health_check_items", "Ceph's own count behind a health check, 0 when the check is not raised", "one per health check of a fixed list", fromHealth+", summary.count, or the number in its message", "name")
	t.healthMuted = t.gauge("health_check_muted", "1 when the health check is raised and muted", "one per health check of a fixed list", fromHealth, "name")
}

func (t *pgTable) addLatenessRows() {
	t.late = t.gauge("pool_pgs_late", "PGs that are late by Ceph's own rule: those that PG_NOT_SCRUBBED and PG_NOT_DEEP_SCRUBBED count, with the mgr's view of the intervals", perPoolLevel, fromDump+", last_scrub_stamp and last_deep_scrub_stamp; pool options before the mgr's options", "pool_id", "level")
	t.lateByOSD = t.gauge("pool_pgs_late_by_osd_interval", "PGs that would be late if the mgr had the interval that the PG's primary OSD has; differs from cephrisk_pool_pgs_late when an interval was set for one daemon type only", perPoolLevel, fromDump+"; "+fromShow, "pool_id", "level")
	t.overdue = t.gauge("pool_pgs_overdue", "PGs older than the interval itself, which normally is not zero: Ceph's warning adds a ratio on top", perPoolLevel, fromDump, "pool_id", "level")
	t.bytesLate = t.gauge("pool_bytes_late", "Bytes of data in late PGs; absent where the size of one is unknown", perPoolLevel, fromDump+", stat_sum.num_bytes", "pool_id", "level")
	t.older = t.gauge("pool_pgs_older", "PGs older than that multiple of their own interval; a PG never scrubbed counts in every step", "one per pool, level and step", fromDump, "pool_id", "level", "intervals")
	t.lateWithin = t.gauge("pool_pgs_late_within", "PGs that will be late after that time if nothing is scrubbed until then, those late already included", "one per pool, level and horizon", fromDump, "pool_id", "level", "horizon")
	t.oldest = t.gauge("pool_oldest_scrub_timestamp_seconds", "Oldest stamp of the pool's PGs; PGs never scrubbed have none", perPoolLevel, fromDump, "pool_id", "level")
	t.warnInterval = t.gauge("pool_scrub_warn_interval_seconds", "Age above which a PG is late; absent when the health check is switched off by a ratio of 0", perPoolLevel, "pool option or mgr's option, times 1 plus the mgr's ratio", "pool_id", "level")
	t.neverDeep = t.gauge("pool_pgs_never_deep_scrubbed", "PGs whose deep-scrub stamp is unset (0.000000); a new PG is stamped with its creation", perPool, fromDump+", last_deep_scrub_stamp", "pool_id")
	t.scrubErrors = t.gauge("pool_scrub_errors", "Errors that the last scrubs found and that are not repaired", perPoolLevel, fromDump+", stat_sum.num_shallow_scrub_errors and num_deep_scrub_errors", "pool_id", "level")
	t.inconsistent = t.gauge("pg_inconsistent", "1 for a PG in state inconsistent", "one per inconsistent PG, at most 1000", fromLs, "pgid", "pool_id")
}

func (t *pgTable) addSeriesRows() {
	const perPG = "one per PG up to --collector.pg.series-limit; above it --collector.pg.series-top per pool"
	t.deepAge = t.gauge("pg_last_deep_scrub_age_seconds", "Seconds from the last deep scrub to the dump (cephrisk_pg_snapshot_timestamp_seconds)", perPG, fromDump+", last_deep_scrub_stamp", "pgid", "pool_id")
	t.deepStamp = t.gauge("pg_last_deep_scrub_timestamp_seconds", "Instant of the last deep scrub; with --collector.pg.timestamps", perPG, fromDump+", last_deep_scrub_stamp", "pgid", "pool_id")
	t.scrubStamp = t.gauge("pg_last_scrub_timestamp_seconds", "Instant of the last scrub of either level; with --collector.pg.timestamps", perPG, fromDump+", last_scrub_stamp", "pgid", "pool_id")
	t.seriesDropped = t.gauge("pg_series_dropped", "PGs with an age that have no series of their own", "one", fromDump)
	const perWorst = "at most --collector.pg.worst per pool and level"
	t.worstAge = t.gauge("pg_worst_scrub_age_seconds", "Seconds from the last scrub of that level to the dump (cephrisk_pg_snapshot_timestamp_seconds), of those PGs of each pool for which it is longest ago. All PGs of a pool have the same interval, so they are the next to be late", perWorst, fromDump+", last_scrub_stamp and last_deep_scrub_stamp", "pgid", "pool_id", "level")
	t.worstBlocked = t.gauge("pg_worst_scrub_blocked", "1 for a PG of cephrisk_pg_worst_scrub_age_seconds that is late and cannot be scrubbed now, with the first reason that applies, as in cephrisk_pool_pgs_scrub_blocked", perWorst, "as for cephrisk_pool_pgs_scrub_blocked", "pgid", "pool_id", "level", "reason")
	t.snapshotStamp = t.gauge("pg_snapshot_timestamp_seconds", "Instant at which the full dump arrived from which ages and lateness are taken", "one", "the exporter itself")
	t.fastStamp = t.gauge("pg_activity_timestamp_seconds", "Instant at which the answer arrived from which running scrubs and inconsistent PGs are taken", "one", "the exporter itself")
}

func (t *pgTable) addScrubRows() {
	t.running = t.gauge("scrubs_running", "PGs in state scrubbing; reserving: waits for its replicas, unknown: the release does not tell (16)", "one per pool, level and phase", fromLs, "pool_id", "level", "phase")
	t.osdRunning = t.gauge("osd_scrubs_running", "PGs in state scrubbing that have the OSD in their acting set", "one per OSD, level and role", fromLs, "ceph_daemon", "level", "role")
	t.osdSlots = t.gauge("osd_scrub_slots", "Scrubs that the OSD admits at once: its osd_max_scrubs. Up to 18 primary and replica share it, from 19 each role has that many; scrubs that an operator asked for are not bound by it", "one per OSD", fromShow+", osd_max_scrubs", "ceph_daemon")
	t.oldestStart = t.gauge("scrub_oldest_start_timestamp_seconds", "Start of the scrub that has been running longest; absent when none runs", perPoolLevel, fromLs+", last_change", "pool_id", "level")
	t.stuck = t.gauge("scrub_stuck_pgs", "PGs in state scrubbing without progress for longer than --collector.pg.stuck-after", perPool, fromLs+", last_change, objects_scrubbed (17 and newer)", "pool_id")
	t.completions = t.Add(Row{Name: "cephrisk_scrub_completions_total", Kind: Counter, Labels: []string{"pool_id", "level"}, Cardinality: perPoolLevel, Source: fromDump + ", stamps that moved",
		Help: "Scrubs completed since the exporter started. A deep scrub counts as deep only; two scrubs of one PG between two reports of its OSD (mgr_stats_period, 5 s) or between two dumps count as one"})
	t.completedBytes = t.Add(Row{Name: "cephrisk_scrub_completed_bytes_total", Kind: Counter, Labels: []string{"pool_id", "level"}, Cardinality: perPoolLevel, Source: fromDump + ", stat_sum.num_bytes of the PGs whose stamps moved",
		Help: "Bytes of data in the PGs whose scrub completed"})
	t.duration = t.Add(Row{Name: "cephrisk_scrub_duration_seconds", Kind: Histogram, Labels: []string{"pool_id", "level"}, Cardinality: perPoolLevel, Source: fromDump + ", last_scrub_duration (17 and newer); on 16 from the state's change to scrubbing, where it was seen, to the stamp",
		Help: "Duration of completed scrubs. Whole seconds from 17 on; on 16 it includes the wait for the replicas, and scrubs shorter than a poll are missing"})
}

func (t *pgTable) addOverlapRows() {
	t.osdRecovering = t.gauge("osd_recovering_pgs", "PGs in state recovering or backfilling that have the OSD in their acting or up set; PGs that wait are not at work", "one per OSD", fromLs, "ceph_daemon")
	t.overlapOSDs = t.gauge("scrub_recovery_overlap_osds", "OSDs that take part in a scrub (acting set) and in a recovery or backfill (acting or up set) at the same time", "one", fromLs)
	t.overlapPGs = t.gauge("scrub_recovery_overlap_pgs", "PGs that are at work on such an OSD; each counts once, as scrub, recovery, or both", "one per value of doing: scrub, recovery, both", fromLs, "doing")
	t.osdObjects = t.gauge("osd_objects", "Objects in the PGs that have the OSD in their acting set, snapshots' clones included, shards of erasure-coded pools as one each: as many onodes as its store has to know, but for some hundred of its own and for what PGs have left behind. Absent for OSDs with a PG of which the mgr has no report", "one per OSD", fromDump+", stat_sum.num_objects, acting", "ceph_daemon")
	t.osdLate = t.gauge("osd_late_pgs", "Late PGs (as in cephrisk_pool_pgs_late) of which the OSD is the acting primary, which has to begin their scrub", "one per OSD and level", fromDump+", acting_primary", "ceph_daemon", "level")
	t.blocked = t.gauge("pool_pgs_scrub_blocked", "Late PGs that cannot be scrubbed now, by the first reason that applies in this order. flag: noscrub or nodeep-scrub of cluster or pool. not_clean: the PG is not active and clean, for instance because it recovers or waits to. "+
		"recovery: it is clean, but its primary OSD recovers another and osd_scrub_during_recovery is off. snaptrim: it trims snapshots or waits to (17 and newer). "+
		"window: outside of osd_scrub_begin_hour to osd_scrub_end_hour or the week days of its primary, taken in the exporter's own time zone, as the OSDs' is not known. "+
		"slots: an OSD of the PG takes part in osd_max_scrubs scrubs, those that operators asked for included. "+
		"A host whose load is above osd_scrub_load_threshold does not show here. window and slots are absent while no OSD's options are known",
		"one per pool, level and reason", fromDump+", state, up, acting; "+fromOSDDump+"; "+fromShow, "pool_id", "level", "reason")
}

func (t *pgTable) addOptionRows() {
	t.option = t.gauge("scrub_option", "Value of a scrub option as set in the cluster's configuration database; who is the section with its mask", "one per option set", fromConfig, "option", "who")
	t.optionInfo = t.gauge("scrub_option_info", "1, with the value of a scrub option that is a text", "one per option set", fromConfig, "option", "who", "value")
	t.optionOSDs = t.gauge("scrub_option_osds", "OSDs that run with that value of the option", "one per option and value, at most 20 values", fromShow, "option", "value")
	t.optionOSDsUnknown = t.gauge("scrub_option_osds_unknown", "OSDs that are up and whose running options are not known yet", "one", fromShow)
	t.optionMgr = t.gauge("scrub_option_mgr", "Value with which the active mgr computes PG_NOT_SCRUBBED and PG_NOT_DEEP_SCRUBBED", "one per option of the rule", fromShow, "option")
	t.optionMismatch = t.gauge("scrub_option_mismatch_osds", "OSDs that run with another interval than the mgr, so that Ceph warns by a rule that they do not follow", "one per interval option", fromShow, "option")
}
