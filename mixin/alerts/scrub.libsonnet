local alert = import '../lib/alert.libsonnet';
local text = import '../lib/text.libsonnet';

function(config)
  local new(name, expr, summary, description) = alert.new(config, name, expr, summary, description, 'scrub-deadlines');
  local at = alert.inCluster(config);
  local pool = alert.pool(config);
  local worst = alert.list(config, 'cephrisk:pg_worst_scrub_age_seconds', ['pool_id', 'level'], '{{ .Labels.pgid }} ({{ .Value | humanizeDuration }})', wrap='sort_desc(%s)', lead=' Longest without {{ $labels.level }} scrub: ');
  local blocked = alert.list(config, 'cephrisk:pool_pgs_scrub_blocked', ['pool_id', 'level'], '{{ .Labels.reason }} {{ .Value }}', wrap='sort_desc(%s > 0)', lead=' Kept from scrubbing now by: ', none=' Nothing keeps them from scrubbing now.');
  local inconsistent = alert.list(config, 'cephrisk:pg_inconsistent', ['pool_id'], '{{ .Labels.pgid }}', wrap='topk(%d, %%s)' % config.worstPGs, lead=' Among them: ', sort='pgid');
  [
    new(
      'CephRiskPGsLate',
      function(c) |||
        cephrisk:pool_pgs_late:held > %(pgs)g
        and min_over_time(cephrisk:pool_pgs_late:held[%(window)s:%(step)s]) > %(pgs)g
        and cephrisk:pool_pgs_late:held > (1 - %(fall)g) * max_over_time(cephrisk:pool_pgs_late:held[%(window)s:%(step)s])
        and %(enough)s
      ||| % (c { enough: c.present('cephrisk:pool_pgs_late:held', c.window) }),
      '{{ $value }} PGs of ' + pool + at + ' are late for their {{ $labels.level }} scrub, and not getting fewer',
      '{{ $value }} PGs of ' + pool + " are past the deadline of their {{ $labels.level }} scrub by Ceph's own rule, and their number has not fallen for <window>." + blocked + worst
    ),
    new(
      'CephRiskPGsVeryLate',
      function(c) |||
        (
          cephrisk:pool_pgs_older:held{level="shallow", intervals="%(intervals)s"}
          or cephrisk:pool_pgs_older:held{level="deep", intervals="%(intervals)s"} - on (%(cluster)s, pool_id) group_left () cephrisk:pool_pgs_never_deep_scrubbed:held
        ) > %(pgs)g
        and min_over_time(cephrisk:pool_pgs_older:held{intervals="%(intervals)s"}[%(window)s:%(step)s]) > %(pgs)g
        and %(enough)s
        unless on (%(cluster)s) max_over_time(cephrisk:recovering_osds[%(quiet)s:%(step)s]) > 0
      ||| % (c { enough: c.present('cephrisk:pool_pgs_older:held{intervals="%s"}' % c.intervals, c.window) }),
      '{{ $value }} PGs of ' + pool + at + ' have had no {{ $labels.level }} scrub for {{ $labels.intervals }} intervals',
      'Nobody has compared the copies of {{ $value }} PGs of ' + pool + ' for more than {{ $labels.intervals }} times their own interval, and no recovery explains it: damage can spread unseen.' + worst
    ),
    new(
      'CephRiskDeadlineNear',
      function(c) |||
        (
          cephrisk:pool_pgs_late_within:held{horizon="%(horizon)s"} - ignoring (horizon) cephrisk:pool_pgs_late:held
        ) > ignoring (horizon) (%(pgs)g + %(seconds)d * cephrisk:scrub_renewals:rate1d)
        and ignoring (horizon) %(enough)s
      ||| % (c { seconds: text.seconds(c.horizon), enough: c.present('cephrisk:scrub_renewals:rate1d', c.history) }),
      '{{ $value }} more PGs of ' + pool + at + ' become late within <horizon>',
      '{{ $value }} PGs of ' + pool + ' that are not late yet pass the deadline of their {{ $labels.level }} scrub within <horizon>, more than the cluster has scrubbed in that time at the rate of the last day.' + worst
    ),
    new(
      'CephRiskForecastLate',
      function(c) |||
        cephrisk:scrub_forecast_late_pgs:held{horizon="%(horizon)s"}
        - %(deviations)g * cephrisk:scrub_forecast_late_pgs_standard_deviation
        - ignoring (horizon) cephrisk:pool_pgs_late:held
        > %(pgs)g
      ||| % c,
      '{{ $value | humanize }} more PGs of ' + pool + at + ' will be late for their {{ $labels.level }} scrub in <horizon>, by forecast',
      'A simulation of the scrub scheduler with the settings and durations of now has at least {{ $value | humanize }} more PGs of ' + pool + ' past the deadline of their {{ $labels.level }} scrub in <horizon> than are late now. `scrubplan --solve` finds what would prevent it.' + alert.list(config, 'cephrisk:scrub_forecast_first_late_timestamp_seconds', ['pool_id', 'level'], '{{ .Value | humanizeDuration }}', wrap='%s - time() > 0', lead=' The next PG becomes late in: ') + worst
    ),
    new(
      'CephRiskNoScrubCompletes',
      function(c) |||
        sum by (%(cluster)s) (cephrisk:pool_pgs_late:held) > %(pgs)g
        and on (%(cluster)s) sum by (%(cluster)s) (cephrisk:scrub_completions:rate1d) == 0
        and on (%(cluster)s) %(enough)s
        unless on (%(cluster)s) cephrisk:cluster_flag:held{flag=~"noscrub|nodeep-scrub"} == 1
      ||| % (c { enough: c.present('cephrisk:scrubbing_pgs', c.window) }),
      '{{ $value }} PGs are late' + at + ' and not one scrub has completed in <window>',
      'Not one scrub has completed in <window> although {{ $value }} PGs are late and no flag forbids it.' + alert.list(config, 'cephrisk:scrubbing_pgs', [], '{{ .Value }}', lead=' PGs in state scrubbing now: ')
    ),
    new(
      'CephRiskScrubNeverFinishes',
      function(c) |||
        min_over_time(cephrisk:scrubbing_pgs[%(window)s:%(step)s]) > 0
        and on (%(cluster)s) sum by (%(cluster)s) (max_over_time(cephrisk:scrub_completions:rate6h[%(step)s])) == 0
        and on (%(cluster)s) %(enough)s
      ||| % (c { enough: c.present('cephrisk:scrubbing_pgs', c.window) }),
      'Scrubs run' + at + ' and none has ended in <window>',
      'At least {{ $value }} PGs have been in state scrubbing at any time of <window>, and not one scrub has completed.'
    ),
    new(
      'CephRiskScrubStuck',
      function(c) 'cephrisk:scrub_stuck_pgs > %(pgs)g' % c,
      '{{ $value }} PGs of ' + pool + at + ' are stuck in a scrub',
      '{{ $value }} PGs of ' + pool + " have been in state scrubbing without progress for longer than the exporter's --collector.pg.stuck-after. They hold scrub slots of their OSDs." + alert.list(config, 'cephrisk:scrub_oldest_start_timestamp_seconds', ['pool_id'], '{{ .Labels.level }} {{ .Value | humanizeDuration }}', wrap='time() - %s', lead=' The longest scrub has run for: ')
    ),
    new(
      'CephRiskScrubStarvedByOSD',
      function(c) |||
        %(late)s >= %(pgs)g
        and min_over_time(cephrisk:osd_late_pgs:known[%(window)s:%(step)s]) >= %(pgs)g
        and %(late)s > on (%(cluster)s, level) group_left () (%(share)g * sum by (%(cluster)s, level) (%(late)s))
        and on (%(cluster)s) sum by (%(cluster)s) (cephrisk:scrub_completions:rate6h) > 0
        and %(enough)s
      ||| % (c { late: 'last_over_time(cephrisk:osd_late_pgs:known[%s])' % config.hold, enough: c.present('cephrisk:osd_late_pgs:known', c.window) }),
      '{{ $labels.ceph_daemon }}' + at + ' holds up {{ $value }} late {{ $labels.level }} scrubs',
      '{{ $labels.ceph_daemon }} is the primary of {{ $value }} late PGs, more than <share> of all: it does not begin their {{ $labels.level }} scrubs while others are scrubbed.'
    ),
    new(
      'CephRiskScrubFlagLeftOn',
      function(c) |||
        min_over_time(cephrisk:cluster_flag:held{flag=~"%(flags)s"}[%(window)s:%(step)s]) == 1
        and cephrisk:cluster_flag:held == 1
        and %(enough)s
      ||| % (c { enough: c.present('cephrisk:cluster_flag:held{flag=~"%s"}' % c.flags, c.window) }),
      'Flag {{ $labels.flag }} has been set for <window>' + at,
      'The cluster flag {{ $labels.flag }} has been set for <window>: every PG comes nearer to its deadline. Unset it with `ceph osd unset {{ $labels.flag }}` when the work it was set for is done.' + alert.list(config, 'cephrisk:pool_pgs_late:held', [], '{{ .Value }}', wrap='sum(%s) > 0', lead=' Late PGs already: ')
    ),
    new(
      'CephRiskPoolScrubFlagLeftOn',
      function(c) |||
        min_over_time(cephrisk:pool_flag[%(window)s:%(step)s]) == 1
        and cephrisk:pool_flag == 1
        and %(enough)s
      ||| % (c { enough: c.present('cephrisk:pool_flag', c.window) }),
      'Flag {{ $labels.flag }} has been set for <window> on ' + pool + at,
      'The flag {{ $labels.flag }} has been set on ' + pool + ' for <window>, so its PGs are not scrubbed. Silence this for pools that are meant to be so.'
    ),
    new(
      'CephRiskScrubIntervalMismatch',
      function(c) |||
        min_over_time(cephrisk:scrub_option_mismatch_osds[%(window)s:%(step)s]) > %(osds)g
        and cephrisk:scrub_option_mismatch_osds > %(osds)g
        and %(enough)s
      ||| % (c { enough: c.present('cephrisk:scrub_option_mismatch_osds', c.window) }),
      '{{ $value }} OSDs run with another {{ $labels.option }} than the mgr' + at,
      '{{ $value }} OSDs schedule scrubs by another {{ $labels.option }} than the mgr warns by, so PG_NOT_SCRUBBED and PG_NOT_DEEP_SCRUBBED say the wrong number. Set it with `ceph config set global {{ $labels.option }} ...` and remove it from single sections.' + alert.list(config, 'cephrisk:scrub_option', ['option'], '{{ .Labels.who }} {{ printf `%.0f` .Value }} s', lead=' Set now: ')
    ),
    new(
      'CephRiskScrubWarningSilenced',
      function(c) |||
        label_replace(cephrisk:scrub_option_mgr{option=~"mon_warn_pg_not_(deep_)?scrubbed_ratio"} <= 0, "cause", "a ratio of 0", "", "")
        or label_replace(cephrisk:scrub_option_mgr{option=~"mon_warn_pg_not_(deep_)?scrubbed_ratio"} > %(ratio)g, "cause", "a high ratio", "", "")
        or label_replace(
          label_replace(
            min_over_time(cephrisk:health_check_muted{name=~"PG_NOT_(DEEP_)?SCRUBBED"}[%(window)s:%(step)s]) == 1
            and cephrisk:health_check_muted == 1
            and %(enough)s,
            "option", "$1", "name", "(.*)"
          ), "cause", "a mute", "", ""
        )
      ||| % (c { enough: c.present('cephrisk:health_check_muted', c.window) }),
      "Ceph's warning about late scrubs is silenced" + at + ' by {{ $labels.cause }}',
      "Ceph does not warn about late PGs, or only after many intervals: {{ $labels.option }} is silenced by {{ $labels.cause }} (value {{ $value }}). Late PGs by the exporter's count remain in cephrisk_pool_pgs_late, except for levels with a ratio of 0."
    ),
    new(
      'CephRiskPGInconsistent',
      function(c) 'count by (%(cluster)s, pool_id) (cephrisk:pg_inconsistent == 1) > %(pgs)g' % c,
      '{{ $value }} PGs of ' + pool + at + ' are inconsistent',
      'A scrub found copies that differ in {{ $value }} PGs of ' + pool + '.' + inconsistent
    ),
    new(
      'CephRiskScrubErrors',
      function(c) 'cephrisk:pool_scrub_errors > %(errors)g unless on (%(cluster)s, pool_id) cephrisk:pg_inconsistent == 1' % c,
      '{{ $value }} {{ $labels.level }} scrub errors of ' + pool + at + ' are not repaired',
      'The last scrubs of ' + pool + " found {{ $value }} errors ({{ $labels.level }}) that are in no PG's state inconsistent: a scrub of the PG is due to find or clear them."
    ),
  ]
