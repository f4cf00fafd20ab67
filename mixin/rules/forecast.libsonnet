// Who will be late, from the forecast collector.
local record = import '../lib/record.libsonnet';

function(config)
  local r = record.new(config);
  [
    r.gauge('scrub_forecast_late_pgs', ['pool_id', 'level', 'horizon']),
    r.gauge('scrub_forecast_late_pgs_standard_deviation', ['pool_id', 'level', 'horizon']),
    r.gauge('scrub_forecast_first_late_timestamp_seconds', ['pool_id', 'level']),
    r.gauge('scrub_forecast_backlog_end_timestamp_seconds', ['pool_id', 'level']),
    r.gauge('scrub_forecast_required_bytes_per_second', ['pool_id']),
    r.gauge('scrub_forecast_achieved_bytes_per_second', ['pool_id']),
    r.gauge('scrub_forecast_required_pgs_per_second', ['pool_id']),
    r.gauge('scrub_forecast_achieved_pgs_per_second', ['pool_id']),
    r.gauge('scrub_forecast_past_late_pgs', ['level', 'horizon']),
    r.gauge('scrub_forecast_past_error_pgs', ['level', 'horizon']),
  ]
  + record.held(config, 'scrub_forecast_late_pgs')
