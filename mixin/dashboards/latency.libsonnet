function(config, p)
  local host = p.variables.host('cephrisk:host_ops:rate5m');
  local class = p.variables.class('cephrisk:op_latency_seconds_bucket:rate5m');
  local days = p.variables.choice('days', 'Compare with days ago', ['7', '1', '2', '14', '28']);
  local op = p.variables.choice('op', 'Operation', ['read', 'write', 'rw']);
  local activity = p.variables.choice('activity', 'Compare while OSDs do', ['scrub', 'none', 'recovery', 'scrub_recovery']);
  local buckets(more='', offset='') = 'cephrisk:op_latency_seconds_bucket:rate5m{%%(at)s, device_class=~"$class", op="$op"%s}%s' % [more, offset];
  // >= 0 leaves out what is no number: no operation in that time.
  local quantile(q, by, series) = 'histogram_quantile(%g, sum by (%sle) (%s)) >= 0' % [q, by, series];
  local mean(by, more='', offset='') = '(sum by (%(by)s) (cephrisk:host_op_seconds:rate5m{%(sel)s}%(offset)s) / sum by (%(by)s) (cephrisk:host_ops:rate5m{%(sel)s}%(offset)s)) >= 0' % {
    by: by,
    sel: '%(at)s, device_class=~"$class", hostname=~"$host", op="$op"' + more,
    offset: offset,
  };
  local byActivity(title, q, share) = p.series(
    title,
    '%s, by what the OSD was doing meanwhile (none: neither scrub nor recovery), over the whole cluster. Edges of the buckets double, so it is right within a factor of two.' % share,
    'No such operation in this time, or no exporter of the host role runs.',
    's',
    [p.target(quantile(q, 'activity, ', buckets()), '{{activity}}')],
    w=8,
  ) + p.activities;
  local before(q) = [
    p.target(quantile(q, '', buckets(', activity="$activity"')), 'now'),
    p.target(quantile(q, '', buckets(', activity="$activity"', ' offset ${days}d')), '$days days ago'),
  ];
  local compared = p.colours({ now: 'orange', '$days days ago': 'blue' }) + p.dashed('$days days ago');
  local nothing = 'No such operation in this time, and none $days days ago.';
  p.dashboard('latency', 'Ceph risk: do scrubs slow clients down?', 'Latency of client operations by what the OSDs were doing, against earlier days, beside versions and options.', [
    p.stat('Mean, nothing else', 'Of the chosen operation in the last five minutes, while the OSD neither scrubs nor recovers.', 'no operations', 's', [
      p.target('(sum(cephrisk:host_op_seconds:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="none"}) / sum(cephrisk:host_ops:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="none"})) >= 0'),
    ]),
    p.stat('Mean during scrubs', 'Of the chosen operation in the last five minutes, while the OSD scrubs.', 'none met a scrub', 's', [
      p.target('(sum(cephrisk:host_op_seconds:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="scrub"}) / sum(cephrisk:host_ops:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="scrub"})) >= 0'),
    ]),
    p.stat('Operations a second', 'Of the chosen kind, by what the OSD was doing.', 'no exporter of the host role', 'ops', [
      p.target('sum by (activity) (cephrisk:host_ops:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op"})', '{{activity}}'),
    ], w=16) + p.decimals(1),
    p.row('Whole cluster, whichever host is chosen'),
    byActivity('How slow is the median operation', 0.5, 'Half of the operations take longer (p50)'),
    byActivity('How slow is one in a hundred', 0.99, 'One in a hundred takes longer (p99)'),
    byActivity('How slow is one in a thousand', 0.999, 'One in a thousand takes longer (p999)'),
    p.series('Is p99 worse than $days days ago', 'One in a hundred takes longer; while OSDs do what is chosen above. The dashed line is the same hours that many days ago: an upgrade or a changed option shows as a gap between both. No dashed line: no data of that time.', nothing, 's', before(0.99)) + compared,
    p.series('Is p999 worse than $days days ago', 'One in a thousand takes longer; while OSDs do what is chosen above. The dashed line is the same hours that many days ago.', nothing, 's', before(0.999)) + compared,
    p.row('Chosen hosts'),
    p.series('How slow is the mean operation', 'By what the OSD was doing meanwhile. Means are exact.', 'No such operation in this time, or no exporter of the host role runs.', 's', [
      p.target(mean('activity'), '{{activity}}'),
    ]) + p.activities,
    p.series('Is the mean worse than $days days ago', 'While OSDs do what is chosen above; the dashed line is the same hours that many days ago.', nothing, 's', [
      p.target('(sum(cephrisk:host_op_seconds:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="$activity"}) / sum(cephrisk:host_ops:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="$activity"})) >= 0', 'now'),
      p.target('(sum(cephrisk:host_op_seconds:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="$activity"} offset ${days}d) / sum(cephrisk:host_ops:rate5m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="$activity"} offset ${days}d)) >= 0', '$days days ago'),
    ]) + compared,
    p.series('Which hosts are slowest while they scrub', 'p99 over 30 minutes by host, of the chosen operation; the ten slowest.', 'No client operation met a scrub in this time, or no exporter of the host role runs.', 's', [
      p.target('topk(10, cephrisk:host_op_latency_seconds:p99_30m{%(at)s, device_class=~"$class", hostname=~"$host", op="$op", activity="scrub"} >= 0)', '{{hostname}} {{device_class}}'),
    ]) + p.alerts(['CephRiskScrubSlowsClients']),
    p.series('Which OSDs are slowest while they scrub', 'Mean over 30 minutes by OSD, of the chosen operation; the ten slowest.', 'No client operation met a scrub in this time, or no exporter of the host role runs.', 's', [
      p.target('topk(10, cephrisk:osd_op_latency_seconds:mean_30m{%(at)s, op="$op", activity="scrub"} * on (%(cluster)s, ceph_daemon) group_left (hostname, device_class) cephrisk:osd_info{%(at)s, hostname=~"$host", device_class=~"$class"})', '{{ceph_daemon}} {{hostname}}'),
    ]) + p.alerts(['CephRiskScrubSlowsOSD']),
    p.row('What OSDs run with'),
    p.table('Which versions and schedulers run', 'OSDs by version, queue and mClock profile.', 'No exporter of the host role runs.', 'none', [
      p.target('sum by (ceph_version, release, op_queue, mclock_profile) (cephrisk:osd_running:osds{%(at)s})', instant=true),
    ], [
      { field: 'release', name: 'Release' },
      { field: 'ceph_version', name: 'Version' },
      { field: 'op_queue', name: 'Queue' },
      { field: 'mclock_profile', name: 'mClock profile' },
      { field: 'Value', name: 'OSDs', 'custom.width': 70 },
    ], w=8),
    p.table('Which options changed in the time shown', 'Options that had more than one value. On OSDs: at most at one time, with that value.', 'No option changed in the time shown.', 'none', [
      p.target('max_over_time(cephrisk:osd_running_option:osds{%(at)s}[$__range]) and on (%(cluster)s, option) count by (%(cluster)s, option) (max_over_time(cephrisk:osd_running_option:osds{%(at)s}[$__range])) > 1', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'option', name: 'Option' },
      { field: 'value', name: 'Value', 'custom.width': 100 },
      { field: 'Value', name: 'OSDs', 'custom.width': 70 },
    ], w=8),
    p.table('Which options are in force', 'Those that decide what scrub and recovery cost clients, by the number of OSDs that run with each value.', 'No exporter of the host role runs.', 'none', [
      p.target('sum by (option, value) (cephrisk:osd_running_option:osds{%(at)s})', instant=true),
    ], [
      { field: 'option', name: 'Option' },
      { field: 'value', name: 'Value', 'custom.width': 100 },
      { field: 'Value', name: 'OSDs', 'custom.width': 70 },
    ], w=8),
  ], [op, class, host, activity, days], [
    { name: 'Version or scheduler changed', colour: 'purple', expr: 'cephrisk:osd_running:osds{%(at)s} unless cephrisk:osd_running:osds{%(at)s} offset 10m and on (%(cluster)s) count by (%(cluster)s) (cephrisk:osd_running:osds{%(at)s} offset 10m)', text: '{{ceph_version}} {{op_queue}} {{mclock_profile}}' },
    { name: 'Option changed', colour: 'blue', expr: 'cephrisk:osd_running_option:osds{%(at)s} unless cephrisk:osd_running_option:osds{%(at)s} offset 10m and on (%(cluster)s) count by (%(cluster)s) (cephrisk:osd_running_option:osds{%(at)s} offset 10m)', text: '{{option}} = {{value}}' },
  ])
