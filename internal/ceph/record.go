package ceph

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// RecordedAnswer is one line of a recording: what was asked, and the very bytes
// of the answer.
type RecordedAnswer struct {
	At      time.Time       `json:"at"` // when the answer was there
	Command json.RawMessage `json:"command"`
	Answer  []byte          `json:"answer,omitempty"` // base64 in the file
	Error   string          `json:"error,omitempty"`
}

// Prefix returns the command's name: "pg dump".
func (r *RecordedAnswer) Prefix() string {
	var c struct {
		Prefix string `json:"prefix"`
	}
	_ = json.Unmarshal(r.Command, &c)
	return c.Prefix
}

// Record returns a Commander that passes commands on and writes every exchange
// to w, one JSON object per line, until limit bytes have been written. What it
// cannot write it reports once to failed and goes on: a recording is never a
// reason to stop.
func Record(c Commander, w io.Writer, limit int64, now func() time.Time, failed func(error)) Commander {
	r := &recorder{w: w, left: limit, now: now, failed: failed}
	return &Tap{Commander: c, Seen: r.seen}
}

type recorder struct {
	mu     sync.Mutex
	w      io.Writer
	left   int64
	ended  bool
	now    func() time.Time
	failed func(error)
}

func (r *recorder) seen(command, answer []byte, err error) {
	line := RecordedAnswer{At: r.now(), Command: command, Answer: answer}
	if err != nil {
		line.Error = err.Error()
	}
	data, encodeErr := json.Marshal(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if encodeErr == nil && int64(len(data))+1 > r.left {
		encodeErr = errors.New("the recording has reached its limit")
	}
	if encodeErr == nil {
		r.left -= int64(len(data)) + 1
		_, encodeErr = r.w.Write(append(data, '\n'))
	}
	if encodeErr != nil {
		r.ended = true
		r.failed(encodeErr)
	}
}

// ReadRecording decodes a recording. A torn last line, as a killed process
// leaves it, is passed over.
func ReadRecording(r io.Reader) ([]RecordedAnswer, error) {
	var out []RecordedAnswer
	d := json.NewDecoder(r)
	for {
		var a RecordedAnswer
		err := d.Decode(&a)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("recording, answer %d: %w", len(out)+1, err)
		}
		out = append(out, a)
	}
}
