// What scrubs cost clients, and where OSDs are heading.
local alert = import '../lib/alert.libsonnet';
local text = import '../lib/text.libsonnet';

function(config)
  local new(name, expr, summary, description, dashboard='osd-boot') = alert.new(config, name, expr, summary, description, dashboard);
  local at = alert.inCluster(config);
  local high = config.alerts.CephRiskOSDMetaHigh;
  local ahead = config.alerts.CephRiskOSDSlowBootAhead;
  local estimates(lead) = alert.list(config, 'cephrisk:osd_boot_estimate_seconds:fleet', ['ceph_daemon'], '{{ .Labels.shutdown }} {{ .Value | humanizeDuration }}', lead=lead, sort='shutdown');
  [
    new(
      'CephRiskOSDMetaHigh',
      function(c) 'cephrisk:osd_bluestore_meta_bytes > %(bytes)d > %(ratio)g * cephrisk:osd_size_bytes' % c,
      'META of {{ $labels.ceph_daemon }}' + at + ' is {{ $value | humanize1024 }}B',
      'The database of {{ $labels.ceph_daemon }} holds {{ $value | humanize1024 }}B without OMAP, more than a share of <ratio> of the OSD. The larger it is, the longer the OSD takes to boot.',
      'overview'
    ),
    new(
      'CephRiskBlueFSLogNotCompacted',
      function(c) 'cephrisk:osd_bluefs_log_bytes > %(bytes)d' % c,
      'The BlueFS log of {{ $labels.ceph_daemon }}' + at + ' has grown to {{ $value | humanize1024 }}B',
      'The BlueFS log of {{ $labels.ceph_daemon }} is {{ $value | humanize1024 }}B and is not compacted. The OSD replays it when it starts, and may not start at all: compact it before any restart.',
      'overview'
    ),
    new(
      'CephRiskBlueFSSpillover',
      function(c) 'cephrisk:osd_bluefs_slow_used_bytes > %(bytes)d' % c,
      'The database of {{ $labels.ceph_daemon }}' + at + ' has spilled over to its slow device',
      '{{ $value | humanize1024 }}B of the database of {{ $labels.ceph_daemon }} are on the main device, because its DB device was full.',
      'overview'
    ),
    new(
      'CephRiskOSDSlowBoot',
      function(c) 'cephrisk:osd_boot_duration_seconds > %(seconds)g' % c,
      '{{ $labels.ceph_daemon }}' + at + ' took {{ $value | humanizeDuration }} to boot',
      'The last boot of {{ $labels.ceph_daemon }} took {{ $value | humanizeDuration }} after a shutdown that was {{ $labels.shutdown }}; the next will take as long. Set noout before restarts.',
      'overview'
    ),
    new(
      'CephRiskScrubSlowsClients',
      function(c) |||
        cephrisk:host_op_latency_seconds:p99_30m{activity="scrub"} > %(seconds)g
        and cephrisk:host_op_latency_seconds:p99_30m{activity="scrub"} > ignoring (activity) group_left () (%(ratio)g * cephrisk:host_op_latency_seconds:p99_30m{activity="none"})
        and cephrisk:host_ops:increase30m >= %(ops)g
        and ignoring (activity) cephrisk:host_ops:increase30m{activity="none"} >= %(ops)g
      ||| % c,
      'Scrubs slow down {{ $labels.op }} on {{ $labels.device_class }} OSDs of {{ $labels.hostname }}' + at,
      'One {{ $labels.op }} in a hundred takes longer than {{ $value | humanizeDuration }} on {{ $labels.device_class }} OSDs of {{ $labels.hostname }} while they scrub, at least <ratio> times as long as on those that do not.',
      'overview'
    ),
    new(
      'CephRiskScrubSlowsOSD',
      function(c) |||
        cephrisk:osd_op_latency_seconds:mean_30m{activity="scrub"} > %(seconds)g
        > ignoring (activity) group_left () (%(ratio)g * cephrisk:osd_op_latency_seconds:mean_30m{activity="none"})
        and cephrisk:osd_ops:increase30m{activity="scrub"} >= %(ops)g
        and ignoring (activity) cephrisk:osd_ops:increase30m{activity="none"} >= %(ops)g
      ||| % c,
      'Scrubs slow down {{ $labels.op }} on {{ $labels.ceph_daemon }}' + at,
      'A {{ $labels.op }} takes {{ $value | humanizeDuration }} on average on {{ $labels.ceph_daemon }} while it scrubs, more than <ratio> times as long as while it does not.',
      'latency'
    ),
    new(
      'CephRiskScrubRecoveryOverlap',
      function(c) |||
        cephrisk:host_op_latency_seconds:p99_30m{activity="scrub_recovery"} > %(seconds)g
        and cephrisk:host_op_latency_seconds:p99_30m{activity="scrub_recovery"} > ignoring (activity) group_left () (%(ratio)g * cephrisk:host_op_latency_seconds:p99_30m{activity="none"})
        and cephrisk:host_ops:increase30m >= %(ops)g
        and ignoring (activity) cephrisk:host_ops:increase30m{activity="none"} >= %(ops)g
        and on (%(cluster)s) min_over_time(cephrisk:scrub_recovery_overlap_osds[%(window)s]) >= %(osds)g
      ||| % c,
      'Scrub and recovery together slow down {{ $labels.op }} on {{ $labels.device_class }} OSDs of {{ $labels.hostname }}' + at,
      'One {{ $labels.op }} in a hundred takes longer than {{ $value | humanizeDuration }} on {{ $labels.device_class }} OSDs of {{ $labels.hostname }} that scrub and recover at once, at least <ratio> times as long as on those that do neither.' + alert.list(config, 'cephrisk:scrub_recovery_overlap_osds', [], '{{ .Value }}', lead=' OSDs of the cluster that do both now: '),
      'recovery-overlap'
    ),
    new(
      'CephRiskOSDMetaGrowing',
      function(c) |||
        cephrisk:osd_bluestore_meta_bytes > %(growth)g * min_over_time(cephrisk:osd_bluestore_meta_bytes[%(window)s:%(every)s])
        and (
          predict_linear(cephrisk:osd_bluestore_meta_bytes[%(window)s:%(every)s], %(seconds)d) > clamp_min(%(ratio)g * cephrisk:osd_size_bytes, %(bytes)d)
          or predict_linear(cephrisk:osd_boot_estimate_seconds:worst[%(window)s:%(every)s], %(seconds)d) > %(boot)g
        )
        and %(enough)s
        unless cephrisk:osd_bluestore_meta_bytes > clamp_min(%(ratio)g * cephrisk:osd_size_bytes, %(bytes)d)
      ||| % (c {
               seconds: text.seconds(c.horizon),
               ratio: high.ratio,
               bytes: high.bytes,
               boot: ahead.seconds,
               enough: c.present('cephrisk:osd_bluestore_meta_bytes', c.window, c.every),
             }),
      'META of {{ $labels.ceph_daemon }}' + at + ' grows towards a slow boot',
      'The database of {{ $labels.ceph_daemon }} holds {{ $value | humanize1024 }}B without OMAP and has grown for <window>. At this pace META passes its limit, or its next boot becomes a slow one, within <horizon>.' + estimates(' Its next boot takes by now, after a shutdown that was: ')
    ),
    new(
      'CephRiskOSDSlowBootAhead',
      function(c) 'cephrisk:osd_boot_estimate_seconds:worst > %(seconds)g' % c,
      '{{ $labels.ceph_daemon }}' + at + ' will take {{ $value | humanizeDuration }} to boot',
      'By the boots seen so far and the size of its database, {{ $labels.ceph_daemon }} will take {{ $value | humanizeDuration }} to boot. Set noout before its restart, and compact it before that.' + estimates(' After a shutdown that was: ')
    ),
    new(
      'CephRiskOSDUnaccountedSpace',
      function(c) 'cephrisk:osd_bluestore_unaccounted_bytes > %(bytes)d > %(ratio)g * cephrisk:osd_size_bytes' % c,
      '{{ $value | humanize1024 }}B of {{ $labels.ceph_daemon }}' + at + ' are in use for nothing',
      '{{ $value | humanize1024 }}B of {{ $labels.ceph_daemon }} are allocated and belong neither to data, nor to OMAP, nor to META: space that the OSD has lost track of.'
    ),
  ]
