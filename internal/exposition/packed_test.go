package exposition

import (
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"
)

// version is what one poll found: rows and their values in two columns.
type version struct {
	label  string // name of the label
	ids    []string
	values [2][]float64
}

func newVersion(n int) *version {
	v := &version{label: "pgid"}
	for i := range n {
		v.insert(i, string(pgid(nil, 2*i)))
	}
	return v
}

func (v *version) insert(i int, id string) {
	v.ids = slices.Insert(v.ids, i, id)
	for c := range v.values {
		v.values[c] = slices.Insert(v.values[c], i, float64(1764500000+i))
	}
}

func (v *version) remove(i int) {
	v.ids = slices.Delete(v.ids, i, i+1)
	for c := range v.values {
		v.values[c] = slices.Delete(v.values[c], i, i+1)
	}
}

func (v *version) clone() *version {
	return &version{v.label, slices.Clone(v.ids), [2][]float64{slices.Clone(v.values[0]), slices.Clone(v.values[1])}}
}

// families returns new families of the version, whose rows may be refused.
func (v *version) families() []*Family {
	id := func(b []byte, i int) []byte { return append(b, v.ids[i]...) }
	pool := func(b []byte, i int) []byte {
		before, _, _ := strings.Cut(v.ids[i], ".")
		return append(b, before...)
	}
	fs, _ := NewFamilies(len(v.ids), []Label{{"pool_id", pool}, {v.label, id}}, []Column{
		{"cephrisk_pg_last_deep_scrub_timestamp_seconds", "Instant", func(i int) float64 { return v.values[0][i] }},
		{"cephrisk_pg_last_scrub_timestamp_seconds", "Instant", func(i int) float64 { return v.values[1][i] }},
	})
	return fs
}

// warm does what a poll does.
func warm(now, earlier []*Family) {
	for _, f := range now {
		for _, e := range earlier {
			if e.Name() == f.Name() {
				f.Warm(e)
			}
		}
	}
}

// askAll asks for every compressed form.
func askAll(fs []*Family) {
	for _, f := range fs {
		for format := range formats {
			f.ask(format, Gzip)
			f.ask(format, Zstd)
		}
	}
}

// change is what may happen between two polls.
func (v *version) change(rng *rand.Rand) {
	some := func() (int, int) { return rng.IntN(2), rng.IntN(len(v.ids)) }
	for range rng.IntN(4) {
		switch c, i := some(); rng.IntN(10) {
		case 0, 1, 2:
			v.values[c][i] += float64(rng.IntN(1_000_000))
		case 3:
			v.values[c][i] = values[rng.IntN(len(values))]
		case 4:
			for k := range rng.IntN(400) {
				v.values[c][min(i+k, len(v.ids)-1)] = math.NaN()
			}
		case 5:
			for range rng.IntN(300) {
				v.insert(i, fmt.Sprintf("%d.%x", rng.IntN(3), rng.IntN(0x10000)))
			}
		case 6:
			for range min(rng.IntN(300), len(v.ids)-i-1) {
				v.remove(i)
			}
		case 7:
			v.ids[i] = []string{`"`, "1.0", "0", "é"}[rng.IntN(4)]
		case 8:
			slices.Reverse(v.ids[i:min(i+5, len(v.ids))])
		case 9:
			for k := range v.values[c] {
				v.values[c][k] += 60
			}
		}
	}
}

func TestBodiesAfterManyPollsEqualThoseMadeAfresh(t *testing.T) {
	var w Writer
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		v := newVersion(900 + int(seed)*pieceRows)
		var last []*Family
		for poll := range 12 {
			if poll > 0 {
				v = v.clone()
				v.change(rng)
			}
			now, fresh := v.families(), v.families()
			warm(now, last)
			for _, f := range now {
				printsAreExact(t, f)
			}
			for format := range formats {
				want := body(t, &w, format, Identity, []byte("head"), fresh)
				for _, e := range []Encoding{Gzip, Zstd} {
					got := body(t, &w, format, e, []byte("head"), now)
					if plain := unpack(t, e, got); !bytes.Equal(plain, want) {
						t.Fatalf("seed %d, poll %d, format %d, %s: %s", seed, poll, format, e, difference(plain, want))
					}
					if e != Gzip {
						continue
					}
					if !bytes.Equal(got, body(t, &w, format, e, []byte("head"), fresh)) {
						t.Fatalf("seed %d, poll %d, format %d: compressed bytes differ", seed, poll, format)
					}
					r, err := stdgzip.NewReader(bytes.NewReader(got)) // compares checksum and size
					if err != nil {
						t.Fatal(err)
					}
					if plain, err := io.ReadAll(r); err != nil || !bytes.Equal(plain, want) {
						t.Fatalf("seed %d, poll %d, format %d: error %v, %s", seed, poll, format, err, difference(plain, want))
					}
				}
			}
			last = now
		}
	}
}

