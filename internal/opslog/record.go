package opslog

import (
	"encoding/json"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/label"
)

// A Record is one object of the stream, reduced to what the books need. The
// byte slices belong to the Framer.
//
// Source: rgw_format_ops_log_entry of Ceph 16 to 20. Numbers that are absent or
// no integers are -1, times the zero time, strings nil.
type Record struct {
	Operation []byte // put_obj, init_multipart, complete_multipart, ...
	Bucket    []byte // name, or tenant/name
	Object    []byte // 19 and newer
	User      []byte
	URI       []byte // METHOD target HTTP/1.1, as the client sent it
	TransID   []byte // one per request
	// Daemon is the field ceph_daemon, which a sender adds.
	Daemon []byte
	// Line and File are what shippers make of a line of a log when they are not
	// told to take it apart: the line itself (message, log) and the log's path
	// (file, filename).
	Line, File []byte

	Status     int           // HTTP status
	ObjectSize int64         // bytes of the object or part; 0 for complete and copy
	Start      time.Time     // when the request began
	Duration   time.Duration // total_time, whole milliseconds; -1 where absent
}

// IsRequest tells a record of the ops log from any other JSON object.
func (r *Record) IsRequest() bool {
	return len(r.Operation) > 0 && r.Status > 0 && r.URI != nil
}

// End is when the request ended.
func (r *Record) End() time.Time { return r.Start.Add(max(r.Duration, 0)) }

type field uint8

// noField comes first: a member that is none of ours is kept there and never
// read.
const (
	noField field = iota
	fieldOperation
	fieldBucket
	fieldObject
	fieldUser
	fieldURI
	fieldTransID
	fieldDaemon
	fieldLine
	fieldFile
	fieldStatus
	fieldObjectSize
	fieldTime
	fieldTotalTime
	numFields
)

// fieldNamed maps a member name to a field.
func fieldNamed(name []byte, escaped bool) field {
	if escaped {
		name = unescape(name)
	}
	switch string(name) { // does not allocate
	case "operation":
		return fieldOperation
	case "bucket":
		return fieldBucket
	case "object":
		return fieldObject
	case "user":
		return fieldUser
	case "uri":
		return fieldURI
	case "trans_id":
		return fieldTransID
	case "ceph_daemon":
		return fieldDaemon
	case "message", "log":
		return fieldLine
	case "file", "filename":
		return fieldFile
	case "http_status":
		return fieldStatus
	case "object_size":
		return fieldObjectSize
	case "time":
		return fieldTime
	case "total_time":
		return fieldTotalTime
	}
	return noField
}

func (f *Framer) decode(rec *Record) {
	*rec = Record{
		Operation:  f.text(fieldOperation),
		Bucket:     f.text(fieldBucket),
		Object:     f.text(fieldObject),
		User:       f.text(fieldUser),
		URI:        f.text(fieldURI),
		TransID:    f.text(fieldTransID),
		Daemon:     f.text(fieldDaemon),
		Line:       f.text(fieldLine),
		File:       f.text(fieldFile),
		Status:     int(parseInt(f.text(fieldStatus))),
		ObjectSize: parseInt(f.text(fieldObjectSize)),
		Start:      parseTime(f.text(fieldTime)),
		Duration:   -1,
	}
	const longest = 1 << 40 // ms; 34 years, and no overflow below
	if ms := parseInt(f.text(fieldTotalTime)); ms >= 0 && ms < longest {
		rec.Duration = time.Duration(ms) * time.Millisecond
	}
}

func (f *Framer) text(i field) []byte {
	s := f.spans[i]
	if s.end == 0 {
		return nil
	}
	b := f.buf[s.start:s.end:s.end]
	if s.escaped {
		return unescape(b)
	}
	return b
}

// unescape decodes the inside of a JSON string. Such strings are rare (keys
// with quotes or control characters), so the library may take its time.
func unescape(b []byte) []byte {
	quoted := make([]byte, 0, len(b)+2)
	quoted = append(append(append(quoted, '"'), b...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return b
	}
	return []byte(s)
}

// parseInt reads a non-negative integer of up to 18 digits, or returns -1.
func parseInt(b []byte) int64 {
	if len(b) == 0 || len(b) > 18 {
		return -1
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// parseTime reads 2026-11-30T15:45:11.935442Z, also with a space in the middle
// as old releases write it, and anything else that RFC 3339 allows (shippers
// re-encode times).
func parseTime(b []byte) time.Time {
	if t, ok := parseUTC(b); ok {
		return t
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

func parseUTC(b []byte) (time.Time, bool) {
	const shape = "0000-00-00T00:00:00.000000Z"
	if len(b) != len(shape) {
		return time.Time{}, false
	}
	for i := range len(shape) {
		switch c := b[i]; {
		case shape[i] == '0':
			if c < '0' || c > '9' {
				return time.Time{}, false
			}
		case c != shape[i] && !(i == 10 && c == ' '):
			return time.Time{}, false
		}
	}
	num := func(from, to int) int {
		n := 0
		for _, c := range b[from:to] {
			n = n*10 + int(c-'0')
		}
		return n
	}
	month, day, hour, minute, second := num(5, 7), num(8, 10), num(11, 13), num(14, 16), num(17, 19)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	return time.Date(num(0, 4), time.Month(month), day, hour, minute, second, num(20, 26)*1000, time.UTC), true
}

// DaemonName turns what names a gateway (an entity name, or the name of its log
// or socket) into the value of the label ceph_daemon, as the mgr's prometheus
// module writes it: client.rgw.a and /var/log/ceph/ops-log-ceph-client.rgw.a.log
// are rgw.a, client.radosgw.b is rgw.radosgw.b. Empty stays empty.
func DaemonName(s string) string {
	s = label.Clean(entityName(s))
	if s == "" {
		return ""
	}
	if len(s) > len("rgw.") && s[:len("rgw.")] == "rgw." {
		return s
	}
	return "rgw." + s
}
