package ceph

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readCase(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "fieldcases", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func same(t *testing.T, got, want any, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPoolOptionsThatAreAbsentZeroOrNegativeAreKeptApart(t *testing.T) { // field case S2
	got, err := DecodeOSDMap(readCase(t, "osd_dump_s2_pool_options.json"))
	same(t, got, &OSDMap{
		FSID: "5f1c1e0a-0000-4000-8000-000000000001", Epoch: 41,
		Flags: []string{"recovery_deletes", "sortbitwise"}, RequireOSDRelease: "reef",
		Pools: []Pool{
			{ID: 1, Name: "plain", Type: PoolReplicated, Size: 3, MinSize: 2, PGNum: 32, Flags: []string{"hashpspool"}},
			{ID: 2, Name: "slow", Type: PoolReplicated, Size: 3, MinSize: 2, PGNum: 64, Flags: []string{"hashpspool"},
				Options: PoolOptions{DeepScrubInterval: new(1209600.0)}},
			{ID: 3, Name: "zero", Type: PoolReplicated, Size: 3, MinSize: 2, PGNum: 1, Flags: []string{"hashpspool"},
				Options: PoolOptions{DeepScrubInterval: new(0.0)}},
			{ID: 4, Name: "negative", Type: PoolErasure, Size: 6, MinSize: 5, PGNum: 128, CrushRule: 2, Flags: []string{}, ErasureProfile: "ec42",
				Options: PoolOptions{ScrubMaxInterval: new(-5.0), ScrubMinInterval: new(3600.5), ScrubPriority: new(int64(7))}},
		},
		OSDs: []OSD{
			{ID: 0, UUID: "5f1c1e0a-0000-4000-8000-0000000000a0", Up: true, In: true, Weight: 1, State: []string{"exists", "up"}},
			{ID: 7, UUID: "5f1c1e0a-0000-4000-8000-0000000000a7", Weight: 0.5, State: []string{"exists"}},
		},
	}, err)
}

func TestFlagsAreReadOfClusterAndPoolInEitherForm(t *testing.T) { // field case S9
	data := readCase(t, "osd_dump_s9_flags.json")
	old := strings.Replace(string(data), `"flags_set":["nodeep-scrub","sortbitwise"],`, "", 1)
	for _, answer := range []string{string(data), old} {
		m, err := DecodeOSDMap([]byte(answer))
		if err != nil {
			t.Fatal(err)
		}
		got := []bool{m.HasFlag("nodeep-scrub"), m.HasFlag("noscrub"), m.HasFlag("scrub"), m.Pools[0].HasFlag("nodeep-scrub"), m.Pools[0].HasFlag("noscrub")}
		same(t, got, []bool{true, false, false, true, false}, nil)
		same(t, m.Flags, []string{"nodeep-scrub", "sortbitwise"}, nil)
	}
}

func TestHealthCountsAreCephsOwnAndNeverTheNumberOfDetails(t *testing.T) { // field case S7
	h, err := DecodeHealth(readCase(t, "health_s7_cut_detail.json"))
	if err != nil {
		t.Fatal(err)
	}
	deep := h.Checks["PG_NOT_DEEP_SCRUBBED"]
	if pgs := deep.PGs(); len(deep.Detail) != 51 || len(pgs) != 50 || pgs[0] != (PGID{1, 0xfb9}) || pgs[49] != (PGID{1, 0xf88}) {
		t.Errorf("%d details, PGs %v", len(deep.Detail), pgs)
	}
	if last := deep.Detail[50]; last != "1111 more pgs... " {
		t.Errorf("last detail %q", last)
	}
	deep.Detail = nil
	h.Checks["PG_NOT_DEEP_SCRUBBED"] = deep
	same(t, h, &Health{
		Status: "HEALTH_WARN",
		Checks: map[string]HealthCheck{
			"PG_NOT_DEEP_SCRUBBED": {Severity: "HEALTH_WARN", Message: "1161 pgs not deep-scrubbed in time", Count: new(int64(1161))},
			"OSDMAP_FLAGS":         {Severity: "HEALTH_WARN", Message: "nodeep-scrub flag(s) set", Count: new(int64(1)), Muted: true},
		},
		Mutes: []HealthMute{{Code: "OSDMAP_FLAGS", Sticky: true}, {Code: "POOL_NO_REDUNDANCY", TTL: "2026-12-01T00:00:00.000000+0000"}},
	}, nil)
}

func TestHealthCountsComeFromTheMessageWhereThereIsNoCount(t *testing.T) { // field case S7
	for file, want := range map[string]map[string]*int64{
		"health_s7_no_count.json": {
			"PG_NOT_DEEP_SCRUBBED": new(int64(1161)), "PG_NOT_SCRUBBED": new(int64(3)), "PG_DAMAGED": new(int64(2)), "MON_DOWN": nil,
		},
		"health_s7_texts_only.json": {"PG_NOT_DEEP_SCRUBBED": new(int64(1161)), "PG_NOT_SCRUBBED": new(int64(7))},
	} {
		h, err := DecodeHealth(readCase(t, file))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]*int64{}
		for name, check := range h.Checks {
			got[name] = check.Count
		}
		same(t, got, want, nil)
	}
}

func TestAHealthyClusterHasNoChecks(t *testing.T) {
	h, err := DecodeHealth([]byte("\n" + `{"status":"HEALTH_OK","checks":{},"mutes":[]}`))
	same(t, h, &Health{Status: "HEALTH_OK", Checks: map[string]HealthCheck{}, Mutes: []HealthMute{}}, err)
}

func TestUtilizationThatIsNanIsAbsentAndTheRestIsThere(t *testing.T) { // field case J1
	got, err := DecodeOSDUsages(readCase(t, "osd_df_j1_nan.json"))
	same(t, got, &OSDUsages{
		OSDs: []OSDUsage{
			{ID: 3, DeviceClass: "hdd", Reweight: new(1.0), CrushWeight: new(0.047791), PGs: new(int64(47)),
				Size: new(int64(52403200 << 10)), Used: new(int64(1052672 << 10)), Avail: new(int64(51350528 << 10)),
				Utilization: new(2.008793), Var: new(1.0)},
			{ID: 4, Reweight: new(0.0), CrushWeight: new(0.047791), PGs: new(int64(50)), Size: new(int64(0)), Used: new(int64(0)), Avail: new(int64(0))},
		},
		Stray: []OSDUsage{}, SanitisedTokens: 2,
	}, err)
}

func TestBytesThatDoNotAddUpAreUnaccounted(t *testing.T) { // field case M5
	u, err := DecodeOSDUsages(readCase(t, "osd_df_m5_unaccounted.json"))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Unaccounted    int64
		Known, HasSize bool
	}
	var got []row
	for i := range u.OSDs {
		bytes, ok := u.OSDs[i].Unaccounted()
		got = append(got, row{bytes, ok, u.OSDs[i].SizeKnown()})
	}
	same(t, got, []row{{1456157168640, true, true}, {0, true, false}, {5 << 10, true, true}}, nil)
}

