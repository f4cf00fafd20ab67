// Uploads that fail in parts, and records that never reach the ops log.
{
  CephRiskUploadPartsFail: {
    severity: 'critical',
    // As for CephRiskUploadsFail. Uploads whose parts fail never come to their completion,
    // so that one would not see them.
    ratio: 0.02,
    failures: 20,
    'for': '5m',
  },
  CephRiskOpsLogMissesRequests: {
    severity: 'warning',
    // Requests in an hour that RGW counted and its log has not: floor and share. The log
    // is read some seconds late, which is less than either.
    requests: 100,
    ratio: 0.01,
    'for': '30m',
  },
}
