// Databases and boots of OSDs, beside what alerts read.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);
  [
    r.gauge('osd_in', ['ceph_daemon']),
    r.gauge('osd_stray'),
    r.gauge('osd_size_unknown', ['ceph_daemon']),
    r.gauge('osd_bluestore_data_bytes', ['ceph_daemon']),
    r.gauge('osd_bluestore_unaccounted_bytes', ['ceph_daemon']),
    r.info('osd_device_info', ['ceph_daemon', 'role', 'device'], ['serial']),
    r.gauge('osd_booting', ['ceph_daemon']),
    r.gauge('osd_start_timestamp_seconds', ['ceph_daemon']),
    r.gauge('osd_boot_allocation_rebuild_seconds', ['ceph_daemon']),
    r.gauge('osd_boot_estimate_seconds', ['ceph_daemon', 'shutdown']),
    r.gauge('osd_boot_estimate_observations', ['ceph_daemon', 'shutdown']),
    r.gauge('osd_bluefs_db_total_bytes', ['ceph_daemon']),
    r.gauge('osd_bluefs_db_used_bytes', ['ceph_daemon']),
  ]
