package collector

// forecastTable is what is exported of the forecast.
type forecastTable struct {
	Table
	late, deviation, first, backlog     *Row
	requiredBytes, achievedBytes        *Row
	requiredPGs, achievedPGs            *Row
	at, pgs, defaulted, pastLate, error *Row
}

func newForecastTable() *forecastTable {
	t := &forecastTable{}
	const (
		source    = "simulation of the scrub scheduler from the pg collector's last full dump; docs/forecast.md"
		perPool   = "one per pool and level"
		perFuture = "one per pool, level and horizon"
	)
	add := func(name, help, cardinality string, labels ...string) *Row {
		return t.Add(Row{Name: "cephrisk_scrub_forecast_" + name, Help: help, Labels: labels, Cardinality: cardinality, Source: source})
	}
	t.late = add("late_pgs", "PGs that will be late after that time if nothing changes, the mean of the simulations. Compare with cephrisk_pool_pgs_late_within, which takes nothing to be scrubbed until then", perFuture, "pool_id", "level", "horizon")
	t.deviation = add("late_pgs_standard_deviation", "Standard deviation of the late PGs over the simulations", perFuture, "pool_id", "level", "horizon")
	t.first = add("first_late_timestamp_seconds", "Instant at which the next PG becomes late, the median of the simulations; absent where none does within seven days in most of them", perPool, "pool_id", "level")
	t.backlog = add("backlog_end_timestamp_seconds", "Instant from which on no PG is late any more, the median of the simulations; absent where nobody is late, and where the backlog outlasts seven days in most of them", perPool, "pool_id", "level")
	t.requiredBytes = add("required_bytes_per_second", "Bytes to be deep-scrubbed per second while scrubs may begin, so that in the long run no PG of the pool becomes late", "one per pool", "pool_id")
	t.requiredPGs = add("required_pgs_per_second", "PGs to be deep-scrubbed per second while scrubs may begin, so that in the long run none of the pool becomes late", "one per pool", "pool_id")
	t.achievedBytes = add("achieved_bytes_per_second", "Bytes deep-scrubbed per second over the last day, counting the time in which scrubs may begin; absent before six hours have been seen", "one per pool", "pool_id")
	t.achievedPGs = add("achieved_pgs_per_second", "PGs deep-scrubbed per second over the last day, counting the time in which scrubs may begin; absent before six hours have been seen", "one per pool", "pool_id")
	t.at = add("timestamp_seconds", "Instant of the dump that the forecast starts from", "one")
	t.pgs = add("pgs", "PGs in the forecast, by whether they can be scrubbed as they are: one that is not active and clean cannot", "one per state", "state")
	t.defaulted = add("pgs_default_duration", "PGs for whose scrub no duration was measured in their pool, so that a default stands in. A level is forecast only where these are less than half", "one per level", "level")
	t.pastLate = add("past_late_pgs", "Late PGs of the whole cluster that were forecast for now, that long ago: compare with the sum of cephrisk_pool_pgs_late", "one per level and horizon", "level", "horizon")
	t.error = add("past_error_pgs", "What was forecast for now, that long ago, minus the PGs that are late now", "one per level and horizon", "level", "horizon")
	return t
}
