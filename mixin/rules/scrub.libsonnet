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
    r.gauge('pool_bytes_late', ['pool_id', 'level']),
    r.gauge('pool_oldest_scrub_timestamp_seconds', ['pool_id', 'level']),
    r.gauge('pool_scrub_warn_interval_seconds', ['pool_id', 'level']),
    r.gauge('pool_pgs_scrub_blocked', ['pool_id', 'level', 'reason']),
    r.gauge('pool_scrub_errors', ['pool_id', 'level']),
    r.gauge('pg_inconsistent', ['pool_id', 'pgid']),
  ]
  + held('pool_pgs_late') + held('pool_pgs_late_within') + held('pool_pgs_older') + held('pool_pgs_never_deep_scrubbed')
  + [
    {
      record: 'cephrisk:pg_last_deep_scrub_age_seconds:top',
      expr: 'topk by (%(cluster)s, pool_id) (%(top)d, max by (%(cluster)s, pool_id, pgid) (cephrisk_pg_last_deep_scrub_age_seconds{%(selector)s}))' % vars,
    },
    r.gauge('scrubs_running', ['pool_id', 'level', 'phase']),
    r.gauge('osd_scrubs_running', ['ceph_daemon', 'level', 'role']),
    r.gauge('osd_scrub_slots', ['ceph_daemon']),
    r.gauge('osd_late_pgs', ['ceph_daemon', 'level']),
    {
      record: 'cephrisk:osd_late_pgs:known',
      expr: 'cephrisk:osd_late_pgs unless on (%(cluster)s) sum by (%(cluster)s) (cephrisk:pool_pgs_unknown) > 0' % vars,
    },
    r.gauge('osd_recovering_pgs', ['ceph_daemon']),
    {
      record: 'cephrisk:recovering_osds',
      expr: 'sum by (%(cluster)s) (cephrisk:osd_recovering_pgs > bool 0)' % vars,
    },
    {
      record: 'cephrisk:scrubbing_pgs',
      expr: 'sum by (%(cluster)s) (cephrisk:scrubs_running)' % vars,
    },
    r.gauge('scrub_recovery_overlap_osds'),
    r.gauge('scrub_recovery_overlap_pgs', ['doing']),
    r.gauge('scrub_oldest_start_timestamp_seconds', ['pool_id', 'level']),
    r.gauge('scrub_stuck_pgs', ['pool_id']),
    r.rate('scrub_completions', '1h', ['pool_id', 'level']),
    r.rate('scrub_completions', '6h', ['pool_id', 'level']),
    r.rate('scrub_completions', '1d', ['pool_id', 'level']),
    r.rate('scrub_completed_bytes', '1h', ['pool_id', 'level']),
    r.rate('scrub_completed_bytes', '1d', ['pool_id', 'level']),
    r.rate('scrub_duration_seconds_bucket', '1d', ['pool_id', 'level', 'le'], ''),
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
    r.gauge('health_check_items', ['name']),
    r.gauge('health_check_muted', ['name']),
  ]
  + forecast(config)
