// Everything that an operator may want to change, with its reason. Override with
//   (import 'mixin.libsonnet') + { _config+:: { alerts+: { CephRiskScrubStuck+: { 'for': '1h' } } } }
//
// `for` never exceeds an hour, since one missed evaluation starts it over; longer
// conditions have a window instead, of which `share` has to be there.
{
  _config+:: {
    // Which scrape jobs are the exporter's. cephadm, Rook and kube-prometheus name
    // jobs differently; every usual form of the name matches.
    selector: 'job=~"ceph[-_]risk.*"',

    // Label that tells clusters apart. Scrapers add it, exporters do not: without
    // it, everything is one cluster.
    clusterLabel: 'cluster',

    // Collectors that see a whole cluster. When two exporters run them, one that
    // succeeds is enough; any other collector is judged per exporter.
    clusterCollectors: 'pg|forecast|osd|msa',

    // How often rules are evaluated. Half of the shortest poll would be 7 s, but no
    // alert needs to be faster than a minute.
    interval: '1m',

    // The same for what changes slowly or is looked at over half an hour and more: what
    // OSDs are, hold and run with, their latency, which disk is in which bay. A series
    // lives for five minutes after its last sample, so that one evaluation may be missed.
    slowInterval: '2m',

    // Long windows are looked at in these steps, and this share of the steps needs a
    // sample. It allows two hours without data a day, and demands nearly a whole window
    // of history: a new Prometheus, cluster or pool does not fire at once.
    step: '15m',
    share: 0.9,

    // How long a count of late PGs stands in while PGs are unknown: a mgr knows them
    // again within minutes; longer, and PGs have no OSD, which Ceph itself reports.
    hold: '1h',

    // Windows of rates, by how the names of recorded series spell them. A drill that
    // cannot wait for hours replaces the values; nobody else has a reason to.
    windows: { '5m': '5m', '15m': '15m', '30m': '30m', '1h': '1h', '6h': '6h', '1d': '1d' },

    // PGs and other things that an alert names at most. The exporter names five PGs per
    // pool and level (--collector.pg.worst).
    worstPGs: 5,

    // Prometheus before 2.42 (cephadm on Ceph 16 and 17) refuses keep_firing_for.
    keepFiringFor: true,

    // Where runbooks are; %s is the alert's name.
    runbookURLPattern: 'https://github.com/ceph-risk/ceph_risk_exporter/blob/main/docs/runbooks/%s.md',

    // With the address of a Grafana every alert links its dashboard.
    grafanaURL: '',

    // Uids of dashboards start with this, so that they do not meet others.
    dashboardUIDPrefix: 'ceph-risk-',

    // Tags of all dashboards, by which their links find each other.
    dashboardTags: ['ceph', 'ceph-risk'],

    // Labels to put on every alert, for instance a team.
    alertLabels: {},

    // Severities: critical wakes somebody, warning is for the next working day, info is for
    // whoever looks.
    alerts:
      (import 'config/exporter.libsonnet')
      + (import 'config/scrub.libsonnet')
      + (import 'config/hardware.libsonnet')
      + (import 'config/osds.libsonnet')
      + (import 'config/shelves.libsonnet')
      + (import 'config/uploads.libsonnet'),
  },
}
