// Deadlines of scrubs, their causes, and what scrubs find.
{
  CephRiskPGsLate: {
    // Ceph warns, too. It becomes urgent when data has gone unread for weeks, see CephRiskPGsVeryLate.
    severity: 'warning',
    // After an outage or planned work the count falls by itself within days. It is a problem only if a whole day
    // brought it no lower.
    window: '1d',
    // A count that is this share below its highest of the window is falling.
    fall: 0.1,
    // More late PGs than this. Ceph itself raises its check at the first.
    pgs: 0,
    'for': '15m',
    // The count moves by one or two PGs around the edge.
    keep_firing_for: '1h',
  },
  CephRiskPGsVeryLate: {
    // Bit rot on these PGs has had weeks to reach a second replica unseen.
    severity: 'critical',
    // In units of the PG's own interval; Ceph warns at 1.75 (deep) and 1.5 (shallow). One of the exporter's steps:
    // 0.5, 1, 1.25, 1.5, 1.75, 2, 3.
    intervals: '3',
    pgs: 0,
    // Nobody needs waking for one bad minute.
    window: '6h',
    // Scrubs wait for recovery: while data moves, and for this long after, late PGs are a warning only.
    quiet: '1d',
    'for': '15m',
    keep_firing_for: '1h',
  },
  CephRiskDeadlineNear: {
    severity: 'warning',
    // One of the exporter's horizons: 1d, 3d, 7d. Three days leave a weekend.
    horizon: '3d',
    // PGs more than what the rate of the last day renews in that time.
    pgs: 0,
    // Rates of a younger history are too low.
    history: '1d',
    'for': '1h',
    keep_firing_for: '1h',
  },
  CephRiskForecastLate: {
    severity: 'warning',
    // One of the forecast's horizons: 1d, 3d, 7d. Three days leave a weekend; a week's
    // forecast is much less certain.
    horizon: '3d',
    // PGs more than are late now: fewer come and go around the deadline.
    pgs: 5,
    // Deviations of its simulations that are taken off a forecast: chance in the
    // scheduler alone does not fire.
    deviations: 2,
    'for': '1h',
    keep_firing_for: '1h',
  },
  CephRiskNoScrubCompletes: {
    severity: 'warning',
    // Longer than any night that a scrub window leaves out.
    window: '1d',
    pgs: 0,
    'for': '30m',
  },
  CephRiskScrubNeverFinishes: {
    severity: 'warning',
    // Large PGs on slow disks take an hour or two; of many scrubs one should end in six.
    window: '6h',
    'for': '30m',
  },
  CephRiskScrubStuck: {
    severity: 'warning',
    // The exporter counts a scrub as stuck after --collector.pg.stuck-after (3h) without progress.
    pgs: 0,
    'for': '15m',
  },
  CephRiskScrubStarvedByOSD: {
    severity: 'warning',
    // One OSD is the primary of this share of all late PGs. With three OSDs each has a third.
    share: 0.5,
    // Fewer can gather on one OSD by chance.
    pgs: 10,
    window: '6h',
    'for': '30m',
  },
  CephRiskScrubFlagLeftOn: {
    severity: 'warning',
    // Maintenance sets them for a night. A day later they were forgotten.
    flags: 'noscrub|nodeep-scrub',
    window: '1d',
    'for': '15m',
  },
  CephRiskPoolScrubFlagLeftOn: {
    // Some pools are kept so on purpose: silence these for good.
    severity: 'info',
    window: '7d',
    'for': '15m',
  },
  CephRiskScrubIntervalMismatch: {
    severity: 'warning',
    // One OSD can be behind for the minute in which a change spreads.
    osds: 0,
    window: '1h',
    'for': '15m',
  },
  CephRiskScrubWarningSilenced: {
    severity: 'warning',
    // The ratio that Ceph adds to the interval before it warns is 0.5 or 0.75; beyond this one
    // a PG goes three intervals unread before anybody hears of it.
    ratio: 2,
    // A mute of some hours is planned work.
    window: '1d',
    'for': '15m',
  },
  CephRiskPGInconsistent: {
    // Copies differ: the next failed disk may take the good one.
    severity: 'critical',
    // An automatic repair at the end of a scrub takes moments.
    'for': '15m',
    pgs: 0,
  },
  CephRiskScrubErrors: {
    // No PG is inconsistent any more, yet its statistics still hold errors.
    severity: 'warning',
    'for': '1h',
    errors: 0,
  },
}
