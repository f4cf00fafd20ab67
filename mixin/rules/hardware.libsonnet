// OSDs, latency, uploads, shelves and arrays.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);
  local vars = config.windows { cluster: config.clusterLabel, selector: config.selector };

  // Groups of OSDs that share a part and are all down, not all under noout, with their
  // size. The fraction ranks groups of one size: the narrowest part comes first. Hosts
  // are what the cluster says: a host that is down cannot tell about its hardware.
  local allDown(label, what, rank, info='osd_hardware_info') = |||
    label_replace(label_replace(
      count by (%(group)s) (%(down)s)
      == cephrisk:osds_sharing_%(label)s
      and count by (%(group)s) (%(down)s unless on (%(cluster)s, ceph_daemon) cephrisk:osd_noout == 1) > 0,
      "cause", "%(what)s", "", ""), "part", "$1", "%(label)s", "(.*)") + %(rank)g
  ||| % {
    down: 'cephrisk:%s:down{%s!=""}' % [info, label],
    group: std.join(', ', [config.clusterLabel, 'hostname'] + (if label == 'hostname' then [] else [label])),
    cluster: config.clusterLabel,
    label: label,
    what: what,
    rank: rank,
  };
  local down(info) = {
    record: 'cephrisk:%s:down' % info,
    expr: 'cephrisk:%s and on (%s, ceph_daemon) cephrisk:osd_up == 0' % [info, config.clusterLabel],
  };
  [
    r.gauge('osd_up', ['ceph_daemon']),
    r.some('osd_noout', ['ceph_daemon']),
    down('osd_info'),
    down('osd_hardware_info'),
    {
      record: 'cephrisk:rgw_uploads_completed:increase15m',
      expr: 'sum by (%(cluster)s, ceph_daemon) (max by (%(cluster)s, ceph_daemon, instance_id, kind) (increase(cephrisk_rgw_uploads_completed_total{%(selector)s}[%(15m)s])))' % vars,
    },
    {
      record: 'cephrisk:rgw_upload_server_failures:increase15m',
      expr: 'sum by (%(cluster)s, ceph_daemon) (max by (%(cluster)s, ceph_daemon, instance_id, kind) (increase(cephrisk_rgw_upload_failures_total{%(selector)s, status_class="5xx"}[%(15m)s])))' % vars,
    },
    r.gauge('rgw_multipart_open'),
    r.gauge('rgw_multipart_abandoned'),
    {
      record: 'cephrisk:rgw_ops_log_losses:increase1h',
      expr: |||
        sum by (%(cluster)s, instance) (increase(cephrisk_rgw_ops_log_junk_runs_total{%(selector)s}[%(1h)s]))
        + on (%(cluster)s, instance) sum by (%(cluster)s, instance) (increase(cephrisk_rgw_ops_log_gaps_total{%(selector)s}[%(1h)s]))
      ||| % vars,
    },
    {
      // By any host that sees it: gone, at fault by its own word, or with no IOM that answers.
      record: 'cephrisk:enclosure_faulty',
      expr: |||
        max by (%(cluster)s, enclosure_id) (
          cephrisk_enclosure_present{%(selector)s} == bool 0
          or cephrisk_enclosure_condition{%(selector)s, condition=~"critical|unrecoverable"}
          or max by (%(cluster)s, instance, enclosure_id) (cephrisk_enclosure_service_processor_up{%(selector)s}) == bool 0
        )
      ||| % vars,
    },
    {
      record: 'cephrisk:down_osds_sharing:ranked',
      expr: 'topk by (%(cluster)s, hostname) (1,\n' % vars + std.join('or\n', [
        allDown('db_disk', 'DB device', 0.4),
        allDown('hba', 'HBA', 0.3),
        allDown('enclosure_id', 'shelf', 0.2) + 'and on (%(cluster)s, enclosure_id) cephrisk:enclosure_faulty == 1\n' % vars,
        allDown('hostname', 'host', 0.1, 'osd_info'),
        // A shelf that is well is a likely cause only if its host has more of them.
        allDown('enclosure_id', 'shelf', 0.05) + 'unless on (%(cluster)s, enclosure_id) cephrisk:enclosure_faulty == 1\n' % vars,
      ]) + ')',
    },
    r.gauge('enclosure_present', ['instance', 'enclosure_id']),
    {
      // Critical (2) or unrecoverable (4); there only then. By any host that sees it.
      record: 'cephrisk:enclosure_element_failed',
      expr: '0 * max by (%(cluster)s, enclosure_id, type, element) (cephrisk_enclosure_element_status_code{%(selector)s} > 1 < 5 != 3) + 1' % vars,
    },
    r.gauge('enclosure_service_processor_up', ['enclosure_id', 'iom']),
    {
      record: 'cephrisk:osd_device_paths_lost',
      expr: 'max by (%(cluster)s, ceph_daemon, role) (cephrisk_osd_device_paths_expected{%(selector)s} - ignoring (state) cephrisk_osd_device_paths{%(selector)s, state="running"} > 0)' % vars,
    },
    {
      // Degraded (1) or fault (2); 4 is a port without a cable.
      record: 'cephrisk:msa_unhealthy',
      expr: 'max by (%(cluster)s, array, object, id) ((cephrisk_msa_health_code{%(selector)s} == bool 1) + (cephrisk_msa_health_code{%(selector)s} == bool 2))' % vars,
    },
    r.gauge('msa_up', ['array']),
    r.gauge('msa_scrub_last_finding', ['array', 'disk_group']),
  ]
