// The pack as the monitoring-mixin convention has it: _config, grafanaDashboards,
// prometheusAlerts and prometheusRules, all hidden.
(import 'config.libsonnet')
+ {
  local config = self._config,
  local families = {
    boot: { rules: import 'rules/boot.libsonnet' },
    exporter: { rules: import 'rules/exporter.libsonnet', alerts: import 'alerts/exporter.libsonnet' },
    hardware: { rules: import 'rules/hardware.libsonnet', alerts: import 'alerts/hardware.libsonnet' },
    scrub: { rules: import 'rules/scrub.libsonnet', alerts: import 'alerts/scrub.libsonnet' },
  },
  local groups(kind) = {
    groups: [
      { name: 'ceph-risk-%s-%s' % [family, kind], interval: config.interval, rules: families[family][kind](config) }
      for family in std.objectFields(families)
      if std.objectHas(families[family], kind)
    ],
  },
  local alerts = groups('alerts'),
  local named = std.set([r.alert for g in alerts.groups for r in g.rules]),
  local unknown = std.setDiff(std.objectFields(config.alerts), named),
  assert unknown == [] : 'configuration for alerts that do not exist: ' + std.join(', ', unknown),

  prometheusRules+:: groups('rules'),
  prometheusAlerts+:: alerts,
  grafanaDashboards+:: (import 'dashboards/dashboards.libsonnet')(config),
}
