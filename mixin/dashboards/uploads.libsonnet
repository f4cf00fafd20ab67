function(config, p)
  local gateway = 'ceph_daemon=~"$gateway"';
  local rate(name, by='', more='') =
    local sum = if by == '' then 'sum' else 'sum by (%s) ' % by;
    '%s(cephrisk:%s:rate5m{%%(at)s, %s%s})' % [sum, name, gateway, more];
  local quantile(q, name) = 'histogram_quantile(%g, sum by (kind, le) (cephrisk:%s_bucket:rate1h{%%(at)s})) >= 0' % [q, name];
  local noGateway = 'No gateway has an ops log that is read (docs/rgw.md).';
  local partial = 'The logs of all gateways are not seen by one exporter, so open uploads are not known (docs/rgw.md, --rgw.view).';
  local kinds = p.colours({ put: 'green', multipart: 'blue', copy: 'purple', post: 'yellow' });
  p.dashboard('uploads', 'Ceph risk: do S3 uploads succeed?', 'Uploads that completed, each once, those that failed, and multipart uploads left open.', [
    p.stat('Uploads completed a second', 'Each once: a multipart upload is one, however many parts it has.', 'no gateway', 'ops', [
      p.target(rate('rgw_uploads_completed')),
    ]) + p.decimals(1),
    p.stat('Uploads failing with 5xx', 'Share of all that would have completed in the last five minutes.', 'no uploads', 'percentunit', [
      p.target('(%s / (%s + %s)) >= 0' % [rate('rgw_upload_failures', more=', status_class="5xx"'), rate('rgw_upload_failures', more=', status_class="5xx"'), rate('rgw_uploads_completed')]),
    ], p.above('orange', 0.001) + p.above('red', config.alerts.CephRiskUploadsFail.ratio)) + p.decimals(1),
    p.stat('Multipart uploads open', 'Initiated, and neither completed nor aborted.', 'view not complete', 'none', [
      p.target('sum(cephrisk:rgw_multipart_open{%(at)s})'),
    ]),
    p.stat('Of these abandoned', 'Open for longer than --rgw.abandoned-after. Their parts take space until somebody aborts them.', 'view not complete', 'none', [
      p.target('sum(cephrisk:rgw_multipart_abandoned{%(at)s})'),
    ], p.above('orange', config.alerts.CephRiskUploadsAbandoned.uploads)) + p.alerts(['CephRiskUploadsAbandoned']),
    p.stat('The oldest open one began', 'When it was initiated.', 'none is open', 'dateTimeFromNow', [
      p.target('1000 * min(cephrisk:rgw_multipart_oldest_open_timestamp_seconds{%(at)s})'),
    ]),
    p.stat('Gateways without an ops log', 'Their uploads are not counted.', 'no gateway asked', 'none', [
      p.target('sum(cephrisk:rgw_ops_log_enabled{%(at)s} == bool 0)'),
    ], p.above('orange', 1)),
    p.series('How many uploads complete', 'Each once, by kind.', noGateway, 'ops', [
      p.target(rate('rgw_uploads_completed', 'kind'), '{{kind}}'),
    ]) + p.stacked + kinds,
    p.series('What would a count of PUTs say', "RGW's own put counter counts every part as a put; uploads completed are what clients did.", noGateway, 'ops', [
      p.target(rate('rgw_uploads_completed'), 'uploads completed'),
      p.target(rate('rgw_multipart_parts'), 'parts'),
      p.target(rate('rgw_own_puts'), "RGW's own put counter"),
    ]) + p.colours({ 'uploads completed': 'green', parts: 'blue', "RGW's own put counter": 'orange' }),
    p.series('Which uploads fail', "Requests that would have completed an upload. 4xx are the clients' own, 5xx the cluster's.", noGateway, 'ops', [
      p.target(rate('rgw_upload_failures', 'status_class'), '{{status_class}}'),
    ]) + p.colours({ '5xx': 'red', '4xx': 'yellow' }) + p.softMax(0.1) + p.alerts(['CephRiskUploadsFail']),
    p.series('Which parts fail', 'Parts of multipart uploads, by class of the answer.', noGateway, 'ops', [
      p.target(rate('rgw_multipart_part_failures', 'status_class'), '{{status_class}}'),
    ]) + p.colours({ '5xx': 'red', '4xx': 'yellow' }) + p.softMax(0.1) + p.alerts(['CephRiskUploadPartsFail']),
    p.series('How much data arrives', 'Bytes of completed uploads by kind, and of parts where they landed, those sent again included.', noGateway, 'Bps', [
      p.target(rate('rgw_uploaded_bytes', 'kind'), 'completed, {{kind}}'),
      p.target(rate('rgw_part_bytes'), 'parts'),
    ]),
    p.series('How many multipart uploads are left open', 'Open and abandoned ones.', partial, 'none', [
      p.target('sum(cephrisk:rgw_multipart_open{%(at)s})', 'open'),
      p.target('sum(cephrisk:rgw_multipart_abandoned{%(at)s})', 'abandoned'),
    ]) + p.colours({ open: 'blue', abandoned: 'orange' }),
    p.series('How large are uploads', 'Half are smaller (p50), 99 in 100 are smaller (p99); over an hour, by kind, of all gateways.', 'No upload completed in the last hour, or no ops log is read.', 'decbytes', [
      p.target(quantile(0.5, 'rgw_upload_size_bytes'), 'p50 {{kind}}'),
      p.target(quantile(0.99, 'rgw_upload_size_bytes'), 'p99 {{kind}}'),
    ]) + p.logarithmic,
    p.series('How long do uploads take', 'A multipart upload from its initiation to the end of its completion; over an hour, by kind, of all gateways.', 'No upload completed in the last hour, or no ops log is read.', 's', [
      p.target(quantile(0.5, 'rgw_upload_duration_seconds'), 'p50 {{kind}}'),
      p.target(quantile(0.99, 'rgw_upload_duration_seconds'), 'p99 {{kind}}'),
    ]) + p.logarithmic,
    p.series('What becomes of multipart uploads', 'Initiated, aborted by clients, and completions that were reported again.', noGateway, 'ops', [
      p.target(rate('rgw_multipart_initiated'), 'initiated'),
      p.target(rate('rgw_uploads_completed', more=', kind="multipart"'), 'completed'),
      p.target(rate('rgw_multipart_aborted'), 'aborted'),
      p.target(rate('rgw_multipart_completions_repeated'), 'completed again'),
    ]) + p.colours({ initiated: 'blue', completed: 'green', aborted: 'orange', 'completed again': 'purple' }),
    p.series('Does the ops log lose records', "What RGW's own counter says minus what the log has; averaged over half an hour. Above 0 uploads go uncounted.", "No gateway's admin socket is asked.", 'ops', [
      p.target('clamp_min(avg_over_time((%s - %s)[30m:1m]), 0)' % [rate('rgw_own_puts', 'ceph_daemon'), rate('rgw_put_requests', 'ceph_daemon')], '{{ceph_daemon}}'),
    ]) + p.softMax(0.1) + p.alerts(['CephRiskOpsLogLosesRecords', 'CephRiskOpsLogMissesRequests']),
    p.table('Do all gateways log', 'Last record: a gateway without traffic has none that is new. Lag: bytes on disk that were not read.', noGateway, 'none', [
      p.target('max by (%(cluster)s, ceph_daemon) (cephrisk:rgw_ops_log_enabled{%(at)s, ' + gateway + '})', instant=true),
      p.target('1000 * max by (%(cluster)s, ceph_daemon) (cephrisk:rgw_ops_log_last_record_timestamp_seconds{%(at)s, ' + gateway + '})', instant=true),
      p.target('max by (%(cluster)s, ceph_daemon) (cephrisk:rgw_ops_log_lag_bytes{%(at)s, ' + gateway + '})', instant=true),
      p.target('sum by (%(cluster)s, ceph_daemon) (cephrisk:rgw_ops_log_records:rate5m{%(at)s, ' + gateway + '})', instant=true),
      p.target('3600 * sum by (%(cluster)s, ceph_daemon) (cephrisk:rgw_ops_log_junk_bytes:rate5m{%(at)s, ' + gateway + '})', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'ceph_daemon', name: 'Gateway' },
      { field: 'Value #A', name: 'Ops log', mappings: [{ type: 'value', options: { '0': { text: 'off', color: 'red', index: 0 }, '1': { text: 'on', color: 'green', index: 1 } } }], 'custom.cellOptions': { type: 'color-text' } },
      { field: 'Value #B', name: 'Last record', unit: 'dateTimeFromNow' },
      { field: 'Value #C', name: 'Lag', unit: 'decbytes' },
      { field: 'Value #D', name: 'Records', unit: 'ops', decimals: 1 },
      { field: 'Value #E', name: 'Junk an hour', unit: 'decbytes', decimals: 0 } + p.coloured(p.above('orange', 1), 'text'),
    ], w=24, h=6),
  ], [p.variables.gateway])
