// Shelves, bay by bay, and arrays, beside what alerts read.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);
  local vars = { cluster: config.clusterLabel, selector: config.selector };
  local state(code, expr) = 'label_replace(%d + 0 * (%s), "state", "%d", "", "")' % [code, expr, code];
  [
    r.info('enclosure_info', ['enclosure_id'], ['vendor', 'product']),
    r.gauge('enclosure_element_status_code', ['enclosure_id', 'type', 'element']),
    r.gauge('enclosure_temperature_celsius', ['enclosure_id', 'type', 'element']),
    r.gauge('enclosure_temperature_threshold_celsius', ['enclosure_id', 'type', 'element', 'threshold']),
    {
      // 1 for ok to unrecoverable, 0 for not installed; nothing where the shelf says
      // nothing. Slots have a series of their own.
      record: 'cephrisk:enclosure_element_installed',
      expr: 'cephrisk:enclosure_element_status_code{type!~".*slot"} >= 1 <= 5 < bool 5',
    },
    r.gauge('enclosure_element_flag', ['enclosure_id', 'type', 'element', 'flag']),
    {
      // By the shelf's own limits, or because it says so; there only while it is hot.
      record: 'cephrisk:enclosure_hot',
      expr: |||
        max by (%(cluster)s, enclosure_id, type, element, threshold) (
          cephrisk:enclosure_temperature_celsius >= on (%(cluster)s, enclosure_id, type, element) group_right () cephrisk:enclosure_temperature_threshold_celsius{threshold=~"high_.*"}
          or label_replace(cephrisk:enclosure_element_flag{flag="over_temperature_fail"}, "threshold", "high_critical", "", "")
          or label_replace(cephrisk:enclosure_element_flag{flag=~"(over_)?temperature_warning"}, "threshold", "high_warning", "", "")
        )
      ||| % vars,
    },
    {
      // 1 where noout holds for every OSD of the shelf.
      record: 'cephrisk:enclosure_noout',
      expr: 'min by (%(cluster)s, enclosure_id) (cephrisk:osd_hardware_info{enclosure_id!=""} * on (%(cluster)s, ceph_daemon) group_left () cephrisk:osd_noout)' % vars,
    },
    r.gauge('enclosure_fan_speed_rpm', ['enclosure_id', 'element']),
    r.info('enclosure_slot_info', ['enclosure_id', 'slot'], ['type', 'element', 'name']),
    r.gauge('enclosure_slot_occupied', ['enclosure_id', 'slot']),
    r.gauge('enclosure_slot_fault_sensed', ['enclosure_id', 'slot']),
    r.gauge('enclosure_slot_predicted_failure', ['enclosure_id', 'slot']),
    r.gauge('enclosure_slot_locate', ['enclosure_id', 'slot']),
    r.info('enclosure_slot_osd_info', ['enclosure_id', 'slot', 'ceph_daemon', 'role'], ['device', 'serial']),
    r.gauge('osd_volume_missing', ['ceph_daemon', 'role']),
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
        state(0, 'cephrisk:enclosure_slot_info'),
        state(1, 'cephrisk:enclosure_slot_occupied == 0'),
        state(2, 'cephrisk:enclosure_slot_predicted_failure == 1'),
        state(3, 'cephrisk:enclosure_slot_osd_info and on (%(cluster)s, ceph_daemon) cephrisk:osd_up == 0' % vars),
        state(4, |||
          cephrisk:enclosure_slot_fault_sensed == 1
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
    r.info('msa_info', ['array'], ['system_name', 'product']),
    r.gauge('msa_health_code', ['array', 'object', 'id']),
    r.gauge('msa_disk_group_status_code', ['array', 'disk_group']),
    r.gauge('msa_jobs_running', ['array', 'task']),
    r.gauge('msa_job_progress_ratio', ['array', 'disk_group', 'task']),
    r.gauge('msa_scrub_last_finish_timestamp_seconds', ['array', 'disk_group']),
    r.gauge('msa_scrub_last_errors', ['array', 'disk_group']),
    {
      record: 'cephrisk:msa_temperature_celsius:max',
      expr: 'max by (%(cluster)s, array) (cephrisk_msa_disk_temperature_celsius{%(selector)s} or cephrisk_msa_sensor_temperature_celsius{%(selector)s})' % vars,
    },
  ]
