package collector

import (
	"strconv"

	"github.com/ceph-risk/ceph_risk_exporter/internal/osdboot"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdperf"
)

// bluestoreTable is everything the bluestore collector exports.
type bluestoreTable struct {
	Table

	booting, start, duration, rebuild *Row
	estimate, estimateBytes           *Row
	observations                      *Row
	seen                              bootSeenRows

	dbTotal, dbUsed, walTotal, walUsed, slowTotal, slowUsed *Row
	logBytes, logCompactions, slowFallbacks                 *Row
	compactions, cachedOnodes                               *Row
}

func newBluestoreTable() *bluestoreTable {
	t := &bluestoreTable{}
	t.addBoot()
	t.addBootsSeen()
	t.addBlueFS()
	return t
}

func (t *bluestoreTable) add(name, help string, kind Kind, cardinality, source string, labels ...string) *Row {
	return t.Add(Row{Name: "cephrisk_osd_" + name, Help: help, Kind: kind, Labels: append([]string{"ceph_daemon"}, labels...), Cardinality: cardinality, Source: source})
}

func (t *bluestoreTable) addBoot() {
	const (
		on     = " with an admin socket on this host"
		shut   = "shutdown is how the OSD went down before: clean; unclean (killed, crashed, power lost); or unknown where its log does not tell or is not there"
		log    = "the OSD's log (log_file below --path.rootfs)"
		socket = "OSD admin socket"
	)
	t.booting = t.add("booting", "1 while the OSD answers and is not active, 0 once it is", Gauge, perDaemon+on, socket+", `status`")
	t.start = t.add("start_timestamp_seconds", "Instant at which the OSD made its admin socket, right after the process had started and fetched its configuration", Gauge, perDaemon+on, "the socket's modification time")
	t.duration = t.add("boot_duration_seconds", "How long the OSD's last boot took, from the start of the process until it was active for the first time. From the log to the millisecond; without one as watched through the admin socket, to within --collector.bluestore.watch-interval; absent where neither knows. "+shut, Gauge, perDaemon+on, log+"; "+socket+", `status`", "shutdown")
	t.rebuild = t.add("boot_allocation_rebuild_seconds", "How much of the last boot went into making the map of free space anew from every onode, as after an unclean shutdown on flash (17 and newer); 0 when that was not needed, absent where the log does not tell", Gauge, perDaemon+on, log)
	t.estimate = t.add("boot_estimate_seconds", "How long the OSD's next boot should take after that kind of shutdown: a straight line over the size of the database, through the boots of this host's OSDs of the same release and kind of store (cephrisk:osd_boot_estimate_seconds:fleet of the rules takes those of all hosts); their mean where they do not show a slope. Absent for a kind that was never seen. "+shut, Gauge, "up to three per OSD"+on, "boots seen by this exporter; "+socket+", `perf dump`, bluefs", "shutdown")
	t.observations = t.add("boot_estimate_observations", "Boots behind the estimate; 0: there is none", Gauge, "one per OSD"+on+" and kind of shutdown", "boots seen by this exporter", "shutdown")
	t.estimateBytes = t.add("boot_estimate_bytes", "Size of the database by which the next boot is judged, with what boots must have in common to compare with it: the release and, after an unclean shutdown, allocation_file: whether the map of free space is kept in a file (yes, no, unknown; any after other shutdowns). The boots of other hosts' OSDs, in cephrisk_osd_boots_seen and what goes with it, can be taken by these labels", Gauge, "three per OSD"+on, socket+", `perf dump`, bluefs", "shutdown", "release", "allocation_file")
}

// bootSeenRows are the sums that a line through the boots of many hosts is
// fitted on.
type bootSeenRows struct {
	boots, seconds, bytes, bytesSquared, byteSeconds, smallest, largest *Row
}

