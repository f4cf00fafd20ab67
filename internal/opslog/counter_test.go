package opslog

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// booked is what the counter came to, in short.
type booked struct {
	Gateway       Gateway
	Open          int
	Sizes         map[string]uint64 // count by kind, the ones not 0
	SizeSum       float64
	Durations     map[string]uint64
	MultipartTime float64 // seconds
}

func book(c *Counter, settled time.Time) booked {
	c.Settle(settled)
	counts := c.Counts(settled, CompleteView)
	g := counts.Gateways["rgw.a"]
	g.Records, g.LastRecord = 0, 0
	out := booked{Gateway: g, Open: counts.Open, Sizes: map[string]uint64{}, Durations: map[string]uint64{}}
	for k := range NumKinds {
		if n := counts.Sizes[k].Count(); n > 0 {
			out.Sizes[k.String()] = n
			out.SizeSum += counts.Sizes[k].Sum
		}
		if n := counts.Durations[k].Count(); n > 0 {
			out.Durations[k.String()] = n
		}
	}
	out.MultipartTime = math.Round(counts.Durations[Multipart].Sum*1000) / 1000
	return out
}

func TestUploadsAreCountedOnce(t *testing.T) {
	const x = "2~AbcDefGhiJklMnoPqrStuVwxYz012345"
	init := entry{op: "init_multipart", uri: "POST /b/k?uploads HTTP/1.1"}
	part := func(n string, size int64) entry {
		return put("PUT /b/k?partNumber="+n+"&uploadId="+x+" HTTP/1.1", size)
	}
	complete := entry{op: "complete_multipart", uri: "POST /b/k?uploadId=" + x + " HTTP/1.1", took: 500 * time.Millisecond}
	abort := entry{op: "abort_multipart", uri: "DELETE /b/k?uploadId=" + x + " HTTP/1.1", status: "204"}
	with := func(e entry, status string) entry { e.status = status; return e }
	uri := func(e entry, uri string) entry { e.uri = uri; return e }
	tests := []struct {
		name    string
		entries []entry
		want    booked
	}{
		{"a 5-part upload and a plain PUT are two uploads (R1)",
			[]entry{init, part("1", 5), part("2", 5), part("3", 5), part("4", 5), part("5", 1), complete, put("PUT /b/o HTTP/1.1", 7)},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Put: 1, Multipart: 1}, Bytes: [NumKinds]uint64{Put: 7, Multipart: 21},
				Initiated: 1, Parts: 5, PartBytes: 21, PutsReaching: 6},
				Sizes: map[string]uint64{"put": 1, "multipart": 1}, SizeSum: 28, Durations: map[string]uint64{"put": 1, "multipart": 1}, MultipartTime: 6.5}},
		{"a failed completion adds nothing (R1)",
			[]entry{init, part("1", 5), with(complete, "404"), with(complete, "500")},
			booked{Gateway: Gateway{Failed: [NumKinds][NumClasses]uint64{Multipart: {ClientError: 1, ServerError: 1}}, Initiated: 1, Parts: 1, PartBytes: 5, PutsReaching: 1},
				Open: 1, Sizes: map[string]uint64{}, Durations: map[string]uint64{}}},
		{"copy, POST form and Swift PUT are uploads; a copy has no size (R1)",
			[]entry{{op: "copy_obj", uri: "PUT /b/c HTTP/1.1"}, {op: "post_obj", uri: "POST /b HTTP/1.1", status: "204", size: 3},
				{op: "post_obj", uri: "POST /b HTTP/1.1", status: "303", size: 4}, with(put("PUT /swift/v1/b/o HTTP/1.1", 9), "201")},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Put: 1, Copy: 1, Post: 2}, Bytes: [NumKinds]uint64{Put: 9, Post: 7}, PutsReaching: 1},
				Sizes: map[string]uint64{"put": 1, "post": 2}, SizeSum: 16, Durations: map[string]uint64{"put": 1, "copy": 1, "post": 2}}},
		{"an object whose name looks like a part is none (R1)",
			[]entry{put("PUT /b/x%3FpartNumber%3D1%26uploadId%3D"+x+" HTTP/1.1", 1), put("PUT /b/partNumber=1&uploadId="+x+" HTTP/1.1", 1)},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Put: 2}, Bytes: [NumKinds]uint64{Put: 2}, PutsReaching: 2},
				Sizes: map[string]uint64{"put": 2}, SizeSum: 2, Durations: map[string]uint64{"put": 2}}},
		{"signed URLs: any order, percent-encoded id (R1)",
			[]entry{init, uri(part("1", 5), "PUT /b/k?X-Amz-Signature=abc&uploadId=2%7EAbcDefGhiJklMnoPqrStuVwxYz012345&partNumber=1 HTTP/1.1"), complete},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Multipart: 1}, Bytes: [NumKinds]uint64{Multipart: 5}, Initiated: 1, Parts: 1, PartBytes: 5, PutsReaching: 1},
				Sizes: map[string]uint64{"multipart": 1}, SizeSum: 5, Durations: map[string]uint64{"multipart": 1}, MultipartTime: 2.5}},
		{"query strings logged twice, as before 17.2.8",
			[]entry{uri(init, "POST /b/k?uploads?uploads HTTP/1.1"), uri(part("1", 5), "PUT /b/k?partNumber=1&uploadId="+x+"?partNumber=1&uploadId="+x+" HTTP/1.1"),
				uri(complete, "POST /b/k?uploadId="+x+"?uploadId="+x+" HTTP/1.1")},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Multipart: 1}, Bytes: [NumKinds]uint64{Multipart: 5}, Initiated: 1, Parts: 1, PartBytes: 5, PutsReaching: 1},
				Sizes: map[string]uint64{"multipart": 1}, SizeSum: 5, Durations: map[string]uint64{"multipart": 1}, MultipartTime: 2.5}},
		{"a complete reported twice counts once",
			[]entry{init, part("1", 5), complete, complete},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Multipart: 1}, Bytes: [NumKinds]uint64{Multipart: 5}, Initiated: 1, Parts: 1, PartBytes: 5, PutsReaching: 1, Repeated: 1},
				Sizes: map[string]uint64{"multipart": 1}, SizeSum: 5, Durations: map[string]uint64{"multipart": 1}, MultipartTime: 2.5}},
		{"a part sent again replaces itself",
			[]entry{init, part("1", 5), part("2", 3), part("1", 6), complete},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Multipart: 1}, Bytes: [NumKinds]uint64{Multipart: 9}, Initiated: 1, Parts: 3, PartBytes: 14, PutsReaching: 3},
				Sizes: map[string]uint64{"multipart": 1}, SizeSum: 9, Durations: map[string]uint64{"multipart": 1}, MultipartTime: 4.5}},
		{"failed parts and puts by class, refused ones not among RGW's puts",
			[]entry{init, with(part("1", 5), "500"), with(part("1", 5), "403"), with(put("PUT /b/o HTTP/1.1", 1), "412"), with(put("PUT /b/o HTTP/1.1", 1), "403"), with(put("PUT /b/o HTTP/1.1", 1), "304")},
			booked{Gateway: Gateway{Failed: [NumKinds][NumClasses]uint64{Put: {ClientError: 2, Other: 1}}, PartsFailed: [NumClasses]uint64{ClientError: 1, ServerError: 1}, Initiated: 1, PutsReaching: 3},
				Open: 1, Sizes: map[string]uint64{}, Durations: map[string]uint64{}}},
		{"an upload without initiation has no size",
			[]entry{part("2", 5), complete},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Multipart: 1}, Unsized: 1, Parts: 1, PartBytes: 5, PutsReaching: 1},
				Sizes: map[string]uint64{}, Durations: map[string]uint64{}}},
		{"an aborted upload is open no more, a straggling part does not reopen it",
			[]entry{init, part("1", 5), abort, part("2", 5), abort},
			booked{Gateway: Gateway{Aborted: 1, Initiated: 1, Parts: 2, PartBytes: 10, PutsReaching: 2}, Sizes: map[string]uint64{}, Durations: map[string]uint64{}}},
		{"an upload aborted before its first part",
			[]entry{init, abort},
			booked{Gateway: Gateway{Aborted: 1, Initiated: 1}, Sizes: map[string]uint64{}, Durations: map[string]uint64{}}},
		{"a part and the completion may be logged before the initiation",
			[]entry{{op: part("1", 5).op, uri: part("1", 5).uri, size: 5, at: testStart.Add(time.Second)},
				{op: complete.op, uri: complete.uri, at: testStart.Add(2 * time.Second)}, {op: init.op, uri: init.uri, at: testStart},
				{op: part("2", 2).op, uri: part("2", 2).uri, size: 2, at: testStart.Add(time.Second)}},
			booked{Gateway: Gateway{Completed: [NumKinds]uint64{Multipart: 1}, Bytes: [NumKinds]uint64{Multipart: 7}, Initiated: 1, Parts: 2, PartBytes: 7, PutsReaching: 2},
				Sizes: map[string]uint64{"multipart": 1}, SizeSum: 7, Durations: map[string]uint64{"multipart": 1}, MultipartTime: 2}},
		{"reads, lists and deletes are no uploads",
			[]entry{{op: "get_obj", uri: "GET /b/k HTTP/1.1"}, {op: "list_multipart", uri: "GET /b/k?uploadId=" + x + " HTTP/1.1"}, {op: "multi_object_delete", uri: "POST /b?delete HTTP/1.1"}},
			booked{Sizes: map[string]uint64{}, Durations: map[string]uint64{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewCounter(CounterConfig{Settle: 10 * time.Second})
			apply(t, c, "rgw.a", tt.entries...)
			got := book(c, testStart.Add(time.Hour))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			// The books survive being stored.
			again := NewCounter(CounterConfig{Settle: 10 * time.Second})
			if err := again.restore(c.books()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, book(again, testStart.Add(time.Hour))); diff != "" {
				t.Errorf("after a restart: %s", diff)
			}
		})
	}
}

