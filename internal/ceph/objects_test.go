package ceph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObjectsByOSDCountCopiesAndShardsAndNothingUnknown(t *testing.T) {
	dump := `{"pg_ready":true,"pg_stats":[
		{"pgid":"1.0","state":"active+clean","up":[0,1],"acting":[0,1],"stat_sum":{"num_objects":3}},
		{"pgid":"1.1","state":"active+undersized","up":[0],"acting":[0],"stat_sum":{"num_objects":4}},
		{"pgid":"2.0","state":"active+clean","up":[2147483647,3,0],"acting":[2147483647,3,0],"stat_sum":{"num_objects":10}},
		{"pgid":"2.1","state":"active+remapped","up":[5,6],"acting":[0,1],"stat_sum":{"num_objects":100}},
		{"pgid":"3.0","state":"unknown","up":[2],"acting":[2],"stat_sum":{"num_objects":0}},
		{"pgid":"3.1","state":"active+clean","up":[2,4],"acting":[2,4]},
		{"pgid":"3.2","state":"active+clean","up":[4],"acting":[4],"stat_sum":{"num_objects":-1}}]}`
	table, err := DecodePGs([]byte(dump))
	if err != nil {
		t.Fatal(err)
	}
	objects, unknown := table.ObjectsByOSD()
	if diff := cmp.Diff(map[int32]int64{0: 117, 1: 103, 3: 10}, objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int32]bool{2: true, 4: true}, unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}
