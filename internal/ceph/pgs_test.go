package ceph

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func mustDecodePGs(t *testing.T, data []byte) *PGTable {
	t.Helper()
	table, err := DecodePGs(data)
	if err != nil {
		t.Fatal(err)
	}
	comparePGs(t, data)
	return table
}

// barePG is a PG of whose answer nothing but id and state was read.
func barePG(id string, state State) PG {
	pgid, err := ParsePGID(id)
	if err != nil {
		panic(err)
	}
	return PG{
		ID: pgid, State: state,
		LastScrub: NoStamp, LastDeepScrub: NoStamp, LastCleanScrub: NoStamp, LastChange: NoStamp, ScheduleAt: NoStamp,
		Bytes: -1, Objects: -1, ObjectsScrubbed: -1, ShallowErrors: -1, DeepErrors: -1,
		LastScrubSeconds: -1, ScrubDuration: -1, SnapTrimQueue: -1, UpPrimary: -1, ActingPrimary: -1,
	}
}

func bad(table *PGTable) []string {
	var out []string
	for _, b := range table.Bad {
		out = append(out, b.PGID+": "+b.Err.Error())
	}
	return out
}

func at(t *testing.T, text string) Stamp {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return StampOf(when)
}

func TestEveryFieldOfAPGIsDecodedWhateverTheOrderOfKeys(t *testing.T) {
	members := []string{
		`"pgid":"12.3fa"`, `"state":"active+undersized+degraded"`, `"version":"10'3"`, `"last_scrub_stamp":"2026-11-30T10:00:00.000001+0000"`,
		`"last_deep_scrub_stamp":"2026-11-29T12:00:00.500000+0200"`, `"last_clean_scrub_stamp":"2026-11-28T10:00:00.000000+0000"`,
		`"last_change":"2026-11-30T11:00:00.000000+0000"`, `"scrub_schedule":"periodic scrub scheduled @ 2026-12-01T10:00:00.000000+0000"`,
		`"objects_scrubbed":7`, `"last_scrub_duration":62`, `"scrub_duration":61.5`, `"snaptrimq_len":3`, `"purged_snaps":[{"start":"1","length":"2"}]`,
		`"stat_sum":{"num_objects":21,"num_bytes":88080384,"num_keys":0,"num_deep_scrub_errors":2,"num_shallow_scrub_errors":1}`,
		`"up":[4,2147483647,9]`, `"acting":[9,4]`, `"up_primary":4`, `"acting_primary":9`,
	}
	want := PG{
		ID: PGID{12, 0x3fa}, State: StateActive | StateUndersized | StateDegraded,
		LastScrub: at(t, "2026-11-30T10:00:00.000001Z"), LastDeepScrub: at(t, "2026-11-29T10:00:00.5Z"),
		LastCleanScrub: at(t, "2026-11-28T10:00:00Z"), LastChange: at(t, "2026-11-30T11:00:00Z"),
		Schedule: ScheduleAtTime, ScheduleAt: at(t, "2026-12-01T10:00:00Z"),
		ObjectsScrubbed: 7, LastScrubSeconds: 62, ScrubDuration: 61.5, SnapTrimQueue: 3,
		Objects: 21, Bytes: 88080384, ShallowErrors: 1, DeepErrors: 2, UpPrimary: 4, ActingPrimary: 9,
	}
	for turn := range members {
		turned := append(append([]string{}, members[turn:]...), members[:turn]...)
		for _, sep := range []string{",", " ,\n\t"} {
			pg := "{" + strings.Join(turned, sep) + "}"
			other := strings.Replace(pg, "12.3fa", "12.0", 1) // the one before may have had another order
			plain := "{" + strings.Replace(strings.Join(members, ","), "12.3fa", "3.1", 1) + "}"
			table := mustDecodePGs(t, []byte(`{"pg_ready":true,"pg_stats":[`+plain+","+other+","+pg+`]}`))
			got := *table.Find(want.ID)
			if up, acting := table.Set(got.Up), table.Set(got.Acting); !reflect.DeepEqual(up, []int32{4, NoOSD, 9}) || !reflect.DeepEqual(acting, []int32{9, 4}) {
				t.Errorf("up %v, acting %v", up, acting)
			}
			got.Up, got.Acting = 0, 0
			if got != want || len(table.PGs) != 3 || table.BadCount != 0 || len(table.Sets) != 3 {
				t.Fatalf("turned by %d: %s", turn, cmp.Diff(want, got))
			}
		}
	}
}

