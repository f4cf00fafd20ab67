package collector

// osdTable is everything the osd collector exports.
type osdTable struct {
	Table

	up, in, noout, info, deviceInfo     *Row
	size, meta, omap, data, unaccounted *Row
	sizeUnknown, stray                  *Row
}

const (
	fromDf       = "mgr `osd df`"
	fromMetadata = "mon `osd metadata`"
)

func newOSDTable() *osdTable {
	t := &osdTable{}
	gauge := func(name, help, cardinality, source string, labels ...string) *Row {
		return t.Add(Row{Name: "cephrisk_osd_" + name, Help: help, Kind: Gauge, Labels: labels, Cardinality: cardinality, Source: source})
	}
	const perOSD, sized = "one per OSD", "one per BlueStore OSD whose size is known"
	t.up = gauge("up", "1 when the OSD is up", perOSD, fromOSDDump+", osds[].up", "ceph_daemon")
	t.in = gauge("in", "1 when the OSD is in", perOSD, fromOSDDump+", osds[].in", "ceph_daemon")
	t.noout = gauge("noout", "1 when noout holds for the OSD: set for the cluster, for the OSD itself, for its device class, or for the CRUSH node with its host's name (`ceph osd set-group noout`); one set for a rack or a root does not show", perOSD, fromOSDDump+", flags_set, osds[].state, device_class_flags, crush_node_flags", "ceph_daemon")
	t.info = gauge("info", "1, with the OSD's host, CRUSH device class, object store and version as of its last boot", "one per OSD that has ever booted", fromMetadata+"; device class from "+fromDf, "ceph_daemon", "hostname", "device_class", "objectstore", "ceph_version")
	t.deviceInfo = gauge("device_info", "1, with a disk below the OSD, what it is used for (block, db or wal) and its serial, empty where Ceph does not know it", "one per OSD, role and disk", fromMetadata+", bluestore_bdev_devices, bluefs_db_devices, bluefs_wal_devices, device_ids", "ceph_daemon", "role", "device", "serial")
	t.size = gauge("size_bytes", "Size of the OSD, to the KiB; absent while unknown, as for an OSD that is out", "one per OSD whose size is known", fromDf+", kb", "ceph_daemon")
	t.meta = gauge("bluestore_meta_bytes", "Bytes of the OSD's RocksDB less its OMAP: META in `ceph osd df`. The more, the longer the OSD takes to boot. The split from OMAP is an estimate of Ceph's, so META can be negative and can move without a write; the sum of both is what the database takes", sized, fromDf+", kb_used_meta", "ceph_daemon")
	t.omap = gauge("bluestore_omap_bytes", "Bytes of the OSD's RocksDB that hold OMAP data, by Ceph's estimate: OMAP in `ceph osd df`", sized, fromDf+", kb_used_omap", "ceph_daemon")
	t.data = gauge("bluestore_data_bytes", "Bytes allocated for the data of objects: DATA in `ceph osd df`", sized, fromDf+", kb_used_data", "ceph_daemon")
	t.unaccounted = gauge("bluestore_unaccounted_bytes", "Bytes in use that are neither data, OMAP nor META. Some hundred kB are normal; much more is space that Ceph does not know it lost", sized, fromDf+", kb_used less the other three", "ceph_daemon")
	t.sizeUnknown = gauge("size_unknown", "1 when Ceph gives no size for the OSD: it is out, or has not reported since the mgr's start, or has lost its size. It then has no series of bytes", "one per OSD in the CRUSH map", fromDf+", kb", "ceph_daemon")
	t.stray = gauge("stray", "OSDs that hold space and are not in the CRUSH map", "one", fromDf+", stray")
	return t
}