// copied returns, for each family, which pieces of a form are what the form of
// the poll before has in their place. The bytes of the latter must have been
// overwritten with a mark.
func copied(fs []*Family, format Format, e Encoding) (pieces [][]int) {
	for _, f := range fs {
		p := &f.packed[format][e]
		which := []int{}
		for n := range p.pieces {
			if b := p.piece(n); len(bytes.Trim(b, "\xaa")) == 0 {
				which = append(which, n)
			}
		}
		pieces = append(pieces, which)
	}
	return pieces
}

func TestPiecesAreCopiedUnlessTheirRowsHaveChanged(t *testing.T) {
	const n = 4*pieceRows + 17
	const inPiece2 = 2*pieceRows + 100
	all := []int{0, 1, 2, 3, 4}
	but2 := []int{0, 1, 3, 4}
	for name, tc := range map[string]struct {
		change func(v *version)
		want   [][]int // for each family, the pieces that are copied
	}{
		"nothing":              {func(*version) {}, [][]int{all, all}},
		"a value":              {func(v *version) { v.values[0][inPiece2]++ }, [][]int{but2, all}},
		"a longer value":       {func(v *version) { v.values[1][inPiece2] += 0.12345 }, [][]int{all, but2}},
		"no value any more":    {func(v *version) { v.values[0][inPiece2] = math.NaN() }, [][]int{but2, all}},
		"values change places": {func(v *version) { x := v.values[0][inPiece2:]; x[0], x[1] = x[1], x[0] }, [][]int{but2, all}},
		"a label":              {func(v *version) { v.ids[inPiece2] += "0" }, [][]int{but2, but2}},
		"a row more at the end": {func(v *version) { v.insert(n, "9.0") },
			[][]int{{0, 1, 2, 3}, {0, 1, 2, 3}}},
		"a row less at the end": {func(v *version) { v.remove(n - 1) }, [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}}},
		"a row in the middle":   {func(v *version) { v.insert(inPiece2, string(pgid(nil, 2*inPiece2-1))) }, [][]int{{0, 1}, {0, 1}}},
		"a refused row":         {func(v *version) { v.ids[inPiece2] = `"` }, [][]int{{0, 1}, {0, 1}}},
		"rows change places":    {func(v *version) { x := v.ids[inPiece2:]; x[0], x[1] = x[1], x[0] }, [][]int{but2, but2}},
		"the label's name":      {func(v *version) { v.label = "id" }, [][]int{{}, {}}},
		"all rows but two pieces": {func(v *version) { *v = *newVersion(2 * pieceRows) },
			[][]int{{0, 1}, {0, 1}}},
		"everything": {func(v *version) {
			for i := range v.ids {
				v.values[0][i]++
				v.values[1][i]++
			}
		}, [][]int{{}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVersion(n)
			earlier := v.families()
			askAll(earlier)
			for _, f := range earlier {
				for format := range formats {
					for _, e := range []Encoding{Gzip, Zstd} {
						data := f.packed[format][e].data
						copy(data, bytes.Repeat([]byte{0xaa}, len(data)))
					}
				}
			}
			v = v.clone()
			tc.change(v)
			now := v.families()
			warm(now, earlier)
			for format := range formats {
				for _, e := range []Encoding{Gzip, Zstd} {
					if got := copied(now, format, e); fmt.Sprint(got) != fmt.Sprint(tc.want) {
						t.Errorf("format %d, %s: %v are copied, want %v", format, e, got, tc.want)
					}
				}
			}
		})
	}
}

func TestAPollKeepsNothingOfThePollBefore(t *testing.T) {
	v := newVersion(3 * pieceRows)
	last := v.families()
	askAll(last)
	for range 3 {
		now := v.families()
		warm(now, last)
		family, data := weak.Make(last[0]), weak.Make(&last[0].packed[Text][Gzip].data[0])
		last = now
		runtime.GC()
		if family.Value() != nil || data.Value() != nil {
			t.Fatalf("family %v, compressed form %v are still there", family.Value() != nil, data.Value() != nil)
		}
	}
	runtime.KeepAlive(last)
}

