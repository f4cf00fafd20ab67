// What scrubs cost clients, and where OSDs are heading.
{
  CephRiskScrubSlowsOSD: {
    severity: 'warning',
    // Means are exact, but the load beside them moves them by a factor of two.
    ratio: 3,
    // Nobody notices less than this on a mean.
    seconds: 0.05,
    // Operations in half an hour, of each kind: a mean of fewer is chance.
    ops: 1000,
    'for': '30m',
  },
  CephRiskScrubRecoveryOverlap: {
    severity: 'warning',
    // OSDs that scrub and recover at once, at any time of the window: one is enough, as
    // the latency below says that it hurts.
    osds: 1,
    window: '30m',
    // As for CephRiskScrubSlowsClients: buckets double, so less than four says nothing.
    ratio: 4,
    seconds: 0.1,
    ops: 1000,
    'for': '30m',
  },
  CephRiskOSDMetaGrowing: {
    severity: 'warning',
    // A week evens out compactions; a look every half a day is enough for a line and
    // cheap on thousands of OSDs.
    window: '7d',
    every: '12h',
    // Within this time META reaches the limits of CephRiskOSDMetaHigh, or the boot that
    // of CephRiskOSDSlowBootAhead: a month leaves time to compact, or to plan a new layout.
    horizon: '30d',
    // It has to have grown by this factor already: below it a slope is noise.
    growth: 1.1,
    'for': '1h',
  },
  CephRiskOSDSlowBootAhead: {
    severity: 'warning',
    // mon_osd_down_out_interval: an OSD that boots for longer is marked out, and data moves.
    seconds: 600,
    // Boots behind an estimate. Fewer than three do not make a line.
    boots: 3,
    'for': '1h',
  },
  CephRiskOSDUnaccountedSpace: {
    severity: 'warning',
    // Healthy OSDs show some hundred kB; a share of the OSD, and a floor for small ones.
    ratio: 0.01,
    bytes: 1073741824,
    'for': '1h',
  },
}
