package ceph

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fixtures returns the captured answers to a command, of all releases and of
// the field cases, by path below testdata: those in files whose name begins
// with the command's words.
func fixtures(t testing.TB, command string) map[string][]byte {
	t.Helper()
	prefix := strings.ReplaceAll(command, " ", "_")
	found := map[string][]byte{}
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "fuzz" {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasPrefix(strings.ReplaceAll(entry.Name(), "-", "_"), prefix) {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// small cuts a document short, so that fuzzing is about shapes and not length.
func small(data []byte) []byte { return data[:min(len(data), 8<<10)] }

// FuzzDecodePGs holds the decoder against one made of encoding/json: the same
// table, or an error from both. Bare nan and inf are the one difference, and
// with null in their place there is none.
func FuzzDecodePGs(f *testing.F) {
	for _, data := range fixtures(f, "pg ") {
		f.Add(small(data))
	}
	f.Add(madeUpDump(2, 1))
	for _, seed := range pgSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(comparePGs)
}

func comparePGs(t *testing.T, data []byte) {
	got, err := DecodePGs(data)
	input := data
	if err == nil && got.SanitisedTokens > 0 {
		doc, n, err := document(data)
		if err != nil || n != got.SanitisedTokens {
			t.Fatalf("sanitised %d tokens, the shared pre-pass %d (error %v)", got.SanitisedTokens, n, err)
		}
		if _, err := referencePGs(data); err == nil {
			t.Fatal("encoding/json takes a bare nan or inf")
		}
		input = doc
	}
	want, wantErr := referencePGs(input)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("error %v, encoding/json %v", err, wantErr)
	}
	if err != nil {
		return
	}
	if got.Ready != want.Ready || got.BadCount != want.BadCount ||
		len(got.PGs)+len(want.PGs) > 0 && !reflect.DeepEqual(got.PGs, want.PGs) || !reflect.DeepEqual(got.Sets, want.Sets) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// What the decoder remembers of the PGs before must not change what it reads
// of the next: members come and go, move, and differ in a single byte.
func TestPGsThatDifferInLayoutAndValuesAreReadAsByEncodingJSON(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	common := []string{
		`"version":"1'2"`, `"snaptrimq_len":0`, `"stats_invalid":false`, `"log_size":0`, `"purged_snaps":[]`, `"parent":"0.0"`,
		`"state":"active+clean"`, `"x":{"a":[1,{"b":null}]}`, `"last_change":"2026-11-30T11:00:00.000000+0000"`, `"stat_sum":{"a":0,"num_bytes":0,"b":0,"num_objects":0,"c":0}`,
		`"up":[1,2,3]`, `"acting":[1,2,3]`, `"last":0`,
	}
	accepted := 0
	for range 400 {
		rnd.Shuffle(len(common), func(i, j int) { common[i], common[j] = common[j], common[i] })
		var b strings.Builder
		b.WriteString(`{"pg_ready":true,"pg_stats":[`)
		for i := range 12 {
			members := append([]string{fmt.Sprintf(`"pgid":"1.%x"`, rnd.IntN(200))}, common...)
			for range rnd.IntN(3) {
				at := rnd.IntN(len(members))
				switch rnd.IntN(5) {
				case 0:
					members = slices.Delete(members, at, at+1)
				case 1:
					members = slices.Insert(members, at, pick(`"new":0`, `"log_size":0`, `"":""`, `"st\u0061te":"peering"`))
				case 2:
					to := rnd.IntN(len(members))
					members[at], members[to] = members[to], members[at]
				case 3:
					members[at] = strings.Replace(members[at], "0", pick("1", "0.5", "-0", "01", "nan", "0 ", "null", `"0"`, "0e", "12345678901234567890"), 1)
				case 4:
					members[at] = strings.Replace(members[at], pick(`"`, ":", "a", "}", "]"), pick(`"`, " :", "\\", "}", "b"), 1)
				}
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("{" + strings.Join(members, pick(",", ",", ",", ", ")) + "}")
		}
		data := []byte(b.String() + "]}")
		comparePGs(t, data)
		if _, err := DecodePGs(data); err == nil {
			accepted++
		}
	}
	if accepted < 50 || accepted > 350 {
		t.Errorf("%d of 400 documents were valid: too few of one kind", accepted)
	}
}

var pgSeeds = []string{
	``, ` `, `null`, `[]`, `{}`, `{"pg_ready":true}`, `{"pg_ready":false,"pg_stats":[]}`, "\n{\"pg_ready\":true}\ndumped all",
	`{"pg_ready":true,"pg_map":{"version":1,"pg_stats":[{"pgid":"1.0","state":"active+clean"}]}}`,
	`{"pg_stats":[{"state":"unknown","pgid":"1.a","up":[1,2147483647],"acting":[ 1 , 2 ],"stat_sum":{"num_bytes":-nan,"num_objects":1e3}}],"pg_ready":true}`,
	`{"pg_ready":true,"pg_stats":[{"pg\u0069d":"1.0","state":"\ud83d","last_scrub_stamp":"0.000000","last_change":"2022-02-04T12:46:32.2+0200"}]}`,
	`{"pg_ready":true,"pg_stats":[{"pgid":"1.0","last_scrub_stamp":"2023-07-11 12:37:44.526932","snaptrimq_len":9999999999}]} {"a":1}`,
	`{"pg_ready":true,"pg_stats":[{"pgid":"1.0"},{"pgid":"0.0"},{"pgid":"1.0"},5,{"pgid":null}],"x":[[[{"y":Infinity}]]]}`,
	`{"pg_ready":true,"pg_stats":[{"pgid":"2.1","scrub_schedule":"periodic scrub scheduled @ 2023-02-16T00:01:44.884480+0000","num_bytes":01}]}`,
}
