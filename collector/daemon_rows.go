package collector

type daemonTable struct {
	Table
	up *Row

	opLatency, hostLatency, distribution, subopLatency     *Row
	activity, activityTime, unattributed, unattributedTime *Row

	scrubReservations, recoveryReservations *Row

	scrubsStarted, scrubsFinished, scrubTime, reservationAttempts *Row
	preemptions, chunks, writesBlocked, lockedObjects             *Row

	slowOps *Row

	runningInfo, runningOption, hostOption                                 *Row
	diskInfo, diskWriteCache, diskRotational, diskQueueDepth, diskRequests *Row
}

const (
	perDaemon         = "one per OSD"
	perDaemonActivity = "one per OSD and activity"
	perDaemonPoolType = "one per OSD and pool type"

	fromPerf       = "OSD admin socket, `perf dump`; from 19 on `counter dump`"
	fromHistograms = "OSD admin socket, `perf histogram dump`"

	// What a reader of these series must know, said in HELP.
	bookedBy = "An interval counts as scrub or recovery when the OSD held such a reservation or its counters moved in it, as primary or replica; `other` is deletion of PGs that moved away. " +
		"Invisible and booked as none: snapshot trimming; on 16 to 19 a replica's part in a scrub that fell between two samples a second apart; on 19 a replica's part in a scrub an operator asked for"
	factorOfTwo = "Edges are the OSD's own, each twice the one before, so a quantile is right within a factor of two; means and the share of operations below an edge are exact"
)

func newDaemonTable() *daemonTable {
	t := &daemonTable{}
	t.up = t.Add(Row{Name: "cephrisk_daemon_up", Help: "1 when the daemon answered on its admin socket at the last poll, 0 when its socket is there and it did not", Kind: Gauge,
		Labels: []string{"ceph_daemon"}, Cardinality: perDaemon + " with an admin socket on this host", Source: "admin sockets below --path.run"})
	t.addLatency()
	t.addActivity()
	t.addScrubs()
	t.addSettings()
	return t
}

func (t *daemonTable) addLatency() {
	byActivity := []string{"ceph_daemon", "op", "activity"}
	t.opLatency = t.Add(Row{Name: "cephrisk_osd_op_latency_seconds", Kind: Summary, Labels: byActivity,
		Help:        "Client operations of an OSD and the time they took, queue included, by what the OSD was doing meanwhile; op is read, write or rw (both in one), each operation once. " + bookedBy,
		Cardinality: "one per OSD, op (3) and activity (5)", Source: fromPerf + ", osd.op_{r,w,rw}_latency"})
	t.hostLatency = t.Add(Row{Name: "cephrisk_host_op_latency_seconds", Kind: Histogram, Labels: []string{"hostname", "device_class", "op", "activity"},
		Help:        "Client operations of a host's OSDs by latency, queue included, and by what each OSD was doing meanwhile; device_class is what the OSD's disk is (hdd, ssd, nvme or unknown), not what CRUSH says. " + factorOfTwo,
		Cardinality: "one per device class on the host, op (3) and activity (5)", Source: fromHistograms + ", osd.op_*_latency_*_histogram (in nanoseconds, whatever its axis says); sums from osd.op_{r,w,rw}_latency"})
	t.distribution = t.Add(Row{Name: "cephrisk_osd_op_latency_distribution_seconds", Kind: Histogram, Labels: byActivity,
		Help:        "Client operations of an OSD by latency, queue included, and by what the OSD was doing meanwhile; only with --collector.daemon.osd-histograms. " + factorOfTwo,
		Cardinality: "one per OSD, op (3) and activity (5), 33 series each", Source: fromHistograms})
	t.subopLatency = t.Add(Row{Name: "cephrisk_osd_subop_latency_seconds", Kind: Summary, Labels: []string{"ceph_daemon", "activity"},
		Help:        "Operations an OSD did as a replica and the time they took, by what it was doing meanwhile",
		Cardinality: perDaemonActivity, Source: fromPerf + ", osd.subop_latency"})
	t.slowOps = t.Add(Row{Name: "cephrisk_osd_slow_ops_total", Kind: Counter, Labels: []string{"ceph_daemon"}, Since: "18",
		Help:        "Operations that took longer than osd_op_complaint_time, since the OSD's start",
		Cardinality: perDaemon, Source: fromPerf + ", trackedop.slow_ops_count"})
}

