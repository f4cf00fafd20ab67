package scrub

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

func TestRunningScrubsAreCountedByPoolLevelPhaseAndOSD(t *testing.T) {
	const scrubbing, deep = ceph.StateActive | ceph.StateClean | ceph.StateScrubbing, ceph.StateDeep
	got := FindRunning(table(
		pg(1, 0, func(p *ceph.PG) { p.State = scrubbing; p.ObjectsScrubbed = -1 }),
		pg(1, 1, func(p *ceph.PG) { p.State = scrubbing | deep; p.Schedule = ceph.ScheduleReserving }),
		pg(1, 2, func(p *ceph.PG) {
			p.State = scrubbing | deep | ceph.StateRepair
			p.Schedule = ceph.ScheduleRunning
			p.ActingPrimary = 2
		}),
		pg(1, 3, func(p *ceph.PG) { p.State = scrubbing | deep | ceph.StateSnapTrimWait; p.ObjectsScrubbed = 15 }),
		pg(1, 4, func(p *ceph.PG) { p.State = scrubbing; p.Schedule = ceph.ScheduleQueued; p.ObjectsScrubbed = 3 }),
		pg(1, 5, func(p *ceph.PG) { p.State = ceph.StateActive | ceph.StateClean | deep }),
		pg(1, 6, nil),
		// An erasure-coded PG with a shard on no OSD and no primary.
		pg(2, 0, func(p *ceph.PG) {
			p.State = scrubbing | deep
			p.Schedule = ceph.ScheduleBlocked
			p.Acting = 1
			p.ActingPrimary = -1
		}),
		pg(2, 1, func(p *ceph.PG) { p.State = ceph.StateUnknown }),
	))
	want := Running{
		Pools: map[int32]*[2][3]int{
			1: {Shallow: {PhaseUnknown: 1, PhaseReserving: 1}, Deep: {PhaseReserving: 1, PhaseRunning: 2}},
			2: {Deep: {PhaseRunning: 1}},
		},
		OSDs: map[int32]*Occupancy{
			0: {Shallow: {Primary: 2}, Deep: {Primary: 2, Replica: 1}},
			1: {Shallow: {Replica: 2}, Deep: {Replica: 4}},
			2: {Shallow: {Replica: 2}, Deep: {Primary: 1, Replica: 3}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
