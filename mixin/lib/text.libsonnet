// Durations, and expressions built from them.
local units = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };
{
  // seconds('15m') is 900. A duration is one number and one unit.
  seconds(duration)::
    local n = std.length(duration);
    local unit = duration[n - 1];
    assert n > 1 && std.objectHas(units, unit) : 'not a duration: ' + duration;
    std.parseInt(std.substr(duration, 0, n - 1)) * units[unit],

  // present(x, w) holds where at least the given share of the samples of the
  // window exists. One gap, or a restart, then neither fires nor resets an alert.
  present(expr, window, step, share)::
    'count_over_time(%s[%s:%s]) >= %g' % [
      expr,
      window,
      step,
      std.floor(share * self.seconds(window) / self.seconds(step)),
    ],
}