func (t *bluestoreTable) addBootsSeen() {
	add := func(name, help string) *Row {
		return t.Add(Row{Name: "cephrisk_osd_boots_seen" + name, Kind: Gauge, Labels: []string{"shutdown", "release", "allocation_file"},
			Help: help + ". Labels as in cephrisk_osd_boot_estimate_bytes", Cardinality: "one per kind of boot seen on this host", Source: "boots seen by this exporter"})
	}
	t.seen = bootSeenRows{
		boots:        add("", "Boots of this host's OSDs that are remembered, at most the last 200 of a kind. With the sums beside it a line over the size of the database can be fitted through the boots of all hosts"),
		seconds:      add("_seconds", "Sum of what these boots took"),
		bytes:        add("_bytes", "Sum of the sizes of their databases"),
		bytesSquared: add("_bytes_squared", "Sum of the squares of these sizes"),
		byteSeconds:  add("_byte_seconds", "Sum of size times duration"),
		smallest:     add("_smallest_bytes", "Size of the smallest of these databases"),
		largest:      add("_largest_bytes", "Size of the largest of these databases"),
	}
}

func (s *bluestoreSnapshot) emitBootsSeen(e *Emitter) {
	r := s.table.seen
	for class, sums := range s.seen {
		shutdown, release, file := classLabels(class)
		for row, v := range map[*Row]float64{
			r.boots: float64(sums.N), r.seconds: sums.Seconds, r.bytes: sums.Bytes, r.bytesSquared: sums.BytesSquared,
			r.byteSeconds: sums.ByteSeconds, r.smallest: sums.Smallest, r.largest: sums.Largest,
		} {
			e.Emit(row, v, shutdown, release, file)
		}
	}
}

func classLabels(c osdboot.Class) (shutdown, release, file string) {
	file = "any"
	if c.Shutdown == osdboot.Unclean {
		file = c.AllocationFile.String()
	}
	return string(c.Shutdown), strconv.Itoa(c.Release), file
}

func (t *bluestoreTable) addBlueFS() {
	const perf = "OSD admin socket, `perf dump`, "
	t.dbTotal = t.add("bluefs_db_total_bytes", "Size of the device that holds the database; without a DB device the whole main device, which objects share", Gauge, perDaemon, perf+"bluefs.db_total_bytes")
	t.dbUsed = t.add("bluefs_db_used_bytes", "Bytes of it that the database takes", Gauge, perDaemon, perf+"bluefs.db_used_bytes")
	t.walTotal = t.add("bluefs_wal_total_bytes", "Size of the WAL device", Gauge, "one per OSD with a WAL device", perf+"bluefs.wal_total_bytes")
	t.walUsed = t.add("bluefs_wal_used_bytes", "Bytes of the WAL device in use", Gauge, "one per OSD with a WAL device", perf+"bluefs.wal_used_bytes")
	t.slowTotal = t.add("bluefs_slow_total_bytes", "Bytes of the main device into which a database with a device of its own may spill over", Gauge, "one per OSD with a DB device", perf+"bluefs.slow_total_bytes")
	t.slowUsed = t.add("bluefs_slow_used_bytes", "Bytes of the database that have spilled over from its DB device to the main device; always 0 without a DB device", Gauge, perDaemon, perf+"bluefs.slow_used_bytes")
	t.logBytes = t.add("bluefs_log_bytes", "Size of BlueFS's own log, which an OSD replays when it boots; beyond some GiB the OSD may not start at all", Gauge, perDaemon, perf+"bluefs.log_bytes")
	t.logCompactions = t.add("bluefs_log_compactions_total", "Compactions of BlueFS's log since the OSD's start", Counter, perDaemon, perf+"bluefs.log_compactions")
	t.slowFallbacks = t.add("bluefs_slow_fallbacks_total", "Allocations that went to the main device because the DB device was full, since the OSD's start", Counter, perDaemon, perf+"bluefs.alloc_slow_fallback")
	t.compactions = t.add("rocksdb_compactions_total", "Compactions of the whole database since the OSD's start, as `ceph tell osd.N compact` asks for", Counter, perDaemon, perf+"rocksdb.compact_completed; on 16 rocksdb.compact")
	t.cachedOnodes = t.add("bluestore_cached_onodes", "Onodes in the OSD's cache", Gauge, perDaemon, perf+"bluestore.onodes; on 16 bluestore.bluestore_onodes")
}

// bluestoreSnapshot is what the polls so far have learned.
type bluestoreSnapshot struct {
	table *bluestoreTable
	osds  []bluestoreView
	seen  map[osdboot.Class]osdboot.Sums
}

