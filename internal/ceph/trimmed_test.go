package ceph

// trimmed is what encoding/json is given for comparison: the fields that the
// PG decoder reads and no others, left as text.
type trimmed struct {
	Ready bool `json:"pg_ready"`
	PGs   []struct {
		PGID             string  `json:"pgid"`
		State            string  `json:"state"`
		LastScrub        string  `json:"last_scrub_stamp"`
		LastDeepScrub    string  `json:"last_deep_scrub_stamp"`
		LastCleanScrub   string  `json:"last_clean_scrub_stamp"`
		LastChange       string  `json:"last_change"`
		Schedule         string  `json:"scrub_schedule"`
		ObjectsScrubbed  int64   `json:"objects_scrubbed"`
		LastScrubSeconds int32   `json:"last_scrub_duration"`
		ScrubDuration    float32 `json:"scrub_duration"`
		SnapTrimQueue    int32   `json:"snaptrimq_len"`
		Sum              struct {
			Bytes         int64 `json:"num_bytes"`
			Objects       int64 `json:"num_objects"`
			ShallowErrors int32 `json:"num_shallow_scrub_errors"`
			DeepErrors    int32 `json:"num_deep_scrub_errors"`
		} `json:"stat_sum"`
		Up            []int32 `json:"up"`
		Acting        []int32 `json:"acting"`
		UpPrimary     int32   `json:"up_primary"`
		ActingPrimary int32   `json:"acting_primary"`
	} `json:"pg_stats"`
}
