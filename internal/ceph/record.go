package ceph

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
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
// to w, one JSON object per line, until limit bytes have been written. Values of
// options that may hold secrets are left out (see hidden). What it
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
	line := RecordedAnswer{At: r.now(), Command: command, Answer: withoutSecrets(command, answer)}
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

// hidden stands for the value of an option that may be a secret.
const hidden = "[hidden]"

// told are the options whose values a recording keeps: those of Ceph's daemons
// themselves. What belongs to mgr modules (mgr/dashboard/...), gateways
// (rgw_keystone_admin_password) and other programs is nobody's business, and
// neither is what calls itself a secret.
var (
	told    = regexp.MustCompile(`^(osd|mon|mgr|bluestore|bluefs|rocksdb|ms|paxos|objecter|log|debug|admin_socket)(_[a-z0-9_]*)?$`)
	notTold = regexp.MustCompile(`pass|secret|token|key|cred|auth`)
)

// withoutSecrets returns an answer as it may be written down: of options only
// those told have values. Other answers hold no secrets (the key's capabilities
// allow to ask for none) and stay as they are.
func withoutSecrets(command, answer []byte) []byte {
	prefix := (&RecordedAnswer{Command: command}).Prefix()
	if !strings.HasPrefix(prefix, "config") || len(answer) == 0 {
		return answer
	}
	var options []map[string]json.RawMessage
	if json.Unmarshal(answer, &options) != nil {
		return []byte(`"` + hidden + `"`) // nobody knows what it is
	}
	for i, o := range options {
		var name string
		if json.Unmarshal(o["name"], &name) == nil && told.MatchString(name) && !notTold.MatchString(name) {
			continue
		}
		kept := map[string]json.RawMessage{"value": json.RawMessage(`"` + hidden + `"`)}
		for _, field := range []string{"section", "name", "level", "mask", "source", "can_update_at_runtime"} {
			if v, ok := o[field]; ok {
				kept[field] = v
			}
		}
		options[i] = kept
	}
	out, err := json.Marshal(options)
	if err != nil {
		return []byte(`"` + hidden + `"`)
	}
	return out
}