func TestRowsThatAreNotOSDsAreLeftOutAndMissingKeysAreAbsent(t *testing.T) { // field case M6
	got, err := DecodeOSDUsages(readCase(t, "osd_df_m6_rows.json"))
	same(t, got, &OSDUsages{
		OSDs: []OSDUsage{
			{ID: 0, Reweight: new(1.0), CrushWeight: new(0.5), PGs: new(int64(8)), Size: new(int64(100 << 10)), Used: new(int64(1 << 10)),
				Avail: new(int64(99 << 10)), Utilization: new(1.0), Var: new(1.0)},
			{ID: 1},
		},
		Stray: []OSDUsage{{ID: 9, DeviceClass: "ssd", Status: "up", Reweight: new(1.0), Size: new(int64(7 << 10))}},
	}, err)
	for i := range got.OSDs {
		if _, ok := got.OSDs[i].Unaccounted(); ok {
			t.Errorf("osd.%d: unaccounted bytes without the keys they come from", got.OSDs[i].ID)
		}
	}
}

func TestScrubOptionsAreReadFromText(t *testing.T) { // field case T9
	c, err := DecodeConfigShow(readCase(t, "config_show_t9_hours.json"))
	if err != nil {
		t.Fatal(err)
	}
	interval, err1 := c.Float("osd_deep_scrub_interval")
	begin, err2 := c.Hour("osd_scrub_begin_hour")
	end, err3 := c.Hour("osd_scrub_end_hour")
	from, err4 := c.WeekDay("osd_scrub_begin_week_day")
	to, err5 := c.WeekDay("osd_scrub_end_week_day")
	scrubs, err6 := c.Int("osd_max_scrubs")
	during, err7 := c.Bool("osd_scrub_during_recovery")
	same(t, []any{interval, begin, end, from, to, scrubs, during}, []any{604800.0, 22, 24, 0, 7, 3, false},
		errors.Join(err1, err2, err3, err4, err5, err6, err7))

	_, err = c.Float("osd_no_such_option")
	if !errors.Is(err, ErrNoOption) || err.Error() != "option osd_no_such_option: no such option" {
		t.Error(err)
	}
	for _, text := range []string{"", "wpq", "nan", "inf", "-inf", "1e999", "25", "-1", "6.5", "0x10x"} {
		c := Config{"o": text}
		hour, err := c.Hour("o")
		if err == nil {
			t.Errorf("hour %q: %d", text, hour)
		}
	}
	if _, err := (Config{"o": "8"}).WeekDay("o"); err == nil {
		t.Error("week day 8")
	}
	for _, text := range []string{"", "nan", "inf", "Infinity", "1e999", "5s"} {
		if v, err := ParseFloat(text); err == nil {
			t.Errorf("float %q: %v", text, v)
		}
	}
	if _, err := ParseBool("maybe"); err == nil {
		t.Error("maybe is a truth value")
	}
}

