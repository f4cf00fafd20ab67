// Parts and disks that were taken out: compared with a week.
local alert = import '../lib/alert.libsonnet';

function(config)
  local new(name, expr, summary, description) = alert.new(config, name, expr, summary, description, 'enclosures');
  local at = alert.inCluster(config);
  local named = alert.list(config, 'cephrisk:enclosure_element_info', ['enclosure_id', 'type', 'element'], '{{ .Labels.name }}', lead=' Its name on the shelf: ', sort='name');
  [
    new(
      'CephRiskEnclosurePartRemoved',
      function(c) |||
        cephrisk:enclosure_element_installed{type=~"%(types)s"} == 0
        and max_over_time(cephrisk:enclosure_element_installed{type=~"%(types)s"}[%(window)s:%(every)s]) == 1
      ||| % c,
      '{{ $labels.type }} {{ $labels.element }} of shelf {{ $labels.enclosure_id }} is missing' + at,
      'The {{ $labels.type }} {{ $labels.element }} of shelf {{ $labels.enclosure_id }} was there within <window> and is not installed now: the shelf has no spare.' + named
    ),
    new(
      'CephRiskEnclosureBayEmptied',
      function(c) |||
        cephrisk:enclosure_slot_occupied == 0
        and max_over_time(cephrisk:enclosure_slot_occupied[%(window)s:%(every)s]) == 1
      ||| % c,
      'Bay {{ $labels.slot }} of shelf {{ $labels.enclosure_id }}' + at + ' is empty',
      'Bay {{ $labels.slot }} of shelf {{ $labels.enclosure_id }} held a disk within <window> and is empty now: it was pulled, or no longer answers at all.' + alert.list(config, 'cephrisk:enclosure_slot_osd_info', ['enclosure_id', 'slot'], '{{ .Labels.ceph_daemon }} ({{ .Labels.role }})', lead=' On it was: ', sort='ceph_daemon')
    ),
  ]
