// Shelves bay by bay, and what is slow to change about their parts.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);
  local vars = { cluster: config.clusterLabel, selector: config.selector };
  local state(code, expr) = 'label_replace(%d + 0 * (%s), "state", "%d", "", "")' % [code, expr, code];
  [
    r.info('enclosure_info', ['enclosure_id'], ['vendor', 'product']),
    {
      // Names of parts that are not in order.
      record: 'cephrisk:enclosure_element_info',
      expr: |||
        topk by (%(key)s) (1, max by (%(key)s, name) (
          cephrisk_enclosure_element_info{%(selector)s}
          and on (%(key)s) (cephrisk:enclosure_element_status_code or cephrisk:enclosure_element_failed or cephrisk:enclosure_element_flag or cephrisk:enclosure_hot)
        ))
      ||| % (vars { key: '%s, enclosure_id, type, element' % config.clusterLabel }),
    },
    {
      record: 'cephrisk:enclosure_temperature_celsius:max',
      expr: 'max by (%(cluster)s, enclosure_id) (cephrisk_enclosure_temperature_celsius{%(selector)s})' % vars,
    },
    {
      record: 'cephrisk:enclosure_temperature_margin_celsius:min',
      expr: 'min by (%(cluster)s, enclosure_id) (cephrisk_enclosure_temperature_threshold_celsius{%(selector)s, threshold="high_critical"} - ignoring (threshold) cephrisk_enclosure_temperature_celsius{%(selector)s})' % vars,
    },
    r.gauge('enclosure_slot_occupied', ['enclosure_id', 'slot']),
    r.info('enclosure_slot_osd_info', ['enclosure_id', 'slot', 'ceph_daemon', 'role'], ['device', 'serial']),
    {
      // Of several OSDs on one disk, one.
      record: 'cephrisk:enclosure_slot_osd',
      expr: 'topk by (%(cluster)s, enclosure_id, slot) (1, max by (%(cluster)s, enclosure_id, slot, ceph_daemon) (cephrisk:enclosure_slot_osd_info))' % vars,
    },
    {
      // The worst that is known of a bay: 0 in order, 1 empty, 2 warning (the shelf
      // predicts a failure), 3 its OSD is down, 4 fault (the shelf senses one, LVM
      // finds no volume, or a disk with an OSD is no longer there), 5 the shelf has gone.
      record: 'cephrisk:enclosure_bay_state',
      expr: 'max by (%(cluster)s, enclosure_id, slot) (\n' % vars + std.join('\nor ', [
        state(0, 'cephrisk_enclosure_slot_info{%(selector)s}' % vars),
        state(1, 'cephrisk:enclosure_slot_occupied == 0'),
        state(2, 'cephrisk_enclosure_slot_predicted_failure{%(selector)s} == 1' % vars),
        state(3, 'cephrisk:enclosure_slot_osd_info and on (%(cluster)s, ceph_daemon) cephrisk:osd_up == 0' % vars),
        state(4, |||
          cephrisk_enclosure_slot_fault_sensed{%(selector)s} == 1
          or cephrisk:enclosure_slot_osd_info and on (%(cluster)s, ceph_daemon, role) cephrisk:osd_volume_missing == 1
          or cephrisk:enclosure_slot_osd_info and on (%(cluster)s, enclosure_id, slot) cephrisk:enclosure_slot_occupied == 0
        ||| % vars),
        state(5, 'cephrisk:enclosure_slot_osd_info and on (%(cluster)s, enclosure_id) max by (%(cluster)s, enclosure_id) (cephrisk:enclosure_present) == 0' % vars),
      ]) + '\n)',
    },
    {
      record: 'cephrisk:enclosure_bay',
      expr: |||
        cephrisk:enclosure_bay_state * on (%(cluster)s, enclosure_id, slot) group_left (ceph_daemon) cephrisk:enclosure_slot_osd
        or cephrisk:enclosure_bay_state unless on (%(cluster)s, enclosure_id, slot) cephrisk:enclosure_slot_osd
      ||| % vars,
    },
  ]