func TestConfigDumpKeepsSectionsAndMasks(t *testing.T) {
	got, err := DecodeConfigDump([]byte("\n" + `[
{"section":"global","name":"osd_deep_scrub_interval","value":"1209600.000000","level":"advanced","can_update_at_runtime":true,"mask":""},
{"section":"osd","name":"osd_max_scrubs","value":"2","level":"advanced","can_update_at_runtime":true,"mask":"class:hdd","location_type":"","device_class":"hdd"},
{"section":"osd.3","name":"osd_scrub_sleep","value":"0.100000","level":"advanced","can_update_at_runtime":true,"mask":""}]`))
	same(t, got, []ConfigEntry{
		{Section: "global", Name: "osd_deep_scrub_interval", Value: "1209600.000000", Level: "advanced"},
		{Section: "osd", Mask: "class:hdd", Name: "osd_max_scrubs", Value: "2", Level: "advanced"},
		{Section: "osd.3", Name: "osd_scrub_sleep", Value: "0.100000", Level: "advanced"},
	}, err)
	got, err = DecodeConfigDump([]byte("[]"))
	same(t, got, []ConfigEntry{}, err)
}

func TestMetadataNamesTheDevicesOfEveryRole(t *testing.T) {
	got, err := DecodeOSDMetadata([]byte(`[
{"id":0,"hostname":"node-a","default_device_class":"hdd","osd_objectstore":"bluestore","ceph_release":"reef","ceph_version_short":"18.2.7","rotational":"1",
 "device_ids":"nvme0n1=ACME_FAST_N001,sdb=ACME_BIG_7_D002","devices":"nvme0n1,sdb","bluestore_bdev_devices":"sdb","bluefs_db_devices":"nvme0n1","bluefs_wal_devices":"vdc"},
{"id":5},
{"id":6,"osd_objectstore":"filestore","devices":"sdz","container_name":"ceph-osd-6"}]`))
	same(t, got, []OSDMetadata{
		{ID: 0, Hostname: "node-a", DeviceClass: "hdd", ObjectStore: "bluestore", Release: "reef", Version: "18.2.7", Rotational: "1", Devices: []OSDDevice{
			{DeviceBlock, "sdb", "ACME_BIG_7_D002"}, {DeviceDB, "nvme0n1", "ACME_FAST_N001"}, {DeviceWAL, "vdc", ""},
		}},
		{ID: 5},
		{ID: 6, ObjectStore: "filestore", Container: "ceph-osd-6"},
	}, err)
	same(t, []string{got[0].Devices[0].Serial(), got[0].Devices[2].Serial()}, []string{"D002", ""}, nil)
}