// bluestoreView is a copy of what is known of one OSD.
type bluestoreView struct {
	name string

	osd  bluestoreOSD
	boot *osdboot.Boot
	next map[osdboot.Shutdown]osdboot.Class // what its next boot will be
}

// shutdowns are the values of the label.
func shutdowns() []osdboot.Shutdown {
	return []osdboot.Shutdown{osdboot.Clean, osdboot.Unclean, osdboot.Unknown}
}

func (p *bluestorePoller) snapshot() *bluestoreSnapshot {
	s := &bluestoreSnapshot{table: p.table, seen: osdboot.SumsOf(p.record.Seen)}
	for _, osd := range p.sorted() {
		v := bluestoreView{name: osd.name, osd: *osd, next: map[osdboot.Shutdown]osdboot.Class{}}
		var file *bool
		if last, known := p.record.Last[osd.name]; known {
			v.boot, file = &last.Boot, last.Boot.AllocationFile
		}
		if file == nil && osd.release < firstAllocationFile {
			no := false
			file = &no
		}
		for _, kind := range shutdowns() {
			v.next[kind] = osd.class(kind, file)
		}
		s.osds = append(s.osds, v)
	}
	return s
}

// Emit implements Snapshot.
func (s *bluestoreSnapshot) Emit(e *Emitter) {
	t := s.table
	s.emitBootsSeen(e)
	for i := range s.osds {
		v := &s.osds[i]
		if v.osd.up {
			e.EmitBool(t.booting, !v.osd.active, v.name)
			e.Emit(t.start, float64(v.osd.began.UnixMicro())/1e6, v.name)
		}
		s.emitBoot(e, v)
		if v.osd.up && v.osd.active && v.osd.counters != nil {
			s.emitCounters(e, v.name, v.osd.counters)
		}
	}
}

func (s *bluestoreSnapshot) emitBoot(e *Emitter, v *bluestoreView) {
	t := s.table
	if v.boot != nil {
		e.Emit(t.duration, v.boot.Duration().Seconds(), v.name, string(v.boot.Shutdown))
		if v.boot.Rebuild != nil {
			e.Emit(t.rebuild, v.boot.Rebuild.Seconds(), v.name)
		}
	}
	if v.osd.bytes == 0 {
		return // without the size of its database there is nothing to judge by
	}
	for kind, class := range v.next {
		_, release, file := classLabels(class)
		e.Emit(t.estimateBytes, v.osd.bytes, v.name, string(kind), release, file)
		fit := s.seen[class].Fit()
		e.Emit(t.observations, float64(fit.N), v.name, string(kind))
		if seconds, seen := fit.Estimate(v.osd.bytes); seen {
			e.Emit(t.estimate, seconds, v.name, string(kind))
		}
	}
}

func (s *bluestoreSnapshot) emitCounters(e *Emitter, osd string, c *osdperf.Counters) {
	t := s.table
	// The first name that the release has counts.
	emit := func(row *Row, section string, names ...string) {
		for _, name := range names {
			if counter := c.Get(section, name); counter.OK() {
				e.Emit(row, float64(counter.N), osd)
				return
			}
		}
	}
	emit(t.dbTotal, "bluefs", "db_total_bytes")
	emit(t.dbUsed, "bluefs", "db_used_bytes")
	if c.Get("bluefs", "wal_total_bytes").N > 0 {
		emit(t.walTotal, "bluefs", "wal_total_bytes")
		emit(t.walUsed, "bluefs", "wal_used_bytes")
	}
	if c.Get("bluefs", "slow_total_bytes").N > 0 {
		emit(t.slowTotal, "bluefs", "slow_total_bytes")
	}
	emit(t.slowUsed, "bluefs", "slow_used_bytes")
	emit(t.logBytes, "bluefs", "log_bytes")
	emit(t.logCompactions, "bluefs", "log_compactions")
	emit(t.slowFallbacks, "bluefs", "alloc_slow_fallback")
	emit(t.compactions, "rocksdb", "compact_completed", "compact")
	emit(t.cachedOnodes, "bluestore", "onodes", "bluestore_onodes")
}
