package collector

import (
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/ceph-risk/ceph_risk_exporter/internal/opslog"
)

// rgwSnapshot is what the last checkpoint holds, and what the gateways' admin
// sockets said at the poll.
type rgwSnapshot struct {
	table    *rgwTable
	books    *opslog.Snapshot
	gateways []rgwGateway
	streams  bool // there are sockets or listeners
}

// rgwOther is the label of all that is beyond a limit.
const rgwOther = "other"

// Emit writes the snapshot.
func (s *rgwSnapshot) Emit(e *Emitter) {
	t := s.table
	for _, g := range s.gateways {
		instance := opslog.InstanceID(g.daemon)
		if g.knowsEnabled {
			e.EmitBool(t.enabled, g.enabled, g.daemon, instance)
		}
		if g.puts >= 0 {
			e.Emit(t.ownPuts, g.puts, g.daemon, instance)
		}
	}
	s.emitReading(e)
	if c := s.books.Counts; c != nil {
		for _, name := range c.Names() {
			s.emitGateway(e, name, c)
		}
		if len(c.Gateways) > 0 || s.streams { // most hosts have no gateway
			s.emitView(e, c)
		}
		emitTallies(e, t.bucketUploads, t.bucketBytes, c.Buckets, c.OtherBuckets)
		emitTallies(e, t.userUploads, t.userBytes, c.Users, c.OtherUsers)
	}
}

func (s *rgwSnapshot) emitReading(e *Emitter) {
	t, b := s.table, s.books
	for _, daemon := range slices.Sorted(maps.Keys(b.Files)) {
		f, instance := b.Files[daemon], opslog.InstanceID(daemon)
		e.Emit(t.files, float64(f.Files), daemon, instance)
		e.Emit(t.lag, float64(f.LagBytes), daemon, instance)
		e.Emit(t.junkBytes, float64(f.Frames.JunkBytes), daemon, instance)
		e.Emit(t.junkRuns, float64(f.Frames.JunkRuns), daemon, instance)
		e.Emit(t.oversized, float64(f.Frames.Oversized), daemon, instance)
	}
	e.Emit(t.gaps, float64(b.Follow.Truncated), "truncated")
	e.Emit(t.gaps, float64(b.Follow.Vanished), "vanished")
	if !s.streams {
		return
	}
	e.Emit(t.streamSenders, float64(b.Connections))
	e.Emit(t.streamRefused, float64(b.Streams.Refused))
	e.Emit(t.streamJunk, float64(b.Streams.Frames.JunkBytes))
	e.Emit(t.streamForeign, float64(b.Streams.Foreign))
	e.Emit(t.streamDuplicates, float64(b.Streams.Duplicates))
	e.Emit(t.streamUnnamed, float64(b.Streams.Unnamed))
}

func (s *rgwSnapshot) emitGateway(e *Emitter, daemon string, c *opslog.Counts) {
	t, g, instance := s.table, c.Gateways[daemon], opslog.InstanceID(daemon)
	for kind := range opslog.NumKinds {
		e.Emit(t.completed, float64(g.Completed[kind]), daemon, instance, kind.String())
		for class := range opslog.NumClasses {
			e.Emit(t.failures, float64(g.Failed[kind][class]), daemon, instance, kind.String(), class.String())
		}
		if kind.HasBytes() && (kind != opslog.Multipart || c.ViewComplete) {
			e.Emit(t.uploadedBytes, float64(g.Bytes[kind]), daemon, instance, kind.String())
		}
	}
	for class := range opslog.NumClasses {
		e.Emit(t.partFailures, float64(g.PartsFailed[class]), daemon, instance, class.String())
	}
	for _, counter := range []struct {
		row   *Row
		value uint64
	}{
		{t.unsized, g.Unsized}, {t.parts, g.Parts}, {t.partBytes, g.PartBytes}, {t.initiated, g.Initiated},
		{t.aborted, g.Aborted}, {t.repeated, g.Repeated}, {t.putRequests, g.PutsReaching}, {t.records, g.Records}, {t.foreign, g.Foreign},
	} {
		e.Emit(counter.row, float64(counter.value), daemon, instance)
	}
	if g.LastRecord > 0 {
		e.Emit(t.lastRecord, float64(g.LastRecord)/1e9, daemon, instance)
	}
}

