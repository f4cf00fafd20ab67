function(config, p)
  local steps = ['0.5', '1', '1.25', '1.5', '1.75', '2', '3'];
  // PGs between two steps; the first band is what no step counts.
  local band(level, i) =
    local older(step) = 'sum(cephrisk:pool_pgs_older:held{%%(at)s, level="%s", intervals="%s"} %%(of_pool)s)' % [level, step];
    local all = 'sum(cephrisk:pool_pgs{%(at)s} %(of_pool)s)';
    if i == 0 then p.target('clamp_min(%s - %s, 0)' % [all, older(steps[0])], 'up to ' + steps[0])
    else if i == std.length(steps) then p.target(older(steps[i - 1]), 'over ' + steps[i - 1])
    else p.target('%s - %s' % [older(steps[i - 1]), older(steps[i])], '%s to %s' % [steps[i - 1], steps[i]]);
  local ages(level, ratio) = p.heat(
    'How old are %s scrubs, in intervals' % level,
    'PGs by the age of their last %s scrub, in multiples of their own interval; the darker, the more. By default Ceph warns at %s. Colour that moves upwards is a deadline that comes nearer.' % [level, ratio],
    'No pg collector has given data.',
    'none',
    [band(level, i) for i in std.range(0, std.length(steps))],
  );
  local horizons = ['1d', '3d', '7d'];
  local pools(series) = 'sum(%s %%(of_pool)s)' % series;
  local level(series) = 'sum by (level) (%s %%(of_pool)s)' % series;
  local late = 'cephrisk:pool_pgs_late:held{%(at)s}';
  local noForecast = 'No forecast: durations of scrubs are not known yet (docs/forecast.md).';
  p.dashboard('scrub-deadlines', 'Ceph risk: will scrubs be in time?', 'Late PGs now and soon, what keeps them, and the rate needed and achieved.', [
    p.stat('PGs late now', "PGs past the deadline of their scrub by Ceph's own rule. Held for an hour while PGs are unknown.", 'no data', 'none', [
      p.target(level(late), '{{level}}'),
    ], p.above('orange', 1)) + p.named + p.alerts(['CephRiskPGsLate', 'CephRiskPGsVeryLate']),
    p.stat('Next PG is late in', 'The next PG to become late, by the forecast: the median of its simulations.', 'none within a week', 's', [
      p.target('clamp_min(min by (level) (cephrisk:scrub_forecast_first_late_timestamp_seconds{%(at)s} %(of_pool)s) - time(), 0)', '{{level}}'),
    ]) + p.named,
    p.stat('Backlog is gone in', 'From then on no PG is late, by the forecast. 0: at any moment.', 'none late, or no end in sight', 's', [
      p.target('clamp_min(max by (level) (cephrisk:scrub_forecast_backlog_end_timestamp_seconds{%(at)s} %(of_pool)s) - time(), 0)', '{{level}}'),
    ]) + p.named,
    p.stat('Deep scrubs in the last day', 'At the rate of the last day.', 'no data', 'none', [
      p.target('86400 * ' + pools('cephrisk:scrub_completions:rate1d{%(at)s, level="deep"}')),
    ]) + p.decimals(0) + p.alerts(['CephRiskNoScrubCompletes', 'CephRiskScrubNeverFinishes']),
    p.stat('PGs unknown to the mgr', 'PGs without a report, as after a mgr fail-over; they are not judged.', 'no data', 'none', [
      p.target('sum(cephrisk:pool_pgs_unknown{%(at)s})'),
    ], p.above('orange', 1)),
    p.stat('OSDs unlike the mgr', "OSDs with another scrub interval than the mgr. Ceph's warning then counts by a rule that OSDs do not follow.", 'no data', 'none', [
      p.target('max(cephrisk:scrub_option_mismatch_osds{%(at)s})'),
    ], p.above('orange', 1)) + p.alerts(['CephRiskScrubIntervalMismatch', 'CephRiskScrubWarningSilenced']),

    ages('deep', '1.75'),
    ages('shallow', '1.5'),

    p.series('How many PGs are late, and will be', 'Late now, and what the forecast made at that time said for one, three and seven days later; deep scrubs.', noForecast, 'none', [
      p.target(pools('cephrisk:pool_pgs_late:held{%(at)s, level="deep"}'), 'late now'),
    ] + [
      p.target(pools('cephrisk:scrub_forecast_late_pgs:held{%%(at)s, level="deep", horizon="%s"}' % h), 'forecast for %s later' % h)
      for h in horizons
    ]) + p.colours({ 'late now': 'red', 'forecast for 1d later': 'yellow', 'forecast for 3d later': 'orange', 'forecast for 7d later': 'purple' }) + p.dashed('forecast for 1d later') + p.dashed('forecast for 3d later') + p.dashed('forecast for 7d later') + p.alerts(['CephRiskForecastLate']),
    p.bars('How many will be late, with and without scrubs', 'Deep scrubs: late now; by the forecast; and if nothing were scrubbed until then. The difference is what scrubs are expected to achieve.', 'No pg collector has given data.', 'none', [
      p.target(pools('cephrisk:pool_pgs_late:held{%(at)s, level="deep"}'), 'now'),
    ] + std.flattenArrays([[
      p.target(pools('cephrisk:scrub_forecast_late_pgs:held{%%(at)s, level="deep", horizon="%s"}' % h), 'in %s, forecast' % h),
      p.target(pools('cephrisk:pool_pgs_late_within:held{%%(at)s, level="deep", horizon="%s"}' % h), 'in %s, without scrubs' % h),
    ] for h in horizons]), p.above('orange', 1)) + p.decimals(0) + p.alerts(['CephRiskDeadlineNear']),

    p.series('How far to trust the forecast', 'What was foretold for now, one, three and seven days ago, beside what came; deep scrubs of the whole cluster.', 'The exporter has kept no forecast for a day yet.', 'none', [
      p.target('sum(cephrisk:pool_pgs_late:held{%(at)s, level="deep"}) and on () sum(cephrisk:scrub_forecast_past_late_pgs{%(at)s, level="deep"})', 'late now'),
      p.target('sum by (horizon) (cephrisk:scrub_forecast_past_late_pgs{%(at)s, level="deep"})', 'foretold {{horizon}} ago'),
    ]) + p.colours({ 'late now': 'red' }),
    p.series('Are deep scrubs fast enough', 'Bytes per second that have to be deep-scrubbed, while scrubs may begin, so that in the long run nothing is late; and what the last day brought. Achieved below needed for days means late PGs.', 'No forecast: nothing to scrub, or no data.', 'Bps', [
      p.target(pools('cephrisk:scrub_forecast_required_bytes_per_second{%(at)s}'), 'needed'),
      p.target(pools('cephrisk:scrub_forecast_achieved_bytes_per_second{%(at)s}'), 'achieved in the last day'),
      p.target(pools('cephrisk:scrub_completed_bytes:rate1h{%(at)s, level="deep"}'), 'in the last hour'),
    ]) + p.colours({ needed: 'red', 'achieved in the last day': 'green', 'in the last hour': 'blue' }) + p.dashed('needed'),

    p.table('Which pools do not keep up', 'Late PGs by pool, and how much of the rate that is needed in the long run the last day brought: below 100% the pool falls behind.', 'No pg collector has given data.', 'none', [
      p.target('sum by (%(cluster)s, name) (cephrisk:pool_pgs{%(at)s} %(of_pool)s)', instant=true),
      p.target('sum by (%(cluster)s, name) (cephrisk:pool_pgs_late:held{%(at)s, level="deep"} %(of_pool)s)', instant=true),
      p.target('sum by (%(cluster)s, name) (cephrisk:pool_pgs_late:held{%(at)s, level="shallow"} %(of_pool)s)', instant=true),
      p.target('sum by (%(cluster)s, name) (cephrisk:scrub_forecast_required_pgs_per_second{%(at)s} %(of_pool)s) * 86400', instant=true),
      p.target('sum by (%(cluster)s, name) (cephrisk:scrub_forecast_achieved_pgs_per_second{%(at)s} %(of_pool)s) / sum by (%(cluster)s, name) (cephrisk:scrub_forecast_required_pgs_per_second{%(at)s} %(of_pool)s)', instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'name', name: 'Pool' },
      { field: 'Value #A', name: 'PGs' },
      { field: 'Value #B', name: 'Late, deep' } + p.coloured(p.above('orange', 1), 'text'),
      { field: 'Value #C', name: 'Late, shallow' } + p.coloured(p.above('orange', 1), 'text'),
      { field: 'Value #D', name: 'Deep scrubs a day needed', decimals: 1 },
      { field: 'Value #E', name: 'Achieved', unit: 'percentunit', decimals: 0 } + p.coloured([{ color: 'green', value: 1 }], 'orange'),
    ], sort='Late, deep', w=24, h=7),
    p.table('Which PGs are longest without scrub', 'The %d worst of each pool and level, and what keeps those that are late from scrubbing now.' % config.worstPGs, 'No pg collector has given data, or no scrub is known.', 'none', [
      p.target(|||
        sort_desc((
          cephrisk:pg_worst_scrub_age_seconds{%(at)s} * on (%(cluster)s, pool_id, level, pgid) group_left (reason) cephrisk:pg_worst_scrub_blocked
          or cephrisk:pg_worst_scrub_age_seconds{%(at)s} unless on (%(cluster)s, pool_id, level, pgid) cephrisk:pg_worst_scrub_blocked
        ) %(of_pool)s)
      |||, instant=true),
    ], [
      { field: config.clusterLabel, name: 'Cluster' },
      { field: 'pgid', name: 'PG' },
      { field: 'name', name: 'Pool' },
      { field: 'level', name: 'Level' },
      { field: 'Value', name: 'Last scrub ago', unit: 's', decimals: 1 },
      { field: 'reason', name: 'Kept from it by', noValue: '-' },
    ], hide=['pool_id'], sort='Last scrub ago'),

    p.series('What keeps late PGs from scrubbing now', 'Late PGs that cannot be scrubbed now, of the level that has more of them, by the first reason that applies. flag: noscrub or nodeep-scrub. not_clean: the PG itself recovers or waits to. recovery: its primary recovers another. window: outside of the hours. slots: an OSD of it scrubs as much as it may.', 'No pg collector has given data.', 'none', [
      p.target('max by (reason) (sum by (reason, level) (cephrisk:pool_pgs_scrub_blocked{%(at)s} %(of_pool)s))', '{{reason}}'),
    ]) + p.stacked + p.alerts(['CephRiskPoolScrubFlagLeftOn']),
    p.series('Which scrubs run', 'PGs in state scrubbing; reserving ones wait for their replicas. On 16 the phase is unknown.', 'No pg collector has given data.', 'none', [
      p.target('sum by (level, phase) (cephrisk:scrubs_running{%(at)s} %(of_pool)s)', '{{level}} {{phase}}'),
    ]) + p.alerts(['CephRiskScrubStuck']),
    p.bars('Which primaries hold up the most late PGs', 'The OSD has to begin these scrubs. One that stands out starves them.', 'No PG is late.', 'none', [
      p.target('topk(10, max by (ceph_daemon) (cephrisk:osd_late_pgs{%(at)s}) > 0)', '{{ceph_daemon}}') { instant: true, range: false },
    ], p.above('orange', 1)) + p.alerts(['CephRiskScrubStarvedByOSD']),
    p.table('Which scrub options do OSDs run with', 'OSDs by the value in force. Two rows for one option are OSDs that differ.', 'No pg collector has given data.', 'none', [
      p.target('sum by (option, value) (cephrisk:scrub_option_osds{%(at)s})', instant=true),
    ], [
      { field: 'option', name: 'Option' },
      { field: 'value', name: 'Value', 'custom.width': 100 },
      { field: 'Value', name: 'OSDs', 'custom.width': 70 },
    ], w=24, h=7),
  ], [p.variables.pool])
