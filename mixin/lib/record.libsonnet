// Recorded series. Each takes the maximum over the exporters of a cluster first, so
// that a pair of them counts once and joins find one series.
{
  new(config):: {
    local labels(list) = std.join(', ', [config.clusterLabel] + list),

    // One gauge as it is.
    gauge(name, by=[]):: {
      record: 'cephrisk:' + name,
      expr: 'max by (%s) (cephrisk_%s{%s})' % [labels(by), name, config.selector],
    },

    // The same where it is above 0, for gauges that are 0 on most of many OSDs.
    some(name, by=[]):: {
      record: 'cephrisk:' + name,
      expr: 'max by (%s) (cephrisk_%s{%s} > 0)' % [labels(by), name, config.selector],
    },

    // An info series: exactly one per set of `key` labels, even in the minute in
    // which two exporters disagree about the rest.
    info(name, key, rest):: {
      record: 'cephrisk:' + name,
      expr: 'topk by (%s) (1, max by (%s) (cephrisk_%s{%s}))' % [labels(key), labels(key + rest), name, config.selector],
    },

    // Rate of a counter: taken per exporter, then the maximum.
    rate(name, window, by=[]):: {
      record: 'cephrisk:%s:rate%s' % [name, window],
      expr: 'max by (%s) (rate(cephrisk_%s_total{%s}[%s]))' % [labels(by), name, config.selector, config.windows[window]],
    },
  },

  // While the mgr does not know all PGs of a pool, as after a fail-over, counts
  // fall for no reason: the last count with all PGs known stands in for a while.
  held(config, name):: [
    {
      record: 'cephrisk:%s:known' % name,
      expr: 'cephrisk:%s unless on (%s, pool_id) cephrisk:pool_pgs_unknown > 0' % [name, config.clusterLabel],
    },
    {
      record: 'cephrisk:%s:held' % name,
      expr: 'last_over_time(cephrisk:%s:known[%s]) or cephrisk:%s' % [name, config.hold, name],
    },
  ],
}
