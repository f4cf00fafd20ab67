// Latency of client operations by what OSDs are doing, and what OSDs run with.
function(config)
  local vars = config.windows { cluster: config.clusterLabel, selector: config.selector };
  [
    {
      // For quantiles of the whole cluster. Per host only quantiles are recorded:
      // buckets of every host would double the largest histogram there is.
      record: 'cephrisk:op_latency_seconds_bucket:rate5m',
      // Only quantiles are taken from it, which hardly move when a host is scraped twice.
      expr: 'sum by (%(cluster)s, device_class, op, activity, le) (rate(cephrisk_host_op_latency_seconds_bucket{%(selector)s}[%(5m)s]))' % vars,
    },
    {
      record: 'cephrisk:host_op_latency_seconds:p99_30m',
      expr: 'max by (%(cluster)s, hostname, device_class, op, activity) (histogram_quantile(0.99, rate(cephrisk_host_op_latency_seconds_bucket{%(selector)s}[%(30m)s])))' % vars,
    },
    {
      record: 'cephrisk:host_ops:increase30m',
      expr: 'max by (%(cluster)s, hostname, device_class, op, activity) (increase(cephrisk_host_op_latency_seconds_count{%(selector)s}[%(30m)s]))' % vars,
    },
    {
      record: 'cephrisk:host_op_seconds:rate5m',
      expr: 'max by (%(cluster)s, hostname, device_class, op, activity) (rate(cephrisk_host_op_latency_seconds_sum{%(selector)s}[%(5m)s]))' % vars,
    },
    {
      record: 'cephrisk:host_ops:rate5m',
      expr: 'max by (%(cluster)s, hostname, device_class, op, activity) (rate(cephrisk_host_op_latency_seconds_count{%(selector)s}[%(5m)s]))' % vars,
    },
    {
      // Two activities are compared per OSD; all of them would be the largest set of
      // series there is.
      record: 'cephrisk:osd_ops:increase30m',
      expr: 'max by (%(cluster)s, ceph_daemon, op, activity) (increase(cephrisk_osd_op_latency_seconds_count{%(selector)s, activity=~"none|scrub"}[%(30m)s]) > 0)' % vars,
    },
    {
      record: 'cephrisk:osd_op_latency_seconds:mean_30m',
      expr: 'max by (%(cluster)s, ceph_daemon, op, activity) (increase(cephrisk_osd_op_latency_seconds_sum{%(selector)s, activity=~"none|scrub"}[%(30m)s])) / cephrisk:osd_ops:increase30m' % vars,
    },
    {
      // OSDs that do it, on average.
      record: 'cephrisk:osd_activity_seconds:rate5m',
      expr: 'sum by (%(cluster)s, activity) (max by (%(cluster)s, ceph_daemon, activity) (rate(cephrisk_osd_activity_seconds_total{%(selector)s}[%(5m)s])))' % vars,
    },
    {
      record: 'cephrisk:osd_running:osds',
      expr: 'count by (%(cluster)s, ceph_version, release, op_queue, mclock_profile) (max by (%(cluster)s, ceph_daemon, ceph_version, release, op_queue, mclock_profile) (cephrisk_osd_running_info{%(selector)s}))' % vars,
    },
    {
      record: 'cephrisk:osd_running_option:osds',
      expr: 'sum by (%(cluster)s, option, value) (max by (%(cluster)s, hostname, option, value) (cephrisk_host_running_option_osds{%(selector)s}))' % vars,
    },
  ]