func TestStatFSReadsNegativeEstimatesThatCephPrintsUnsigned(t *testing.T) {
	ready, got, err := DecodeStatFS([]byte(`{"pg_ready":true,"osd_stats":[
{"osd":0,"statfs":{"total":6442450944,"available":5368709120,"internally_reserved":0,"allocated":1048576,"data_stored":900000,"omap_allocated":4096,"internal_metadata":18446744073709547520}},
{"osd":1,"up_from":3}]}`))
	same(t, got, []StatFS{
		{OSD: 0, Total: new(int64(6442450944)), Available: new(int64(5368709120)), Reserved: new(int64(0)), Allocated: new(int64(1048576)),
			Stored: new(int64(900000)), Omap: new(int64(4096)), Meta: new(int64(-4096))},
		{OSD: 1},
	}, err)
	if !ready {
		t.Error("not ready")
	}
}

func TestVersionsAreNumbersPerPart(t *testing.T) {
	for text, want := range map[string]Version{
		"ceph version 16.2.15 (618f440892089921c3e944a991122ddc44e60516) pacific (stable)": {16, 2, 15},
		"ceph version 20.3.0-1234-gabcdef01 (0123456789abcdef) umbrella (dev)":             {20, 3, 0},
		"18.2.7": {18, 2, 7},
	} {
		got, err := ParseVersion(text)
		same(t, got, want, err)
	}
	for _, text := range []string{"", "ceph version", "16.2", "16.2.x", "1.2.3.4", "-1.2.3", "99999999999.0.0"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("%q: %v", text, v)
		}
	}
	if (Version{16, 2, 15}).Compare(Version{16, 2, 9}) <= 0 || (Version{9, 9, 9}).Compare(Version{16, 0, 0}) >= 0 {
		t.Error("versions are compared as text")
	}
	v, err := DecodeVersion([]byte(`{"version":"ceph version 18.2.7 (6b0e) reef (stable)"}`))
	same(t, v, Version{18, 2, 7}, err)
	vs, err := DecodeVersions([]byte("\n" + `{"mon":{"ceph version 18.2.7 (6b0e) reef (stable)":3},"osd":{"ceph version 18.2.7 (6b0e) reef (stable)":4,"ceph version 16.2.15 (618f) pacific (stable)":2},"mds":{},"overall":{"ceph version 18.2.7 (6b0e) reef (stable)":7,"ceph version 16.2.15 (618f) pacific (stable)":2}}`))
	same(t, vs, map[string]map[Version]int{
		"mon": {{18, 2, 7}: 3}, "osd": {{18, 2, 7}: 4, {16, 2, 15}: 2}, "mds": {}, "overall": {{18, 2, 7}: 7, {16, 2, 15}: 2},
	}, err)
}

func TestMgrDumpNamesTheActiveMgr(t *testing.T) {
	m, err := DecodeMgrMap([]byte(`{"epoch":57,"active_gid":4127,"active_name":"a","active_change":"2026-11-27T10:00:00.000000+0000","available":true,"standbys":[]}`))
	same(t, m, &MgrMap{Epoch: 57, Active: "a", Available: true, ActiveChange: at(t, "2026-11-27T10:00:00Z")}, err)
	m, err = DecodeMgrMap([]byte(`{"epoch":58,"active_gid":0,"active_name":"","active_change":"0.000000","available":false}`))
	same(t, m, &MgrMap{Epoch: 58, ActiveChange: 0}, err)
}