// A scrape that makes a form of the poll before is not waited for.
func TestAPollDoesNotWaitForAScrape(t *testing.T) {
	blocked, release := make(chan struct{}), make(chan struct{})
	block := false // only while nobody else reads it
	label := []Label{{"l", poolID}}
	slow, err := NewFamilies(1, label, []Column{{"m", "h", func(int) float64 {
		if block {
			close(blocked)
			<-release
		}
		return 1
	}}})
	if err != nil {
		t.Fatal(err)
	}
	block = true
	done := make(chan struct{})
	go func() { defer close(done); slow[0].ask(Text, Gzip) }()
	<-blocked
	next, err := NewFamilies(1, label, []Column{{"m", "h", func(int) float64 { return 2 }}})
	if err != nil {
		t.Fatal(err)
	}
	next[0].Warm(slow[0])
	close(release)
	<-done
	var w Writer
	if got, want := string(unpack(t, Gzip, body(t, &w, Text, Gzip, nil, next))), "# HELP m h\n# TYPE m gauge\nm{l=\"1\"} 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// printsAreExact fails where the prints of the labels depend on the way in which
// the rows were looked at.
func printsAreExact(t *testing.T, f *Family) {
	t.Helper()
	exact := &table{labels: f.table.labels, n: f.table.n}
	exact.checkExactly()
	if !slices.Equal(f.table.prints, exact.prints) || len(exact.prints) != pieces(f.table.rows()) {
		t.Fatalf("prints %x of %d rows, the exact way %x", f.table.prints, f.table.rows(), exact.prints)
	}
}

// refusedRows is what NewFamilies says about rows of labels, in the plainest way.
func refusedRows(rows [][]string) (kept []int, first int, why string) {
	first = -1
	seen := map[string]bool{}
	for i, row := range rows {
		reason := ""
		for _, l := range row {
			for _, c := range []byte(l) {
				if c < ' ' || c > '~' || c == '"' || c == '\\' {
					reason = "a label value that would need escaping"
				}
			}
		}
		if key := fmt.Sprintf("%q", row); reason == "" && seen[key] {
			reason = "a second row with the same labels"
		} else if reason == "" {
			seen[key] = true
			kept = append(kept, i)
			continue
		}
		if first < 0 {
			first, why = i, reason
		}
	}
	return kept, first, why
}

// FuzzRowsAreRefusedExactly gives a table of two labels from the lines of a text.
func FuzzRowsAreRefusedExactly(f *testing.F) {
	for _, s := range []string{
		"", "1.0,1", "1.0,1\n1.1,1\n1.a,1\n1.10,1\n2.0,2", "1.0,1\n1.0,1", "1.0,1\n1.0,2\n1.0,1", "a,b\nab,\n,ab", "a,\"\nb,c", "a,b\nb\x00c,\nc,d",
		"a,b\na,b\xff", "a\x00,b\na,\x00b", ",\n,", "\n,", "a,b\\", "2,1\n1,1", "a,b\na.b,b\na b,b", "\x00,a\n\x00\x00,b", "1,a\x00\n1,b", "a,\x00\nb,", "~,~\n~,~~",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var rows [][]string
		for line := range bytes.SplitSeq([]byte(s), []byte("\n")) {
			a, b, _ := bytes.Cut(line, []byte(","))
			rows = append(rows, []string{string(a), string(b)})
		}
		column := func(j int) func([]byte, int) []byte {
			return func(b []byte, i int) []byte { return append(b, rows[i][j]...) }
		}
		fs, err := NewFamilies(len(rows), []Label{{"a", column(0)}, {"b", column(1)}}, []Column{{"m", "h", func(i int) float64 { return float64(i) }}})

		kept, first, why := refusedRows(rows)
		var got, want *Refused
		if errors.As(err, &got) {
			want = &Refused{Rows: len(rows) - len(kept), Row: first, Key: got.Key, Why: why}
		}
		if (got == nil) != (first < 0) || got != nil && *got != *want {
			t.Fatalf("%q: refused %v, want %v, the first is row %d", s, got, want, first)
		}
		var rendered []int
		for _, f := range fs {
			f.Each(func(_ []string, v float64) bool { rendered = append(rendered, int(v)); return true })
			printsAreExact(t, f)
		}
		if !slices.Equal(rendered, kept) {
			t.Fatalf("%q: rows %v are rendered, want %v", s, rendered, kept)
		}
	})
}
