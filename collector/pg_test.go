package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
)

// answers is a cluster that answers each command by its name; what is not in it
// fails. The name of `config show` and its like ends with the daemon.
type answers map[string]any // string: the answer, error: the failure

func (a answers) ask(command []byte) ([]byte, error) {
	var c struct{ Prefix, Who string }
	if err := json.Unmarshal(command, &c); err != nil {
		return nil, err
	}
	for _, name := range []string{strings.TrimSpace(c.Prefix + " " + c.Who), c.Prefix} {
		switch v := a[name].(type) {
		case string:
			return []byte(v), nil
		case error:
			return nil, v
		case func() (string, error):
			s, err := v()
			return []byte(s), err
		}
	}
	return nil, fmt.Errorf("no answer to %s", command)
}

func (a answers) MonCommand(_ context.Context, command []byte) ([]byte, error) { return a.ask(command) }
func (a answers) MgrCommand(_ context.Context, command []byte) ([]byte, error) { return a.ask(command) }

// with returns a copy with one answer changed.
func (a answers) with(name string, answer any) answers {
	out := answers{}
	for k, v := range a {
		out[k] = v
	}
	out[name] = answer
	return out
}

// captured are the answers of a real cluster of that release.
func captured(t *testing.T, release string) answers {
	t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "internal", "ceph", "testdata", release, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return answers{
		"pg dump": read("pg_dump_pgs"), "pg ls": read("pg_ls_scrubbing"), "osd dump": read("osd_dump"), "health": read("health_detail"),
		"config dump": read("config_dump"), "config show-with-defaults mgr.x": read("config_show_mgr.x"),
		"config show-with-defaults": read("config_show_osd.0"), "config show": `[]`,
		"mgr dump": `{"epoch":3,"active_name":"x","available":true}`,
	}
}

const (
	smallHealth = `{"status":"HEALTH_OK","checks":{},"mutes":[]}`
	mgrOptions  = `[{"name":"osd_deep_scrub_interval","value":"604800.000000"},{"name":"osd_scrub_max_interval","value":"604800.000000"},` +
		`{"name":"mon_warn_pg_not_deep_scrubbed_ratio","value":"0.750000"},{"name":"mon_warn_pg_not_scrubbed_ratio","value":"0.500000"},{"name":"osd_max_scrubs","value":"1"}]`
)

// small is a cluster of one pool, two OSDs and the PGs given.
func small(pgs ...string) answers {
	dump := `{"pg_ready":true,"pg_stats":[` + strings.Join(pgs, ",") + `]}`
	return answers{
		"pg dump": dump, "pg ls": `{"pg_ready":true}`, "health": smallHealth,
		"osd dump": `{"epoch":9,"fsid":"5f1c1e0a-0000-4000-8000-000000000001","flags":"sortbitwise","flags_set":["sortbitwise"],"require_osd_release":"reef",` +
			`"pools":[{"pool":5,"pool_name":"images","flags_names":"hashpspool","type":1,"size":3,"min_size":2,"crush_rule":0,"pg_num":32,"options":{}}],` +
			`"osds":[{"osd":0,"uuid":"a","up":1,"in":1,"weight":1},{"osd":1,"uuid":"b","up":1,"in":1,"weight":1},{"osd":2,"uuid":"c","up":0,"in":1,"weight":1}]}`,
		"config dump": `[]`, "mgr dump": `{"epoch":3,"active_name":"x","available":true}`,
		"config show-with-defaults": mgrOptions, "config show": `[]`,
	}
}

