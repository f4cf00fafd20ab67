// The pack as the monitoring-mixin convention has it: _config, grafanaDashboards,
// prometheusAlerts and prometheusRules, all hidden.
(import 'config.libsonnet')
+ {
  local config = self._config,
  local families = {
    bays: { slow: true, rules: import 'rules/bays.libsonnet', alerts: import 'alerts/bays.libsonnet' },
    boot: { slow: true, rules: import 'rules/boot.libsonnet' },
    exporter: { rules: import 'rules/exporter.libsonnet', alerts: import 'alerts/exporter.libsonnet' },
    hardware: { rules: import 'rules/hardware.libsonnet', alerts: import 'alerts/hardware.libsonnet' },
    latency: { slow: true, rules: import 'rules/latency.libsonnet' },
    osds: { slow: true, rules: import 'rules/osds.libsonnet', alerts: import 'alerts/osds.libsonnet' },
    scrub: { rules: import 'rules/scrub.libsonnet', alerts: import 'alerts/scrub.libsonnet' },
    shelves: { rules: import 'rules/shelves.libsonnet', alerts: import 'alerts/shelves.libsonnet' },
    uploads: { rules: import 'rules/uploads.libsonnet', alerts: import 'alerts/uploads.libsonnet' },
  },
  local groups(kind) = {
    groups: [
      { name: 'ceph-risk-%s-%s' % [family, kind], interval: if std.get(families[family], 'slow', false) then config.slowInterval else config.interval, rules: families[family][kind](config) }
      for family in std.objectFields(families)
      if std.objectHas(families[family], kind)
    ],
  },
  local alerts = groups('alerts'),
  local named = std.set([r.alert for g in alerts.groups for r in g.rules]),
  local unknown = std.setDiff(std.objectFields(config.alerts), named),
  assert unknown == [] : 'configuration for alerts that do not exist: ' + std.join(', ', unknown),

  local dashboards = (import 'dashboards/dashboards.libsonnet')(config),
  // Alerts link the panel that shows their cause.
  local panels = std.foldl(
    function(a, d) { [n]: '%s/d/%s?viewPanel=%d' % [config.grafanaURL, d.uid, d.alerts[n]] for n in std.objectFields(d.alerts) } + a,
    [dashboards[name] for name in std.objectFields(dashboards)],
    {}
  ),
  local linked(rule) = if config.grafanaURL == '' || !std.objectHas(panels, rule.alert) then rule else rule {
    annotations+: { dashboard_url: panels[rule.alert] + '{{ with $labels.%s }}&var-cluster={{ . | urlquery }}{{ end }}' % config.clusterLabel },
  },

  prometheusRules+:: groups('rules'),
  prometheusAlerts+:: { groups: [g { rules: [linked(r) for r in g.rules] } for g in alerts.groups] },
  grafanaDashboards+:: dashboards,
}
