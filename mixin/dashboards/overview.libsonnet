function(config, p)
  local runbook = config.runbookURLPattern % '${__value.raw}';
  p.dashboard('overview', 'Ceph risk: is anything at risk?', 'The risks at a glance; each has a dashboard of its own.', [
    p.stat('PGs late for a scrub now', "PGs past the deadline of their scrub by Ceph's own rule. Held for an hour while PGs are unknown.", 'no data', 'none', [
      p.target('sum by (level) (cephrisk:pool_pgs_late:held{%(at)s})', '{{level}}'),
    ], p.above('orange', 1)) + p.named + p.to('scrub-deadlines', 'Will scrubs be in time?'),
    p.stat('Forecast: late in 3 days', 'PGs that will be late in three days if nothing changes, by simulation of the scrub scheduler. No data until durations of scrubs are known.', 'no forecast', 'none', [
      p.target('sum by (level) (cephrisk:scrub_forecast_late_pgs:held{%(at)s, horizon="3d"})', '{{level}}'),
    ], p.above('orange', 1)) + p.named + p.decimals(0) + p.to('scrub-deadlines', 'Will scrubs be in time?'),
    p.stat('PGs inconsistent', 'PGs in which a scrub found copies that differ.', 'no data', 'none', [
      p.target('sum(cephrisk:pg_inconsistent{%(at)s}) or sum(0 * cephrisk:pool_pgs{%(at)s})'),
    ], p.above('red', 1)) + p.alerts(['CephRiskPGInconsistent', 'CephRiskScrubErrors']),
    p.stat('Flags that forbid scrubs', 'noscrub and nodeep-scrub of the whole cluster that are set.', 'no data', 'none', [
      p.target('sum(cephrisk:cluster_flag{%(at)s, flag=~"noscrub|nodeep-scrub"})'),
    ], p.above('orange', 1)) + p.alerts(['CephRiskScrubFlagLeftOn']),
    p.stat('Scrubs without progress', 'PGs in state scrubbing without progress for --collector.pg.stuck-after.', 'no data', 'none', [
      p.target('sum(cephrisk:scrub_stuck_pgs{%(at)s})'),
    ], p.above('orange', 1)) + p.to('scrub-deadlines', 'Will scrubs be in time?'),
    p.stat('OSDs scrub and recover', 'OSDs that take part in a scrub and in a recovery at the same time: both want the same disk.', 'no data', 'none', [
      p.target('sum(cephrisk:scrub_recovery_overlap_osds{%(at)s})'),
    ], p.above('orange', 1)) + p.to('recovery-overlap', 'Do scrubs collide with recovery?'),
    p.stat('OSDs down', 'OSDs that Ceph counts as down.', 'no data', 'none', [
      p.target('sum(cephrisk:osd_up{%(at)s} == bool 0)'),
    ], p.above('red', 1)) + p.to('enclosures', 'Is a shelf or an array ill?'),
    p.stat('Largest META of an OSD', 'Bytes of the database without OMAP. The more, the longer the OSD takes to boot.', 'no data', 'bytes', [
      p.target('max(cephrisk:osd_bluestore_meta_bytes{%(at)s})'),
    ], p.above('orange', config.alerts.CephRiskOSDMetaHigh.bytes)) + p.to('osd-boot', 'How long will OSDs take to boot?'),
    p.stat('Longest expected boot', 'Of an OSD after a clean shutdown; from boots that exporters of the host role have seen.', 'no boot seen', 's', [
      p.target('max(cephrisk:osd_boot_estimate_seconds:fleet{%(at)s, shutdown="clean"})'),
    ], p.above('orange', config.alerts.CephRiskOSDSlowBoot.seconds)) + p.to('osd-boot', 'How long will OSDs take to boot?'),
    p.stat('Uploads failed (15 min)', 'With 5xx, on all gateways whose ops log is read.', 'no gateway', 'none', [
      p.target('sum(cephrisk:rgw_upload_server_failures:increase15m{%(at)s})'),
    ], p.above('orange', 1)) + p.decimals(0) + p.to('uploads', 'Do S3 uploads succeed?'),
    p.stat('Shelf and array parts failed', 'Parts that a shelf calls critical or unrecoverable, or an array degraded or at fault.', 'no shelf', 'none', [
      p.target('sum(cephrisk:enclosure_element_failed{%(at)s, type!~"' + config.alerts.CephRiskEnclosureElementFailed.ignore + '"} or 0 * cephrisk:enclosure_present{%(at)s} or cephrisk:msa_unhealthy{%(at)s})'),
    ], p.above('orange', 1)) + p.to('enclosures', 'Is a shelf or an array ill?'),
    p.stat('Exporters failing', 'Exporters that do not answer, and collectors whose last poll failed. What they watch goes unseen.', 'no exporter', 'none', [
      p.target('sum(cephrisk:exporter_up{%(at)s} == bool 0) + (sum(cephrisk:collector_success{%(at)s} == bool 0) or vector(0))'),
    ], p.above('red', 1)) + p.to('exporter', 'Does the exporter see everything?'),
    p.table('What fires now', 'Alerts of this pack that fire. The name links the runbook.', 'No alert of this pack fires.', 'none', [
      p.target('count by (%(cluster)s, alertname, severity) (ALERTS{%(at)s, alertname=~"CephRisk.*", alertstate="firing"})', instant=true),
    ], [
      { field: 'severity', name: 'Severity', 'custom.width': 100, 'custom.cellOptions': { type: 'color-text' }, mappings: [{ type: 'value', options: { critical: { color: 'red', index: 0 }, warning: { color: 'orange', index: 1 }, info: { color: 'blue', index: 2 } } }] },
      { field: 'alertname', name: 'Alert', links: [{ title: 'Runbook', url: runbook, targetBlank: true }] },
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'Value', name: 'How many', 'custom.width': 100 },
    ], w=24, h=5),
    p.series('How many PGs are late', 'PGs late for a deep scrub, or for a shallow one where these are more, of the pools that have had some in the time shown. Ceph warns from the first.', 'No PG was late in the time shown.', 'none', [
      p.target('max by (%(cluster)s, name) ((cephrisk:pool_pgs_late:held{%(at)s} and max_over_time(cephrisk:pool_pgs_late:held{%(at)s}[$__range]) > 0) %(of_pool)s)', '{{name}}'),
    ]) + p.to('scrub-deadlines', 'Will scrubs be in time?'),
    p.series('What runs: scrubs and recovery', 'PGs in state scrubbing, OSDs that recover, and OSDs that do both at once.', 'No pg collector has given data.', 'none', [
      p.target('cephrisk:scrubbing_pgs{%(at)s}', 'PGs scrubbing'),
      p.target('cephrisk:recovering_osds{%(at)s}', 'OSDs recovering'),
      p.target('cephrisk:scrub_recovery_overlap_osds{%(at)s}', 'OSDs doing both'),
    ]) + p.colours({ 'PGs scrubbing': 'orange', 'OSDs recovering': 'blue', 'OSDs doing both': 'red' }) + p.to('recovery-overlap', 'Do scrubs collide with recovery?'),
    p.series('How slow are client operations while OSDs scrub', '99th percentile per host over 30 minutes, right within a factor of two; the ten slowest.', 'No client operation met a scrub in this time, or no exporter of the host role runs.', 's', [
      p.target('topk(10, cephrisk:host_op_latency_seconds:p99_30m{%(at)s, activity="scrub"} >= 0)', '{{hostname}} {{device_class}} {{op}}'),
    ]) + p.to('latency', 'Do scrubs slow clients down?'),
    p.series('How many uploads fail with 5xx', 'In 15 minutes, by gateway.', 'No gateway has an ops log that is read.', 'none', [
      p.target('cephrisk:rgw_upload_server_failures:increase15m{%(at)s}', '{{ceph_daemon}}'),
    ]) + p.to('uploads', 'Do S3 uploads succeed?'),
  ], [p.variables.pool])
