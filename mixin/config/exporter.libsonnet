// The exporter itself.
{
  CephRiskClusterUnseen: {
    // Nobody watches the deadlines, but nothing has failed yet.
    severity: 'warning',
    // A restart, an upgrade or a fail-over of the mgr takes less.
    'for': '10m',
    // A cluster that was seen within this time is missed; one that was taken away on purpose is forgotten after it.
    window: '1d',
  },
  CephRiskExporterDown: {
    // The other one of a pair, or all other hosts, still answer.
    severity: 'warning',
    // Reboots of hosts take up to a quarter of an hour.
    'for': '20m',
  },
  CephRiskCollectorFailing: {
    severity: 'warning',
    // A mgr fail-over fails a few polls; the slowest collector polls every five minutes.
    window: '20m',
    'for': '5m',
  },
  CephRiskSnapshotStale: {
    severity: 'warning',
    // The exporter itself drops what is older than three intervals. Four is past that.
    intervals: 4,
    // What Prometheus sees lags by a scrape and an evaluation of the rules, which is long for a collector
    // that polls every ten seconds.
    lag: 120,
    'for': '5m',
  },
  CephRiskCephCommandsStuck: {
    severity: 'warning',
    // Share of the commands that may be stuck before the exporter refuses further ones.
    ratio: 0.5,
    'for': '15m',
  },
  CephRiskExporterBug: {
    // For the exporter's makers; nothing else is wrong.
    severity: 'info',
    'for': '0s',
    // One is too many.
    count: 0,
    keep_firing_for: '1h',
  },
}
