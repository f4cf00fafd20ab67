package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"
)

// forms are the formats with their names in expfmt.
var forms = []struct {
	format Format
	media  expfmt.Format
}{
	{Text, expfmt.NewFormat(expfmt.TypeTextPlain).WithEscapingScheme(model.NoEscaping)},
	{OpenMetrics, expfmt.FmtOpenMetrics_1_0_0},
	{OpenMetrics, expfmt.FmtOpenMetrics_0_0_1},
	{Protobuf, expfmt.FmtProtoDelim},
}

// values are numbers that formats treat differently.
var values = []float64{
	0, 1, -1, 0.5, 10, 999999, 1e6, 1000001, 1234567, 604800, 1.7645e9, 1764512345, 1764512345.123457, -86400, -1.5e7,
	1e15, 1e15 - 1, 1e15 + 1, 1e21, 1e-7, 0.0001, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1),
}

func pgid(b []byte, i int) []byte {
	return strconv.AppendInt(append(strconv.AppendInt(b, int64(i/1000+1), 10), '.'), int64(i%1000), 16)
}

func poolID(b []byte, i int) []byte { return strconv.AppendInt(b, int64(i/1000+1), 10) }

// testFamilies returns three families of n rows, the second with holes.
func testFamilies(t testing.TB, n int) []*Family {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	age, deep := make([]float64, n), make([]float64, n)
	for i := range n {
		age[i], deep[i] = float64(rng.IntN(900_000)), 1764512345-float64(rng.IntN(900_000))
		if i < len(values) {
			age[i] = values[i]
		}
		if i%7 == 3 {
			deep[i] = math.NaN()
		}
	}
	at := func(v []float64) func(int) float64 { return func(i int) float64 { return v[i] } }
	fs, err := NewFamilies(n, []Label{{"pool_id", poolID}, {"pgid", pgid}}, []Column{
		{"cephrisk_pg_last_deep_scrub_age_seconds", "Age at the last poll, \"seconds\" \\ and\nmore", at(age)},
		{"cephrisk_pg_last_deep_scrub_timestamp_seconds", "Instant", at(deep)},
		{"cephrisk_pg_none", "None", func(int) float64 { return math.NaN() }},
		{"cephrisk_pg_last_scrub_timestamp_seconds", "", at(age)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

// reference converts families to what expfmt encodes.
func reference(fs []*Family) []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for _, f := range fs {
		m := &dto.MetricFamily{Name: proto.String(f.Name()), Help: proto.String(f.Help()), Type: dto.MetricType_GAUGE.Enum()}
		f.Each(func(labels []string, v float64) bool {
			g := &dto.Metric{Gauge: &dto.Gauge{Value: proto.Float64(v)}}
			for l := range slices.Chunk(labels, 2) {
				g.Label = append(g.Label, &dto.LabelPair{Name: proto.String(l[0]), Value: proto.String(l[1])})
			}
			m.Metric = append(m.Metric, g)
			return true
		})
		out = append(out, m)
	}
	return out
}

func encode(t testing.TB, media expfmt.Format, families []*dto.MetricFamily, end bool) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, media)
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		if err := enc.(expfmt.Closer).Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func body(t testing.TB, w *Writer, format Format, e Encoding, head []byte, fs []*Family) []byte {
	t.Helper()
	b, err := w.NewBody(format, e, head, fs)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var out bytes.Buffer
	n, err := b.WriteTo(&out)
	if err != nil {
		t.Fatal(err)
	}
	if size := b.Size(); n != int64(out.Len()) || size != n && (size != -1 || e != Identity) {
		t.Fatalf("%d bytes, WriteTo says %d, Size %d", out.Len(), n, size)
	}
	return out.Bytes()
}

func unpack(t testing.TB, e Encoding, b []byte) []byte {
	t.Helper()
	var out []byte
	var err error
	switch e {
	case Gzip:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			r.Multistream(false) // one member has it all
			out, err = io.ReadAll(r)
		}
	case Zstd:
		var r *zstd.Decoder
		if r, err = zstd.NewReader(nil, zstd.WithDecoderMaxWindow(8<<20)); err == nil {
			defer r.Close()
			out, err = r.DecodeAll(b, nil)
		}
	default:
		out = b
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOutputEqualsExpfmtInEveryFormatAndEncoding(t *testing.T) {
	small := []*dto.MetricFamily{{
		Name: proto.String("cephrisk_build_info"), Help: proto.String("Build"), Type: dto.MetricType_GAUGE.Enum(),
		Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: proto.Float64(1)}}},
	}}
	var w Writer
	for _, n := range []int{1, 25, 700, 9000} {
		fs := testFamilies(t, n)
		for _, form := range forms {
			want := encode(t, form.media, append(slices.Clone(small), reference(fs)...), true)
			head := encode(t, form.media, small, false)
			for _, e := range []Encoding{Identity, Gzip, Zstd} {
				for range 2 { // made, and remembered
					got := unpack(t, e, body(t, &w, form.format, e, head, fs))
					if !bytes.Equal(got, want) {
						t.Fatalf("%d rows, %s, %s: %s", n, form.media, e, difference(got, want))
					}
				}
			}
		}
	}
}

func difference(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	cut := func(b []byte) []byte { return b[max(0, min(len(b), i-60)):min(len(b), i+60)] }
	return fmt.Sprintf("%d bytes, want %d; from byte %d:\n%q\nwant\n%q", len(got), len(want), i, cut(got), cut(want))
}

func TestAnEmptyBodyIsWhatExpfmtMakesOfNothing(t *testing.T) {
	var w Writer
	for _, form := range forms {
		for _, e := range []Encoding{Identity, Gzip, Zstd} {
			if got, want := unpack(t, e, body(t, &w, form.format, e, nil, nil)), encode(t, form.media, nil, true); !bytes.Equal(got, want) {
				t.Errorf("%s %s: %q, want %q", form.media, e, got, want)
			}
		}
	}
}

