function(config, p)
  local class = p.variables.class('cephrisk:op_latency_seconds_bucket:rate5m');
  local quantile(op) = 'histogram_quantile(0.99, sum by (activity, le) (cephrisk:op_latency_seconds_bucket:rate5m{%%(at)s, device_class=~"$class", op="%s"})) >= 0' % op;
  local options = 'osd_scrub_during_recovery|osd_max_scrubs|osd_max_backfills|osd_recovery_max_active.*|osd_recovery_sleep.*|osd_scrub_sleep|osd_mclock_override_recovery_settings';
  local slow(op) = p.series('How slow is one %s in a hundred' % op, 'p99 by what the OSD was doing meanwhile, right within a factor of two. none: neither scrub nor recovery; scrub_recovery: both at once.', 'No client operation in this time, or no exporter of the host role runs.', 's', [
    p.target(quantile(op), '{{activity}}'),
  ]) + p.activities;
  p.dashboard('recovery-overlap', 'Ceph risk: do scrubs collide with recovery?', 'OSDs that scrub and recover at once, what it costs clients, and which scrubs recovery holds up.', [
    p.stat('OSDs doing both now', 'They take part in a scrub and in a recovery or backfill.', 'no data', 'none', [
      p.target('sum(cephrisk:scrub_recovery_overlap_osds{%(at)s})'),
    ], p.above('orange', 1)),
    p.stat('OSDs recovering now', 'They take part in a recovery or backfill that moves; those that wait do not count.', 'no data', 'none', [
      p.target('sum(cephrisk:recovering_osds{%(at)s})'),
    ]),
    p.stat('PGs scrubbing now', 'Of all pools, reserving ones included.', 'no data', 'none', [
      p.target('sum(cephrisk:scrubbing_pgs{%(at)s})'),
    ]),
    p.stat('Late PGs that recovery holds up', 'PGs late for a deep scrub, or for a shallow one where these are more, that are not clean, or whose primary recovers while osd_scrub_during_recovery is off.', 'no data', 'none', [
      p.target('max(sum by (level) (cephrisk:pool_pgs_scrub_blocked{%(at)s, reason=~"not_clean|recovery"}))'),
    ], p.above('orange', 1), w=5) + p.to('scrub-deadlines', 'Will scrubs be in time?'),
    p.stat('OSDs that may scrub while they recover', 'osd_scrub_during_recovery is on.', 'no data', 'none', [
      p.target('sum(cephrisk:osd_running_option:osds{%(at)s, option="osd_scrub_during_recovery", value="1"}) or sum(0 * cephrisk:osd_running_option:osds{%(at)s, option="osd_scrub_during_recovery"})'),
    ], w=7),
    p.series('How many OSDs do both', 'OSDs that recover, and those of them that take part in a scrub, too.', 'No pg collector has given data.', 'none', [
      p.target('cephrisk:recovering_osds{%(at)s}', 'recovering'),
      p.target('cephrisk:scrub_recovery_overlap_osds{%(at)s}', 'recovering and scrubbing'),
    ]) + p.colours({ recovering: 'blue', 'recovering and scrubbing': 'red' }) + p.alerts(['CephRiskScrubRecoveryOverlap']),
    p.series('What do the PGs on those OSDs do', 'PGs at work on OSDs that do both; each counts once.', 'No pg collector has given data.', 'none', [
      p.target('sum by (doing) (cephrisk:scrub_recovery_overlap_pgs{%(at)s})', '{{doing}}'),
    ]) + p.stacked + p.colours({ scrub: 'orange', recovery: 'blue', both: 'red' }),
    slow('read'),
    slow('write'),
    p.series('What do OSDs spend their time on', 'How many OSDs do what, on average over five minutes. other: deletion of PGs that moved away.', 'No exporter of the host role runs.', 'none', [
      p.target('sum by (activity) (cephrisk:osd_activity_seconds:rate5m{%(at)s})', '{{activity}}'),
    ]) + p.stacked + p.activities + p.decimals(1),
    p.table('Which OSDs do both now', 'PGs that recover on the OSD while it scrubs.', 'No OSD scrubs and recovers at once.', 'none', [
      p.target('sort_desc((cephrisk:osd_recovering_pgs{%(at)s} > 0) and on (%(cluster)s, ceph_daemon) sum by (%(cluster)s, ceph_daemon) (cephrisk:osd_scrubs_running{%(at)s}) > 0) * on (%(cluster)s, ceph_daemon) group_left (hostname, device_class) cephrisk:osd_info', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'ceph_daemon', name: 'OSD' },
      { field: 'hostname', name: 'Host' },
      { field: 'device_class', name: 'Class' },
      { field: 'Value', name: 'PGs recovering' },
    ]),
    p.series('Which late PGs does recovery hold up', 'not_clean: the PG itself recovers or waits to. recovery: its primary recovers another PG.', 'No pg collector has given data.', 'none', [
      p.target('sum by (level, reason) (cephrisk:pool_pgs_scrub_blocked{%(at)s, reason=~"not_clean|recovery"})', '{{level}} {{reason}}'),
    ]) + p.stacked,
    p.table('Which options decide', 'By the number of OSDs that run with each value. Under mClock sleeps are 0 and limits of recovery its own.', 'No exporter of the host role runs.', 'none', [
      p.target('sum by (option, value) (cephrisk:osd_running_option:osds{%(at)s, option=~"' + options + '"})', instant=true),
    ], [
      { field: 'option', name: 'Option' },
      { field: 'value', name: 'Value', 'custom.width': 100 },
      { field: 'Value', name: 'OSDs', 'custom.width': 70 },
    ]),
  ], [class])