// smallPG writes a PG with stamps that many seconds before testNow.
func smallPG(id, state string, shallow, deep float64, more string) string {
	stamp := func(ago float64) string {
		return testNow.Add(-time.Duration(ago * float64(time.Second))).Format("2006-01-02T15:04:05.000000-0700")
	}
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"pgid":%q,"state":%q,"last_scrub_stamp":%q,"last_deep_scrub_stamp":%q,"last_clean_scrub_stamp":%q,"last_change":%q,`+
		`"stat_sum":{"num_bytes":1000,"num_objects":3,"num_shallow_scrub_errors":0,"num_deep_scrub_errors":0},"up":[0,1],"acting":[0,1],"up_primary":0,"acting_primary":0%s}`,
		id, state, stamp(shallow), stamp(deep), stamp(shallow), stamp(shallow), more)
}

var testNow = time.Date(2026, 11, 30, 18, 10, 0, 0, time.UTC)

// pgBench is a pg collector on a clock of its own.
type pgBench struct {
	t   *testing.T
	p   *pgPoller
	now time.Time
}

func newPGBench(t *testing.T, flags ...string) *pgBench {
	t.Helper()
	b := &pgBench{t: t, now: testNow}
	deps := testDeps(t, testNow)
	deps.Now = func() time.Time { return b.now }
	app := kingpin.New("test", "")
	construct := pgSpec().Configure(app)
	if _, err := app.Parse(flags); err != nil {
		t.Fatal(err)
	}
	p, err := construct(deps)
	if err != nil {
		t.Fatal(err)
	}
	b.p = p.(*pgPoller)
	return b
}

// poll polls once and returns the series by name{labels}.
func (b *pgBench) poll(a answers) (map[string]float64, error) {
	b.t.Helper()
	b.p.client.Commander = a
	s, err := b.p.Poll(context.Background(), b.now)
	if s == nil {
		return map[string]float64{}, err
	}
	e := newEmitter(b.p.table.Rows())
	s.Emit(e)
	for _, p := range e.problems {
		b.t.Errorf("sample dropped: %v", p)
	}
	return values(b.t, append(e.result(), expandBulk(e.bulk)...)), err
}

func (b *pgBench) mustPoll(a answers) map[string]float64 {
	b.t.Helper()
	s, err := b.poll(a)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// want compares some series by name; NaN stands for "not there".
func want(t *testing.T, got map[string]float64, wanted map[string]float64) {
	t.Helper()
	part := map[string]float64{}
	for k := range wanted {
		if v, ok := got[k]; ok {
			part[k] = v
		}
	}
	if diff := cmp.Diff(wanted, part); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestPGCollectorOnCapturedAnswers(t *testing.T) {
	for _, release := range []string{"16", "18", "20"} {
		t.Run(release, func(t *testing.T) {
			b := newPGBench(t, "--collector.pg.timestamps")
			b.p.client.Commander = captured(t, release)
			golden(t, "pg_"+release+".txt", pollText(t, b.p.table.Rows(), b.p, testNow))
		})
	}
}

// An interval raised in section osd alone: Ceph keeps warning, because the mgr
// judges by its own value.
func TestIntervalSetForTheOSDsOnlyShowsInBothViews(t *testing.T) {
	b := newPGBench(t)
	a := small(smallPG("5.0", "active+clean", 1000, 1123200, ""))
	a["config dump"] = `[{"section":"osd","name":"osd_deep_scrub_interval","value":"1209600.000000","level":"advanced","mask":""},` +
		`{"section":"osd","name":"osd_max_scrubs","value":"2","level":"advanced","mask":"class:hdd"},{"section":"osd","name":"osd_mclock_profile","value":"balanced","level":"basic","mask":""}]`
	a["config show"] = `[{"name":"osd_deep_scrub_interval","value":"1209600.000000"}]`
	a["health"] = `{"status":"HEALTH_WARN","checks":{"PG_NOT_DEEP_SCRUBBED":{"severity":"HEALTH_WARN","summary":{"message":"1 pgs not deep-scrubbed in time","count":1},"detail":[],"muted":true}},"mutes":[]}`
	want(t, b.mustPoll(a), map[string]float64{
		"cephrisk_health_check_items{name=PG_NOT_DEEP_SCRUBBED}":                        1,
		"cephrisk_health_check_muted{name=PG_NOT_DEEP_SCRUBBED}":                        1,
		"cephrisk_health_check_items{name=PG_NOT_SCRUBBED}":                             0,
		"cephrisk_pool_pgs_late{level=deep,pool_id=5}":                                  1,
		"cephrisk_pool_pgs_late_by_osd_interval{level=deep,pool_id=5}":                  0,
		"cephrisk_scrub_option{option=osd_deep_scrub_interval,who=osd}":                 1209600,
		"cephrisk_scrub_option{option=osd_max_scrubs,who=osd/class:hdd}":                2,
		"cephrisk_scrub_option_info{option=osd_mclock_profile,value=balanced,who=osd}":  1,
		"cephrisk_scrub_option_mgr{option=osd_deep_scrub_interval}":                     604800,
		"cephrisk_scrub_option_osds{option=osd_deep_scrub_interval,value=1209600}":      2,
		"cephrisk_scrub_option_mismatch_osds{option=osd_deep_scrub_interval}":           2,
		"cephrisk_scrub_option_mismatch_osds{option=osd_scrub_max_interval}":            0,
		"cephrisk_osd_scrub_slots{ceph_daemon=osd.1}":                                   1,
		"cephrisk_pool_scrub_warn_interval_seconds{level=deep,pool_id=5}":               1058400,
		"cephrisk_pool_pgs_overdue{level=deep,pool_id=5}":                               1,
		"cephrisk_pool_pgs_older{intervals=1.75,level=deep,pool_id=5}":                  1,
		"cephrisk_pool_pgs_older{intervals=2,level=deep,pool_id=5}":                     0,
		"cephrisk_pool_pgs_late_within{horizon=7d,level=shallow,pool_id=5}":             0,
		"cephrisk_pool_bytes_late{level=deep,pool_id=5}":                                1000,
		"cephrisk_scrub_option_osds_unknown{}":                                          0,
		"cephrisk_cluster_info{fsid=5f1c1e0a-0000-4000-8000-000000000001,release=reef}": 1,
		"cephrisk_scrub_completions_total{level=deep,pool_id=5}":                        0,
		"cephrisk_pg_last_deep_scrub_age_seconds{pgid=5.0,pool_id=5}":                   1123200,
		"cephrisk_osd_scrubs_running{ceph_daemon=osd.0,level=deep,role=primary}":        0,
		"cephrisk_scrubs_running{level=deep,phase=running,pool_id=5}":                   0,
	})
}

// An unset stamp is late for Ceph and has no age; a stamp without a zone is an
// error of that PG and not of the poll.
func TestUnsetAndUnreadableStampsNeitherHideNorInvent(t *testing.T) {
	b := newPGBench(t)
	unset := strings.Replace(smallPG("5.1", "active+clean", 1000, 2000, ""), testNow.Add(-2000*time.Second).Format("2006-01-02T15:04:05.000000-0700"), "0.000000", 1)
	naive := strings.Replace(smallPG("5.2", "active+clean", 1000, 2000, ""), testNow.Add(-2000*time.Second).Format("2006-01-02T15:04:05.000000-0700"), "2026-11-30 17:00:00.000000", 1)
	got := b.mustPoll(small(unset, naive, smallPG("5.3", "active+clean", -50, -50, "")))
	want(t, got, map[string]float64{
		"cephrisk_pool_pgs_never_deep_scrubbed{pool_id=5}":                   1,
		"cephrisk_pool_pgs_late{level=deep,pool_id=5}":                       1,
		"cephrisk_pool_pgs_older{intervals=3,level=deep,pool_id=5}":          1,
		"cephrisk_pool_pgs_stamp_unreadable{level=deep,pool_id=5}":           1,
		"cephrisk_pool_pgs_stamp_unreadable{level=shallow,pool_id=5}":        0,
		"cephrisk_pool_pgs_stamp_in_future{level=deep,pool_id=5}":            1,
		"cephrisk_pg_entries_bad{}":                                          1,
		"cephrisk_pg_last_deep_scrub_age_seconds{pgid=5.3,pool_id=5}":        0,
		"cephrisk_pool_oldest_scrub_timestamp_seconds{level=deep,pool_id=5}": float64(testNow.Add(50 * time.Second).Unix()),
	})
	for _, id := range []string{"5.1", "5.2"} {
		if v, ok := got["cephrisk_pg_last_deep_scrub_age_seconds{pgid="+id+",pool_id=5}"]; ok {
			t.Errorf("pg %s has age %v", id, v)
		}
	}
}

// The detail of a health check is cut at 50 lines; its count is not.
func TestHealthCountIsCephsOwnAndNotTheNumberOfDetails(t *testing.T) {
	for file, items := range map[string]float64{"health_s7_cut_detail.json": 1161, "health_s7_no_count.json": 1161} {
		data, err := os.ReadFile(filepath.Join("..", "internal", "ceph", "testdata", "fieldcases", file))
		if err != nil {
			t.Fatal(err)
		}
		b := newPGBench(t)
		want(t, b.mustPoll(small().with("health", string(data))), map[string]float64{
			"cephrisk_health_check_items{name=PG_NOT_DEEP_SCRUBBED}": items,
			"cephrisk_health_check_items{name=SLOW_OPS}":             0,
		})
	}
	// A check without any number is raised, but how often is not known.
	b := newPGBench(t)
	got := b.mustPoll(small().with("health", `{"status":"HEALTH_WARN","checks":{"SLOW_OPS":{"severity":"HEALTH_WARN","summary":{"message":"slow"},"detail":[]}}}`))
	if v, ok := got["cephrisk_health_check_items{name=SLOW_OPS}"]; ok {
		t.Errorf("invented count %v", v)
	}
}

func TestFlagsOfClusterAndPoolAreSeriesEvenWhenUnset(t *testing.T) {
	data, err := os.ReadFile("../internal/ceph/testdata/fieldcases/osd_dump_s9_flags.json")
	if err != nil {
		t.Fatal(err)
	}
	b := newPGBench(t)
	want(t, b.mustPoll(small().with("osd dump", string(data))), map[string]float64{
		"cephrisk_cluster_flag{flag=nodeep-scrub}":                  1,
		"cephrisk_cluster_flag{flag=noscrub}":                       0,
		"cephrisk_cluster_flag{flag=noout}":                         0,
		"cephrisk_pool_flag{flag=nodeep-scrub,pool_id=2}":           1,
		"cephrisk_pool_flag{flag=noscrub,pool_id=2}":                0,
		"cephrisk_pool_info{name=images,pool_id=2,type=replicated}": 1,
	})
}

// States are compared token by token, whatever their order.
func TestRunningStuckAndInconsistentPGs(t *testing.T) {
	b := newPGBench(t, "--collector.pg.stuck-after=1h")
	active := []string{
		smallPG("5.1", "active+clean+scrubbing", 43200, 50000, ""),
		smallPG("5.2", "active+clean+scrubbing+deep", 60, 50000, `"scrub_schedule":"deep scrubbing for 7s","objects_scrubbed":5`),
		smallPG("5.3", "active+clean+snaptrim_wait+scrubbing+deep+repair", 60, 50000, `"scrub_schedule":"queued for deep scrub"`),
		smallPG("5.4", "active+clean+inconsistent", 60, 50000, ""),
		smallPG("5.5", "active+recovering+degraded", 60, 50000, ""),
	}
	a := small(append(active, smallPG("5.6", "active+clean", 100, 200, ""))...)
	a["pg ls"] = `{"pg_ready":true,"pg_stats":[` + strings.Join(active, ",") + `]}`
	want(t, b.mustPoll(a), map[string]float64{
		"cephrisk_scrubs_running{level=shallow,phase=unknown,pool_id=5}":            1,
		"cephrisk_scrubs_running{level=shallow,phase=running,pool_id=5}":            0,
		"cephrisk_scrubs_running{level=deep,phase=running,pool_id=5}":               1,
		"cephrisk_scrubs_running{level=deep,phase=reserving,pool_id=5}":             1,
		"cephrisk_osd_scrubs_running{ceph_daemon=osd.0,level=deep,role=primary}":    2,
		"cephrisk_osd_scrubs_running{ceph_daemon=osd.1,level=deep,role=replica}":    2,
		"cephrisk_osd_scrubs_running{ceph_daemon=osd.1,level=shallow,role=replica}": 1,
		"cephrisk_scrub_stuck_pgs{pool_id=5}":                                       1,
		"cephrisk_scrub_oldest_start_timestamp_seconds{level=shallow,pool_id=5}":    float64(testNow.Add(-43200 * time.Second).Unix()),
		"cephrisk_pg_inconsistent{pgid=5.4,pool_id=5}":                              1,
		"cephrisk_pg_activity_timestamp_seconds{}":                                  float64(testNow.Unix()),
	})
}

func TestCompletionsAreCountedFromTheSecondDumpOn(t *testing.T) {
	b := newPGBench(t)
	first := small(smallPG("5.0", "active+clean", 5000, 9000, ""), smallPG("5.1", "active+clean", 5000, 9000, ""), smallPG("5.2", "active+clean", 5000, 9000, ""))
	want(t, b.mustPoll(first), map[string]float64{
		"cephrisk_scrub_completions_total{level=deep,pool_id=5}": 0, "cephrisk_scrub_completions_total{level=shallow,pool_id=5}": 0,
	})
	b.now = testNow.Add(time.Minute)
	second := small(smallPG("5.0", "active+clean", 30, 30, `"last_scrub_duration":42`), smallPG("5.1", "active+clean", 20, 9000, ""), smallPG("5.2", "unknown", 0, 0, ""))
	want(t, b.mustPoll(second), map[string]float64{
		"cephrisk_scrub_completions_total{level=deep,pool_id=5}":     1,
		"cephrisk_scrub_completions_total{level=shallow,pool_id=5}":  1,
		"cephrisk_scrub_completed_bytes_total{level=deep,pool_id=5}": 1000,
		"cephrisk_pool_pgs_unknown{pool_id=5}":                       1,
		"cephrisk_pool_pgs{pool_id=5}":                               3,
	})
}

func TestMgrThatIsNotReadyIsAFailedPollAndTheLastDumpStays(t *testing.T) {
	b := newPGBench(t)
	good := small(smallPG("5.0", "active+clean", 100, 200, ""))
	b.mustPoll(good)
	for i := range 13 { // 15 s each: the dump is 195 s old at the end
		b.now = testNow.Add(time.Duration(i+1) * 15 * time.Second)
		got, err := b.poll(good.with("pg ls", `{"pg_ready":false}`).with("pg dump", `{"pg_ready":false,"pg_stats":[`+smallPG("5.0", "unknown", 0, 0, "")+`]}`))
		if !errors.Is(err, errNotReady) {
			t.Fatalf("poll %d: %v", i, err)
		}
		_, age := got["cephrisk_pg_last_deep_scrub_age_seconds{pgid=5.0,pool_id=5}"]
		_, running := got["cephrisk_scrubs_running{level=deep,phase=running,pool_id=5}"]
		if wantAge, wantRunning := i < 12, i < 3; age != wantAge || running != wantRunning {
			t.Errorf("%d s after the last good answers: age %v, running scrubs %v, want %v, %v", (i+1)*15, age, running, wantAge, wantRunning)
		}
		if got["cephrisk_pool_pgs_unknown{pool_id=5}"] != 0 {
			t.Error("an answer that was not ready has been used")
		}
	}
}

func TestDumpIsAskedForOnlyWhereTheMgrAnswersAndAtOnceWhenItDoesAgain(t *testing.T) {
	b := newPGBench(t)
	dumps := 0
	good := small(smallPG("5.0", "active+clean", 100, 200, ""))
	dump := good["pg dump"].(string)
	good["pg dump"] = func() (string, error) { dumps++; return dump, nil }
	step := func(a answers, seconds, wantDumps int, ok bool) {
		t.Helper()
		b.now = testNow.Add(time.Duration(seconds) * time.Second)
		if _, err := b.poll(a); (err == nil) != ok {
			t.Errorf("at %d s: %v", seconds, err)
		}
		if dumps != wantDumps {
			t.Errorf("at %d s: %d dumps, want %d", seconds, dumps, wantDumps)
		}
	}
	hung := good.with("pg ls", errors.New("no answer"))
	step(good, 0, 1, true)
	step(good, 15, 1, true)
	step(good, 45, 1, true)
	step(good, 60, 2, true)
	step(hung, 75, 2, false)
	step(hung, 150, 2, false)
	step(good, 165, 3, true) // at once, though the next was due at 180 s at the latest
	step(good, 180, 3, true)
	broken := good.with("osd dump", errors.New("no quorum"))
	step(broken, 240, 3, false)
	step(good, 255, 4, true)
	if wait, interval := b.p.Pace(); wait != 15*time.Second || interval != time.Minute {
		t.Errorf("pace %s, %s", wait, interval)
	}
}

// What the options say may be missing: ages and counts are still there, and
// nobody is judged by a rule that is not known.
func TestWithoutTheMgrsOptionsNobodyIsJudged(t *testing.T) {
	for name, change := range map[string]answers{
		"config show fails":  {"config show-with-defaults": errors.New("EACCES")},
		"option is missing":  {"config show-with-defaults": strings.Replace(mgrOptions, "osd_deep_scrub_interval", "osd_new_interval", 1)},
		"option is nonsense": {"config show-with-defaults": strings.Replace(mgrOptions, "604800.000000", "weekly", 1)},
		"no active mgr":      {"mgr dump": `{"epoch":3,"active_name":"","available":false}`},
		"config dump fails":  {"config dump": errors.New("EACCES")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPGBench(t)
			a := small(smallPG("5.0", "active+clean", 100, 9e6, ""))
			for k, v := range change {
				a[k] = v
			}
			got, err := b.poll(a)
			if err == nil && !strings.HasPrefix(name, "option") {
				t.Error("the failure is not reported")
			}
			want(t, got, map[string]float64{
				"cephrisk_pg_last_deep_scrub_age_seconds{pgid=5.0,pool_id=5}": 9e6,
				"cephrisk_pool_pgs{pool_id=5}":                                1,
			})
			for k := range got {
				if strings.HasPrefix(k, "cephrisk_pool_pgs_late{") || strings.HasPrefix(k, "cephrisk_pool_scrub_warn") {
					t.Errorf("judged: %s", k)
				}
			}
		})
	}
}

func TestSeriesLimitDropsAndSaysSo(t *testing.T) {
	var pgs []string
	for i := range 20 {
		pgs = append(pgs, smallPG(fmt.Sprintf("5.%x", i), "active+clean", 100, float64(1000+i), ""))
	}
	b := newPGBench(t, "--collector.pg.series-limit=10", "--collector.pg.series-top=3")
	got := b.mustPoll(small(pgs...))
	want(t, got, map[string]float64{
		"cephrisk_pg_series_dropped{}":                                 17,
		"cephrisk_pg_last_deep_scrub_age_seconds{pgid=5.13,pool_id=5}": 1019,
		"cephrisk_pg_last_deep_scrub_age_seconds{pgid=5.11,pool_id=5}": 1017,
		"cephrisk_pool_pgs_older{intervals=0.5,level=deep,pool_id=5}":  0,
		"cephrisk_pool_pgs{pool_id=5}":                                 20,
	})
	if _, ok := got["cephrisk_pg_last_deep_scrub_age_seconds{pgid=5.10,pool_id=5}"]; ok {
		t.Error("the fourth oldest has a series")
	}
}

// The worst PGs are named whatever the limit of series, and with what blocks them.
func TestWorstPGsAreNamedBeyondTheSeriesLimit(t *testing.T) {
	const late = 2e6
	a := small(smallPG("5.0", "active+clean", 100, 3000, ""), smallPG("5.1", "active+clean", 300, 1000, ""), smallPG("5.2", "active+clean+recovering", 200, late, ""))
	for _, limit := range []string{"0", "2", "100"} {
		b := newPGBench(t, "--collector.pg.series-limit="+limit, "--collector.pg.series-top=0", "--collector.pg.worst=2")
		got := map[string]float64{}
		for k, v := range b.mustPoll(a) {
			if strings.HasPrefix(k, "cephrisk_pg_worst_") {
				got[k] = v
			}
		}
		if diff := cmp.Diff(map[string]float64{
			"cephrisk_pg_worst_scrub_age_seconds{level=shallow,pgid=5.1,pool_id=5}":          300,
			"cephrisk_pg_worst_scrub_age_seconds{level=shallow,pgid=5.2,pool_id=5}":          200,
			"cephrisk_pg_worst_scrub_age_seconds{level=deep,pgid=5.2,pool_id=5}":             late,
			"cephrisk_pg_worst_scrub_age_seconds{level=deep,pgid=5.0,pool_id=5}":             3000,
			"cephrisk_pg_worst_scrub_blocked{level=deep,pgid=5.2,pool_id=5,reason=recovery}": 1,
		}, got); diff != "" {
			t.Errorf("limit %s (-want +got):\n%s", limit, diff)
		}
	}
}

// Damaged answers are errors, or leave out what they damage; never a panic.
func TestDamagedAnswersAreErrors(t *testing.T) {
	good := small(smallPG("5.0", "active+clean", 100, 200, ""))
	for _, name := range []string{"pg dump", "pg ls", "osd dump", "health", "config dump", "config show-with-defaults", "mgr dump"} {
		text := good[name].(string)
		for kind, damaged := range map[string]string{
			"empty": "", "truncated": text[:len(text)-1], "foreign": `{"quorum":[0]}`, "not JSON": "EACCES", "null": "null",
			"two": text + text, "binary": "\x00\xff\xfe",
		} {
			b := newPGBench(t)
			if _, err := b.poll(good.with(name, damaged)); err == nil {
				t.Errorf("%s, %s: no error", name, kind)
			}
		}
	}
	b := newPGBench(t)
	if s, err := b.poll(answers{}); err == nil || len(s) != 0 {
		t.Errorf("a cluster that answers nothing: %v, %v", s, err)
	}
}

func TestFlagsOfThePGCollectorAreChecked(t *testing.T) {
	for _, bad := range []string{"--collector.pg.fast-interval=0s", "--collector.pg.dump-timeout=1ms", "--collector.pg.stuck-after=-1h", "--collector.pg.series-limit=-1", "--collector.pg.series-top=-5", "--collector.pg.worst=-1"} {
		app := kingpin.New("test", "")
		construct := pgSpec().Configure(app)
		if _, err := app.Parse([]string{bad}); err != nil {
			t.Fatal(err)
		}
		if _, err := construct(testDeps(t, testNow)); err == nil || !strings.Contains(err.Error(), "collector.pg.") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// unansweredError is how internal/rados tells that nobody answered.
type unansweredError struct{ error }

func (unansweredError) Unanswered() bool { return true }

// Without a quorum the mgr still tells what moves; the dump, which needs the map,
// is not asked for, and comes with the first poll that has a quorum.
func TestWithoutAQuorumWhatMovesStaysFreshAndTheDumpWaits(t *testing.T) {
	b, good := newPGBench(t), small(smallPG("5.0", "active+clean", 100, 100, ""))
	b.mustPoll(good)
	silent := unansweredError{errors.New("monitors do not answer")}
	dumps := 0
	hung := good.with("health", silent).with("osd dump", func() (string, error) { dumps++; return "", silent })
	for range 3 {
		b.now = b.now.Add(2 * time.Minute)
		if _, err := b.poll(hung); !errors.Is(err, silent) {
			t.Errorf("error %v", err)
		}
	}
	if dumps != 0 || !b.p.fast.at.Equal(b.now) || b.p.full.at.Equal(b.now) {
		t.Errorf("asked for the map %d times; small answer of %v, dump of %v, now %v", dumps, b.p.fast.at, b.p.full.at, b.now)
	}
	b.now = b.now.Add(time.Second)
	if b.mustPoll(good); !b.p.full.at.Equal(b.now) {
		t.Errorf("dump of %v, now %v", b.p.full.at, b.now)
	}
}

// A mgr that takes a minute and a half for a dump is asked for one every quarter
// of an hour, what moves as often as ever; the dump's series live three of these
// intervals. When it is quick again the configured interval holds.
func TestSlowDumpIsAskedForRarelyAndItsSeriesLiveAsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, good := newPGBench(t), small(smallPG("5.0", "active+clean", 100, 100, ""))
		b.p.deps.Now = time.Now
		b.p.options.now = time.Now
		dumps, takes := 0, 90*time.Second
		slow := good.with("pg dump", func() (string, error) {
			dumps++
			time.Sleep(takes)
			return good["pg dump"].(string), nil
		})
		b.p.client.Commander = slow
		poll := func() (series int) {
			s, err := b.p.Poll(context.Background(), time.Now())
			if err != nil {
				t.Error(err)
			}
			e := newEmitter(b.p.table.Rows())
			s.Emit(e)
			wait, _ := b.p.Pace()
			if wait != 15*time.Second {
				t.Errorf("next poll after %v", wait)
			}
			time.Sleep(wait)
			return len(expandBulk(e.bulk))
		}
		began := time.Now()
		polls := 0
		for time.Since(began) < 29*time.Minute {
			polls++
			if poll() == 0 {
				t.Fatal("no series of PGs")
			}
		}
		if _, interval := b.p.Pace(); dumps != 2 || interval != 15*time.Minute || polls < 80 {
			t.Errorf("%d dumps and %d polls in half an hour, interval %v", dumps, polls, interval)
		}
		takes = 0
		for range 5 {
			poll()
			time.Sleep(14 * time.Minute)
		}
		if _, interval := b.p.Pace(); interval != time.Minute {
			t.Errorf("interval %v after quick dumps", interval)
		}
	})
}