func TestLongLabelValuesKeepTheirLengthsInProtobuf(t *testing.T) {
	long := func(b []byte, i int) []byte { return append(b, strings.Repeat("x", 60*i+1)...) }
	fs, err := NewFamilies(300, []Label{{"a", long}, {"b", long}}, []Column{{"m", "h", func(i int) float64 { return float64(i) }}})
	if err != nil {
		t.Fatal(err)
	}
	var w Writer
	want := encode(t, expfmt.FmtProtoDelim, reference(fs), true)
	if got := body(t, &w, Protobuf, Identity, nil, fs); !bytes.Equal(got, want) {
		t.Fatal(difference(got, want))
	}
}

func TestRowsThatWouldMakeTheOutputInvalidAreRefused(t *testing.T) {
	values := []string{"a", "b", "a", "c\"", "d", "b", "e\xff", "f\n"}
	fs, err := NewFamilies(len(values), []Label{{"l", func(b []byte, i int) []byte { return append(b, values[i]...) }}},
		[]Column{{"m", "h", func(i int) float64 { return float64(i) }}})
	if want := `5 rows refused, the first is row 2, ["a"]: a second row with the same labels`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	var w Writer
	want := "# HELP m h\n# TYPE m gauge\nm{l=\"a\"} 0\nm{l=\"b\"} 1\nm{l=\"d\"} 4\n"
	for _, e := range []Encoding{Identity, Gzip} {
		if got := string(unpack(t, e, body(t, &w, Text, e, nil, fs))); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", e, got, want)
		}
	}
}

func TestCompressedFormsArePreparedForThoseWhoAsked(t *testing.T) {
	ready := func(f *Family) (n int) {
		for format := range formats {
			for e := range encodings {
				if f.packed[format][e].data != nil {
					n++
				}
			}
		}
		return n
	}
	var w Writer
	first := testFamilies(t, 100)
	body(t, &w, OpenMetrics, Gzip, nil, first[:1])
	last := first
	for poll := range keepWarm + 2 {
		next := testFamilies(t, 100)
		for i := range next {
			next[i].Warm(last[i])
		}
		want := 1
		if poll >= keepWarm {
			want = 0
		}
		if got := ready(next[0]); got != want || ready(next[1]) != 0 {
			t.Fatalf("poll %d: %d forms of the family that was asked for are ready, want %d; %d of one that was not", poll, got, want, ready(next[1]))
		}
		last = next
	}
}

func TestAFormThatPanickedIsAnErrorEverAfter(t *testing.T) {
	calls := 0
	fs, err := NewFamilies(1, []Label{{"l", poolID}}, []Column{{"m", "h", func(int) float64 {
		if calls++; calls > 1 {
			panic("gone")
		}
		return 1
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var w Writer
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = w.NewBody(Text, Gzip, nil, fs)
	}()
	if _, err := w.NewBody(Text, Gzip, nil, fs); !errors.Is(err, errUnfinished) {
		t.Errorf("error %v", err)
	}
}

func TestChecksumsCombine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a, b := make([]byte, rng.IntN(5000)), make([]byte, rng.IntN(70000))
		for i := range a {
			a[i] = byte(rng.Uint32())
		}
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		got := combineCRC(crc32.ChecksumIEEE(a), crc32.ChecksumIEEE(b), int64(len(b)))
		if want := crc32.ChecksumIEEE(append(a, b...)); got != want {
			t.Fatalf("%d and %d bytes: %08x, want %08x", len(a), len(b), got, want)
		}
	}
}

func FuzzValueEqualsExpfmt(f *testing.F) {
	for _, v := range values {
		f.Add(math.Float64bits(v), int64(v))
	}
	f.Fuzz(func(t *testing.T, bits uint64, n int64) {
		for _, v := range []float64{math.Float64frombits(bits), float64(n), float64(n) / 1e6} {
			if math.IsNaN(v) {
				continue
			}
			fs, err := NewFamilies(1, []Label{{"l", poolID}}, []Column{{"m", "h", func(int) float64 { return v }}})
			if err != nil {
				t.Fatal(err)
			}
			var w Writer
			for _, form := range forms {
				want := encode(t, form.media, reference(fs), true)
				if got := body(t, &w, form.format, Identity, nil, fs); !bytes.Equal(got, want) {
					t.Fatalf("%v as %s: %s", v, form.media, difference(got, want))
				}
			}
		}
	})
}

func TestNaturalOrderIsTotal(t *testing.T) {
	less := func(a, b []byte) bool { return lessFrom(common(a, b), a, b) }
	ascending := []string{"", ".", "1", "1.0", "1.9", "1.a", "1.f", "1.10", "1.ff", "1.100", "2.0", "9.ffff", "10.0", "osd.2", "osd.10"}
	for i, a := range ascending {
		for j, b := range ascending {
			if got := less([]byte(a), []byte(b)); got != (i < j) {
				t.Errorf("%q before %q: %v", a, b, got)
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	key := func() []byte {
		b := make([]byte, rng.IntN(5))
		for i := range b {
			b[i] = "01a.\xff"[rng.IntN(5)]
		}
		return b
	}
	for range 50_000 {
		a, b, c := key(), key(), key()
		if less(a, b) && less(b, c) && !less(a, c) {
			t.Fatalf("%q, %q, %q do not ascend", a, b, c)
		}
		if ab, ba := less(a, b), less(b, a); ab && ba || !ab && !ba && !bytes.Equal(a, b) {
			t.Fatalf("%q and %q: %v, %v", a, b, ab, ba)
		}
	}
}
