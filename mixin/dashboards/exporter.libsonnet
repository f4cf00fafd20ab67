function(config, p)
  p.dashboard('exporter', 'Ceph risk: does the exporter see everything?', 'What exporters say about themselves.', [
    p.stat('Exporters that answer', 'Of all in the scrape configuration.', 'no exporter', 'none', [
      p.target('sum(cephrisk:exporter_up{%(at)s, job=~"$job"})'),
    ]),
    p.stat('Exporters that do not', 'Down, or not reachable for Prometheus.', 'no exporter', 'none', [
      p.target('sum(cephrisk:exporter_up{%(at)s, job=~"$job"} == bool 0)'),
    ], p.above('red', 1)) + p.alerts(['CephRiskExporterDown']),
    p.stat('Clusters seen', 'Clusters about which an exporter gives data now.', 'none', 'none', [
      p.target('count(cephrisk:cluster_info{%(at)s})'),
    ]) + p.alerts(['CephRiskClusterUnseen']),
    p.table('Which collectors fail', 'Collectors whose last poll failed: what they watch goes unseen.', 'All collectors succeed.', 'none', [
      p.target('cephrisk:collector_success{%(at)s} == 0', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'collector', name: 'Collector' },
      { field: 'instance', name: 'Instance' },
    ], hide=['Value'], w=12, h=4) + p.alerts(['CephRiskCollectorFailing']),
    p.table('Which exporters are there', 'All of the scrape configuration, with their job.', 'Prometheus scrapes no exporter.', 'none', [
      p.target('cephrisk:exporter_up{%(at)s, job=~"$job"}', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'job', name: 'Job' },
      { field: 'instance', name: 'Instance' },
      { field: 'Value', name: 'Answers', 'custom.cellOptions': { type: 'color-text' }, mappings: [{ type: 'value', options: { '0': { text: 'no', color: 'red', index: 0 }, '1': { text: 'yes', color: 'green', index: 1 } } }] },
    ]),
    p.series('How long do polls take', 'Wall time of the last poll.', 'Prometheus scrapes no exporter.', 's', [
      p.target('cephrisk:collector_duration_seconds{%(at)s}', '{{collector}} {{instance}}'),
    ]),
    p.series('How old are results', 'Time since the last successful poll, as Prometheus sees it: up to a scrape and an evaluation of the rules more than it is. Results older than three intervals are dropped.', 'Prometheus scrapes no exporter.', 's', [
      p.target('time() - cephrisk:collector_last_success_timestamp_seconds{%(at)s}', '{{collector}} {{instance}}'),
    ]) + p.alerts(['CephRiskSnapshotStale']),
    p.series('Do commands hang inside librados', 'Share of the commands that may hang before the exporter refuses further ones.', 'No exporter asks Ceph: only host roles, or none.', 'percentunit', [
      p.target('cephrisk:ceph_commands_stuck:ratio{%(at)s}', '{{instance}}'),
    ]) + p.max(1) + p.alerts(['CephRiskCephCommandsStuck']),
    p.series('Has the exporter met bugs of its own', 'Polls that panicked and samples dropped, in an hour.', 'Prometheus scrapes no exporter.', 'none', [
      p.target('cephrisk:exporter_bugs:increase1h{%(at)s}', '{{collector}} {{instance}}'),
    ], w=24, h=6) + p.alerts(['CephRiskExporterBug']),
  ])
