// Parts of shelves that are not in order, and arrays, beside what alerts read.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);
  local vars = { cluster: config.clusterLabel, selector: config.selector };
  [
    {
      // What is not ok, with empty places for parts; bays have a table of their own.
      record: 'cephrisk:enclosure_element_status_code',
      expr: 'max by (%(cluster)s, enclosure_id, type, element) (cephrisk_enclosure_element_status_code{%(selector)s, type!="array_device_slot"} != 1)' % vars,
    },
    {
      // 1 for ok to unrecoverable, 0 for not installed; nothing where the shelf says
      // nothing. Of parts whose absence is an alert.
      record: 'cephrisk:enclosure_element_installed',
      expr: 'max by (%(cluster)s, enclosure_id, type, element) (cephrisk_enclosure_element_status_code{%(selector)s, type=~"%(types)s"}) >= 1 <= 5 < bool 5' % (vars { types: config.alerts.CephRiskEnclosurePartRemoved.types }),
    },
    r.gauge('enclosure_element_flag', ['enclosure_id', 'type', 'element', 'flag']),
    {
      // By the shelf's own limits, or because it says so; there only while it is hot.
      record: 'cephrisk:enclosure_hot',
      expr: |||
        max by (%(cluster)s, enclosure_id, type, element, threshold) (
          cephrisk_enclosure_temperature_celsius{%(selector)s} >= ignoring (threshold) group_right () cephrisk_enclosure_temperature_threshold_celsius{%(selector)s, threshold=~"high_.*"}
          or label_replace(cephrisk:enclosure_element_flag{flag="over_temperature_fail"}, "threshold", "high_critical", "", "")
          or label_replace(cephrisk:enclosure_element_flag{flag=~"(over_)?temperature_warning"}, "threshold", "high_warning", "", "")
        )
      ||| % vars,
    },
    {
      // 1 where noout holds for every OSD of the shelf.
      record: 'cephrisk:enclosure_noout',
      expr: |||
        count by (%(cluster)s, enclosure_id) (cephrisk:osd_hardware_info{enclosure_id!=""} and on (%(cluster)s, ceph_daemon) cephrisk:osd_noout)
        == bool sum by (%(cluster)s, enclosure_id) (cephrisk:osds_sharing_enclosure_id)
      ||| % vars,
    },
    r.some('osd_volume_missing', ['ceph_daemon', 'role']),
    r.gauge('msa_health_code', ['array', 'object', 'id']),
    r.gauge('msa_job_progress_ratio', ['array', 'disk_group', 'task']),
    r.gauge('msa_scrub_last_finish_timestamp_seconds', ['array', 'disk_group']),
    r.gauge('msa_scrub_last_errors', ['array', 'disk_group']),
    {
      record: 'cephrisk:msa_temperature_celsius:max',
      expr: 'max by (%(cluster)s, array) (cephrisk_msa_disk_temperature_celsius{%(selector)s} or cephrisk_msa_sensor_temperature_celsius{%(selector)s})' % vars,
    },
  ]
