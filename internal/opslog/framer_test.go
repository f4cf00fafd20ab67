package opslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// framed is what a stream came to.
type framed struct {
	Ops     []string // operation of each object, "-" where it has none
	Pending int64    // bytes kept back for a record that is not complete
	Stats   FrameStats
}

func frame(f *Framer, pieces ...string) framed {
	var out framed
	var rec Record
	for _, p := range pieces {
		_, _ = f.Write([]byte(p))
		for f.Next(&rec) {
			op := string(rec.Operation)
			if op == "" {
				op = "-"
			}
			out.Ops = append(out.Ops, op)
		}
	}
	out.Pending = f.End() - f.Offset()
	out.Stats = f.Stats()
	return out
}

func TestFramerFindsEveryObject(t *testing.T) {
	record := func(op string) string { return `{"bucket":"b","operation":"` + op + `","uri":"PUT /b/k HTTP/1.1"}` }
	a, b, c := record("a"), record("b"), record("c")
	tests := []struct {
		name   string
		pieces []string
		max    int
		finish bool
		want   framed
	}{
		{name: "back to back, the third in two pieces (R3)",
			pieces: []string{`{"operation":"a"}{"operation":"b"}{"operation":"c`},
			want:   framed{Ops: []string{"a", "b"}, Pending: 15}},
		{name: "the rest arrives (R3)",
			pieces: []string{`{"operation":"a"}{"operation":"b"}{"operation":"c`, "\"}\n"},
			want:   framed{Ops: []string{"a", "b", "c"}}},
		{name: "garbage is skipped to the next record and counted (R3)",
			pieces: []string{a + "garbage" + b},
			want:   framed{Ops: []string{"a", "b"}, Stats: FrameStats{JunkBytes: 7, JunkRuns: 1}}},
		{name: "socket: opening bracket, comma and newline",
			pieces: []string{"[", a + ",\n", b + ",\n"},
			want:   framed{Ops: []string{"a", "b"}}},
		{name: "a JSON array", pieces: []string{"[" + a + ", " + b + "]"}, want: framed{Ops: []string{"a", "b"}}},
		{name: "one byte at a time", pieces: strings.Split(a+b+"\n"+c, ""), want: framed{Ops: []string{"a", "b", "c"}}},
		{name: "torn inside a string, no newline after it",
			pieces: []string{a + `{"bucket":"b","operation":"x` + b},
			want:   framed{Ops: []string{"a", "b"}, Stats: FrameStats{JunkBytes: 28, JunkRuns: 1}}},
		{name: "torn inside a string, newline after it",
			pieces: []string{`{"bucket":"b","operation":"x` + "\n" + b},
			want:   framed{Ops: []string{"b"}, Stats: FrameStats{JunkBytes: 28, JunkRuns: 1}}},
		{name: "torn before a value: the next record is no value of it",
			pieces: []string{`{"bucket":"b","x":` + b + "\n" + c},
			want:   framed{Ops: []string{"b", "c"}, Stats: FrameStats{JunkBytes: 18, JunkRuns: 1}}},
		{name: "torn after a backslash",
			pieces: []string{`{"uri":"\` + b}, want: framed{Ops: []string{"b"}, Stats: FrameStats{JunkBytes: 9, JunkRuns: 1}}},
		{name: "torn inside a number",
			pieces: []string{`{"bytes_sent":12` + b}, want: framed{Ops: []string{"b"}, Stats: FrameStats{JunkBytes: 16, JunkRuns: 1}}},
		{name: "NULs before a record",
			pieces: []string{strings.Repeat("\x00", 5000) + a},
			want:   framed{Ops: []string{"a"}, Stats: FrameStats{JunkBytes: 5000, JunkRuns: 1}}},
		{name: "NULs inside a record",
			pieces: []string{`{"operation":"` + strings.Repeat("\x00", 3) + a},
			want:   framed{Ops: []string{"a"}, Stats: FrameStats{JunkBytes: 17, JunkRuns: 1}}},
		{name: "invalid UTF-8 inside a string stays",
			pieces: []string{"{\"operation\":\"\xff\xfe\"}"},
			want:   framed{Ops: []string{"\xff\xfe"}}},
		{name: "braces, brackets and escaped quotes inside strings",
			pieces: []string{`{"user_agent":"{\"operation\":\"evil\"}]}[{","operation":"a\u0022\\"}` + b},
			want:   framed{Ops: []string{`a"\`, "b"}}},
		{name: "nested values, and members of nested objects do not count",
			pieces: []string{`{"http_x_headers":[{"operation":"no"},{"a":[[{}],1.5e3,-0,true]}],"operation":"a","sts_info":{"operation":"no"}}`},
			want:   framed{Ops: []string{"a"}}},
		{name: "a member given twice: the last one",
			pieces: []string{`{"operation":"a","operation":"b"}{"operation":"a","operation":null}`},
			want:   framed{Ops: []string{"b", "-"}}},
		{name: "objects of another kind", pieces: []string{`{}{"a":1}`}, want: framed{Ops: []string{"-", "-"}}},
		{name: "longer than the limit, in one piece", max: 100,
			pieces: []string{a + `{"operation":"x","uri":"` + strings.Repeat("k", 200) + `"}` + b},
			want:   framed{Ops: []string{"a", "b"}, Stats: FrameStats{Oversized: 1}}},
		{name: "longer than the limit, in pieces", max: 100,
			pieces: []string{a + `{"operation":"x","uri":"` + strings.Repeat("k", 200), strings.Repeat("k", 200), `","n":1`, `2}` + b},
			want:   framed{Ops: []string{"a", "b"}, Stats: FrameStats{Oversized: 1}}},
		{name: "longer than the limit and torn", max: 100,
			pieces: []string{a + `{"uri":"` + strings.Repeat("k", 200), strings.Repeat("k", 200) + "\n" + b},
			want:   framed{Ops: []string{"a", "b"}, Stats: FrameStats{Oversized: 1}}},
		{name: "torn end of a stream that has ended", finish: true,
			pieces: []string{a + `{"x":` + b}, // b looks like a value of the torn record
			want:   framed{Ops: []string{"a", "b"}, Stats: FrameStats{JunkBytes: 5, JunkRuns: 1}}},
		{name: "too deep", pieces: []string{strings.Repeat(`{"a":`, 20) + `1` + strings.Repeat(`}`, 20) + b},
			want: framed{Ops: []string{"-", "b"}, Stats: FrameStats{JunkBytes: 24, JunkRuns: 2}}},
		{name: "a text file", pieces: []string{"2026-11-30 radosgw: starting\n{not json}\n"},
			want: framed{Stats: FrameStats{JunkBytes: 35, JunkRuns: 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &Framer{MaxRecord: tt.max}
			got := frame(f, tt.pieces...)
			if tt.finish {
				f.Finish()
				rest := frame(f, "")
				got.Ops = append(got.Ops, rest.Ops...)
				got.Pending, got.Stats = rest.Pending, rest.Stats
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestRecordOfOneMegabyteIsRead(t *testing.T) {
	var keys strings.Builder
	for i := range 1 << 14 {
		fmt.Fprintf(&keys, `{"key":"%0*d","error":false},`, 40, i)
	}
	big := `{"operation":"multi_object_delete","op_data":{"num_ok":1,"objects":[` + strings.TrimSuffix(keys.String(), ",") + `]}}`
	if len(big) < 1<<20 {
		t.Fatalf("record of %d bytes is too short for the test", len(big))
	}
	got := frame(&Framer{}, `{"operation":"a"}`+big[:700000], big[700000:]+`{"operation":"b"}`)
	want := framed{Ops: []string{"a", "multi_object_delete", "b"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFieldsOfARecord(t *testing.T) {
	const line = `{"bucket":"t1/photos","object":"a b.jpg","time":"2026-11-30T15:45:11.935442Z","time_local":"2026-11-30T16:45:11.935442+0100",` +
		`"remote_addr":"::1","user":"t1$alice","operation":"put_obj","uri":"PUT /t1:photos/a%20b.jpg HTTP/1.1","http_status":"200","error_code":"",` +
		`"bytes_sent":0,"bytes_received":5242880,"object_size":5242880,"total_time":153,"user_agent":"x","referrer":"","trans_id":"tx1-2-3-z","ceph_daemon":"rgw.a"}`
	var f Framer
	var rec Record
	_, _ = f.Write([]byte(line))
	if !f.Next(&rec) {
		t.Fatal("no record")
	}
	want := Record{
		Operation: []byte("put_obj"), Bucket: []byte("t1/photos"), Object: []byte("a b.jpg"), User: []byte("t1$alice"),
		URI: []byte("PUT /t1:photos/a%20b.jpg HTTP/1.1"), TransID: []byte("tx1-2-3-z"), Daemon: []byte("rgw.a"),
		Status: 200, ObjectSize: 5 << 20,
		Start: time.Date(2026, 11, 30, 15, 45, 11, 935442000, time.UTC), Duration: 153 * time.Millisecond,
	}
	if !reflect.DeepEqual(rec, want) {
		t.Errorf("got  %+v\nwant %+v", rec, want)
	}
}

func TestAbsentFieldsAreAbsent(t *testing.T) {
	var f Framer
	var rec Record
	_, _ = f.Write([]byte(`{"operation":"put_obj","object_size":-1,"total_time":1e3,"time":"yesterday","http_status":{}}`))
	if !f.Next(&rec) {
		t.Fatal("no record")
	}
	want := Record{Operation: []byte("put_obj"), Status: -1, ObjectSize: -1, Duration: -1}
	if !reflect.DeepEqual(rec, want) {
		t.Errorf("got  %+v\nwant %+v", rec, want)
	}
	if rec.IsRequest() {
		t.Error("taken for a request without status and uri")
	}
}

func TestTimesOfEveryForm(t *testing.T) {
	want := time.Date(2026, 11, 30, 15, 45, 11, 935442000, time.UTC)
	for _, s := range []string{
		"2026-11-30T15:45:11.935442Z", "2026-11-30 15:45:11.935442Z", "2026-11-30T16:45:11.935442+01:00",
	} {
		if got := parseTime([]byte(s)); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", s, got, want)
		}
	}
	for _, s := range []string{"", "0000-00-00T00:00:00.000000Z", "2026-13-30T15:45:11.935442Z", "2026-11-30T15:45:11.93544xZ"} {
		if got := parseTime([]byte(s)); !got.IsZero() {
			t.Errorf("%s: got %v, want the zero time", s, got)
		}
	}
}

// FuzzFramer holds the framer against encoding/json: an object it accepts is
// valid and has the same fields; cutting the stream anywhere changes nothing;
// and no input makes it lose its place.
func FuzzFramer(f *testing.F) {
	f.Add([]byte(`{"operation":"a","uri":"x"}{"operation":"b"}{"operation":"c`), uint64(1))
	f.Add([]byte(`[{"operation":"a\u00e9\"","object_size":12},`+"\n"+`{"bucket":"b","x":[{"a":{}}]}]`), uint64(2))
	f.Add([]byte("{\"bucket\":\"b\xff\",\"time\":\"20{\"bucket\":\"c\"}\x00\x00{}"), uint64(3))
	f.Add([]byte(`{"a":-0.5e+3,"b":01}{"http_status":"200","http_status":null}`), uint64(4))
	f.Add([]byte(`{"operation":{"operation":"x"},"uri":["y"]}`), uint64(5))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		whole := &Framer{MaxRecord: 1 << 20}
		_, _ = whole.Write(data)
		var rec Record
		var got []Record
		for {
			from := whole.pos
			if !whole.Next(&rec) {
				break
			}
			end := whole.pos
			start := bytes.LastIndexByte(data[:end], '}') // the record ends with a brace
			if start != end-1 {
				t.Fatalf("record ends at %d without a brace", end)
			}
			object := objectAt(t, data, from, end)
			compareFields(t, object, &rec)
			got = append(got, cloneRecord(rec))
		}
		if off := whole.Offset(); off < 0 || off > int64(len(data)) {
			t.Fatalf("offset %d of %d bytes", off, len(data))
		}
		// Cut anywhere, the same.
		rng := rand.New(rand.NewPCG(seed, 0))
		cut := &Framer{MaxRecord: 1 << 20}
		var again []Record
		for rest := data; len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 40))
			_, _ = cut.Write(rest[:n])
			rest = rest[n:]
			for cut.Next(&rec) {
				again = append(again, cloneRecord(rec))
			}
		}
		if !reflect.DeepEqual(got, again) {
			t.Fatalf("whole: %+v\ncut:   %+v", got, again)
		}
		if whole.Offset() != cut.Offset() || whole.Stats() != cut.Stats() {
			t.Fatalf("whole: %d %+v\ncut: %d %+v", whole.Offset(), whole.Stats(), cut.Offset(), cut.Stats())
		}
		whole.Finish()
		for whole.Next(&rec) {
		}
		if whole.Offset() != whole.End() {
			t.Fatalf("finished at %d of %d", whole.Offset(), whole.End())
		}
	})
}

// objectAt finds the valid JSON object that ends at end.
func objectAt(t *testing.T, data []byte, from, end int) map[string]json.RawMessage {
	for i := from; i < end; i++ {
		if data[i] != '{' || !json.Valid(data[i:end]) {
			continue
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(data[i:end], &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Fatalf("encoding/json does not accept what ends at %d: %q", end, data[from:end])
	return nil
}

func compareFields(t *testing.T, object map[string]json.RawMessage, rec *Record) {
	for name, got := range map[string][]byte{"operation": rec.Operation, "bucket": rec.Bucket, "uri": rec.URI, "user": rec.User} {
		var want string
		raw := object[name]
		if len(raw) == 0 || raw[0] != '"' {
			continue // numbers are kept as they are written, the rest is absent
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if have := strings.ToValidUTF8(string(got), "\ufffd"); have != want && strings.ToValidUTF8(want, "") == want && !bytes.Contains(raw, []byte(`\`)) &&
			len([]rune(want)) == len(want) {
			t.Fatalf("%s: got %q, encoding/json has %q", name, have, want)
		}
	}
	var n int64
	if json.Unmarshal(object["object_size"], &n) == nil && len(object["object_size"]) < 18 && n > 0 && rec.ObjectSize != n {
		t.Fatalf("object_size: got %d, encoding/json has %d", rec.ObjectSize, n)
	}
}

func cloneRecord(r Record) Record {
	for _, b := range []*[]byte{&r.Operation, &r.Bucket, &r.Object, &r.User, &r.URI, &r.TransID, &r.Daemon, &r.Line, &r.File} {
		*b = bytes.Clone(*b)
	}
	return r
}
