package simulate

// release is what differs between the releases, apart from fields that came in
// at some release.
type release struct {
	number    int
	name      string
	version   string
	commit    string
	build     string // what follows the name in the banner
	maxScrubs int
	mgrPool   string
}

var releases = map[int]release{
	Pacific: {
		number: 16, name: "pacific", version: "16.2.15", commit: "618f440892089921c3e944a991122ddc44e60516", build: "stable", maxScrubs: 1,
		mgrPool: "device_health_metrics",
	},
	Reef: {
		number: 18, name: "reef", version: "18.2.7", commit: "6b0e988052ec84cf2d4a54ff9bbbc5e720b621ad", build: "stable", maxScrubs: 3,
		mgrPool: ".mgr",
	},
	Tentacle: {
		number: 20, name: "tentacle", version: "20.2.4", commit: "7f793731f1b39eb4f465e960113d2363c311b964", build: "stable - RelWithDebInfo", maxScrubs: 3,
		mgrPool: ".mgr",
	},
}

// banner is the text of `ceph version`.
func (r release) banner() string {
	return "ceph version " + r.version + " (" + r.commit + ") " + r.name + " (" + r.build + ")"
}

// option is one configuration option with its default.
type option struct{ name, value string }

// options are those that decide about scrubs, sorted by name, with the
// defaults of the release.
func (r release) options() []option {
	threshold, requested, profile, queue := "0.500000", "120", "high_client_ops", "wpq"
	chunkMax, stride := "25", "524288"
	scrubs := "1"
	if r.number >= 18 {
		requested, profile, queue, chunkMax, scrubs = "5", "balanced", "mclock_scheduler", "15", "3"
	}
	if r.number >= 20 {
		threshold = "10.000000"
	}
	o := []option{
		{"mon_warn_pg_not_deep_scrubbed_ratio", "0.750000"},
		{"mon_warn_pg_not_scrubbed_ratio", "0.500000"},
	}
	if r.number >= 18 {
		o = append(o, option{"osd_blocked_scrub_grace_period", "120"})
	}
	o = append(o, option{"osd_deep_scrub_interval", "604800.000000"})
	if r.number >= 20 {
		o = append(o, option{"osd_deep_scrub_interval_cv", "0.200000"})
	}
	o = append(o,
		option{"osd_deep_scrub_keys", "1024"},
		option{"osd_deep_scrub_large_omap_object_key_threshold", "200000"},
		option{"osd_deep_scrub_randomize_ratio", "0.150000"},
		option{"osd_deep_scrub_stride", stride},
		option{"osd_max_scrubs", scrubs},
		option{"osd_mclock_profile", profile},
		option{"osd_op_queue", queue},
	)
	if r.number < 20 {
		o = append(o, option{"osd_repair_during_recovery", "false"})
	}
	return append(o,
		option{"osd_requested_scrub_priority", requested},
		option{"osd_scrub_auto_repair", "false"},
		option{"osd_scrub_auto_repair_num_errors", "5"},
		option{"osd_scrub_backoff_ratio", "0.660000"},
		option{"osd_scrub_begin_hour", "0"},
		option{"osd_scrub_begin_week_day", "0"},
		option{"osd_scrub_chunk_max", chunkMax},
		option{"osd_scrub_chunk_min", "5"},
		option{"osd_scrub_during_recovery", "false"},
		option{"osd_scrub_end_hour", "0"},
		option{"osd_scrub_end_week_day", "0"},
		option{"osd_scrub_extended_sleep", "0.000000"},
		option{"osd_scrub_interval_randomize_ratio", "0.500000"},
		option{"osd_scrub_invalid_stats", "true"},
		option{"osd_scrub_load_threshold", threshold},
		option{"osd_scrub_max_interval", "604800.000000"},
		option{"osd_scrub_max_preemptions", "5"},
		option{"osd_scrub_min_interval", "86400.000000"},
		option{"osd_scrub_priority", "5"},
		option{"osd_scrub_sleep", "0.000000"},
	)
}