func TestOpenUploadsAgeAndAreForgotten(t *testing.T) {
	c := NewCounter(CounterConfig{Settle: time.Second, AbandonedAfter: 7 * 24 * time.Hour, ForgetAfter: 30 * 24 * time.Hour})
	apply(t, c, "rgw.a",
		entry{op: "init_multipart", uri: "POST /b/old?uploads HTTP/1.1", at: testStart},
		entry{op: "init_multipart", uri: "POST /b/k?uploads HTTP/1.1", at: testStart.Add(5 * 24 * time.Hour)},
		entry{op: "put_obj", uri: "PUT /b/k?partNumber=1&uploadId=X HTTP/1.1", size: 1, at: testStart.Add(8 * 24 * time.Hour)})
	type state struct {
		Open, Abandoned int
		Oldest          time.Time
		Forgotten       uint64
	}
	at := func(days int) state {
		now := testStart.Add(time.Duration(days)*24*time.Hour + time.Hour)
		c.Forget(now)
		n := c.Counts(now, CompleteView)
		return state{n.Open, n.Abandoned, n.OldestOpen, n.Forgotten}
	}
	got := []state{at(6), at(8), at(30), at(36)}
	want := []state{
		{2, 0, testStart, 0},
		{2, 1, testStart, 0},
		{1, 1, testStart.Add(5 * 24 * time.Hour), 1},
		{0, 0, time.Time{}, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTablesHaveLimits(t *testing.T) {
	c := NewCounter(CounterConfig{Settle: time.Second, Limits: Limits{Uploads: 3, Parts: 4, Finished: 2, Labels: 1}, Buckets: true})
	for _, x := range []string{"A", "B", "C", "D", "E"} {
		apply(t, c, "rgw.a", put("PUT /b/"+x+"?partNumber=1&uploadId="+x+" HTTP/1.1", 1))
	}
	apply(t, c, "rgw.a", put("PUT /b/E?partNumber=2&uploadId=E HTTP/1.1", 1), put("PUT /b/E?partNumber=3&uploadId=E HTTP/1.1", 1))
	for _, x := range []string{"F", "G", "H"} {
		apply(t, c, "rgw.a", entry{op: "complete_multipart", uri: "POST /b/F?uploadId=" + x + " HTTP/1.1", bucket: "bucket-" + x})
	}
	got := c.Counts(testStart, CompleteView)
	if len(c.uploads)-len(c.settling) != 2 || c.numParts != 4 || got.Evicted != 3 || got.Overrun != 1 {
		t.Errorf("%d uploads, %d parts, %d evicted, %d overrun; want 2, 4, 3, 1", len(c.uploads)-len(c.settling), c.numParts, got.Evicted, got.Overrun)
	}
	if got.Buckets["b"].Completed != [NumKinds]uint64{} || len(got.Buckets) != 1 || got.OtherBuckets.Completed[Multipart]+got.Buckets["bucket-F"].Completed[Multipart] != 3 {
		t.Errorf("buckets %+v, other %+v", got.Buckets, got.OtherBuckets)
	}
}

func TestViewIsCompleteUntilAnotherGatewayShows(t *testing.T) {
	c := NewCounter(CounterConfig{Settle: time.Second})
	at := func(d time.Duration, e entry) {
		e.at = testStart.Add(d)
		apply(t, c, "rgw.a", e)
		c.Settle(e.at.Add(10 * time.Second))
	}
	done := entry{op: "complete_multipart", uri: "POST /b/k?uploadId=X HTTP/1.1"}
	var got []bool
	look := func() { got = append(got, c.Counts(testStart, AutoView).ViewComplete) }
	look() // nothing seen
	at(0, put("PUT /b/o HTTP/1.1", 1))
	at(time.Minute, done) // began before the log did
	look()
	at(2*time.Hour, put("PUT /b/o HTTP/1.1", 1))
	look()
	done.uri = "POST /b/k?uploadId=Y HTTP/1.1"
	at(3*time.Hour, done) // its initiation must have gone elsewhere
	look()
	at(28*time.Hour, put("PUT /b/o HTTP/1.1", 1))
	look()
	want := []bool{false, false, true, false, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := c.Counts(testStart, PartialView); n.ViewComplete {
		t.Error("complete though told that it is not")
	}
}

func TestGapMakesOpenUploadsUnsized(t *testing.T) {
	c := NewCounter(CounterConfig{Settle: time.Second})
	apply(t, c, "rgw.a", entry{op: "init_multipart", uri: "POST /b/k?uploads HTTP/1.1"}, put("PUT /b/k?partNumber=1&uploadId=X HTTP/1.1", 1))
	c.Gap()
	apply(t, c, "rgw.a", entry{op: "complete_multipart", uri: "POST /b/k?uploadId=X HTTP/1.1"})
	c.Settle(testStart.Add(time.Hour))
	if g := c.Counts(testStart, CompleteView).Gateways["rgw.a"]; g.Completed[Multipart] != 1 || g.Unsized != 1 || g.Bytes[Multipart] != 0 {
		t.Errorf("%+v", g)
	}
}

func TestTornBooksAreRefused(t *testing.T) {
	c := NewCounter(CounterConfig{})
	apply(t, c, "rgw.a", entry{op: "init_multipart", uri: "POST /b/q?uploads HTTP/1.1"}, put("PUT /b/k?partNumber=1&uploadId=X HTTP/1.1", 1))
	b := c.books()
	for name, torn := range map[string]books{
		"finished": {Finished: []byte{1}},
		"uploads":  {Uploads: b.Uploads[:len(b.Uploads)-1]},
		"inits":    {Inits: b.Inits[:9]},
	} {
		if err := NewCounter(CounterConfig{}).restore(&torn); err == nil {
			t.Errorf("%s: torn books were taken", name)
		}
	}
}

func TestNativeBuckets(t *testing.T) {
	for v, want := range map[float64]int32{1: 0, 1.0001: 1, 2: 4, 1.1892: 1, 1.19: 2, 0.5: -4, 0.25: -8, 1 << 40: 160} {
		if got := nativeIndex(v); got != want {
			t.Errorf("%v: bucket %d, want %d", v, got, want)
		}
	}
	h := NewHistogram([]float64{1, 2})
	for _, v := range []float64{0, 1, 1.5, 3} {
		h.Observe(v)
	}
	if diff := cmp.Diff(&Histogram{Bounds: []float64{1, 2}, Counts: []uint64{2, 1, 1}, Sum: 5.5, Zero: 1, Native: map[int32]uint64{0: 1, 3: 1, 7: 1}}, h); diff != "" {
		t.Error(diff)
	}
}