func (t *daemonTable) addActivity() {
	t.activity = t.Add(Row{Name: "cephrisk_osd_activity", Kind: Gauge, Labels: []string{"ceph_daemon", "activity"},
		Help:        "1 for what the OSD did in the last interval, 0 for the rest",
		Cardinality: perDaemonActivity, Source: "reservations and counters of the admin socket"})
	t.activityTime = t.Add(Row{Name: "cephrisk_osd_activity_seconds_total", Kind: Counter, Labels: []string{"ceph_daemon", "activity"},
		Help:        "Time booked to each activity. " + bookedBy,
		Cardinality: perDaemonActivity, Source: "reservations and counters of the admin socket"})
	t.unattributed = t.Add(Row{Name: "cephrisk_osd_unattributed_ops_total", Kind: Counter, Labels: []string{"ceph_daemon", "reason"},
		Help:        "Client operations booked to no activity: in a gap between polls, or between a restart or `perf reset` of the OSD and the next poll",
		Cardinality: "one per OSD and reason: gap, reset", Source: fromPerf})
	t.unattributedTime = t.Add(Row{Name: "cephrisk_osd_unattributed_intervals_total", Kind: Counter, Labels: []string{"ceph_daemon", "reason"},
		Help:        "Polls whose growth was booked to no activity; what an OSD did before its first poll is not counted anywhere",
		Cardinality: "one per OSD and reason: first, gap, reset", Source: fromPerf})
	t.scrubReservations = t.Add(Row{Name: "cephrisk_osd_scrub_reservations", Kind: Gauge, Labels: []string{"ceph_daemon", "role"},
		Help:        "Scrubs the OSD holds a reservation for at the last poll, as primary and as replica",
		Cardinality: "one per OSD and role", Source: "OSD admin socket, `dump_scrub_reservations`"})
	t.recoveryReservations = t.Add(Row{Name: "cephrisk_osd_recovery_reservations", Kind: Gauge, Labels: []string{"ceph_daemon"},
		Help:        "Recovery and backfill reservations the OSD has granted at the last poll, to its own PGs and to others'",
		Cardinality: perDaemon, Source: "OSD admin socket, `dump_recovery_reservations`, in_progress"})
}

func (t *daemonTable) addScrubs() {
	add := func(name, help, counter string, labels ...string) *Row {
		cardinality := perDaemonPoolType
		if len(labels) > 0 {
			cardinality = "one per OSD, pool type and " + labels[0]
		}
		return t.Add(Row{Name: "cephrisk_osd_" + name, Help: help, Kind: Counter, Labels: append([]string{"ceph_daemon", "pool_type"}, labels...),
			Cardinality: cardinality, Source: "OSD admin socket, `counter dump`, " + counter, Since: "19"})
	}
	t.scrubsStarted = add("scrubs_started_total", "Scrubs this OSD started as primary since its start; pool_type is replicated or ec", "num_scrubs_started")
	t.scrubsFinished = add("scrubs_finished_total", "Scrubs this OSD led to an end since its start; result is succeeded or failed (also: aborted)", "successful_scrubs, failed_scrubs", "result")
	t.scrubTime = add("scrub_seconds_total", "Time those scrubs took", "successful_scrubs_elapsed, failed_scrubs_elapsed", "result")
	t.reservationAttempts = add("scrub_reservation_attempts_total", "Attempts to reserve a scrub's replicas since the OSD's start; result is completed, failed (a replica refused), aborted or skipped (no reservation needed)", "scrub_reservations_completed, reservation_process_*", "result")
	t.preemptions = add("scrub_preemptions_total", "Scrub chunks given up in favour of a client's write", "preemptions")
	t.chunks = add("scrub_chunks_total", "Attempts to take the next chunk of objects; result is selected, or busy where a client held it", "chunk_selected, chunk_busy", "result")
	t.writesBlocked = add("scrub_blocked_writes_total", "Client writes that waited for a scrub to leave their object's chunk", "write_blocked_by_scrub")
	t.lockedObjects = add("scrub_locked_objects_total", "Times a scrub waited for an object that a client's operation held", "locked_object")
}

func (t *daemonTable) addSettings() {
	t.runningInfo = t.Add(Row{Name: "cephrisk_osd_running_info", Kind: Gauge, Labels: []string{"ceph_daemon", "ceph_version", "release", "op_queue", "mclock_profile"},
		Help:        "1, with what the running OSD process is and how it schedules operations",
		Cardinality: perDaemon, Source: "OSD admin socket, `version` and `config show`"})
	t.runningOption = t.Add(Row{Name: "cephrisk_osd_running_option", Kind: Gauge, Labels: []string{"ceph_daemon", "option"},
		Help:        "Value with which the OSD runs for the options that decide what scrub and recovery cost clients, read once a minute; true is 1. Under mClock the OSD itself sets osd_scrub_sleep to 0, and osd_mclock_max_capacity_iops_* is what it measured",
		Cardinality: "one per OSD and option (about 30)", Source: "OSD admin socket, `config show`"})
	t.hostOption = t.Add(Row{Name: "cephrisk_host_running_option_osds", Kind: Gauge, Labels: []string{"hostname", "option", "value"},
		Help:        "OSDs of the host that run with that value of the option, as in cephrisk_osd_running_option; without osd_mclock_max_capacity_iops_*, which every OSD measures for itself",
		Cardinality: "one per option and value (about 30)", Source: "OSD admin socket, `config show`"})
	disk := []string{"ceph_daemon", "role", "device"}
	add := func(name, help, source string, labels ...string) *Row {
		return t.Add(Row{Name: "cephrisk_osd_disk_" + name, Help: help, Kind: Gauge, Labels: append(disk[:len(disk):len(disk)], labels...),
			Cardinality: "one per OSD and disk below its block, db and wal devices", Source: "sysfs, " + source})
	}
	t.diskInfo = add("info", "1, with the disk an OSD is on and its I/O scheduler", "queue/scheduler", "scheduler")
	t.diskWriteCache = add("write_cache", "1 when the disk's volatile write cache is on, 0 when it is off", "queue/write_cache")
	t.diskRotational = add("rotational", "1 when the disk is rotational", "queue/rotational")
	t.diskRequests = add("queue_requests", "Requests the kernel queues for the disk", "queue/nr_requests")
	t.diskQueueDepth = add("queue_depth", "Requests the disk takes at once", "device/queue_depth")
}