func (s *rgwSnapshot) emitView(e *Emitter, c *opslog.Counts) {
	t := s.table
	for kind := range opslog.NumKinds {
		if kind == opslog.Multipart && !c.ViewComplete {
			continue
		}
		if kind.HasBytes() {
			e.EmitHistogram(t.size, histogramOf(c.Sizes[kind]), kind.String())
		}
		e.EmitHistogram(t.duration, histogramOf(c.Durations[kind]), kind.String())
	}
	e.EmitBool(t.viewComplete, c.ViewComplete)
	e.Emit(t.forgotten, float64(c.Forgotten), "age")
	e.Emit(t.forgotten, float64(c.Evicted), "limit")
	e.Emit(t.overrun, float64(c.Overrun))
	if !c.ViewComplete {
		return
	}
	e.Emit(t.open, float64(c.Open))
	e.Emit(t.abandoned, float64(c.Abandoned))
	if !c.OldestOpen.IsZero() {
		e.Emit(t.oldest, float64(c.OldestOpen.UnixNano())/1e9)
	}
}

// emitTallies writes bucket or user counts. A bucket that is called "other"
// joins the rest.
func emitTallies(e *Emitter, uploads, bytes *Row, byName map[string]opslog.Tally, other opslog.Tally) {
	if byName == nil {
		return
	}
	emit := func(name string, t opslog.Tally) {
		for kind := range opslog.NumKinds {
			e.Emit(uploads, float64(t.Completed[kind]), name, kind.String())
		}
		e.Emit(bytes, float64(t.Bytes), name)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		t := byName[name]
		if name != rgwOther {
			emit(name, t)
			continue
		}
		other.Bytes += t.Bytes
		for kind := range opslog.NumKinds {
			other.Completed[kind] += t.Completed[kind]
		}
	}
	emit(rgwOther, other)
}

// histogramOf writes a histogram with classic and native buckets.
func histogramOf(h *opslog.Histogram) *dto.Histogram {
	out := &dto.Histogram{
		SampleCount:   proto.Uint64(h.Count()),
		SampleSum:     proto.Float64(h.Sum),
		Schema:        proto.Int32(opslog.NativeSchema),
		ZeroThreshold: proto.Float64(math.SmallestNonzeroFloat64),
		ZeroCount:     proto.Uint64(h.Zero),
	}
	var sum uint64
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: proto.Float64(bound), CumulativeCount: proto.Uint64(sum)})
	}
	addNative(out, h.Native)
	return out
}

// addNative writes the sparse buckets: spans of adjacent indexes, and counts as
// differences to the bucket before.
func addNative(out *dto.Histogram, native map[int32]uint64) {
	indexes := make([]int32, 0, len(native))
	for i := range native {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	var next int32
	var before int64
	for n, i := range indexes {
		if n == 0 || i != next {
			out.PositiveSpan = append(out.PositiveSpan, &dto.BucketSpan{Offset: proto.Int32(i - next), Length: proto.Uint32(0)})
		}
		span := out.PositiveSpan[len(out.PositiveSpan)-1]
		span.Length = proto.Uint32(span.GetLength() + 1)
		count := int64(native[i])
		out.PositiveDelta = append(out.PositiveDelta, count-before)
		before, next = count, i+1
	}
	if len(indexes) == 0 { // tells a native histogram from a classic one
		out.PositiveSpan = []*dto.BucketSpan{{Offset: proto.Int32(0), Length: proto.Uint32(0)}}
	}
}
