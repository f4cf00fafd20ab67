function(config, p)
  local host = p.variables.host('cephrisk:osd_info');
  // Values of the chosen hosts' OSDs, one per OSD.
  local of(series, more='') = 'max by (%%(cluster)s, ceph_daemon, hostname) (%s{%%(at)s%s} * on (%%(cluster)s, ceph_daemon) group_left (hostname) cephrisk:osd_info{%%(at)s, hostname=~"$host"})' % [series, more];
  local top(series) = 'topk(10, %s)' % of(series);
  local slow = config.alerts.CephRiskOSDSlowBoot.seconds;
  local noHost = 'No exporter of the host role runs on the chosen hosts.';
  p.dashboard('osd-boot', 'Ceph risk: how long will OSDs take to boot?', 'Size and health of the databases of OSDs, how long boots took and will take.', [
    p.stat('Largest META', 'Bytes of the database without OMAP. The more, the longer the OSD takes to boot.', 'no data', 'bytes', [
      p.target('max(%s)' % of('cephrisk:osd_bluestore_meta_bytes')),
    ], p.above('orange', config.alerts.CephRiskOSDMetaHigh.bytes)),
    p.stat('Expected boot, clean', 'After a clean shutdown, for the OSD that will take longest.', 'no boot seen yet', 's', [
      p.target('max(%s)' % of('cephrisk:osd_boot_estimate_seconds:fleet', ', shutdown="clean"')),
    ], p.above('orange', slow)),
    p.stat('Expected boot, unclean', 'After a crash, kill or loss of power, for the OSD that will take longest.', 'no such boot seen yet', 's', [
      p.target('max(%s)' % of('cephrisk:osd_boot_estimate_seconds:fleet', ', shutdown="unclean"')),
    ], p.above('orange', slow)),
    p.stat('OSDs booting now', 'They answer and are not active yet.', 'no host role', 'none', [
      p.target('sum(%s)' % of('cephrisk:osd_booting')),
    ], p.above('orange', 1)),
    p.stat('Largest BlueFS log', 'The OSD replays it when it boots; beyond some GiB it may not start at all.', 'no host role', 'bytes', [
      p.target('max(%s)' % of('cephrisk:osd_bluefs_log_bytes')),
    ], p.above('orange', 10 * 1073741824) + p.above('red', config.alerts.CephRiskBlueFSLogNotCompacted.bytes)),
    p.stat('Databases spilled over', 'OSDs of which parts of the database are on the slow device, because the DB device was full.', 'no host role', 'none', [
      p.target('count(%s) or 0 * count(%s)' % [of('cephrisk:osd_bluefs_slow_used_bytes'), of('cephrisk:osd_bluefs_log_bytes')]),
    ], p.above('orange', 1)),
    p.table('Which OSDs will take long to boot', 'Expected boots come from boots of OSDs of the same release and kind of store, on all hosts.', 'No osd collector has given data.', 'none', [
      p.target(of('cephrisk:osd_bluestore_meta_bytes'), instant=true),
      p.target(of('cephrisk:osd_bluestore_omap_bytes'), instant=true),
      p.target('%s / %s' % [of('cephrisk:osd_bluestore_meta_bytes'), of('cephrisk:osd_size_bytes')], instant=true),
      p.target(of('cephrisk:osd_boot_estimate_seconds:fleet', ', shutdown="clean"'), instant=true),
      p.target(of('cephrisk:osd_boot_estimate_seconds:fleet', ', shutdown="unclean"'), instant=true),
      p.target(of('cephrisk:osd_boot_duration_seconds'), instant=true),
      p.target('1000 * %s' % of('cephrisk:osd_start_timestamp_seconds'), instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'ceph_daemon', name: 'OSD' },
      { field: 'hostname', name: 'Host' },
      { field: 'Value #A', name: 'META', unit: 'bytes' } + p.coloured(p.above('orange', config.alerts.CephRiskOSDMetaHigh.bytes), 'text'),
      { field: 'Value #B', name: 'OMAP', unit: 'bytes' },
      { field: 'Value #C', name: 'META of size', unit: 'percentunit', decimals: 1 } + p.coloured(p.above('orange', config.alerts.CephRiskOSDMetaHigh.ratio), 'text'),
      { field: 'Value #D', name: 'Next boot, clean', unit: 's' } + p.coloured(p.above('orange', slow), 'text'),
      { field: 'Value #E', name: 'Next boot, unclean', unit: 's' } + p.coloured(p.above('orange', slow), 'text'),
      { field: 'Value #F', name: 'Last boot took', unit: 's' } + p.coloured(p.above('orange', slow), 'text'),
      { field: 'Value #G', name: 'Up since', unit: 'dateTimeFromNow' },
    ], sort='META', w=24, h=9) + p.alerts(['CephRiskOSDMetaHigh', 'CephRiskOSDSlowBoot', 'CephRiskOSDSlowBootAhead']),
    p.series('How does META grow', 'The ten OSDs with the most.', 'No osd collector has given data.', 'bytes', [
      p.target(top('cephrisk:osd_bluestore_meta_bytes'), '{{ceph_daemon}} {{hostname}}'),
    ]),
    p.table('Whose META grew most in a day', 'Growth that does not end makes every boot longer.', 'There is no history of a day yet.', 'bytes', [
      p.target('topk(10, (cephrisk:osd_bluestore_meta_bytes{%(at)s} - cephrisk:osd_bluestore_meta_bytes{%(at)s} offset 1d) * on (%(cluster)s, ceph_daemon) group_left (hostname) cephrisk:osd_info{%(at)s, hostname=~"$host"})', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'ceph_daemon', name: 'OSD' },
      { field: 'hostname', name: 'Host' },
      { field: 'Value', name: 'Growth', unit: 'bytes' },
    ], sort='Growth') + p.alerts(['CephRiskOSDMetaGrowing']),
    p.series('How large are BlueFS logs', 'The ten largest. They fall when BlueFS compacts them; a line that only rises is not compacted.', noHost, 'bytes', [
      p.target(top('cephrisk:osd_bluefs_log_bytes'), '{{ceph_daemon}} {{hostname}}'),
    ]) + p.alerts(['CephRiskBlueFSLogNotCompacted']),
    p.series('How full are DB devices', 'Share in use, of the ten fullest; without a DB device, the share of the main device that the database takes.', noHost, 'percentunit', [
      p.target('topk(10, %s / %s)' % [of('cephrisk:osd_bluefs_db_used_bytes'), of('cephrisk:osd_bluefs_db_total_bytes')], '{{ceph_daemon}} {{hostname}}'),
    ]) + p.max(1),
    p.series('Whose database has spilled over', 'Bytes on the slow device; the ten with the most.', 'No database has spilled over, or no exporter of the host role runs.', 'bytes', [
      p.target('%s > 0' % top('cephrisk:osd_bluefs_slow_used_bytes'), '{{ceph_daemon}} {{hostname}}'),
    ]) + p.alerts(['CephRiskBlueFSSpillover']),
    p.series('Is space missing', 'Bytes in use that are neither data, OMAP nor META; the ten OSDs with the most. Some hundred kB are normal.', 'No osd collector has given data.', 'bytes', [
      p.target(top('cephrisk:osd_bluestore_unaccounted_bytes'), '{{ceph_daemon}} {{hostname}}'),
    ]) + p.alerts(['CephRiskOSDUnaccountedSpace']),
    p.series('How many OSDs boot', 'OSDs that answer and are not active yet, by host.', noHost, 'none', [
      p.target('sum by (hostname) (%s)' % of('cephrisk:osd_booting'), '{{hostname}}'),
    ]),
    p.table('On which disks are OSDs', 'Disks below each OSD with their serials, as Ceph knows them.', 'No osd collector has given data.', 'none', [
      p.target('cephrisk:osd_device_info{%(at)s} * on (%(cluster)s, ceph_daemon) group_left (hostname, device_class) cephrisk:osd_info{%(at)s, hostname=~"$host"}', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'ceph_daemon', name: 'OSD' },
      { field: 'hostname', name: 'Host' },
      { field: 'device_class', name: 'Class' },
      { field: 'role', name: 'Use' },
      { field: 'device', name: 'Device' },
      { field: 'serial', name: 'Serial' },
    ], hide=['Value']),
  ], [host])
