package collector

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure/enclosuretest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/label"
	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/state"
)

// hostileNames are what somebody may call a thing who means harm, or what a
// broken firmware does. The first is the longest.
func hostileNames() []string {
	return []string{
		strings.Repeat("long", 1<<18), strings.Repeat("x", 300) + "1", strings.Repeat("x", 300) + "2",
		"a\nb", "\x1b[31mred\x1b[0m", "a\x00b", "a\"} 1\n#", `a\`, "a\xff\xfeb", "\u202eevil", "<script>alert(1)</script>", "",
	}
}

// harmless checks what came of a poll: every label is bounded, printable and
// told apart; the text can be read; series are no more than most. A poll that
// failed shows nothing, which is harmless too.
func harmless(t *testing.T, what string, rows []*Row, s Snapshot, most int) {
	t.Helper()
	if s == nil {
		return
	}
	text := exposition(t, rows, s) // fails where a sample was dropped
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	series := 0
	for name, f := range families {
		series += len(f.Metric)
		for _, m := range f.Metric {
			for _, l := range m.Label {
				v := l.GetValue()
				if len(v) > label.MaxBytes || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
					t.Errorf("%s: %s: label %s is %.300q", what, name, l.GetName(), v)
				}
			}
		}
	}
	if series > most {
		t.Errorf("%s: %d series, at most %d", what, series, most)
	}
}

// poisoned returns a JSON document once for every name that a text in it goes by,
// with hostile texts in all of these places.
func poisoned(t *testing.T, document string) map[string]string {
	t.Helper()
	keys := map[string]bool{}
	walk := func(change func(key, text string) string) string {
		var v any
		if err := json.Unmarshal([]byte(document), &v); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(walkTexts(v, "", change))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	walk(func(key, text string) string { keys[key] = true; return text })
	out := map[string]string{}
	for key := range keys {
		n := 0
		names := hostileNames()
		if key != "pool_name" && key != "hostname" {
			names[0] = names[0][:1<<12] // the time of the test
		}
		out[key] = walk(func(k, text string) string {
			if k != key {
				return text
			}
			n++
			if n > len(names) {
				return fmt.Sprint("name ", n)
			}
			return names[n-1]
		})
	}
	return out
}

func walkTexts(v any, key string, change func(key, text string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = walkTexts(v[k], k, change)
		}
	case []any:
		for i := range v {
			v[i] = walkTexts(v[i], key, change)
		}
	case string:
		return change(key, v)
	}
	return v
}

func TestHostileTextsOfMonAndMgrAreHarmless(t *testing.T) {
	a := captured(t, "20")
	for command, file := range map[string]string{"osd df": "osd_df", "osd metadata": "osd_metadata"} {
		data, err := os.ReadFile(filepath.Join("..", "internal", "ceph", "testdata", "20", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		a[command] = string(data)
	}
	for _, command := range slices.Sorted(maps.Keys(a)) {
		for key, document := range poisoned(t, a[command].(string)) {
			what := command + ": " + key
			bad := a.with(command, document)
			if command != "osd df" && command != "osd metadata" {
				b := newPGBench(t)
				b.p.client.Commander = bad
				s, _ := b.p.Poll(context.Background(), testNow)
				harmless(t, what, b.p.table.Rows(), s, 20_000)
			}
			if strings.HasPrefix(command, "osd ") {
				osd := newTestOSDPoller(bad)
				s, _ := osd.Poll(context.Background(), testNow)
				harmless(t, what, osd.table.Rows(), s, 20_000)
			}
		}
	}
}

func TestHostileTextsOfOSDsAreHarmless(t *testing.T) {
	dir := t.TempDir()
	osd := serveOSD(t, dir, 0, "20")
	for _, question := range []string{"config show", "version"} {
		var v any
		if err := json.Unmarshal(osd.answers[question], &v); err != nil {
			t.Fatal(err)
		}
		names, n := hostileNames(), 0
		document, err := json.Marshal(walkTexts(v, "", func(_, _ string) string { n++; return names[n%len(names)][:min(600, len(names[n%len(names)]))] }))
		if err != nil {
			t.Fatal(err)
		}
		osd.mu.Lock()
		osd.answers[question] = document
		osd.mu.Unlock()
		deps := testDeps(t, testNow)
		deps.Paths.Run = dir
		p := newDaemonPoller(deps, "host", false)
		s, _ := p.Poll(context.Background(), testNow)
		harmless(t, question, p.table.Rows(), s, 20_000)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestHostileNamesInTheOpsLogAreBounded(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	record := func(bucket, user string) {
		q := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		fmt.Fprintf(&log, `{"bucket":%s,"time":"2026-11-30T11:50:00.000000Z","user":%s,"operation":"put_obj","uri":"PUT /b/o HTTP/1.1","http_status":"200","object_size":1,"total_time":1,"trans_id":"t"}`+"\n", q(bucket), q(user))
	}
	for i, name := range hostileNames() {
		record(name, name)
		for n := range 5000 {
			record(fmt.Sprint("bucket-", i, "-", n), fmt.Sprint("user-", i, "-", n))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ops-log-ceph-client.rgw.a.log"), []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d := testDeps(t, rgwNow)
	d.State = state.Open(filepath.Join(dir, "state"), d.Log)
	p, rows := newTestRGW(t, d, "--rgw.ops-log="+filepath.Join(dir, "ops-log-*.log"), "--rgw.view=complete", "--rgw.bucket-labels", "--rgw.user-labels")
	s, err := p.Poll(context.Background(), rgwNow)
	if err != nil {
		t.Fatal(err)
	}
	harmless(t, "ops log", rows, s, 2000)
	text := exposition(t, rows, s)
	if want := fmt.Sprintf(`cephrisk_rgw_uploads_completed_total{ceph_daemon="rgw.a",instance_id="",kind="put"} %d`, len(hostileNames())*5001); !strings.Contains(text, want) {
		t.Errorf("no %s", want)
	}
	// The names are in the checkpoint, too.
	info, err := os.Stat(filepath.Join(dir, "state", "rgw.state"))
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("checkpoint of %d bytes, %v", info.Size(), err)
	}
}

func TestHostileNamesOfAnArrayAreHarmless(t *testing.T) {
	model := msatest.NewModel(msatest.MSA2060)
	names := hostileNames()[:11]
	model.SystemName, model.Serial, model.Product = names[0], names[3], names[8]
	for i := range model.Disks {
		model.Disks[i].Serial = names[i%len(names)]
		model.Disks[i].Group = names[(i+1)%len(names)]
	}
	for i := range model.Groups {
		model.Groups[i].Name = names[i%len(names)]
	}
	for i := range model.Sensors {
		model.Sensors[i].Name = names[i%len(names)]
	}
	for i, name := range names {
		model.Log("A", 206, "INFORMATIONAL", "Scrub started. (disk group: "+name+", SN: 00c0ff"+fmt.Sprint(i)+")", msaNoon)
	}
	f := newMSAFixture(t, msatest.New(msatest.Options{Model: model}))
	s, _ := f.poller.Poll(context.Background(), msaNoon)
	harmless(t, "array", f.table.Rows(), s, 5000)
	if log := f.log.String(); len(log) > 64<<10 || strings.Contains(log, "\x1b") {
		t.Errorf("log of %d bytes", len(log))
	}
}

func TestHostileNamesOfAShelfAreHarmless(t *testing.T) {
	e := newEnclosureHost(t, smallHost(), func(id uint64, process byte) *enclosuretest.Shelf {
		s := enclosuretest.SmallShelf(id, process)
		names := hostileNames()
		for i := range s.Types {
			for k := range s.Types[i].Names {
				name := names[(i+k)%len(names)]
				s.Types[i].Names[k] = name[:min(len(name), 400)]
			}
		}
		s.Vendor, s.Product, s.Revision = "\x1b[3", "\xff\xfe\n", "\x00"
		s.DescriptorPadding = 0
		return s
	})
	p := e.poller()
	s, _ := p.Poll(context.Background(), e.now)
	harmless(t, "shelf", p.table.Rows(), s, 2000)
}
