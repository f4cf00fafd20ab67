// OSDs, latency, uploads, shelves and arrays.
{
  CephRiskOSDMetaHigh: {
    severity: 'warning',
    // META as a share of the OSD's size. 5 % is far above what RocksDB needs; a fixed size, or a share of
    // what is used, fires on healthy and on nearly empty OSDs.
    ratio: 0.05,
    // Below this a database is quick to open, however small the OSD.
    bytes: 10737418240,
    'for': '1h',
  },
  CephRiskBlueFSLogNotCompacted: {
    // The OSD runs, and may not start again.
    severity: 'critical',
    // 50 GiB. Logs of some GiB occur between two compactions.
    bytes: 53687091200,
    'for': '30m',
  },
  CephRiskBlueFSSpillover: {
    severity: 'warning',
    // Ceph warns at the first byte; below 1 GiB compaction often takes it back.
    bytes: 1073741824,
    'for': '1h',
  },
  CephRiskOSDSlowBoot: {
    severity: 'info',
    // Longer than mon_osd_down_out_interval (10 min) an OSD that restarts is marked out, and data moves.
    seconds: 600,
    'for': '0s',
  },
  CephRiskScrubSlowsClients: {
    severity: 'warning',
    // Buckets double, so a p99 is right within a factor of two: a smaller ratio than four says nothing.
    ratio: 4,
    // Nobody notices less than this.
    seconds: 0.1,
    // Operations in half an hour, of each kind: a p99 of fewer is chance.
    ops: 1000,
    'for': '30m',
  },
  CephRiskUploadsFail: {
    severity: 'critical',
    // Clients retry; one in fifty they notice.
    ratio: 0.02,
    // Failures in 15 minutes: one failed upload at night is not an outage.
    failures: 20,
    'for': '5m',
  },
  CephRiskUploadsAbandoned: {
    severity: 'info',
    // Open uploads older than --rgw.abandoned-after. Some clients always leave a few.
    uploads: 100,
    'for': '1h',
  },
  CephRiskOpsLogLosesRecords: {
    severity: 'warning',
    // Torn runs and gaps in an hour. A killed gateway leaves one.
    losses: 1,
    'for': '5m',
  },
  CephRiskDownOSDsShareCause: {
    severity: 'critical',
    // One dead OSD is a dead disk.
    osds: 2,
    // A restart of OSDs takes less.
    'for': '5m',
  },
  CephRiskEnclosureGone: {
    severity: 'critical',
    'for': '5m',
  },
  CephRiskEnclosureElementFailed: {
    severity: 'warning',
    // Five evaluations in a row, each with a read of its own: shelves report passing
    // nonsense while they reset.
    window: '5m',
    reads: 5,
    // Idle current sensors are called critical by some shelves. Power supplies and fans
    // have an alert of their own.
    ignore: 'current|power_supply|cooling',
    'for': '1m',
  },
  CephRiskEnclosureIOMSilent: {
    severity: 'warning',
    // A firmware update of an IOM takes minutes.
    'for': '15m',
  },
  CephRiskOSDPathLost: {
    severity: 'warning',
    'for': '10m',
  },
  CephRiskMSAFault: {
    severity: 'warning',
    // Management controllers restart now and then.
    'for': '10m',
  },
  CephRiskMSADown: {
    severity: 'warning',
    'for': '20m',
  },
  CephRiskMSAScrubFinding: {
    severity: 'warning',
    'for': '5m',
  },
}
