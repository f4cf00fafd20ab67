package opslog

import (
	"cmp"
	"context"
)

// StreamStats counts what came in by streams, over all of them.
type StreamStats struct {
	Frames     FrameStats `json:"frames"`
	Foreign    uint64     `json:"foreign"`    // JSON objects that are no records
	Duplicates uint64     `json:"duplicates"` // records that had been sent before
	Unnamed    uint64     `json:"unnamed"`    // records of a gateway that was not named
	Refused    uint64     `json:"refused"`    // connections and requests turned away
}

// A Stream is one connection or request body: bytes that make records.
type Stream struct {
	engine *Engine
	daemon string // of records that do not name theirs
	framer Framer
	told   FrameStats // what of the framer's counts is in the books
}

// unnamedDaemon is the label of records whose gateway nobody named.
const unnamedDaemon = "unknown"

// maxGateways bounds how many gateways senders can name.
const maxGateways = 1000

type chunk struct {
	stream *Stream
	data   []byte
	end    bool
	ack    chan<- error // gets the result of the checkpoint that holds the data
	taken  chan<- struct{}
}

// NewStream begins a stream. daemon names the gateway unless its records do.
func (e *Engine) NewStream(daemon string) *Stream {
	return &Stream{engine: e, daemon: DaemonName(daemon)}
}

// Feed hands over bytes and returns once they are in the books, which are not
// durable yet. data may be reused then.
func (s *Stream) Feed(ctx context.Context, data []byte) error {
	return s.submit(ctx, chunk{stream: s, data: data})
}

// End says that the stream has ended. It returns once all of it is durable.
func (s *Stream) End(ctx context.Context) error {
	ack := make(chan error, 1)
	if err := s.submit(ctx, chunk{stream: s, end: true, ack: ack}); err != nil {
		return err
	}
	select {
	case err := <-ack:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish says that the stream has ended, and waits for nothing.
func (s *Stream) finish(ctx context.Context) error {
	return s.submit(ctx, chunk{stream: s, end: true})
}

func (s *Stream) submit(ctx context.Context, c chunk) error {
	taken := make(chan struct{})
	c.taken = taken
	select {
	case s.engine.input <- c:
		<-taken
		return nil
	case <-s.engine.done:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take applies what a stream delivered.
func (e *Engine) take(c chunk) {
	defer close(c.taken)
	s := c.stream
	_, _ = s.framer.Write(c.data)
	if c.end {
		s.framer.Finish()
	}
	e.counter.Arrival = e.cfg.Now()
	var rec Record
	for s.framer.Next(&rec) {
		e.dirty = true
		e.streamed(s, &rec)
	}
	now, told := s.framer.Stats(), s.told
	e.streams.Frames.add(FrameStats{now.JunkBytes - told.JunkBytes, now.JunkRuns - told.JunkRuns, now.Oversized - told.Oversized})
	e.dirty = e.dirty || now != told
	s.told = now
	if c.ack != nil {
		e.waiting = append(e.waiting, c.ack)
	}
}

func (e *Engine) streamed(s *Stream, rec *Record) {
	switch {
	case rec.IsRequest():
		e.streamedRequest(s, rec)
	case len(rec.Operation) > 0:
		e.streams.Foreign++
	case len(rec.Line) > 0:
		e.streamedLine(s, rec)
	case len(rec.Daemon) > 0:
		s.daemon = DaemonName(string(rec.Daemon)) // for the records that follow
	default:
		e.streams.Foreign++
	}
}

// streamedLine takes a line of a log that came wrapped in an object. It may
// hold several records.
func (e *Engine) streamedLine(s *Stream, wrapped *Record) {
	inner := &Stream{engine: e, daemon: s.daemon}
	if name := cmp.Or(string(wrapped.Daemon), string(wrapped.File)); name != "" {
		inner.daemon = DaemonName(name)
	}
	_, _ = inner.framer.Write(wrapped.Line)
	inner.framer.Finish()
	var rec Record
	for inner.framer.Next(&rec) {
		if rec.IsRequest() { // lines do not nest
			e.streamedRequest(inner, &rec)
		} else {
			e.streams.Foreign++
		}
	}
	e.streams.Frames.add(inner.framer.Stats())
}

func (e *Engine) streamedRequest(s *Stream, rec *Record) {
	if len(rec.TransID) > 0 && !e.seen.add(id(hashOf(rec.TransID, ""))) {
		e.streams.Duplicates++
		return
	}
	daemon := s.daemon
	if len(rec.Daemon) > 0 {
		daemon = DaemonName(string(rec.Daemon))
	}
	if daemon == "" || len(e.counter.gateways) >= maxGateways && e.counter.gateways[daemon] == nil {
		daemon = unnamedDaemon
		e.streams.Unnamed++
	}
	e.counter.Apply(daemon, rec)
}
