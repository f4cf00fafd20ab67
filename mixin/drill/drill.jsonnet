// The pack with days shortened to seconds, as the fire drill loads it: the rules of
// mixin/, with another configuration.
local mixin = import '../mixin.libsonnet';
local window = '12s';
local wait = '2s';

local has(a, keys, value) = { [k]: value for k in keys if std.objectHas(a, k) && a[k] != '0s' };
local shortened = mixin {
  _config+:: {
    interval: '2s',
    slowInterval: '2s',
    step: '2s',
    // A mgr that hangs for half a minute is away for longer until it knows all PGs again.
    hold: '10m',
    windows: std.mapWithKey(function(name, value) window, super.windows),
    alerts: std.mapWithKey(
      function(name, a) a + has(a, ['window', 'history', 'quiet'], window) + has(a, ['for', 'keep_firing_for'], wait),
      super.alerts
    ) + {
      // Loaded machines scrape and poll late, which is not the fault that is drilled.
      CephRiskExporterDown+: { 'for': '16s' },
      CephRiskClusterUnseen+: { 'for': '20s', window: '10m' },
      CephRiskCollectorFailing+: { window: '40s' },
      CephRiskSnapshotStale+: { intervals: 20 },
      // A forecast is older than the count of late PGs that it is compared with.
      CephRiskForecastLate+: { 'for': '5m' },
      // The ops log lags behind its gateway by more than a shortened window.
      CephRiskOpsLogMissesRequests+: { 'for': '2m' },
      // The drill leaves five uploads open, not a hundred and one.
      CephRiskUploadsAbandoned+: { uploads: 4 },
    },
  },
};
{
  'rules.json': shortened.prometheusRules,
  'alerts.json': shortened.prometheusAlerts,
}
