// Uploads that fail in parts, and records that never reach the ops log.
local alert = import '../lib/alert.libsonnet';

function(config)
  local new(name, expr, summary, description) = alert.new(config, name, expr, summary, description, 'uploads');
  local at = alert.inCluster(config);
  [
    new(
      'CephRiskUploadPartsFail',
      function(c) |||
        cephrisk:rgw_part_server_failures:increase15m >= %(failures)g
        and cephrisk:rgw_part_server_failures:increase15m / (cephrisk:rgw_part_server_failures:increase15m + cephrisk:rgw_multipart_parts:increase15m) > %(ratio)g
      ||| % c,
      'Parts of uploads fail on {{ $labels.ceph_daemon }}' + at,
      'About {{ $value | humanize }} parts of multipart uploads have failed with 5xx on {{ $labels.ceph_daemon }} in 15 minutes, more than a share of <ratio> of all: their uploads cannot complete.'
    ),
    new(
      'CephRiskOpsLogMissesRequests',
      function(c) |||
        (cephrisk:rgw_own_puts:increase1h - cephrisk:rgw_put_requests:increase1h) > %(requests)g
        and (cephrisk:rgw_own_puts:increase1h - cephrisk:rgw_put_requests:increase1h) > %(ratio)g * cephrisk:rgw_own_puts:increase1h
        and cephrisk:rgw_ops_log_enabled == 1
      ||| % c,
      '{{ $labels.ceph_daemon }}' + at + ' does not log all of its uploads',
      'About {{ $value | humanize }} requests in an hour that {{ $labels.ceph_daemon }} counted itself are not in its ops log: RGW drops records when its backlog is full, and uploads among them are not counted.'
    ),
  ]
