package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// shape is what a JSON document is made of: kinds, and the order of keys.
type shape struct {
	kind   string // object, array, string, number, bool, null
	keys   []string
	member map[string]*shape
	elem   *shape // of the first element
}

func shapeOf(dec *json.Decoder) (*shape, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case json.Delim:
		s := &shape{kind: "object", member: map[string]*shape{}}
		if v == '[' {
			s.kind = "array"
		}
		for dec.More() {
			if v == '{' {
				key, err := dec.Token()
				if err != nil {
					return nil, err
				}
				s.keys = append(s.keys, key.(string))
				if s.member[key.(string)], err = shapeOf(dec); err != nil {
					return nil, err
				}
				continue
			}
			e, err := shapeOf(dec)
			if err != nil {
				return nil, err
			}
			if s.elem == nil {
				s.elem = e
			}
		}
		_, err := dec.Token()
		return s, err
	case string:
		return &shape{kind: "string"}, nil
	case json.Number, float64:
		return &shape{kind: "number"}, nil
	case bool:
		return &shape{kind: "bool"}, nil
	}
	return &shape{kind: "null"}, nil
}

// dynamic are the objects whose keys are data.
var dynamic = []string{
	".erasure_code_profiles", ".erasure_code_profiles.*", ".pools[].options", ".pools[].application_metadata", ".checks",
	"/versions", "/versions.*", ".blocklist", ".blacklist", ".range_blocklist", ".crush_node_flags", ".device_class_flags", ".nodes[].pool_weights", ".always_on_modules", ".services",
}

// compare reports where the shapes differ. Arrays that are empty on one side
// tell nothing.
func compare(path string, got, want *shape) (diffs []string) {
	if got == nil || want == nil {
		return nil
	}
	if got.kind != want.kind {
		return []string{fmt.Sprintf("%s: %s, want %s", path, got.kind, want.kind)}
	}
	if got.kind == "array" {
		return compare(path+"[]", got.elem, want.elem)
	}
	if got.kind == "object" && slices.Contains(dynamic, path) {
		for _, k := range got.keys {
			for _, w := range want.keys {
				diffs = append(diffs, compare(path+".*", got.member[k], want.member[w])...)
			}
		}
		return slices.Compact(diffs)
	}
	if got.kind == "object" && !slices.Equal(got.keys, want.keys) {
		diffs = append(diffs, fmt.Sprintf("%s: keys\n%s\nwant\n%s", path, strings.Join(got.keys, " "), strings.Join(want.keys, " ")))
	}
	for _, k := range got.keys {
		if want.member[k] != nil {
			diffs = append(diffs, compare(path+"."+k, got.member[k], want.member[k])...)
		}
	}
	return diffs
}

func parse(t *testing.T, data []byte) *shape {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	s, err := shapeOf(dec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scrubs(c *Cluster) bool {
	return slices.ContainsFunc(c.Table().PGs, func(g ceph.PG) bool { return g.State.Any(ceph.StateScrubbing) })
}

// What a simulated cluster answers has the keys, their order and their types of
// what was captured from a real one.
func TestAnswersHaveTheShapeOfTheRelease(t *testing.T) {
	for _, rel := range allReleases {
		at := newClock()
		c := newCluster(t, Config{PGs: 600, OSDs: 24, Seed: 4, Release: rel}, at)
		for at.t = at.t.Add(30 * time.Hour); !scrubs(c); {
			at.t = at.t.Add(5 * time.Second)
		}
		for _, tc := range []struct{ file, mon, mgr string }{
			{file: "pg_dump_pgs", mgr: `{"prefix":"pg dump","dumpcontents":["pgs"]}`},
			{file: "pg_ls_by_pool", mgr: `{"prefix":"pg ls-by-pool","poolstr":"rbd"}`},
			{file: "pg_ls_scrubbing", mgr: `{"prefix":"pg ls","states":["scrubbing"]}`},
			{file: "pg_ls_no_match", mgr: `{"prefix":"pg ls","states":["incomplete"]}`},
			{file: "pg_dump", mgr: `{"prefix":"pg dump","dumpcontents":["osds"]}`},
			{file: "osd_df", mgr: `{"prefix":"osd df"}`},
			{file: "config_show_mgr.x", mgr: `{"prefix":"config show-with-defaults","who":"mgr.a"}`},
			{file: "config_show_osd.0", mgr: `{"prefix":"config show-with-defaults","who":"osd.0"}`},
			{file: "config_dump", mon: `{"prefix":"config dump"}`},
			{file: "health_detail", mon: `{"prefix":"health","detail":"detail"}`},
			{file: "osd_dump", mon: `{"prefix":"osd dump"}`},
			{file: "osd_metadata", mon: `{"prefix":"osd metadata"}`},
			{file: "version", mon: `{"prefix":"version"}`},
			{file: "versions", mon: `{"prefix":"versions"}`},
		} {
			name := strconv.Itoa(rel) + "/" + tc.file
			real, err := os.ReadFile(filepath.Join("..", "ceph", "testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			if tc.mon != "" {
				got = ask(t, c.MonCommand, tc.mon)
			} else {
				got = ask(t, c.MgrCommand, tc.mgr)
			}
			want := parse(t, real)
			if tc.file == "pg_dump" { // captured with everything in it
				want = &shape{kind: "object", keys: []string{"pg_ready", "osd_stats"}, member: want.member["pg_map"].member}
			}
			root := ""
			if tc.file == "versions" {
				root = "/versions"
			}
			for _, d := range compare(root, parse(t, got), want) {
				t.Errorf("%s%s", name, d)
			}
		}
	}
}

// The defaults are those of the release.
func TestOptionsAreTheDefaultsOfTheRelease(t *testing.T) {
	for _, rel := range allReleases {
		data, err := os.ReadFile(filepath.Join("..", "ceph", "testdata", strconv.Itoa(rel), "config_show_osd.0.json"))
		if err != nil {
			t.Fatal(err)
		}
		var entries []struct{ Name, Value, Source string }
		if err := json.Unmarshal(data, &entries); err != nil {
			t.Fatal(err)
		}
		real := map[string]string{}
		for _, e := range entries {
			if real[e.Name] = e.Value; e.Source != "default" {
				real[e.Name] = "" // set for the capture
			}
		}
		last := ""
		for _, o := range releases[rel].options() {
			if v, ok := real[o.name]; !ok || v != "" && v != o.value {
				t.Errorf("%d: %s is %q, simulated as %q", rel, o.name, v, o.value)
			}
			if o.name <= last {
				t.Errorf("%d: %s after %s", rel, o.name, last)
			}
			last = o.name
		}
	}
}
