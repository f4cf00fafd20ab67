package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// clock is a clock that a test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newClock() *clock { return &clock{time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)} }

var allReleases = []int{Pacific, Reef, Tentacle}

func newCluster(t testing.TB, cfg Config, at *clock) *Cluster {
	t.Helper()
	cfg.Now = at.now
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t testing.TB, send func(context.Context, []byte) ([]byte, error), cmd string) []byte {
	t.Helper()
	out, err := send(context.Background(), []byte(cmd))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decode(t testing.TB, out []byte) *ceph.PGTable {
	t.Helper()
	table, err := ceph.DecodePGs(out)
	if err != nil {
		t.Fatal(err)
	}
	if !table.Ready || table.BadCount > 0 {
		t.Fatalf("ready %v, %d bad PGs: %v", table.Ready, table.BadCount, table.Bad)
	}
	return table
}

func TestDecoderFindsInTheDumpWhatTheTableSays(t *testing.T) {
	for _, rel := range allReleases {
		t.Run(strconv.Itoa(rel), func(t *testing.T) {
			at := newClock()
			c := newCluster(t, Config{PGs: 700, OSDs: 60, Seed: 3, Release: rel}, at)
			at.t = at.t.Add(7*time.Hour + 3*time.Second)
			want := c.Table()
			out := ask(t, c.MgrCommand, `{"prefix":"pg dump","dumpcontents":["pgs"],"format":"json"}`)
			got := decode(t, out)
			if len(got.PGs) != 700 || len(want.PGs) != 700 {
				t.Fatalf("%d PGs in the dump, %d in the table, want 700", len(got.PGs), len(want.PGs))
			}
			for i := range got.PGs {
				g, w := got.PGs[i], want.PGs[i]
				if !slices.Equal(got.Set(g.Up), want.Set(w.Up)) || !slices.Equal(got.Set(g.Acting), want.Set(w.Acting)) {
					t.Errorf("pg %s: sets %v %v, want %v %v", g.ID, got.Set(g.Up), got.Set(g.Acting), want.Set(w.Up), want.Set(w.Acting))
				}
				g.Up, g.Acting, w.Up, w.Acting = 0, 0, 0, 0
				if g != w {
					t.Errorf("dump has\n%+v, table\n%+v", g, w)
				}
			}
			if perPG := len(out) / 700; perPG < 2200 || perPG > 2900 {
				t.Errorf("%d bytes per PG: real dumps have between 2,200 and 2,900", perPG)
			}
		})
	}
}

func TestSameSeedAndTimeGiveTheSameAnswersHoweverOftenAsked(t *testing.T) {
	at := newClock()
	cfg := Config{PGs: 900, OSDs: 40, Seed: 11, Release: Reef}
	often, once := newCluster(t, cfg, at), newCluster(t, cfg, at)
	for range 200 {
		at.t = at.t.Add(7 * time.Minute)
		often.Table()
	}
	for _, cmd := range []string{
		`{"prefix":"pg dump","dumpcontents":["pgs"]}`,
		`{"prefix":"pg dump","dumpcontents":["pgs_brief"]}`,
		`{"prefix":"osd df"}`,
	} {
		if !bytes.Equal(ask(t, often.MgrCommand, cmd), ask(t, once.MgrCommand, cmd)) {
			t.Errorf("%s: answers differ", cmd)
		}
	}
	cfg.Seed = 12
	if other := newCluster(t, cfg, at); reflect.DeepEqual(other.Table(), once.Table()) {
		t.Error("another seed gave the same cluster")
	}
}

// A cluster that keeps up scrubs every PG within its interval and never uses
// more slots than it has.
func TestScrubsRunWithinTheLimitsOfTheRelease(t *testing.T) {
	for _, rel := range allReleases {
		t.Run(strconv.Itoa(rel), func(t *testing.T) {
			at := newClock()
			c := newCluster(t, Config{PGs: 1500, OSDs: 60, Seed: 5, Release: rel}, at)
			start := ceph.StampOf(at.t)
			seen := map[string]int{}
			for at.t.Before(start.Time().Add(16 * 24 * time.Hour)) {
				at.t = at.t.Add(20 * time.Minute)
				table := c.Table()
				local, remote := map[int32]int{}, map[int32]int{}
				for i := range table.PGs {
					g := &table.PGs[i]
					seen[fmt.Sprintf("schedule %d", g.Schedule)]++
					if g.State.Any(ceph.StateScrubbing) {
						seen["scrubbing"]++
						set := table.Set(g.Acting)
						local[set[0]]++
						for _, o := range set[1:] {
							remote[o]++
						}
						if !g.State.Has(ceph.StateActive | ceph.StateClean) {
							t.Fatalf("pg %v scrubs in state %s", g.ID, appendState(nil, g.State))
						}
					}
					for _, bit := range []ceph.State{ceph.StateDeep, ceph.StateRecovering, ceph.StateBackfilling, ceph.StateSnapTrim} {
						if g.State.Any(bit) {
							seen[string(appendState(nil, bit))]++
						}
					}
				}
				for o := range int32(60) {
					if rel < 19 && local[o]+remote[o] > c.release.maxScrubs || max(local[o], remote[o]) > c.release.maxScrubs {
						t.Fatalf("osd.%d: %d scrubs as primary, %d as replica", o, local[o], remote[o])
					}
				}
			}
			for _, want := range []string{"scrubbing", "deep", "recovering", "backfilling", "snaptrim"} {
				if seen[want] == 0 {
					t.Errorf("no PG was ever seen %s", want)
				}
			}
			for i := range c.pgs {
				g := &c.pgs[i]
				if c.clock-g.LastScrub > 3*day || c.clock-g.LastDeepScrub > 2*ceph.Stamp(c.deepInterval(c.poolOf(g))*1e6) {
					t.Errorf("pg %v: last scrub %s, last deep scrub %s", g.ID, g.LastScrub.Time(), g.LastDeepScrub.Time())
				}
			}
		})
	}
}

func TestHealthCountsTheLatePGsByCephsRule(t *testing.T) {
	at := newClock()
	c := newCluster(t, Config{PGs: 3000, OSDs: 90, Seed: 2}, at)
	for _, flag := range []string{"noscrub", "nodeep-scrub"} {
		if err := c.SetFlag(flag, true); err != nil {
			t.Fatal(err)
		}
	}
	at.t = at.t.Add(11 * 24 * time.Hour)
	table, now := c.Table(), ceph.StampOf(at.t)
	shallow, deep := 0, 0
	for i := range table.PGs {
		g := &table.PGs[i]
		interval := ceph.Stamp(7)
		if c.pools[c.poolIndex(g.ID.Pool)].name == "archive" {
			interval = 14
		}
		if now-g.LastScrub > 7*3*day/2 {
			shallow++
		}
		if now-g.LastDeepScrub > interval*7*day/4 {
			deep++
		}
	}
	var health struct {
		Status string `json:"status"`
		Checks map[string]struct {
			Summary struct {
				Message string `json:"message"`
				Count   int    `json:"count"`
			} `json:"summary"`
			Detail []struct {
				Message string `json:"message"`
			} `json:"detail"`
		} `json:"checks"`
	}
	if err := json.Unmarshal(ask(t, c.MonCommand, `{"prefix":"health","detail":"detail"}`), &health); err != nil {
		t.Fatal(err)
	}
	if shallow == 0 || deep == 0 || shallow == deep {
		t.Fatalf("%d late and %d late deep PGs: the test shows nothing", shallow, deep)
	}
	for name, want := range map[string]int{"PG_NOT_SCRUBBED": shallow, "PG_NOT_DEEP_SCRUBBED": deep} {
		k := health.Checks[name]
		lines := want
		if want > 50 {
			lines = 51
		}
		if k.Summary.Count != want || len(k.Detail) != lines {
			t.Errorf("%s: count %d with %d lines, want %d with %d", name, k.Summary.Count, len(k.Detail), want, lines)
		}
	}
	if _, ok := health.Checks["OSDMAP_FLAGS"]; !ok {
		t.Error("no OSDMAP_FLAGS")
	}
	for _, flag := range []string{"noscrub", "nodeep-scrub"} {
		if err := c.SetFlag(flag, false); err != nil {
			t.Fatal(err)
		}
	}
	at.t = at.t.Add(10 * 24 * time.Hour)
	if err := json.Unmarshal(ask(t, c.MonCommand, `{"prefix":"health"}`), &health); err != nil {
		t.Fatal(err)
	}
	if n, _ := c.late(true); n != 0 {
		t.Errorf("%d PGs are still late ten days after the flags were cleared", n)
	}
}

func TestListsSelectAsCephDoes(t *testing.T) {
	at := newClock()
	c := newCluster(t, Config{PGs: 4000, OSDs: 120, Seed: 8, Release: Pacific, NoRecovery: true}, at)
	at.t = at.t.Add(3 * time.Hour)
	scrubbing := 0
	table := c.Table()
	for i := range table.PGs {
		if table.PGs[i].State.Any(ceph.StateScrubbing) {
			scrubbing++
		}
	}
	if got := decode(t, ask(t, c.MgrCommand, `{"prefix":"pg ls","states":["scrubbing","recovering"]}`)); len(got.PGs) != scrubbing || scrubbing == 0 {
		t.Errorf("%d PGs listed, %d scrub", len(got.PGs), scrubbing)
	}
	if got := string(ask(t, c.MgrCommand, `{"prefix":"pg ls","states":["recovering"]}`)); strings.TrimSpace(got) != `{"pg_ready":true}` {
		t.Errorf("a list without a match is %q", got)
	}
	n := 0
	for _, p := range c.pools {
		n += len(decode(t, ask(t, c.MgrCommand, fmt.Sprintf(`{"prefix":"pg ls-by-pool","poolstr":%q}`, p.name))).PGs)
	}
	if n != 4000 {
		t.Errorf("%d PGs in all pools", n)
	}
}

func TestEveryAnswerIsJSON(t *testing.T) {
	for _, rel := range allReleases {
		at := newClock()
		c := newCluster(t, Config{PGs: 500, OSDs: 25, Seed: 1, Release: rel}, at)
		mon := []string{"osd dump", "osd metadata", "osd versions", "versions", "version", "health", "config dump", "mgr dump", "mgr metadata", "fsid"}
		mgr := []string{"pg ls", "osd df"}
		for _, prefix := range mon {
			if out := ask(t, c.MonCommand, fmt.Sprintf(`{"prefix":%q,"format":"json"}`, prefix)); !json.Valid(out) {
				t.Errorf("%d %s: not JSON: %s", rel, prefix, out)
			}
		}
		for _, prefix := range mgr {
			if out := ask(t, c.MgrCommand, fmt.Sprintf(`{"prefix":%q,"format":"json"}`, prefix)); !json.Valid(out) {
				t.Errorf("%d %s: not JSON: %s", rel, prefix, out)
			}
		}
		if out := ask(t, c.MgrCommand, `{"prefix":"config show-with-defaults","who":"mgr.a"}`); !json.Valid(out) {
			t.Errorf("%d config show-with-defaults: not JSON: %s", rel, out)
		}
	}
}

func TestWhatIsNotSimulatedIsAnError(t *testing.T) {
	c := newCluster(t, Config{PGs: 10, OSDs: 3}, newClock())
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		cmd  string
		want string
	}{
		{context.Background(), `{"prefix":"osd out"}`, `simulate: command "osd out": not simulated`},
		{context.Background(), `{"prefix":"pg dump","dumpcontents":["all"]}`, `simulate: command "pg dump": dumpcontents "all": not simulated`},
		{context.Background(), `{"prefix":"pg ls-by-pool","poolstr":"x"}`, `simulate: command "pg ls-by-pool": pool "x": no such pool`},
		{context.Background(), `{`, `simulate: read command: unexpected end of JSON input`},
		{canceled, `{"prefix":"osd df"}`, `context canceled`},
	} {
		if _, err := c.MgrCommand(tc.ctx, []byte(tc.cmd)); err == nil || err.Error() != tc.want {
			t.Errorf("%s: error %v, want %s", tc.cmd, err, tc.want)
		}
	}
	for _, cfg := range []Config{{PGs: -1}, {OSDs: 2}, {Release: 17}, {PGs: maxPGs + 1}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
}

func TestSmallClustersHaveAllTheirPGs(t *testing.T) {
	for pgs := 1; pgs < 70; pgs++ {
		c := newCluster(t, Config{PGs: pgs, OSDs: 3}, newClock())
		if n := len(c.Table().PGs); n != pgs {
			t.Errorf("%d PGs, want %d", n, pgs)
		}
	}
}

func BenchmarkSimulateDump(b *testing.B) {
	at := newClock()
	c := newCluster(b, Config{PGs: 20000}, at)
	n := 0
	for b.Loop() {
		n = len(ask(b, c.MgrCommand, `{"prefix":"pg dump","dumpcontents":["pgs"]}`))
	}
	b.ReportMetric(float64(n)/20000, "json-bytes/pg")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20000, "ns/pg")
}
