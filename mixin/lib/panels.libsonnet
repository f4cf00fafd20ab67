// A small library of panels: what Grafana needs and these dashboards use.
function(config) {
  local ds = { type: 'prometheus', uid: '$datasource' },
  local at = config.clusterLabel + '=~"$cluster"',
  // %(at)s in a query is the selection of the dashboard's cluster.
  target(expr, legend='__auto', instant=false):: {
    datasource: ds,
    expr: expr % { at: at, cluster: config.clusterLabel },
    legendFormat: legend,
    [if instant then 'instant']: true,
    [if instant then 'range']: false,
    [if instant then 'format']: 'table',
  },
  local panel(type, title, description, unit, targets, w, h, options, defaults={}) = {
    type: type,
    title: title,
    description: description,
    datasource: ds,
    targets: [targets[i] { refId: std.char(65 + i) } for i in std.range(0, std.length(targets) - 1)],
    gridPos: { w: w, h: h },
    fieldConfig: { defaults: { unit: unit, noValue: 'none' } + defaults, overrides: [] },
    options: options,
  },
  local steps(limits) = { thresholds: { mode: 'absolute', steps: [{ color: 'green', value: null }] + limits } },
  stat(title, description, unit, targets, limits=[], w=4, h=4)::
    panel('stat', title, description, unit, targets, w, h, { reduceOptions: { calcs: ['lastNotNull'] }, graphMode: 'none', colorMode: 'value', justifyMode: 'auto', textMode: 'auto', wideLayout: true, showPercentChange: false, percentChangeColorMode: 'standard', orientation: 'auto' }, steps(limits)),
  series(title, description, unit, targets, w=12, h=8)::
    panel('timeseries', title, description, unit, targets, w, h, { legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] }, tooltip: { mode: 'multi', sort: 'desc' } }, { min: 0, custom: { fillOpacity: 10, showPoints: 'never' } }),
  table(title, description, unit, targets, w=12, h=8)::
    panel('table', title, description, unit, targets, w, h, { showHeader: true, frameIndex: 0 }) {
      transformations: [{ id: 'organize', options: { excludeByName: { Time: true, __name__: true }, renameByName: { Value: 'value' } } }],
    },

  dashboard(uid, title, description, panels)::
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
      uid: config.dashboardUIDPrefix + uid,
      title: title,
      description: description,
      tags: config.dashboardTags,
      schemaVersion: 39,
      editable: true,
      annotations: { list: [] },
      refresh: '1m',
      time: { from: 'now-2d', to: 'now' },
      links: [{ type: 'dashboards', title: 'Ceph risk', tags: [config.dashboardTags[std.length(config.dashboardTags) - 1]], asDropdown: true, icon: 'external link', tooltip: '', url: '', includeVars: true, keepTime: true, targetBlank: false }],
      templating: {
        list: [
          { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
          {
            name: 'cluster',
            label: 'Cluster',
            type: 'query',
            datasource: ds,
            query: 'label_values(cephrisk:cluster_info, %s)' % config.clusterLabel,
            refresh: 2,
            includeAll: true,
            allValue: '.*',
            current: { text: 'All', value: '$__all' },
          },
        ],
      },
      panels: placed.out,
    },
}