func TestPGsAreSortedWhateverTheOrderOfTheAnswer(t *testing.T) {
	table := mustDecodePGs(t, madeUpDump(1000, 7))
	for i := 1; i < len(table.PGs); i++ {
		if table.PGs[i-1].ID.Compare(table.PGs[i].ID) >= 0 {
			t.Fatalf("%v before %v", table.PGs[i-1].ID, table.PGs[i].ID)
		}
	}
	if len(table.PGs) != 1000 || table.Find(PGID{9, 9}) != nil {
		t.Errorf("%d PGs", len(table.PGs))
	}
}

func TestReadinessAndWrappers(t *testing.T) {
	one := []PG{barePG("1.0", StateActive|StateClean)}
	const pg = `{"pgid":"1.0","state":"active+clean"}`
	for _, c := range []struct {
		name, answer string
		ready        bool
		pgs          []PG
	}{
		{"pg dump pgs", `{"pg_ready":true,"pg_stats":[` + pg + `]}`, true, one},
		{"pg dump", `{"pg_ready":true,"pg_map":{"version":1,"pg_stats":[` + pg + `],"pool_stats":[{"pg_stats":5}]}}`, true, one},
		{"no PG matches", `{"pg_ready":true}`, true, nil},
		{"a list without entries", `{"pg_ready":true,"pg_stats":[]}`, true, nil},
		{"mgr not ready", `{"pg_ready":false,"pg_stats":[` + pg + `]}`, false, one},
		{"pg_ready behind the list", `{"pg_stats":[` + pg + `],"pg_ready":true}`, true, one},
		{"a blank line before, text behind", "\n{\"pg_ready\":true}\ndumped all\n", true, nil},
		{"text before", "dumped pgs\n  {\"pg_ready\":true}", true, nil},
		{"a report's checksum behind", "{\"pg_ready\":true} report 3484926453", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := mustDecodePGs(t, []byte(c.answer))
			if table.Ready != c.ready || !reflect.DeepEqual(table.PGs, c.pgs) || table.BadCount != 0 {
				t.Errorf("%+v", table)
			}
		})
	}
}

