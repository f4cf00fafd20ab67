// Heat, power, fans and bays of shelves, and OSDs whose shelf came too late.
{
  CephRiskDownOSDsShareShelf: {
    // The shelf itself says that it is well: nobody has to drive to it at night.
    severity: 'warning',
    osds: 2,
    'for': '5m',
  },
  CephRiskEnclosureTooHot: {
    // Shelves switch themselves off above this.
    severity: 'critical',
    // Five reads: sensors report passing nonsense while a shelf resets.
    window: '5m',
    reads: 5,
    'for': '1m',
  },
  CephRiskEnclosureWarm: {
    severity: 'warning',
    window: '5m',
    reads: 5,
    // A hot afternoon hour is no fault of the shelf.
    'for': '30m',
  },
  CephRiskEnclosurePowerOrFanFailed: {
    severity: 'warning',
    types: 'power_supply|cooling',
    // Faults that a part may report with a status that is still good.
    flags: 'fail|off|ac_fail|dc_fail|dc_overvoltage|dc_undervoltage|dc_overcurrent',
    window: '5m',
    reads: 5,
    'for': '1m',
  },
  CephRiskEnclosurePartRemoved: {
    severity: 'warning',
    // Parts without which the shelf has no spare. Disks have an alert of their own.
    types: 'power_supply|cooling|controller',
    // Empty for good is how a shelf was bought; empty since this time is a part missing.
    window: '7d',
    // What was in for a moment between two looks is not missed.
    every: '6h',
    // Changing a part takes minutes.
    'for': '30m',
  },
  CephRiskEnclosureBayEmptied: {
    severity: 'warning',
    // Long enough for a weekend and those who know why to be back, short enough that a
    // disk taken out on purpose is forgotten.
    window: '7d',
    every: '6h',
    // Changing a disk takes minutes.
    'for': '1h',
  },
  CephRiskOSDVolumeMissing: {
    severity: 'warning',
    // Activation of volumes at boot takes minutes on large hosts.
    'for': '15m',
  },
}
