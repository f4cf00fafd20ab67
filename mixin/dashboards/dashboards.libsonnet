local panels = import '../lib/panels.libsonnet';

function(config)
  local p = panels(config);
  local red(value) = [{ color: 'red', value: value }];
  local orange(value) = [{ color: 'orange', value: value }];
  local poolName = ' * on (%(cluster)s, pool_id) group_left (name) cephrisk:pool_info';
  local late = p.stat('PGs late now', "PGs past the deadline of their scrub by Ceph's own rule. Held for an hour while PGs are unknown.", 'none', [p.target('sum by (level) (cephrisk:pool_pgs_late:held{%(at)s})', '{{level}}')], orange(1));
  {
    'overview.json': p.dashboard('overview', 'Ceph risk: is anything at risk?', 'The risks at a glance; each has a dashboard or an alert of its own.', [
      late,
      p.stat('PGs inconsistent', 'PGs in which a scrub found copies that differ.', 'none', [p.target('sum(cephrisk:pg_inconsistent{%(at)s}) or vector(0)')], red(1)),
      p.stat('Scrub flags set', 'noscrub and nodeep-scrub of the whole cluster.', 'none', [p.target('sum(cephrisk:cluster_flag{%(at)s, flag=~"noscrub|nodeep-scrub"})')], orange(1)),
      p.stat('Scrubs without progress', 'PGs in state scrubbing without progress for --collector.pg.stuck-after.', 'none', [p.target('sum(cephrisk:scrub_stuck_pgs{%(at)s})')], orange(1)),
      p.stat('OSDs down', 'OSDs that Ceph counts as down.', 'none', [p.target('count(cephrisk:osd_up{%(at)s} == 0) or vector(0)')], orange(1)),
      p.stat('Collectors failing', 'Collectors whose last poll failed, in all exporters that run them.', 'none', [p.target('count(cephrisk:collector_success{%(at)s} == 0) or vector(0)')], orange(1)),
      p.series('How many PGs are late', 'Late PGs by pool and level. Ceph warns from the first.', 'none', [p.target('cephrisk:pool_pgs_late:held{%(at)s}' + poolName, '{{name}} {{level}}')]),
      p.series('What runs: scrubs and recovery', 'PGs in state scrubbing, OSDs that recover, and OSDs that do both at once.', 'none', [
        p.target('cephrisk:scrubbing_pgs{%(at)s}', 'PGs scrubbing'),
        p.target('cephrisk:recovering_osds{%(at)s}', 'OSDs recovering'),
        p.target('cephrisk:scrub_recovery_overlap_osds{%(at)s}', 'OSDs doing both'),
      ]),
      p.table('OSDs with the most META', 'Bytes of the database without OMAP. The more, the longer the OSD takes to boot.', 'bytes', [p.target('topk(10, cephrisk:osd_bluestore_meta_bytes{%(at)s})', instant=true)]),
      p.series('Uploads failing with 5xx', 'In 15 minutes, by gateway. Empty without a gateway whose ops log is read.', 'none', [p.target('cephrisk:rgw_upload_server_failures:increase15m{%(at)s}', '{{ceph_daemon}}')]),
      p.series('Slowest client operations while OSDs scrub', '99th percentile per host over 30 minutes, right within a factor of two. Empty without exporters of the host role, and while nothing scrubs.', 's', [p.target('topk(10, cephrisk:host_op_latency_seconds:p99_30m{%(at)s, activity="scrub"})', '{{hostname}} {{device_class}} {{op}}')]),
      p.table('Shelf and array parts that have failed', 'Parts that a shelf calls critical or unrecoverable, or an array degraded or at fault. Empty when all are well, and without shelves.', 'none', [p.target('cephrisk:enclosure_element_failed{%(at)s} == 1 or cephrisk:msa_unhealthy{%(at)s} == 1', instant=true)]),
    ]),
    'scrub-deadlines.json': p.dashboard('scrub-deadlines', 'Ceph risk: will scrubs be in time?', 'Late PGs now and soon, what keeps them, and the rate achieved.', [
      late,
      p.stat('Late within 3 days, if nothing is scrubbed', 'Late ones included.', 'none', [p.target('sum by (level) (cephrisk:pool_pgs_late_within:held{%(at)s, horizon="3d"})', '{{level}}')], w=5),
      p.stat('Deep scrubs completed a day', 'At the rate of the last day.', 'none', [p.target('86400 * sum(cephrisk:scrub_completions:rate1d{%(at)s, level="deep"})')], w=5),
      p.stat('PGs unknown to the mgr', 'PGs without a report, as after a mgr fail-over; they are not judged.', 'none', [p.target('sum(cephrisk:pool_pgs_unknown{%(at)s})')], orange(1), w=5),
      p.stat('OSDs with another interval than the mgr', "Ceph's warning then counts by a rule that OSDs do not follow.", 'none', [p.target('max(cephrisk:scrub_option_mismatch_osds{%(at)s})')], orange(1), w=5),
      p.series('How many PGs are late', 'By pool and level.', 'none', [p.target('cephrisk:pool_pgs_late:held{%(at)s}' + poolName, '{{name}} {{level}}')]),
      p.series('How old are deep scrubs', 'PGs older than each multiple of their own interval. Ceph warns at 1.75.', 'none', [p.target('sum by (intervals) (cephrisk:pool_pgs_older:held{%(at)s, level="deep"})', 'older than {{intervals}} intervals')]),
      p.series('What keeps late PGs from scrubbing', 'Late PGs that cannot be scrubbed now, by the first reason that applies. All 0 when none is late or nothing keeps them.', 'none', [p.target('sum by (level, reason) (cephrisk:pool_pgs_scrub_blocked{%(at)s})', '{{level}} {{reason}}')]),
      p.series('How many become late, if nothing is scrubbed', 'PGs late after that time, all pools.', 'none', [p.target('sum by (level, horizon) (cephrisk:pool_pgs_late_within:held{%(at)s})', '{{level}} in {{horizon}}')]),
      p.series('Bytes deep-scrubbed per second', 'Data of completed deep scrubs, by pool.', 'Bps', [p.target('cephrisk:scrub_completed_bytes:rate1h{%(at)s, level="deep"}' + poolName, '{{name}}')]),
      p.series('Which scrubs run', 'PGs in state scrubbing; reserving ones wait for their replicas.', 'none', [p.target('sum by (level, phase) (cephrisk:scrubs_running{%(at)s})', '{{level}} {{phase}}')]),
      p.table('PGs longest without deep scrub', 'The worst of each pool.', 's', [p.target('sort_desc(cephrisk:pg_last_deep_scrub_age_seconds:top{%(at)s})', instant=true)]),
      p.table('Primaries with the most late PGs', 'The OSD has to begin these scrubs. One that stands out starves them.', 'none', [p.target('topk(10, cephrisk:osd_late_pgs{%(at)s} > 0)', instant=true)]),
    ]),
    'exporter.json': p.dashboard('exporter', 'Ceph risk: does the exporter see everything?', 'What exporters say about themselves.', [
      p.stat('Exporters that answer', 'Of all in the scrape configuration.', 'none', [p.target('sum(cephrisk:exporter_up{%(at)s})')]),
      p.stat('Exporters that do not', 'Down, or not reachable for Prometheus.', 'none', [p.target('count(cephrisk:exporter_up{%(at)s} == 0) or vector(0)')], orange(1)),
      p.table('Collectors that fail', 'Collectors whose last poll failed. Empty when all succeed.', 'none', [p.target('cephrisk:collector_success{%(at)s} == 0', instant=true)], w=16, h=4),
      p.series('How long polls take', 'Wall time of the last poll.', 's', [p.target('cephrisk:collector_duration_seconds{%(at)s}', '{{collector}} {{instance}}')]),
      p.series('How old results are', 'Time since the last successful poll. Results older than three intervals are dropped.', 's', [p.target('time() - cephrisk:collector_last_success_timestamp_seconds{%(at)s}', '{{collector}} {{instance}}')]),
    ]),
  }
