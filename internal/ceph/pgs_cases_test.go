package ceph

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decodeCase(t *testing.T, name string) *PGTable {
	t.Helper()
	return mustDecodePGs(t, readCase(t, name))
}

func TestStampsAtTheEpochAreUnsetAndNoError(t *testing.T) { // field case S4
	table := decodeCase(t, "pg_s4_unset_stamps.json")
	first, second := barePG("5.1", StateActive|StateClean), barePG("5.2", StateActive|StateClean)
	first.LastScrub, first.LastDeepScrub = at(t, "2026-07-01T00:00:00Z"), 0
	second.LastScrub, second.LastDeepScrub = 0, 12_500_000
	if want := []PG{first, second}; !reflect.DeepEqual(table.PGs, want) || table.BadCount != 0 {
		t.Error(cmp.Diff(want, table.PGs), table.Bad)
	}
	for _, s := range []Stamp{first.LastDeepScrub, second.LastDeepScrub, second.LastScrub} {
		if !s.Unset() || s.Dated() {
			t.Errorf("%d: unset %v, dated %v", s, s.Unset(), s.Dated())
		}
	}
}

func TestStampsInAnyZoneAreOneInstantAndWithoutZoneAnErrorOfThePG(t *testing.T) { // field case S5
	table := decodeCase(t, "pg_s5_stamp_zones.json")
	const instant = Stamp(1643971592_228199)
	want := []PG{}
	for _, id := range []string{"1.0", "1.1", "1.2", "1.3"} {
		pg := barePG(id, StateActive|StateClean)
		pg.LastScrub = instant
		want = append(want, pg)
	}
	want[0].LastScrub, want[0].LastDeepScrub, want[0].Bytes = BadStamp, instant, 4096
	if !reflect.DeepEqual(table.PGs, want) {
		t.Error(cmp.Diff(want, table.PGs))
	}
	if got := fmt.Sprint(bad(table)); got != `[1.0: last_scrub_stamp: "2023-07-11 12:37:44.526932": stamp without a zone]` {
		t.Error(got)
	}
}

func TestScheduleTextsBecomeKindsAndTimes(t *testing.T) { // field case T6
	table := decodeCase(t, "pg_t6_schedules.json")
	type schedule struct {
		Kind ScheduleKind
		At   Stamp
	}
	when := at(t, "2023-02-16T00:01:44.884480Z")
	want := []schedule{
		{ScheduleAtTime, when}, {ScheduleAtTime, BadStamp}, {ScheduleQueued, NoStamp}, {ScheduleNone, NoStamp},
		{ScheduleNone, NoStamp}, {ScheduleAbsent, NoStamp}, {ScheduleAbsent, NoStamp}, {ScheduleRunning, NoStamp},
		{ScheduleReserving, NoStamp}, {ScheduleBlocked, NoStamp}, {ScheduleAtTime, when}, {ScheduleOther, NoStamp},
	}
	var got []schedule
	for _, pg := range table.PGs {
		got = append(got, schedule{pg.Schedule, pg.ScheduleAt})
	}
	if !reflect.DeepEqual(got, want) || table.BadCount != 0 {
		t.Error(cmp.Diff(want, got), table.Bad)
	}
}

func TestStatesAreTokensAndNotSubstrings(t *testing.T) { // field case P1
	table := decodeCase(t, "pg_p1_states.json")
	count := func(match func(State) bool) (n int) {
		for _, pg := range table.PGs {
			if match(pg.State) {
				n++
			}
		}
		return n
	}
	got := map[string]int{
		"shallow":  count(func(s State) bool { return s.Has(StateScrubbing) && !s.Has(StateDeep) }),
		"deep":     count(func(s State) bool { return s.Has(StateScrubbing | StateDeep) }),
		"work":     count(func(s State) bool { return s.Any(StateBackfilling | StateRecovering) }),
		"snaptrim": count(func(s State) bool { return s.Any(StateSnapTrim) }),
		"unknown":  count(func(s State) bool { return s == StateUnknown }),
		"other":    count(func(s State) bool { return s == StateActive|StateClean|StateOther }),
	}
	want := map[string]int{"shallow": 2, "deep": 5, "work": 2, "snaptrim": 0, "unknown": 1, "other": 1}
	if !reflect.DeepEqual(got, want) || table.BadCount != 0 {
		t.Error(cmp.Diff(want, got), table.Bad)
	}
}

func TestEveryStateTokenHasItsOwnBit(t *testing.T) {
	if s := ParseState([]byte(strings.Join(stateNames[:], "+"))); s != StateOther-1 {
		t.Errorf("%b", s)
	}
	for i, name := range stateNames {
		if s := ParseState([]byte(name)); s != 1<<i {
			t.Errorf("%s: %b", name, s)
		}
	}
	if stateNames[len(stateNames)-1] != "unknown" || StateUnknown != 1<<(len(stateNames)-1) {
		t.Error("the list of names has lost its order")
	}
}

func TestBareNanAndInfAreAbsentValues(t *testing.T) { // field case J1
	table := decodeCase(t, "pg_j1_nan.json")
	want := barePG("1.0", StateActive|StateClean)
	want.Objects, want.Acting = 50, 1
	if !reflect.DeepEqual(table.PGs, []PG{want}) || table.SanitisedTokens != 4 || table.BadCount != 0 {
		t.Errorf("%+v", table)
	}
}

func TestTextAroundTheDocumentIsIgnored(t *testing.T) { // field case J4
	table := decodeCase(t, "pg_j4_text_behind.json")
	if !table.Ready || !reflect.DeepEqual(table.PGs, []PG{barePG("1.0", StateActive|StateClean)}) {
		t.Errorf("%+v", table)
	}
}

func TestSetsAreReadAsByEncodingJSON(t *testing.T) {
	for _, set := range []string{
		"[]", "[ ]", "[0]", "[1,2,3]", "[1, 2]", "[\n1\n]", "[2147483647,0]", "[2147483648]", "[99999999999999999999]", "[01]", "[00]", "[1,]", "[,1]", "[1 2]",
		"[-0]", "[1e1]", "[1.5]", "[nan]", "[null]", "[[1]]", "[1", "[1,", "[", "[1}", "{}", "1", `"[1]"`, "[true]", "[1]]",
	} {
		t.Run(set, func(t *testing.T) {
			comparePGs(t, []byte(`{"pg_ready":true,"pg_stats":[{"pgid":"1.0","state":"active","up":[1,2,3],"acting":`+set+`,"x":0}]}`))
		})
	}
}
