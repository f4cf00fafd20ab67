// What OSDs are, what they hold and owe, and how they boot: series of each OSD.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);

  // OSDs by the part that they share; what is down is compared with it.
  local sharing(label, info) = {
    record: 'cephrisk:osds_sharing_%s' % label,
    expr: 'count by (%s) (cephrisk:%s{%s!=""})' % [std.join(', ', std.set([config.clusterLabel, 'hostname', label])), info, label],
  };
  [
    r.info('osd_info', ['ceph_daemon'], ['hostname', 'device_class']),
    r.info('osd_hardware_info', ['ceph_daemon'], ['hostname', 'hba', 'enclosure_id', 'db_disk']),
    sharing('db_disk', 'osd_hardware_info'),
    sharing('hba', 'osd_hardware_info'),
    sharing('enclosure_id', 'osd_hardware_info'),
    sharing('hostname', 'osd_info'),
    r.some('osd_scrubs_running', ['ceph_daemon', 'level', 'role']),
    r.some('osd_late_pgs', ['ceph_daemon', 'level']),
    {
      record: 'cephrisk:osd_late_pgs:known',
      expr: 'cephrisk:osd_late_pgs unless on (%(cluster)s) sum by (%(cluster)s) (cephrisk:pool_pgs_unknown) > 0' % { cluster: config.clusterLabel },
    },
    r.gauge('osd_size_bytes', ['ceph_daemon']),
    r.gauge('osd_bluestore_meta_bytes', ['ceph_daemon']),
    r.gauge('osd_bluestore_omap_bytes', ['ceph_daemon']),
    r.gauge('osd_bluestore_unaccounted_bytes', ['ceph_daemon']),
    r.gauge('osd_bluefs_log_bytes', ['ceph_daemon']),
    r.some('osd_bluefs_slow_used_bytes', ['ceph_daemon']),
    r.gauge('osd_bluefs_db_total_bytes', ['ceph_daemon']),
    r.gauge('osd_bluefs_db_used_bytes', ['ceph_daemon']),
    r.gauge('osd_boot_duration_seconds', ['ceph_daemon', 'shutdown']),
    r.gauge('osd_booting', ['ceph_daemon']),
    r.gauge('osd_start_timestamp_seconds', ['ceph_daemon']),
    r.info('osd_device_info', ['ceph_daemon', 'role', 'device'], ['serial']),
  ]
