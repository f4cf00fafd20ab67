// Scrub age, lateness, running scrubs, flags and options, from the pg collector.
local record = import '../lib/record.libsonnet';
local forecast = import 'forecast.libsonnet';

function(config)
  local r = record.new(config);
  local vars = { cluster: config.clusterLabel, hold: config.hold, top: config.worstPGs, selector: config.selector };

  local held(name) = record.held(config, name);
  [
    r.info('cluster_info', [], ['fsid', 'release']),
    r.info('pool_info', ['pool_id'], ['name', 'type']),
    r.gauge('pool_pgs', ['pool_id']),
    r.gauge('pool_pgs_unknown', ['pool_id']),
    r.gauge('pool_pgs_late', ['pool_id', 'level']),
    r.gauge('pool_pgs_late_by_osd_interval', ['pool_id', 'level']),
    r.gauge('pool_pgs_late_within', ['pool_id', 'level', 'horizon']),
    r.gauge('pool_pgs_older', ['pool_id', 'level', 'intervals']),
    r.gauge('pool_pgs_never_deep_scrubbed', ['pool_id']),
    r.gauge('pool_pgs_scrub_blocked', ['pool_id', 'level', 'reason']),
    r.gauge('pool_scrub_errors', ['pool_id', 'level']),
    r.gauge('pg_inconsistent', ['pool_id', 'pgid']),
  ]
  + held('pool_pgs_late') + held('pool_pgs_late_within') + held('pool_pgs_older') + held('pool_pgs_never_deep_scrubbed')
  + [
    {
      // Two exporters may name different ones.
      record: 'cephrisk:pg_worst_scrub_age_seconds',
      expr: 'topk by (%(cluster)s, pool_id, level) (%(top)d, max by (%(cluster)s, pool_id, level, pgid) (cephrisk_pg_worst_scrub_age_seconds{%(selector)s}))' % vars,
    },
    r.info('pg_worst_scrub_blocked', ['pool_id', 'level', 'pgid'], ['reason']),
    r.gauge('scrubs_running', ['pool_id', 'level', 'phase']),
    r.gauge('scrub_recovery_overlap_osds'),
    r.some('osd_recovering_pgs', ['ceph_daemon']),
    {
      record: 'cephrisk:recovering_osds',
      expr: 'count by (%(cluster)s) (cephrisk:osd_recovering_pgs) or 0 * cephrisk:scrub_recovery_overlap_osds' % vars,
    },
    {
      record: 'cephrisk:scrubbing_pgs',
      expr: 'sum by (%(cluster)s) (cephrisk:scrubs_running)' % vars,
    },
    r.gauge('scrub_recovery_overlap_pgs', ['doing']),
    r.gauge('scrub_oldest_start_timestamp_seconds', ['pool_id', 'level']),
    r.gauge('scrub_stuck_pgs', ['pool_id']),
    r.rate('scrub_completions', '6h', ['pool_id', 'level']),
    r.rate('scrub_completions', '1d', ['pool_id', 'level']),
    r.rate('scrub_completed_bytes', '1h', ['pool_id', 'level']),
    r.rate('scrub_completed_bytes', '1d', ['pool_id', 'level']),
    {
      // A deep scrub renews the shallow stamp too.
      record: 'cephrisk:scrub_renewals:rate1d',
      expr: |||
        cephrisk:scrub_completions:rate1d{level="deep"}
        or label_replace(sum by (%(cluster)s, pool_id) (cephrisk:scrub_completions:rate1d), "level", "shallow", "", "")
      ||| % vars,
    },
    r.gauge('cluster_flag', ['flag']),
    {
      // While the mgr hangs nobody knows the flags; they are hardly unset then.
      record: 'cephrisk:cluster_flag:held',
      expr: 'last_over_time(cephrisk:cluster_flag[%(hold)s])' % vars,
    },
    r.gauge('pool_flag', ['pool_id', 'flag']),
    r.gauge('scrub_option', ['option', 'who']),
    r.gauge('scrub_option_osds', ['option', 'value']),
    r.gauge('scrub_option_mgr', ['option']),
    r.gauge('scrub_option_mismatch_osds', ['option']),
    r.gauge('health_check_muted', ['name']),
  ]
  + forecast(config)
