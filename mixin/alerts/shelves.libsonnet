// Heat, power, fans and bays of shelves, and OSDs whose shelf came too late.
local alert = import '../lib/alert.libsonnet';

function(config)
  local new(name, expr, summary, description) = alert.new(config, name, expr, summary, description, 'enclosures');
  local at = alert.inCluster(config);
  local element = ['enclosure_id', 'type', 'element'];
  local named = alert.list(config, 'cephrisk:enclosure_element_info', element, '{{ .Labels.name }}', lead=' Its name on the shelf: ', sort='name');
  local celsius = alert.list(config, 'cephrisk_enclosure_temperature_celsius', element, '{{ .Value }} C', wrap='max(%s)', lead=' It reads ');
  local hot(c, threshold) = 'count_over_time(cephrisk:enclosure_hot{threshold="%s"}[%s]) >= %g' % [threshold, c.window, c.reads];
  [
    new(
      'CephRiskDownOSDsShareShelf',
      function(c) |||
        floor(cephrisk:down_osds_sharing:ranked{cause="shelf"}) >= %(osds)g
        unless on (%(cluster)s, enclosure_id) cephrisk:enclosure_faulty == 1
        unless on (%(cluster)s) cephrisk:cluster_flag{flag="noout"} == 1
      ||| % c,
      'All {{ $value }} OSDs of shelf {{ $labels.enclosure_id }} of {{ $labels.hostname }}' + at + ' are down, and the shelf is well',
      'All {{ $value }} OSDs behind the shelf {{ $labels.enclosure_id }} of {{ $labels.hostname }} are down, but the shelf is there, answers and reports no fault: somebody stopped them, or it is something on the host that only they use.'
    ),
    new(
      'CephRiskEnclosureTooHot',
      function(c) hot(c, 'high_critical'),
      'Shelf {{ $labels.enclosure_id }}' + at + ' is too hot',
      'The {{ $labels.type }} {{ $labels.element }} of shelf {{ $labels.enclosure_id }} is above its critical limit: the shelf may switch itself off, with all of its OSDs.' + celsius + named
    ),
    new(
      'CephRiskEnclosureWarm',
      function(c) hot(c, 'high_warning') + '\nunless ignoring (threshold) cephrisk:enclosure_hot{threshold="high_critical"}',
      'Shelf {{ $labels.enclosure_id }}' + at + ' is warm',
      'The {{ $labels.type }} {{ $labels.element }} of shelf {{ $labels.enclosure_id }} is above its warning limit: a fan, the room, or a blank that is missing.' + celsius + named
    ),
    new(
      'CephRiskEnclosurePowerOrFanFailed',
      function(c) |||
        max by (%(cluster)s, enclosure_id, type, element) (
          count_over_time((cephrisk:enclosure_element_failed{type=~"%(types)s"} == 1)[%(window)s:%(interval)s]) >= %(reads)g
          or count_over_time(cephrisk:enclosure_element_flag{type=~"%(types)s", flag=~"%(flags)s"}[%(window)s]) >= %(reads)g
        ) * 0 + 1
      ||| % (c { interval: config.interval }),
      '{{ $labels.type }} {{ $labels.element }} of shelf {{ $labels.enclosure_id }} has failed' + at,
      'The {{ $labels.type }} {{ $labels.element }} of shelf {{ $labels.enclosure_id }} has been at fault for <window>: the next one that fails takes the shelf, or cooks it.' + alert.list(config, 'cephrisk:enclosure_element_flag', element, '{{ .Labels.flag }}', lead=' It reports: ', sort='flag') + named
    ),
    new(
      'CephRiskOSDVolumeMissing',
      function(c) 'cephrisk:osd_volume_missing == 1 and on (%(cluster)s, ceph_daemon) cephrisk:osd_up == 0' % c,
      'The {{ $labels.role }} volume of {{ $labels.ceph_daemon }}' + at + ' was not activated',
      'The disk of {{ $labels.ceph_daemon }} is there and the {{ $labels.role }} volume on it is not, as when the host was ready before its shelf: `vgchange -ay`, then start the OSD.'
    ),
  ]
