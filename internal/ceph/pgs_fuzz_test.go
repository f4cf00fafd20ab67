package ceph

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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

var pgSeeds = []string{
	``, ` `, `null`, `[]`, `{}`, `{"pg_ready":true}`, `{"pg_ready":false,"pg_stats":[]}`, "\n{\"pg_ready\":true}\ndumped all",
	`{"pg_ready":true,"pg_map":{"version":1,"pg_stats":[{"pgid":"1.0","state":"active+clean"}]}}`,
	`{"pg_stats":[{"state":"unknown","pgid":"1.a","up":[1,2147483647],"acting":[ 1 , 2 ],"stat_sum":{"num_bytes":-nan,"num_objects":1e3}}],"pg_ready":true}`,
	`{"pg_ready":true,"pg_stats":[{"pg\u0069d":"1.0","state":"\ud83d","last_scrub_stamp":"0.000000","last_change":"2022-02-04T12:46:32.2+0200"}]}`,
	`{"pg_ready":true,"pg_stats":[{"pgid":"1.0","last_scrub_stamp":"2023-07-11 12:37:44.526932","snaptrimq_len":9999999999}]} {"a":1}`,
	`{"pg_ready":true,"pg_stats":[{"pgid":"1.0"},{"pgid":"0.0"},{"pgid":"1.0"},5,{"pgid":null}],"x":[[[{"y":Infinity}]]]}`,
	`{"pg_ready":true,"pg_stats":[{"pgid":"2.1","scrub_schedule":"periodic scrub scheduled @ 2023-02-16T00:01:44.884480+0000","num_bytes":01}]}`,
}
