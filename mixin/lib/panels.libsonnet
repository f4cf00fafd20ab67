// A small library of panels: what Grafana needs and these dashboards use.
//
// Each panel is given a title that is a question or a fact, a description, the
// text to show when there is nothing (`empty`: why, and whether that is good), a
// unit and its queries. In queries, %(at)s selects the chosen clusters, %(of_pool)s
// the chosen pools, adding their name.
function(config)
  local ds = { type: 'prometheus', uid: '$datasource' };
  local at = '%s=~"$cluster"' % config.clusterLabel;
  local vars = {
    at: at,
    cluster: config.clusterLabel,
    of_pool: '* on (%s, pool_id) group_left (name) cephrisk:pool_info{%s, name=~"$pool"}' % [config.clusterLabel, at],
  };
  local link(title, url, own) = {
    title: title,
    type: 'link',
    url: url,
    icon: if own then 'dashboard' else 'doc',
    tooltip: '',
    tags: [],
    asDropdown: false,
    targetBlank: !own,
    includeVars: own,
    keepTime: own,
  };
  local panel(type, title, description, empty, unit, targets, w, h, options, defaults={}) = {
    type: type,
    title: title,
    description: description,
    datasource: ds,
    targets: [targets[i] { refId: std.char(65 + i) } for i in std.range(0, std.length(targets) - 1)],
    gridPos: { w: w, h: h },
    fieldConfig: { defaults: { unit: unit, noValue: empty } + defaults, overrides: [] },
    options: options,
  };
  local thresholds(limits, base='green') = { thresholds: { mode: 'absolute', steps: [{ color: base, value: null }] + limits } };
  local override(name, properties) = {
    matcher: { id: 'byName', options: name },
    properties: [{ id: id, value: properties[id] } for id in std.objectFields(properties)],
  };
  local query(name, label, q, all='.*') = {
    name: name,
    label: label,
    type: 'query',
    datasource: ds,
    query: q,
    refresh: 2,
    sort: 1,
    includeAll: true,
    allValue: all,
    current: { text: 'All', value: '$__all' },
  };
  local choice(name, label, values) = {
    name: name,
    label: label,
    type: 'custom',
    query: std.join(',', values),
    current: { text: values[0], value: values[0] },
    options: [{ text: v, value: v, selected: v == values[0] } for v in values],
  };
  {
    target(expr, legend='__auto', instant=false):: {
      datasource: ds,
      expr: std.strReplace(expr % vars, '\n', ' '),
      legendFormat: legend,
      [if instant then 'instant']: true,
      [if instant then 'range']: false,
      [if instant then 'format']: 'table',
    },

    above(color, value):: [{ color: color, value: value }],
    none:: [],

    stat(title, description, empty, unit, targets, limits=[], w=4, h=4)::
      panel('stat', title, description, empty, unit, targets, w, h, { reduceOptions: { calcs: ['lastNotNull'] }, graphMode: 'none', colorMode: if limits == [] then 'none' else 'value', justifyMode: 'auto', textMode: 'auto', wideLayout: true, showPercentChange: false, percentChangeColorMode: 'standard', orientation: 'auto' }, thresholds(limits, if limits == [] then 'text' else 'green')),

    series(title, description, empty, unit, targets, w=12, h=8)::
      panel('timeseries', title, description, empty, unit, targets, w, h, { legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] }, tooltip: { mode: 'multi', sort: 'desc' } }, { min: 0, custom: { fillOpacity: 10, showPoints: 'never', lineWidth: 2, [if unit == 'none' then 'axisSoftMax']: 1 } }),

    bars(title, description, empty, unit, targets, limits=[], w=12, h=8)::
      panel('bargauge', title, description, empty, unit, targets, w, h, { displayMode: 'basic', orientation: 'horizontal', valueMode: 'text', namePlacement: 'left', legend: { displayMode: 'list', placement: 'bottom', showLegend: false, calcs: [] }, sizing: 'auto', minVizWidth: 8, minVizHeight: 16, maxVizHeight: 40, showUnfilled: true, reduceOptions: { calcs: ['lastNotNull'] } }, { min: 0 } + thresholds(limits)),

    // A heat map whose rows are the targets, the first one at the bottom.
    heat(title, description, empty, unit, targets, w=12, h=8)::
      panel('heatmap', title, description, empty, unit, targets, w, h, {
        calculate: false,
        cellGap: 1,
        color: { mode: 'scheme', scheme: 'Oranges', fill: 'dark-orange', scale: 'exponential', exponent: 0.5, reverse: false, steps: 64 },
        exemplars: { color: 'rgba(255,0,255,0.7)' },
        filterValues: { le: 1e-9 },
        legend: { show: true },
        rowsFrame: { layout: 'auto' },
        showValue: 'never',
        tooltip: { mode: 'single', yHistogram: false, showColorScale: false },
        yAxis: { axisPlacement: 'left', reverse: false, unit: 'none' },
      }),

    // columns: objects with field (a label, or Value #A) and name, and where wanted
    // what an override knows: unit, thresholds, mappings. Other fields are hidden
    // when `hide` names them.
    table(title, description, empty, unit, targets, columns, hide=[], sort='', w=12, h=8)::
      panel('table', title, description, empty, unit, targets, w, h, { showHeader: true, frameIndex: 0, cellHeight: 'sm', sortBy: [] }, { custom: { align: 'left', cellOptions: { type: 'auto' }, minWidth: 70, filterable: false, inspect: false } }) {
        transformations:
          (if std.length(targets) > 1 then [{ id: 'merge', options: {} }] else [])
          + [{
            id: 'organize',
            options: {
              excludeByName: { [f]: true for f in ['Time', '__name__'] + hide },
              indexByName: { [columns[i].field]: i for i in std.range(0, std.length(columns) - 1) },
              renameByName: { [c.field]: c.name for c in columns },
            },
          }]
          + (if sort == '' then [] else [{ id: 'sortBy', options: { fields: {}, sort: [{ field: sort, desc: true }] } }]),
        fieldConfig+: {
          overrides: [
            // A cell may be empty where the table is not. Labels are texts: as a
            // number PG 1.10 would be 1.1, and a serial 12E3 some other one.
            override(
              c.name,
              (if std.startsWith(c.field, 'Value #') then { noValue: '-' } else if std.startsWith(c.field, 'Value') then {} else { unit: 'string' })
              + { [k]: c[k] for k in std.objectFields(c) if !std.member(['field', 'name'], k) }
            )
            for c in columns
            if c.field != 'Value' || std.length(std.objectFields(c)) > 2
          ],
        },
      },

    // A cell in the colour of its value.
    coloured(limits, base='green'):: { 'custom.cellOptions': { type: 'color-text' } } + thresholds(limits, base),

    row(title):: { type: 'row', title: title, collapsed: false, panels: [], gridPos: { w: 24, h: 1 } },

    // Additions to a panel.
    size(w, h):: { gridPos: { w: w, h: h } },
    stacked:: { fieldConfig+: { defaults+: { custom+: { stacking: { mode: 'normal', group: 'A' }, fillOpacity: 40, lineWidth: 1 } } } },
    signed:: { fieldConfig+: { defaults+: { min:: null, custom+: { fillOpacity: 0 } } } },
    // With its name, even when there is one value only.
    named:: { options+: { textMode: 'value_and_name' } },
    logarithmic:: { fieldConfig+: { defaults+: { min:: null, custom+: { scaleDistribution: { type: 'log', log: 10 }, fillOpacity: 0 } } } },
    decimals(n):: { fieldConfig+: { defaults+: { decimals: n } } },
    // The axis reaches at least this far: less is not worth a mountain.
    softMax(value):: { fieldConfig+: { defaults+: { custom+: { axisSoftMax: value } } } },
    max(value):: { fieldConfig+: { defaults+: { max: value } } },
    colours(byName):: { fieldConfig+: { overrides+: [override(n, { color: { mode: 'fixed', fixedColor: byName[n] } }) for n in std.objectFields(byName)] } },
    dashed(name):: { fieldConfig+: { overrides+: [override(name, { 'custom.lineStyle': { fill: 'dash', dash: [8, 8] }, 'custom.fillOpacity': 0 })] } },
    activities:: self.colours({ none: 'green', scrub: 'orange', recovery: 'blue', scrub_recovery: 'red', other: 'purple' }),
    override:: override,

    // The alerts whose cause this panel shows: it links their runbooks, and they
    // link it. The first panel to name an alert is the one.
    alerts(names):: {
      alerts:: names,
      links+: [
        assert std.objectHas(config.alerts, n) : 'a panel names the alert %s, which does not exist' % n;
        link('Runbook: ' + n, config.runbookURLPattern % n, false)
        for n in names
      ],
    },
    to(uid, title):: { links+: [link(title, '/d/' + config.dashboardUIDPrefix + uid, true)] },

    variables:: {
      pool: query('pool', 'Pool', 'label_values(cephrisk:pool_info{%s}, name)' % at),
      host(series):: query('host', 'Host', 'label_values(%s{%s}, hostname)' % [series, at]),
      class(series):: query('class', 'Device class', 'label_values(%s{%s}, device_class)' % [series, at]),
      gateway:: query('gateway', 'Gateway', 'label_values(cephrisk:rgw_ops_log_records:rate5m{%s}, ceph_daemon)' % at),
      shelf:: query('shelf', 'Shelf', 'label_values(cephrisk:enclosure_present{%s}, enclosure_id)' % at),
      choice:: choice,
    },

    dashboard(uid, title, description, panels, variables=[], annotations=[])::
      // Panels flow from left to right and then down.
      local placed = std.foldl(function(a, p)
        local wrap = a.x + p.gridPos.w > 24;
        local x = if wrap then 0 else a.x;
        local y = if wrap then a.y + a.h else a.y;
        {
          x: x + p.gridPos.w,
          y: y,
          h: if wrap then p.gridPos.h else std.max(a.h, p.gridPos.h),
          out: a.out + [p { id: std.length(a.out) + 1, gridPos+: { x: x, y: y } }],
        }, panels, { x: 0, y: 0, h: 0, out: [] });
      {
        // Which panel shows the cause of an alert.
        alerts:: std.foldl(
          function(a, p) { [n]: p.id for n in std.get(p, 'alerts', []) } + a,
          placed.out,
          {}
        ),
        uid: config.dashboardUIDPrefix + uid,
        title: title,
        description: description,
        tags: config.dashboardTags,
        schemaVersion: 39,
        editable: true,
        graphTooltip: 1,
        annotations: {
          list: [
            { datasource: ds, enable: true, hide: false, iconColor: a.colour, name: a.name, expr: a.expr % vars, titleFormat: a.name, textFormat: a.text, step: '1m' }
            for a in annotations
          ],
        },
        refresh: '1m',
        time: { from: 'now-2d', to: 'now' },
        links: [{ type: 'dashboards', title: 'Ceph risk', tags: [config.dashboardTags[std.length(config.dashboardTags) - 1]], asDropdown: true, icon: 'external link', tooltip: '', url: '', includeVars: true, keepTime: true, targetBlank: false }],
        templating: {
          list: [
            { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
            query('job', 'Job', 'label_values(cephrisk:exporter_up, job)'),
            query('cluster', 'Cluster', 'label_values(cephrisk:exporter_up{job=~"$job"}, %s)' % config.clusterLabel),
          ] + variables,
        },
        panels: placed.out,
      },
  }