func TestAnswersThatAreNotOneWholeListAreErrors(t *testing.T) {
	const head = `{"pg_ready":true,"pg_stats":[{"pgid":"1.0","state":"active"}]}`
	for _, c := range []struct{ name, answer, want string }{
		{"empty", "", "decode pgs: empty answer"},
		{"blank", "\n \n", "decode pgs: empty answer"},
		{"text", "Error EINVAL: no", "decode pgs: no JSON document in the answer"},
		{"number", "17", "decode pgs: no JSON document in the answer"},
		{"foreign object", `{"epoch":4,"pools":[]}`, "decode pgs: no pg_ready in the answer"},
		{"array", `[]`, "decode pgs: no pg_ready in the answer"},
		{"PGs without pg_ready", `{"pg_stats":[{"pgid":"1.0"}]}`, "decode pgs: no pg_ready in the answer"},
		{"pg_ready is text", `{"pg_ready":"yes"}`, "decode pgs: pg_ready: neither true nor false"},
		{"pg_stats is null", `{"pg_ready":true,"pg_stats":null}`, "decode pgs: pg_stats: not an array"},
		{"pg_map is a list", `{"pg_ready":true,"pg_map":[]}`, "decode pgs: pg_map: not an object"},
		{"two lists", `{"pg_ready":true,"pg_stats":[],"pg_map":{"pg_stats":[]}}`, "decode pgs: pg_stats: more than one"},
		{"two documents", head + head, "decode pgs: more than one JSON document in the answer"},
		{"two documents in lines", head + "\ndumped all\n" + head, "decode pgs: more than one JSON document in the answer"},
		{"torn end", head + "]}", "decode pgs: more than one JSON document in the answer"},
		{"key without colon", `{"pg_ready" true}`, "decode pgs: byte 12: not valid JSON: no colon behind a key"},
		{"missing comma", `{"pg_ready":true "a":1}`, "decode pgs: byte 17: not valid JSON: no comma or end behind a value"},
		{"control character", "{\"a\":\"\x01\"}", "decode pgs: byte 6: not valid JSON: control character in a string"},
		{"leading zero", `{"a":01}`, "decode pgs: byte 6: not valid JSON: no comma or end behind a value"},
		{"unknown escape", `{"a":"\x41"}`, "decode pgs: byte 7: not valid JSON: unknown escape"},
		{"empty value", `{"a":,"pg_ready":true}`, "decode pgs: byte 5: not valid JSON: no value"},
		{"string with a comma and no end", `{"a":"bcd,efg`, "decode pgs: cut off at byte 13: unexpected EOF"},
		{"unquoted key", `{a:1}`, "decode pgs: byte 1: not valid JSON: no key"},
		{"no value", `{"a":nothing}`, "decode pgs: byte 5: not valid JSON: no value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			comparePGs(t, []byte(c.answer))
			_, err := DecodePGs([]byte(c.answer))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestATruncatedAnswerIsAnErrorWhereverItEnds(t *testing.T) {
	data := madeUpDump(2, 3)
	for n := 1; n < len(data); n++ {
		if table, err := DecodePGs(data[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d of %d: %v, table %v", n, len(data), err, table)
		}
	}
}

func TestNestingIsBoundedAsInEncodingJSON(t *testing.T) {
	for _, depth := range []int{9_999, 10_000, 1_000_000} {
		data := `{"pg_ready":true,"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
		comparePGs(t, []byte(data))
		if _, err := DecodePGs([]byte(data)); (err == nil) != (depth < 10_000) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

// A field that cannot be used is an error of its PG alone, which keeps the
// other fields, and never a number that was not there.
func TestUnusableFieldsAreErrorsOfTheirPG(t *testing.T) {
	active := func(change func(*PG)) []PG {
		pg := barePG("1.0", StateActive)
		change(&pg)
		return []PG{pg}
	}
	none := func(*PG) {}
	for _, c := range []struct {
		name, members, bad string
		want               []PG
	}{
		{"pgid missing", `"state":"active"`, `: pgid: missing`, nil},
		{"pgid without pool", `"pgid":".1"`, `.1: pgid: ".1": not of the form pool.seed`, nil},
		{"pgid with a shard", `"pgid":"1.2s0"`, `1.2s0: pgid: "1.2s0": not of the form pool.seed`, nil},
		{"pool too large", `"pgid":"2147483648.0"`, `2147483648.0: pgid: "2147483648.0": not of the form pool.seed`, nil},
		{"seed too large", `"pgid":"1.100000000"`, `1.100000000: pgid: "1.100000000": not of the form pool.seed`, nil},
		{"pgid a number", `"pgid":1.5`, `: pgid: missing`, nil},
		{"pgid not UTF-8", "\"pgid\":\"\xff\xfe1\"", "\uFFFD1: pgid: \"\\xff\\xfe1\": not of the form pool.seed", nil},
		{"state missing", `"pgid":"1.0"`, `1.0: state: missing`, []PG{barePG("1.0", 0)}},
		{"state null", `"pgid":"1.0","state":null`, `1.0: state: missing`, []PG{barePG("1.0", 0)}},
		{"state a number", `"pgid":"1.0","state":3`, `1.0: state: "3": not a string`, []PG{barePG("1.0", 0)}},
		{"stamp without zone", `"pgid":"1.0","state":"active","last_scrub_stamp":"2023-07-11 12:37:44.526932","snaptrimq_len":4`,
			`1.0: last_scrub_stamp: "2023-07-11 12:37:44.526932": stamp without a zone`,
			active(func(pg *PG) { pg.LastScrub, pg.SnapTrimQueue = BadStamp, 4 })},
		{"stamp a number", `"pgid":"1.0","state":"active","last_change":12`, `1.0: last_change: "12": not a string`,
			active(func(pg *PG) { pg.LastChange = BadStamp })},
		{"stamp null", `"pgid":"1.0","state":"active","last_change":null`, ``, active(none)},
		{"stamp inf", `"pgid":"1.0","state":"active","last_change":inf`, ``, active(none)},
		{"count huge", `"pgid":"1.0","state":"active","objects_scrubbed":9223372036854775808`,
			`1.0: objects_scrubbed: "9223372036854775808": not a whole number in range`, active(none)},
		{"largest count", `"pgid":"1.0","state":"active","objects_scrubbed":9223372036854775807`, ``,
			active(func(pg *PG) { pg.ObjectsScrubbed = 9223372036854775807 })},
		{"count with exponent", `"pgid":"1.0","state":"active","snaptrimq_len":1e400`,
			`1.0: snaptrimq_len: "1e400": not a whole number in range`, active(none)},
		{"count beyond 32 bits", `"pgid":"1.0","state":"active","snaptrimq_len":2147483648`,
			`1.0: snaptrimq_len: "2147483648": not a whole number in range`, active(none)},
		{"count as text", `"pgid":"1.0","state":"active","snaptrimq_len":"5"`,
			`1.0: snaptrimq_len: "\"5\"": not a whole number in range`, active(none)},
		{"count negative", `"pgid":"1.0","state":"active","stat_sum":{"num_bytes":-4096,"num_objects":0}`, ``,
			active(func(pg *PG) { pg.Objects = 0 })},
		{"stat_sum not an object", `"pgid":"1.0","state":"active","stat_sum":[1]`, `1.0: stat_sum: "[1]": not an object`, active(none)},
		{"up not an array", `"pgid":"1.0","state":"active","up":"[1]"`, `1.0: up: "\"[1]\"": not an array of OSD ids`, active(none)},
		{"acting with text", `"pgid":"1.0","state":"active","acting":[1,"2"]`, `1.0: acting: "[1,\"2\"]": not an array of OSD ids`, active(none)},
		{"acting with a fraction", `"pgid":"1.0","state":"active","acting":[1.0]`, `1.0: acting: "[1.0]": not an array of OSD ids`, active(none)},
		{"acting with a negative id", `"pgid":"1.0","state":"active","acting":[-1]`, `1.0: acting: "[-1]": not an array of OSD ids`, active(none)},
		{"acting within acting", `"pgid":"1.0","state":"active","acting":[[1]]`, `1.0: acting: "[[1]]": not an array of OSD ids`, active(none)},
		{"the first of two reasons", `"snaptrimq_len":"a","state":4,"pgid":"1.0"`, `1.0: snaptrimq_len: "\"a\"": not a whole number in range`, []PG{barePG("1.0", 0)}},
		{"unknown fields", `"pgid":"1.0","state":"active","":{"pgid":"7.7"},"Pgid":"8.8","new":[true,false,null,-0.5e-7]`, ``, active(none)},
		{"the last of two values", `"pgid":"9.9","pgid":"1.0","state":"peering","state":"active"`, ``, active(none)},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := mustDecodePGs(t, []byte(`{"pg_ready":true,"pg_stats":[{`+c.members+`},{"pgid":"4.0","state":"active"}]}`))
			want := append(c.want, barePG("4.0", StateActive))
			if !reflect.DeepEqual(table.PGs, want) {
				t.Error(cmp.Diff(want, table.PGs))
			}
			if got := strings.Join(bad(table), "\n"); got != c.bad || (c.bad != "") != (table.BadCount == 1) {
				t.Errorf("got  %s\nwant %s", got, c.bad)
			}
		})
	}
}

func TestOfAPGListedTwiceTheFirstCounts(t *testing.T) {
	table := mustDecodePGs(t, []byte(`{"pg_ready":true,"pg_stats":[{"pgid":"1.1","state":"active"},{"pgid":"1.0","state":"clean"},{"pgid":"1.1","state":"down"},7]}`))
	want := []PG{barePG("1.0", StateClean), barePG("1.1", StateActive)}
	if !reflect.DeepEqual(table.PGs, want) {
		t.Error(cmp.Diff(want, table.PGs))
	}
	if got := fmt.Sprint(bad(table)); got != `[: "7": not an object 1.1: listed more than once]` {
		t.Error(got)
	}
}

func TestBadEntriesAreCountedBeyondThoseKept(t *testing.T) {
	table := mustDecodePGs(t, []byte(`{"pg_ready":true,"pg_stats":[`+strings.Repeat("0,", 99)+`0]}`))
	if len(table.Bad) != MaxBadPGs || table.BadCount != 100 {
		t.Errorf("%d kept, %d counted", len(table.Bad), table.BadCount)
	}
}

// The answer may be memory of C that is freed behind the decoder's back.
func TestNothingOfTheAnswerIsReferenced(t *testing.T) {
	data := append(bytes.TrimSuffix(madeUpDump(200, 5), []byte("]}")), `,{"pgid":"77.1","state":"active","last_change":"yesterday"}]}`...)
	want := fmt.Sprintf("%+v", *mustDecodePGs(t, data))
	table, err := DecodePGs(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = '#'
	}
	if got := fmt.Sprintf("%+v", *table); got != want || table.BadCount != 1 {
		t.Errorf("changed with the input, or %d bad entries", table.BadCount)
	}
}

func TestAPGCostsAtMost160BytesAndNoPointer(t *testing.T) {
	if size := unsafe.Sizeof(PG{}); size > 160 {
		t.Errorf("%d bytes", size)
	}
	for i := range reflect.TypeFor[PG]().NumField() {
		switch field := reflect.TypeFor[PG]().Field(i); field.Type.Kind() {
		case reflect.Pointer, reflect.String, reflect.Slice, reflect.Map, reflect.Interface:
			t.Errorf("%s holds a pointer", field.Name)
		}
	}
}

func TestDecodingCostsNoAllocationPerPGAndFewBytes(t *testing.T) {
	const n = 5_000
	data := madeUpDump(n, 2)
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := DecodePGs(data); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0.01*n {
		t.Errorf("%v allocations for %d PGs", allocs, n)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table, err := DecodePGs(data)
	runtime.ReadMemStats(&after)
	if err != nil || len(table.PGs) != n {
		t.Fatal(err)
	}
	if all := (after.TotalAlloc - before.TotalAlloc) / n; all > 600 {
		t.Errorf("%d bytes allocated per PG", all)
	} else {
		t.Logf("%v allocations; %d bytes allocated per PG", allocs, all)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n; kept > 200 {
		t.Errorf("%d bytes kept per PG", kept)
	} else {
		t.Logf("%d bytes kept per PG", kept)
	}
	runtime.KeepAlive(table)
	runtime.KeepAlive(data)
}

func TestPGIDsArePrintedAsCephDoes(t *testing.T) {
	for pool := range int32(200) {
		for seed := uint32(1); seed != 0; seed <<= 1 {
			for _, id := range []PGID{{pool, seed - 1}, {pool, seed}, {pool << 20, seed}} {
				if got, want := id.String(), fmt.Sprintf("%d.%x", id.Pool, id.Seed); got != want {
					t.Fatalf("%q, want %q", got, want)
				}
			}
		}
	}
}

func TestDurationOfTheLastScrubIsExactWhereBothFieldsAgree(t *testing.T) {
	for _, c := range []struct {
		seconds  int32
		duration float32
		want     float64
	}{
		{5, 4.25, 4.25}, // 17 and 18
		{5, 4250, 4.25}, // 20
		{1, 0.5, 0.5},   // less than a second, in seconds
		{1, 413, 0.413}, // and in milliseconds
		{5, 5, 5},       // whole seconds
		{5, 2.5, 5},     // of another scrub
		{5, -1, 5},      // absent
		{0, 0, 0},       // never scrubbed
		{-1, -1, -1},    // 16
		{-1, 4.25, -1},  // no release says so
		{3600, 3599500, 3599.5},
	} {
		pg := PG{LastScrubSeconds: c.seconds, ScrubDuration: c.duration}
		if got := pg.LastScrubTook(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%d and %v: %v, want %v", c.seconds, c.duration, got, c.want)
		}
	}
}
