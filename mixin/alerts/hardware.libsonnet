local alert = import '../lib/alert.libsonnet';

function(config)
  local new(name, expr, summary, description) = alert.new(config, name, expr, summary, description, 'overview');
  local at = alert.inCluster(config);
  local noout(c) = 'unless on (%(cluster)s) cephrisk:cluster_flag{flag="noout"} == 1' % c;
  [
    new(
      'CephRiskUploadsFail',
      function(c) |||
        cephrisk:rgw_upload_server_failures:increase15m >= %(failures)g
        and cephrisk:rgw_upload_server_failures:increase15m / (cephrisk:rgw_upload_server_failures:increase15m + cephrisk:rgw_uploads_completed:increase15m) > %(ratio)g
      ||| % c,
      'Uploads fail on {{ $labels.ceph_daemon }}' + at,
      'About {{ $value | humanize }} uploads have failed with 5xx on {{ $labels.ceph_daemon }} in 15 minutes, more than a share of <ratio> of all.'
    ),
    new(
      'CephRiskUploadsAbandoned',
      function(c) 'cephrisk:rgw_multipart_abandoned > %(uploads)g' % c,
      '{{ $value }} multipart uploads are abandoned' + at,
      '{{ $value }} multipart uploads have been open for longer than --rgw.abandoned-after. Their parts take space until somebody aborts them.'
    ),
    new(
      'CephRiskOpsLogLosesRecords',
      function(c) 'cephrisk:rgw_ops_log_losses:increase1h > %(losses)g' % c,
      'The ops log read by {{ $labels.instance }} loses records' + at,
      'About {{ $value | humanize }} times in an hour a part of the ops log on {{ $labels.instance }} was torn, cut off or gone: uploads in it are not counted.'
    ),
    new(
      'CephRiskDownOSDsShareCause',
      function(c) (|||
                     (
                       floor(cephrisk:down_osds_sharing:ranked{cause!="shelf"})
                       or floor(cephrisk:down_osds_sharing:ranked{cause="shelf"}) and on (%(cluster)s, enclosure_id) cephrisk:enclosure_faulty == 1
                     ) >= %(osds)g
                   ||| % c) + noout(c),
      '{{ $value }} down OSDs of {{ $labels.hostname }}' + at + ' share one {{ $labels.cause }}',
      'All {{ $value }} OSDs behind the {{ $labels.cause }} {{ $labels.part }} of {{ $labels.hostname }} are down, and that is the narrowest thing they have in common: look there first.'
    ),
    new(
      'CephRiskEnclosureGone',
      function(c) 'cephrisk:enclosure_present == 0 ' + noout(c) + (' unless on (%(cluster)s, enclosure_id) cephrisk:enclosure_noout == 1' % c),
      'Shelf {{ $labels.enclosure_id }} of {{ $labels.instance }} has gone' + at,
      'The kernel of {{ $labels.instance }} no longer lists shelf {{ $labels.enclosure_id }} or any disk of it, while the host itself answers: power, cable or HBA.'
    ),
    new(
      'CephRiskEnclosureElementFailed',
      function(c) |||
        min_over_time(cephrisk:enclosure_element_failed{type!~"%(ignore)s"}[%(window)s]) == 1
        and count_over_time(cephrisk:enclosure_element_failed{type!~"%(ignore)s"}[%(window)s]) >= %(reads)g
      ||| % c,
      '{{ $labels.type }} {{ $labels.element }} of shelf {{ $labels.enclosure_id }} has failed' + at,
      'The shelf {{ $labels.enclosure_id }} has called its {{ $labels.type }} {{ $labels.element }} critical or unrecoverable for <window>.' + alert.list(config, 'cephrisk:enclosure_element_info', ['enclosure_id', 'type', 'element'], '{{ .Labels.name }}', lead=' Its name on the shelf: ')
    ),
    new(
      'CephRiskEnclosureIOMSilent',
      function(c) 'cephrisk:enclosure_service_processor_up == 0 unless on (%(cluster)s, enclosure_id) cephrisk:enclosure_present == 0' % c,
      'IOM {{ $labels.iom }} of shelf {{ $labels.enclosure_id }} is silent' + at,
      'The IOM {{ $labels.iom }} of shelf {{ $labels.enclosure_id }} does not answer. Disks may be reached through the other one, without a spare.'
    ),
    new(
      'CephRiskOSDPathLost',
      function(c) 'cephrisk:osd_device_paths_lost > 0 and on (%(cluster)s, ceph_daemon) cephrisk:osd_up == 1' % c,
      '{{ $labels.ceph_daemon }}' + at + ' has lost {{ $value }} paths to its {{ $labels.role }} device',
      '{{ $labels.ceph_daemon }} is up with {{ $value }} paths fewer to its {{ $labels.role }} device than it had: the next fault takes it down.'
    ),
    new(
      'CephRiskMSAFault',
      function(c) 'cephrisk:msa_unhealthy == 1' % c,
      '{{ $labels.object }} {{ $labels.id }} of array {{ $labels.array }} is ill' + at,
      'The array {{ $labels.array }} calls its {{ $labels.object }} {{ $labels.id }} degraded or at fault.'
    ),
    new(
      'CephRiskMSADown',
      function(c) 'cephrisk:msa_up == 0' % c,
      'Array {{ $labels.array }} does not answer' + at,
      'No controller of the array {{ $labels.array }} answers, or it refuses the login: its health is unknown.'
    ),
    new(
      'CephRiskMSAScrubFinding',
      function(c) 'cephrisk:msa_scrub_last_finding == 1' % c,
      'A scrub of {{ $labels.disk_group }} of array {{ $labels.array }} found something' + at,
      'The last scrub of {{ $labels.disk_group }} of array {{ $labels.array }} found errors or did not come to its end.'
    ),
  ]
