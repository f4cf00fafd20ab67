// How long OSDs will take to boot, from the boots of all hosts: a host sees its own
// OSDs only, and a kind of shutdown that it never saw another one has.
function(config)
  local vars = { cluster: config.clusterLabel, selector: config.selector, kind: '%s, shutdown, release, allocation_file' % config.clusterLabel };

  // One per kind of boot. Hosts do not overlap; the maximum per exporter is for
  // those that are scraped twice.
  local fleet(aggregation, name) = {
    record: 'cephrisk:osd_boots_seen%s:fleet' % name,
    expr: '%s by (%s) (max by (%s, instance) (cephrisk_osd_boots_seen%s{%s}))' % [aggregation, vars.kind, vars.kind, name, config.selector],
  };
  local seen(name='') = 'cephrisk:osd_boots_seen%s:fleet' % name;
  local sums = { n: seen(), y: seen('_seconds'), x: seen('_bytes'), xx: seen('_bytes_squared'), xy: seen('_byte_seconds'), min: seen('_smallest_bytes'), max: seen('_largest_bytes') };
  [
    fleet('sum', ''),
    fleet('sum', '_seconds'),
    fleet('sum', '_bytes'),
    fleet('sum', '_bytes_squared'),
    fleet('sum', '_byte_seconds'),
    fleet('min', '_smallest_bytes'),
    fleet('max', '_largest_bytes'),
    // The slope of a straight line; not below 0, and not believed before there are
    // three boots, of databases that differ by half.
    {
      record: 'cephrisk:osd_boot_seconds_per_byte:free',
      expr: |||
        ((%(xy)s - %(x)s * %(y)s / %(n)s) / (%(xx)s - %(x)s * %(x)s / %(n)s) > 0
        and %(n)s >= 3 and %(max)s >= 1.5 * %(min)s and %(xx)s - %(x)s * %(x)s / %(n)s > 0)
        or 0 * %(n)s
      ||| % sums,
    },
    // Where that line would begin below 0, the one through 0.
    {
      record: 'cephrisk:osd_boot_seconds_per_byte:fleet',
      expr: |||
        (%(xy)s / %(xx)s and cephrisk:osd_boot_seconds_per_byte:free * %(x)s > %(y)s)
        or cephrisk:osd_boot_seconds_per_byte:free
      ||| % sums,
    },
    {
      record: 'cephrisk:osd_boot_base_seconds:fleet',
      expr: |||
        (0 * %(n)s and cephrisk:osd_boot_seconds_per_byte:free * %(x)s > %(y)s)
        or (%(y)s - cephrisk:osd_boot_seconds_per_byte:free * %(x)s) / %(n)s
      ||| % sums,
    },
    {
      record: 'cephrisk:osd_boot_estimate_bytes',
      expr: 'topk by (%(cluster)s, ceph_daemon, shutdown) (1, max by (%(kind)s, ceph_daemon) (cephrisk_osd_boot_estimate_bytes{%(selector)s}))' % vars,
    },
    {
      record: 'cephrisk:osd_boot_estimate_seconds:fleet',
      expr: |||
        max by (%(cluster)s, ceph_daemon, shutdown) (
          cephrisk:osd_boot_estimate_bytes * on (%(kind)s) group_left () cephrisk:osd_boot_seconds_per_byte:fleet
          + on (%(kind)s) group_left () cephrisk:osd_boot_base_seconds:fleet
        )
      ||| % vars,
    },
    {
      record: 'cephrisk:osd_boot_estimate_observations:fleet',
      expr: |||
        max by (%(cluster)s, ceph_daemon, shutdown) (
          0 * cephrisk:osd_boot_estimate_bytes + on (%(kind)s) group_left () cephrisk:osd_boots_seen:fleet
        )
      ||| % vars,
    },
    {
      // Of the kinds of shutdown, the one with the longest boot, where enough were seen.
      record: 'cephrisk:osd_boot_estimate_seconds:worst',
      expr: 'max by (%(cluster)s, ceph_daemon) (cephrisk:osd_boot_estimate_seconds:fleet and cephrisk:osd_boot_estimate_observations:fleet >= %(boots)g)' % (vars { boots: config.alerts.CephRiskOSDSlowBootAhead.boots }),
    },
  ]
