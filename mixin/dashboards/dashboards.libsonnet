// One file for each dashboard.
local panels = import '../lib/panels.libsonnet';

function(config)
  local p = panels(config);
  {
    'overview.json': (import 'overview.libsonnet')(config, p),
    'scrub-deadlines.json': (import 'scrub-deadlines.libsonnet')(config, p),
    'latency.json': (import 'latency.libsonnet')(config, p),
    'recovery-overlap.json': (import 'recovery-overlap.libsonnet')(config, p),
    'osd-boot.json': (import 'osd-boot.libsonnet')(config, p),
    'uploads.json': (import 'uploads.libsonnet')(config, p),
    'enclosures.json': (import 'enclosures.libsonnet')(config, p),
    'exporter.json': (import 'exporter.libsonnet')(config, p),
  }
