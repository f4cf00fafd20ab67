function(config, p)
  local shelf = 'enclosure_id=~"$shelf"';
  local ignored = config.alerts.CephRiskEnclosureElementFailed.ignore;
  // States of a bay, as rules/shelves.libsonnet has them, in words. A bay in order
  // is named by its OSD alone.
  local words = [' ok', 'empty', 'fails soon', 'down', 'fault', 'gone'];
  local bay(i) = 'label_join(label_replace(cephrisk:enclosure_bay{%%(at)s, %s} == %d, "state", "%s", "", ""), "bay", " ", "ceph_daemon", "state")' % [shelf, i, words[i]];
  // A grid of ten columns: the row holds the shelf and the tens of the number, with
  // what the shelf adds to numbers that it uses twice.
  local grid =
    'label_join(label_replace(label_replace(label_replace(label_replace(%s, "row", "$1", "slot", "[0-9]*([^0-9].*)"), "tens", "00", "slot", "[0-9]([^0-9].*)?"), "tens", "0$1", "slot", "([0-9])[0-9]([^0-9].*)?"), "tens", "$1", "slot", "([0-9]{2,})[0-9]([^0-9].*)?"), "line", " ", "enclosure_id", "row", "tens")'
    % std.join(' or ', [bay(i) for i in std.range(0, std.length(words) - 1)]);
  local columns = ['+%d' % i for i in std.range(0, 9)];
  local colour(pattern, text, color, index) = { type: 'regex', options: { pattern: pattern, result: { text: text, color: color, index: index } } };
  local codes = [
    ['0', 'unsupported', 'text'],
    ['1', 'ok', 'green'],
    ['2', 'critical', 'red'],
    ['3', 'noncritical', 'orange'],
    ['4', 'unrecoverable', 'red'],
    ['5', 'not installed', 'text'],
    ['6', 'unknown', 'orange'],
    ['7', 'not available', 'text'],
    ['8', 'no access', 'text'],
  ];
  local mapped(list) = [{ type: 'value', options: { [list[i][0]]: { text: list[i][1], color: list[i][2], index: i } for i in std.range(0, std.length(list) - 1) } }];
  local noShelf = 'No exporter sees a shelf: hosts without SES, or no host role.';
  local noArray = 'No array is configured (--msa.config).';
  p.dashboard('enclosures', 'Ceph risk: is a shelf or an array ill?', 'Shelves bay by bay with their OSDs, the health of their parts, what down OSDs share, and arrays.', [
    p.stat('Shelves gone', 'Shelves that the kernel no longer lists while their host answers.', 'no shelf', 'none', [
      p.target('sum(max by (%(cluster)s, enclosure_id) (cephrisk:enclosure_present{%(at)s}) == bool 0)'),
    ], p.above('red', 1)) + p.alerts(['CephRiskEnclosureGone']),
    p.stat('Shelf parts failed', 'Parts that a shelf calls critical or unrecoverable.', 'no shelf', 'none', [
      p.target('sum(cephrisk:enclosure_element_failed{%(at)s, type!~"' + ignored + '"} or 0 * cephrisk:enclosure_present{%(at)s})'),
    ], p.above('orange', 1)) + p.alerts(['CephRiskEnclosureElementFailed']),
    p.stat('IOMs silent', 'I/O modules whose SES process does not answer.', 'no shelf', 'none', [
      p.target('sum(cephrisk:enclosure_service_processor_up{%(at)s} == bool 0)'),
    ], p.above('orange', 1)) + p.alerts(['CephRiskEnclosureIOMSilent']),
    p.stat('OSDs that lost a path', 'OSDs with fewer paths to a device than they had. The next fault takes them down.', 'no shelf', 'none', [
      p.target('sum(cephrisk:osd_device_paths_lost{%(at)s} > bool 0 or 0 * cephrisk:enclosure_present{%(at)s})'),
    ], p.above('orange', 1)) + p.alerts(['CephRiskOSDPathLost']),
    p.stat('OSDs down', 'Of all OSDs, with or without a shelf.', 'no data', 'none', [
      p.target('sum(cephrisk:osd_up{%(at)s} == bool 0)'),
    ], p.above('red', 1)),
    p.stat('Array parts ill', 'Parts that an array calls degraded or at fault.', 'no array', 'none', [
      p.target('sum(cephrisk:msa_unhealthy{%(at)s})'),
    ], p.above('orange', 1)) + p.alerts(['CephRiskMSAFault']),
    p.table('What do down OSDs have in common', 'The narrowest part of which all OSDs are down, by host, with their number.', 'No OSDs that are down share a part.', 'none', [
      p.target('floor(cephrisk:down_osds_sharing:ranked{%(at)s})', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'hostname', name: 'Host' },
      { field: 'cause', name: 'They share one' },
      { field: 'part', name: 'Which' },
      { field: 'Value', name: 'OSDs down' } + p.coloured(p.above('orange', 1) + p.above('red', 2)),
    ], hide=['db_disk', 'hba', 'enclosure_id'], w=24, h=5) + p.alerts(['CephRiskDownOSDsShareCause', 'CephRiskDownOSDsShareShelf']),
    p.table('What is in which bay', 'Each row holds ten bays of a shelf: its id, the tens of the number, then +0 to +9. Bays with the id of an OSD are in order, others say what is wrong. Of several OSDs on one disk one is named.', noShelf, 'none', [
      p.target(grid, instant=true),
    ], [], w=24, h=15) + p.alerts(['CephRiskEnclosureBayEmptied', 'CephRiskOSDVolumeMissing']) + {
      transformations: [
        { id: 'organize', options: { excludeByName: { Time: true }, indexByName: {}, renameByName: {} } },
        { id: 'sortBy', options: { fields: {}, sort: [{ field: 'line', desc: false }] } },
        { id: 'groupingToMatrix', options: { rowField: 'line', columnField: 'column', valueField: 'bay', emptyValue: 'empty' } },
        {
          id: 'organize',
          options: {
            excludeByName: {},
            indexByName: { 'line\\column': 0 } + { [columns[i]]: i + 1 for i in std.range(0, 9) },
            renameByName: { 'line\\column': 'Shelf, tens of bay' },
          },
        },
      ],
      fieldConfig+: {
        defaults+: {
          mappings: [
            colour('^  ok$', 'disk', 'semi-dark-green', 0),
            colour('^(.+)  ok$', '$1', 'semi-dark-green', 1),
            colour('^ empty$', 'empty', 'transparent', 2),
            colour('^ ?(.*fails soon)$', '$1', 'dark-orange', 3),
            colour('^ ?(.*down)$', '$1', 'dark-red', 4),
            colour('^ ?(.*fault)$', '$1', 'dark-red', 5),
            colour('^ ?(.*gone)$', '$1', 'dark-purple', 6),
          ],
          custom+: { cellOptions: { type: 'color-background', mode: 'basic' }, align: 'center', minWidth: 60 },
        },
        overrides: [p.override('Shelf, tens of bay', { 'custom.cellOptions': { type: 'auto' }, 'custom.width': 220 })],
      },
      targets: [t { expr: 'label_replace(%s, "column", "+$1", "slot", "[0-9]*([0-9])([^0-9].*)?")' % t.expr } for t in super.targets],
    },
    p.table('Which parts of shelves are not in order', 'Parts with a status other than ok; bays have their own table. Doors and idle current sensors are often called critical.', 'All parts of all shelves are ok, or no exporter sees a shelf.', 'none', [
      p.target('(cephrisk:enclosure_element_status_code{%(at)s, ' + shelf + ', type!="array_device_slot"} != 1) * on (%(cluster)s, enclosure_id, type, element) group_left (name) cephrisk:enclosure_element_info or (cephrisk:enclosure_element_status_code{%(at)s, ' + shelf + ', type!="array_device_slot"} != 1) unless on (%(cluster)s, enclosure_id, type, element) cephrisk:enclosure_element_info', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'enclosure_id', name: 'Shelf', 'custom.width': 150 },
      { field: 'type', name: 'Part' },
      { field: 'element', name: 'Number' },
      { field: 'name', name: 'Its name' },
      { field: 'Value', name: 'Status', 'custom.cellOptions': { type: 'color-text' }, mappings: mapped(codes) },
    ]) + p.alerts(['CephRiskEnclosurePowerOrFanFailed', 'CephRiskEnclosurePartRemoved']),
    p.table('Which shelves are there', 'Shelves seen or remembered.', noShelf, 'none', [
      p.target('max by (%(cluster)s, enclosure_id, vendor, product) (max by (%(cluster)s, enclosure_id) (cephrisk:enclosure_present{%(at)s, ' + shelf + '}) * on (%(cluster)s, enclosure_id) group_right () cephrisk:enclosure_info)', instant=true),
      p.target('sum by (%(cluster)s, enclosure_id, vendor, product) (sum by (%(cluster)s, enclosure_id) (cephrisk:enclosure_service_processor_up{%(at)s, ' + shelf + '}) * on (%(cluster)s, enclosure_id) group_right () cephrisk:enclosure_info)', instant=true),
      p.target('max by (%(cluster)s, enclosure_id, vendor, product) (max by (%(cluster)s, enclosure_id) (cephrisk:enclosure_temperature_celsius:max{%(at)s, ' + shelf + '}) * on (%(cluster)s, enclosure_id) group_right () cephrisk:enclosure_info)', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'enclosure_id', name: 'Shelf', 'custom.width': 150 },
      { field: 'vendor', name: 'Vendor' },
      { field: 'product', name: 'Product' },
      { field: 'Value #A', name: 'There', 'custom.cellOptions': { type: 'color-text' }, mappings: mapped([['0', 'gone', 'red'], ['1', 'yes', 'green']]) },
      { field: 'Value #B', name: 'IOMs up' },
      { field: 'Value #C', name: 'Hottest', unit: 'celsius' },
    ]),
    p.series('How near are shelves to their temperature limits', "Degrees below the shelf's own critical limit, of the sensor of each shelf that is nearest; below 0 it is too hot.", 'No shelf tells temperatures with limits.', 'celsius', [
      p.target('min by (%(cluster)s, enclosure_id) (cephrisk:enclosure_temperature_margin_celsius:min{%(at)s, ' + shelf + '})', '{{enclosure_id}}'),
    ], w=24, h=6) + p.signed + p.alerts(['CephRiskEnclosureTooHot', 'CephRiskEnclosureWarm']),
    p.table('Which disk is where', 'OSDs in shelves, with the role and serial of the disk in the bay.', noShelf, 'none', [
      p.target('cephrisk:enclosure_slot_osd_info{%(at)s, ' + shelf + '}', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'enclosure_id', name: 'Shelf', 'custom.width': 150 },
      { field: 'slot', name: 'Bay' },
      { field: 'ceph_daemon', name: 'OSD' },
      { field: 'role', name: 'Use' },
      { field: 'device', name: 'Device' },
      { field: 'serial', name: 'Serial' },
    ], hide=['Value'], w=24),
    p.row('Arrays'),
    p.table('Which arrays are there', 'Configured arrays. Ill parts: degraded or at fault.', noArray, 'none', [
      p.target('max by (%(cluster)s, array) (cephrisk:msa_up{%(at)s})', instant=true),
      p.target('sum by (%(cluster)s, array) (cephrisk:msa_unhealthy{%(at)s})', instant=true),
      p.target('max by (%(cluster)s, array) (cephrisk:msa_temperature_celsius:max{%(at)s})', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'array', name: 'Array' },
      { field: 'Value #A', name: 'Answers', 'custom.cellOptions': { type: 'color-text' }, mappings: mapped([['0', 'no', 'red'], ['1', 'yes', 'green']]) },
      { field: 'Value #B', name: 'Ill parts' } + p.coloured(p.above('orange', 1)),
      { field: 'Value #C', name: 'Hottest', unit: 'celsius' },
    ], w=8) + p.alerts(['CephRiskMSADown']),
    p.table('Which array parts are ill', 'As the array judges them.', 'All parts of all arrays are in order, or no array is configured.', 'none', [
      p.target('cephrisk:msa_health_code{%(at)s} == 1 or cephrisk:msa_health_code{%(at)s} == 2', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'array', name: 'Array' },
      { field: 'object', name: 'Part' },
      { field: 'id', name: 'Which' },
      { field: 'Value', name: 'Health', 'custom.cellOptions': { type: 'color-text' }, mappings: mapped([['1', 'degraded', 'orange'], ['2', 'fault', 'red']]) },
    ], w=8),
    p.table('What did scrubs of arrays find', "Last scrub of each disk group, by the array's event log.", 'No scrub of an array is in its log, or no array is configured.', 'none', [
      p.target('max by (%(cluster)s, array, disk_group) (cephrisk:msa_scrub_last_finding{%(at)s})', instant=true),
      p.target('1000 * max by (%(cluster)s, array, disk_group) (cephrisk:msa_scrub_last_finish_timestamp_seconds{%(at)s})', instant=true),
      p.target('max by (%(cluster)s, array, disk_group) (cephrisk:msa_scrub_last_errors{%(at)s})', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'array', name: 'Array' },
      { field: 'disk_group', name: 'Group' },
      { field: 'Value #A', name: 'Result', 'custom.cellOptions': { type: 'color-text' }, mappings: mapped([['0', 'clean', 'green'], ['1', 'finding', 'red']]) },
      { field: 'Value #B', name: 'Ended', 'custom.width': 110, unit: 'dateTimeFromNow' },
      { field: 'Value #C', name: 'Errors' },
    ], w=8) + p.alerts(['CephRiskMSAScrubFinding']),
    p.series('How far are jobs of arrays', 'Scrubs (VRSC), reconstructions (RCON) and others that run on disk groups.', 'No job runs on an array, or none is configured.', 'percentunit', [
      p.target('cephrisk:msa_job_progress_ratio{%(at)s}', '{{array}} {{disk_group}} {{task}}'),
    ], w=24, h=6) + p.max(1),
  ], [p.variables.shelf])
