// S3 uploads, beside what alerts read.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);
  local vars = config.windows { cluster: config.clusterLabel, selector: config.selector };

  // Rate of a counter of a gateway, whose label instance_id changes with each of its
  // starts: the maximum over exporters, then the sum over starts.
  local rate(name, by=[]) = {
    record: 'cephrisk:%s:rate5m' % name,
    expr: 'sum by (%(by)s) (max by (%(by)s, instance_id) (rate(cephrisk_%(name)s_total{%(selector)s}[%(5m)s])))' % vars {
      name: name,
      by: std.join(', ', [config.clusterLabel, 'ceph_daemon'] + by),
    },
  };
  // Only quantiles are taken from these, which do not move when two exporters
  // count the same uploads.
  local buckets(name) = {
    record: 'cephrisk:%s_bucket:rate1h' % name,
    expr: 'sum by (%(cluster)s, kind, le) (rate(cephrisk_%(name)s_bucket{%(selector)s}[%(1h)s]))' % vars { name: name },
  };
  // The same over a longer time, as a number of requests, with some of the counter.
  local increase(name, record, window, matcher='') = {
    record: 'cephrisk:%s:increase%s' % [record, window],
    expr: 'sum by (%(cluster)s, ceph_daemon) (max by (%(cluster)s, ceph_daemon, instance_id) (increase(cephrisk_%(name)s_total{%(selector)s%(matcher)s}[%(window)s])))' % vars {
      name: name,
      matcher: matcher,
      window: config.windows[window],
    },
  };
  [
    increase('rgw_multipart_parts', 'rgw_multipart_parts', '15m'),
    increase('rgw_multipart_part_failures', 'rgw_part_server_failures', '15m', ', status_class="5xx"'),
    increase('rgw_own_puts', 'rgw_own_puts', '1h'),
    increase('rgw_put_requests', 'rgw_put_requests', '1h'),
    rate('rgw_uploads_completed', ['kind']),
    rate('rgw_upload_failures', ['kind', 'status_class']),
    rate('rgw_uploaded_bytes', ['kind']),
    rate('rgw_multipart_parts'),
    rate('rgw_part_bytes'),
    rate('rgw_multipart_part_failures', ['status_class']),
    rate('rgw_multipart_initiated'),
    rate('rgw_multipart_aborted'),
    rate('rgw_multipart_completions_repeated'),
    rate('rgw_put_requests'),
    rate('rgw_own_puts'),
    rate('rgw_ops_log_records'),
    rate('rgw_ops_log_junk_bytes'),
    buckets('rgw_upload_size_bytes'),
    buckets('rgw_upload_duration_seconds'),
    r.gauge('rgw_ops_log_enabled', ['ceph_daemon']),
    r.gauge('rgw_ops_log_lag_bytes', ['ceph_daemon']),
    r.gauge('rgw_ops_log_last_record_timestamp_seconds', ['ceph_daemon']),
    {
      record: 'cephrisk:rgw_multipart_oldest_open_timestamp_seconds',
      expr: 'min by (%(cluster)s) (cephrisk_rgw_multipart_oldest_open_timestamp_seconds{%(selector)s})' % vars,
    },
  ]
