local alert = import '../lib/alert.libsonnet';

function(config)
  local new(name, expr, summary, description) = alert.new(config, name, expr, summary, description, 'exporter');
  local at = alert.inCluster(config);
  [
    new(
      'CephRiskClusterUnseen',
      function(c) 'count by (%(cluster)s) (last_over_time(cephrisk:cluster_info[%(window)s])) unless on (%(cluster)s) cephrisk:cluster_info' % c,
      'No exporter sees Ceph' + at,
      'No ceph_risk_exporter has given data about Ceph' + at + ' for <for>: late scrubs, flags and damaged PGs go unseen. Either all exporters are down or none gets an answer from mon and mgr.'
    ),
    new(
      'CephRiskExporterDown',
      function(c) 'cephrisk:exporter_up == 0' % c,
      'ceph_risk_exporter {{ $labels.instance }} does not answer' + at,
      'Prometheus cannot scrape {{ $labels.instance }} (job {{ $labels.job }}).'
    ),
    new(
      'CephRiskCollectorFailing',
      function(c) 'max_over_time(cephrisk:collector_success[%(window)s]) == 0' % c,
      'Collector {{ $labels.collector }} fails{{ with $labels.instance }} on {{ . }}{{ end }}' + at,
      'No poll of the collector {{ $labels.collector }} has succeeded{{ with $labels.instance }} on {{ . }}{{ end }} for <window>; its series are gone, and alerts on them are blind. The exporter logs the reason.'
    ),
    new(
      'CephRiskSnapshotStale',
      function(c) 'time() - cephrisk:collector_last_success_timestamp_seconds > %(intervals)g * cephrisk:collector_interval_seconds + %(lag)g and cephrisk:collector_success == 1' % c,
      'Collector {{ $labels.collector }} has been polling for long{{ with $labels.instance }} on {{ . }}{{ end }}' + at,
      'The last result of the collector {{ $labels.collector }}{{ with $labels.instance }} on {{ . }}{{ end }} is {{ $value | humanizeDuration }} old, many times its interval: a poll hangs. Its series are gone, and alerts on them are blind.'
    ),
    new(
      'CephRiskCephCommandsStuck',
      function(c) 'cephrisk:ceph_commands_stuck:ratio >= %(ratio)g' % c,
      'Commands to Ceph hang in {{ $labels.instance }}' + at,
      '{{ $value | humanizePercentage }} of the commands that may hang inside librados do in {{ $labels.instance }}. At 100% the exporter refuses further ones and shows nothing new: mon or mgr does not answer.'
    ),
    new(
      'CephRiskExporterBug',
      function(c) 'cephrisk:exporter_bugs:increase1h > %(count)g' % c,
      'Collector {{ $labels.collector }} of {{ $labels.instance }} has met a bug of the exporter',
      'A poll panicked, or samples contradicted their own declaration and were dropped. Please report it with the log lines at level error.'
    ),
  ]
