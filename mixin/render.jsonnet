// What alerts/ and dashboards/ hold: jsonnet -S -m . mixin/render.jsonnet
local mixin = import 'mixin.libsonnet';
local old = mixin { _config+:: { keepFiringFor: false } };
local head = '# Rendered from mixin/ by `make mixin`; change it there.\n';
local yaml(value) = head + std.manifestYamlDoc(value, indent_array_in_object=false, quote_keys=false) + '\n';
{
  'alerts/rules.yaml': yaml(mixin.prometheusRules),
  'alerts/alerts.yaml': yaml(mixin.prometheusAlerts),
  // For Prometheus before 2.42, which does not know keep_firing_for.
  'alerts/alerts_before_2.42.yaml': yaml(old.prometheusAlerts),
  'alerts/prometheusrule.yaml': yaml({
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'ceph-risk', labels: { 'app.kubernetes.io/name': 'ceph-risk-exporter' } },
    spec: { groups: mixin.prometheusRules.groups + mixin.prometheusAlerts.groups },
  }),
} + {
  ['dashboards/' + name]: std.manifestJsonEx(mixin.grafanaDashboards[name], '  ') + '\n'
  for name in std.objectFields(mixin.grafanaDashboards)
}
