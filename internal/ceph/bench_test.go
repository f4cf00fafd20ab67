package ceph

import (
	"encoding/json"
	"fmt"
	"testing"
)

// trimmed is what encoding/json is given for comparison: the fields that the
// PG decoder reads and no others, left as text.
type trimmed struct {
	Ready bool `json:"pg_ready"`
	PGs   []struct {
		PGID             string `json:"pgid"`
		State            string `json:"state"`
		LastScrub        string `json:"last_scrub_stamp"`
		LastDeepScrub    string `json:"last_deep_scrub_stamp"`
		LastCleanScrub   string `json:"last_clean_scrub_stamp"`
		LastChange       string `json:"last_change"`
		Schedule         string `json:"scrub_schedule"`
		ObjectsScrubbed  int64  `json:"objects_scrubbed"`
		LastScrubSeconds int32  `json:"last_scrub_duration"`
		SnapTrimQueue    int32  `json:"snaptrimq_len"`
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

func BenchmarkDecodePGs(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		data := madeUpDump(n, 1)
		run := func(name string, decode func() int) {
			b.Run(fmt.Sprintf("%s/pgs=%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if got := decode(); got != n {
						b.Fatalf("%d PGs, want %d", got, n)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/PG")
			})
		}
		run("own", func() int {
			table, err := DecodePGs(data)
			if err != nil || table.BadCount > 0 {
				b.Fatal(err, table.Bad)
			}
			return len(table.PGs)
		})
		run("encodingjson", func() int {
			var t trimmed
			if err := json.Unmarshal(data, &t); err != nil {
				b.Fatal(err)
			}
			return len(t.PGs)
		})
		run("pass", func() int {
			var sum byte
			for _, c := range data {
				sum ^= c
			}
			return n + int(sum)*0
		})
	}
}
