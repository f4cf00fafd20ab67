// What the exporters say about themselves. Collectors of the cluster role count
// once per cluster, however many exporters watch it; those of the host role once
// per exporter.
function(config)
  local by = 'max by (%s, collector) (%%(metric)s{%s, collector=~"%s"})' % [config.clusterLabel, config.selector, config.clusterCollectors];
  local byHost = 'max by (%s, instance, collector) (%%(metric)s{%s, collector!~"%s"})' % [config.clusterLabel, config.selector, config.clusterCollectors];
  local both(name) = {
    record: 'cephrisk:' + name,
    expr: (by + ' or ' + byHost) % { metric: 'cephrisk_' + name },
  };
  [
    both('collector_success'),
    both('collector_last_success_timestamp_seconds'),
    both('collector_interval_seconds'),
    both('collector_duration_seconds'),
    {
      record: 'cephrisk:exporter_up',
      expr: 'max by (%s, job, instance) (up{%s})' % [config.clusterLabel, config.selector],
    },
    {
      record: 'cephrisk:exporter_bugs:increase1h',
      expr: |||
        max by (%(cluster)s, instance, collector) (
          increase(cephrisk_collector_panics_total{%(selector)s}[%(1h)s]) + increase(cephrisk_collector_dropped_samples_total{%(selector)s}[%(1h)s])
        )
      ||| % (config.windows { cluster: config.clusterLabel, selector: config.selector }),
    },
    {
      record: 'cephrisk:ceph_commands_stuck:ratio',
      expr: 'max by (%(cluster)s, instance) (cephrisk_ceph_commands_stuck{%(selector)s} / cephrisk_ceph_commands_stuck_limit{%(selector)s})' % { cluster: config.clusterLabel, selector: config.selector },
    },
  ]