// anyDecoder is every decoder, with an answer that it takes.
var anyDecoder = map[string]struct {
	good   string
	decode func([]byte) error
}{
	"osd dump":     {`{"epoch":1,"fsid":"f","flags":"","pools":[],"osds":[{"osd":0,"up":1,"in":1,"weight":0.5}]}`, decodes(DecodeOSDMap)},
	"health":       {`{"status":"HEALTH_OK","checks":{}}`, decodes(DecodeHealth)},
	"config dump":  {`[{"section":"osd","name":"a","value":"1"}]`, decodes(DecodeConfigDump)},
	"config show":  {`[{"name":"a","value":"1"}]`, decodes(DecodeConfigShow)},
	"osd df":       {`{"nodes":[{"id":0,"type":"osd","utilization":nan}]}`, decodes(DecodeOSDUsages)},
	"osd metadata": {`[{"id":0,"hostname":"a"}]`, decodes(DecodeOSDMetadata)},
	"version":      {`{"version":"ceph version 16.2.15 (6) pacific (stable)"}`, decodes(DecodeVersion)},
	"versions":     {`{"overall":{"ceph version 16.2.15 (6) pacific (stable)":2}}`, decodes(DecodeVersions)},
	"mgr dump":     {`{"epoch":1,"active_name":"a","available":true}`, decodes(DecodeMgrMap)},
	"pg dump osds": {`{"pg_ready":true,"osd_stats":[{"osd":1,"statfs":{"total":5}}]}`, func(data []byte) error {
		_, _, err := DecodeStatFS(data)
		return err
	}},
	"pgs": {`{"pg_ready":true,"pg_stats":[{"pgid":"1.0"}]}`, decodes(DecodePGs)},
}

func decodes[T any](decode func([]byte) (T, error)) func([]byte) error {
	return func(data []byte) error {
		_, err := decode(data)
		return err
	}
}

func TestEveryDecoderRefusesWhatIsNotItsAnswer(t *testing.T) {
	for name, d := range anyDecoder {
		t.Run(name, func(t *testing.T) {
			for _, around := range []string{d.good, "\n" + d.good + "\n", "text before\n" + d.good + "\ndumped all"} {
				if err := d.decode([]byte(around)); err != nil {
					t.Errorf("%q: %v", around, err)
				}
			}
			for n := range d.good {
				if err := d.decode([]byte(d.good[:n])); err == nil || n > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("cut at %d: %v", n, err)
				}
			}
			for _, foreign := range []string{
				"", "\n", "null", "17", `"text"`, "Error EACCES: access denied", `{}`, `[5]`, `[{}]`, `{"a":1}`, `{"status":5}`, `{"nodes":5}`,
				d.good + d.good, d.good + "\n" + d.good, d.good + "}", `{"x":` + d.good + `}`, `[` + d.good + `]`, "{\"\x00\":1}",
				strings.Repeat("[", 1e5), strings.Repeat(`{"a":`, 1e5),
			} {
				err := d.decode([]byte(foreign))
				if err == nil || !strings.HasPrefix(err.Error(), "decode ") {
					t.Errorf("%.40q: %v", foreign, err)
				}
			}
		})
	}
}

func TestSanitisedDocumentsDifferInTheirBareTokensAlone(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":nan,"b":-nan,"c":inf,"d":-inf}`:         `{"a":null,"b":null,"c":null,"d":null}`,
		`[NaN, Infinity,-Infinity,null,-1e5]`:         `[null, null,null,null,-1e5]`,
		`{"nan":"-nan, \"inf\"","x":[true,"\\",nan]}`: `{"nan":"-nan, \"inf\"","x":[true,"\\",null]}`,
		"\n{\"a\":\"\xff\"}\nnan":                     "{\"a\":\"\xff\"}",
	} {
		got, _, err := document([]byte(in))
		same(t, string(got), want, err)
	}
	for _, in := range []string{`[nana]`, `[infinity]`, `[+inf]`, `[--nan]`, `[-]`, `[nul]`, `{nan:1}`} {
		if got, _, err := document([]byte(in)); err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestSizesBeyondWhatBytesCanCountAreErrors(t *testing.T) {
	_, err := DecodeOSDUsages([]byte(`{"nodes":[{"id":1,"kb":9223372036854775807}]}`))
	if err == nil || err.Error() != "decode osd df: nodes: osd.1: 9223372036854775807 KiB: value out of range" {
		t.Error(err)
	}
	if u, err := DecodeOSDUsages([]byte(`{"nodes":[{"id":1,"kb":1125899906842623}]}`)); err != nil || *u.OSDs[0].Size != math.MaxInt64>>3&^1023 {
		t.Error(err, u)
	}
}
