package ceph

import (
	"errors"
	"math"
	"strconv"
)

// The fields of interest of the outer objects, of a PG and of its stat_sum.
// Zero is a key of no interest.
const (
	outerReady = iota + 1
	outerMap
	outerPGs
)

const (
	pgPGID = iota + 1
	pgState
	pgLastScrub
	pgLastDeepScrub
	pgLastCleanScrub
	pgLastChange
	pgSchedule
	pgObjectsScrubbed
	pgLastSeconds
	pgScrubDuration
	pgSnapTrimQueue
	pgUp
	pgActing
	pgUpPrimary
	pgActingPrimary
	pgSum
	sumBytes
	sumObjects
	sumShallowErrors
	sumDeepErrors
)

var fieldNames = [...]string{
	pgPGID:            "pgid",
	pgState:           "state",
	pgLastScrub:       "last_scrub_stamp",
	pgLastDeepScrub:   "last_deep_scrub_stamp",
	pgLastCleanScrub:  "last_clean_scrub_stamp",
	pgLastChange:      "last_change",
	pgSchedule:        "scrub_schedule",
	pgObjectsScrubbed: "objects_scrubbed",
	pgLastSeconds:     "last_scrub_duration",
	pgScrubDuration:   "scrub_duration",
	pgSnapTrimQueue:   "snaptrimq_len",
	pgUp:              "up",
	pgActing:          "acting",
	pgUpPrimary:       "up_primary",
	pgActingPrimary:   "acting_primary",
	pgSum:             "stat_sum",
	sumBytes:          "num_bytes",
	sumObjects:        "num_objects",
	sumShallowErrors:  "num_shallow_scrub_errors",
	sumDeepErrors:     "num_deep_scrub_errors",
}

func outerField(key []byte) uint8 {
	switch string(key) {
	case "pg_ready":
		return outerReady
	case "pg_map":
		return outerMap
	case "pg_stats":
		return outerPGs
	}
	return 0
}

func pgField(key []byte) uint8 { return fieldIn(key, pgPGID, pgSum) }

func sumField(key []byte) uint8 { return fieldIn(key, sumBytes, sumDeepErrors) }

func fieldIn(key []byte, first, last uint8) uint8 {
	for f := first; f <= last; f++ {
		if string(key) == fieldNames[f] {
			return f
		}
	}
	return 0
}

var (
	errMissing   = errors.New("missing")
	errBadPGID   = errors.New("not of the form pool.seed")
	errNotString = errors.New("not a string")
	errNotObject = errors.New("not an object")
	errNotSet    = errors.New("not an array of OSD ids")
	errNotCount  = errors.New("not a whole number in range")
	errNotNumber = errors.New("not a number in range")
	errDuplicate = errors.New("listed more than once")
)

// field decodes one value of a PG that is of interest.
func (d *pgDecoder) field(f uint8) {
	e := &d.entry
	switch f {
	case pgPGID:
		e.pgid, _ = d.stringField(f)
	case pgState:
		d.pgState()
	case pgLastScrub:
		e.pg.LastScrub = d.stamp(f)
	case pgLastDeepScrub:
		e.pg.LastDeepScrub = d.stamp(f)
	case pgLastCleanScrub:
		e.pg.LastCleanScrub = d.stamp(f)
	case pgLastChange:
		e.pg.LastChange = d.stamp(f)
	case pgSchedule:
		e.pg.Schedule, e.pg.ScheduleAt = ScheduleAbsent, NoStamp
		if text, ok := d.stringField(f); ok {
			e.pg.Schedule, e.pg.ScheduleAt = ParseSchedule(text)
		}
	case pgObjectsScrubbed:
		e.pg.ObjectsScrubbed = d.count(f, math.MaxInt64)
	case pgLastSeconds:
		e.pg.LastScrubSeconds = int32(d.count(f, math.MaxInt32))
	case pgScrubDuration:
		e.pg.ScrubDuration = d.float(f)
	case pgSnapTrimQueue:
		e.pg.SnapTrimQueue = int32(d.count(f, math.MaxInt32))
	case pgUp:
		e.pg.Up = d.set(f)
	case pgActing:
		e.pg.Acting = d.set(f)
	case pgUpPrimary:
		e.pg.UpPrimary = int32(d.count(f, math.MaxInt32))
	case pgActingPrimary:
		e.pg.ActingPrimary = int32(d.count(f, math.MaxInt32))
	case pgSum:
		d.sum()
	}
}

// sum decodes stat_sum.
func (d *pgDecoder) sum() {
	if d.peek() != '{' {
		d.unusable(pgSum, errNotObject)
		return
	}
	pg := &d.entry.pg
	for f := d.firstMember(&d.sumKeys); f != noMember; f = d.nextMember(&d.sumKeys) {
		switch f {
		case sumBytes:
			pg.Bytes = d.count(f, math.MaxInt64)
		case sumObjects:
			pg.Objects = d.count(f, math.MaxInt64)
		case sumShallowErrors:
			pg.ShallowErrors = int32(d.count(f, math.MaxInt32))
		case sumDeepErrors:
			pg.DeepErrors = int32(d.count(f, math.MaxInt32))
		default:
			d.value()
		}
		if d.err != nil {
			return
		}
	}
}

// unusable skips a value of the wrong kind and notes it, unless it is null,
// nan or inf, which are absent rather than wrong. It returns whether it was
// noted.
func (d *pgDecoder) unusable(f uint8, why error) bool {
	d.peek()
	if d.absent() {
		return false
	}
	from := d.pos
	if !d.value() {
		return false
	}
	d.note(f, d.data[from:d.pos], why)
	return true
}

// note keeps an entry's first error.
func (d *pgDecoder) note(f uint8, raw []byte, why error) {
	if e := &d.entry; e.bad == "" {
		e.bad, e.badRaw, e.badErr = fieldNames[f], raw, why
	}
}

// stringField decodes a string, which may point into the answer.
func (d *pgDecoder) stringField(f uint8) ([]byte, bool) {
	if d.peek() != '"' {
		d.unusable(f, errNotString)
		return nil, false
	}
	return d.text()
}

// pgState decodes the state. Most PGs are in the state of the one before.
func (d *pgDecoder) pgState() {
	e := &d.entry
	text, ok := d.stringField(pgState)
	if !ok {
		e.pg.State, e.hasState = 0, false
		return
	}
	if d.stateText == nil || string(text) != string(d.stateText) {
		d.stateText, d.state = text, ParseState(text)
	}
	e.pg.State, e.hasState = d.state, true
}

func (d *pgDecoder) stamp(f uint8) Stamp {
	if d.peek() != '"' {
		if d.unusable(f, errNotString) {
			return BadStamp
		}
		return NoStamp
	}
	text, ok := d.text()
	if !ok {
		return NoStamp
	}
	s, err := ParseStamp(text)
	if err != nil {
		d.note(f, text, err)
	}
	return s
}

// count decodes a whole number of at most limit: -1 if it is absent, unusable
// or negative, as Ceph's statistics can be.
func (d *pgDecoder) count(f uint8, limit int64) int64 {
	c := d.peek()
	if c != '-' && c-'0' > 9 {
		d.unusable(f, errNotCount)
		return -1
	}
	if v, end := fewDigits(d.data, d.pos); end > 0 && v <= limit {
		d.pos = end
		return v
	}
	from, nonFinite := d.pos, d.nonFinite
	if !d.number() || d.nonFinite != nonFinite {
		return -1
	}
	raw := d.data[from:d.pos]
	v, ok := wholeNumber(raw)
	if !ok || v > limit {
		d.note(f, raw, errNotCount)
		return -1
	}
	return max(v, -1)
}

// float decodes a number: -1 if it is absent, unusable or negative.
func (d *pgDecoder) float(f uint8) float32 {
	c := d.peek()
	if c != '-' && c-'0' > 9 {
		d.unusable(f, errNotNumber)
		return -1
	}
	if v, end := fewDigits(d.data, d.pos); end > 0 {
		d.pos = end
		return float32(v)
	}
	from, nonFinite := d.pos, d.nonFinite
	if !d.number() || d.nonFinite != nonFinite {
		return -1
	}
	raw := d.data[from:d.pos]
	v, err := strconv.ParseFloat(string(raw), 32)
	if err != nil {
		d.note(f, raw, errNotNumber)
		return -1
	}
	return float32(max(v, -1))
}

// fewDigits reads a whole number of up to 18 digits without a sign, if that is
// all that stands before the next comma or the end of the object.
func fewDigits(data []byte, from int) (v int64, end int) {
	i := from
	for ; i < len(data) && data[i]-'0' <= 9; i++ {
		v = v*10 + int64(data[i]-'0')
	}
	if i == from || i-from > 18 || i == len(data) || data[i] != ',' && data[i] != '}' || data[from] == '0' && i-from > 1 {
		return 0, 0
	}
	return v, i
}

// wholeNumber reads a valid JSON number that has neither fraction nor exponent
// and fits.
func wholeNumber(raw []byte) (int64, bool) {
	i := 0
	if raw[0] == '-' {
		i++
	}
	var v uint64
	for ; i < len(raw); i++ {
		digit := uint64(raw[i] - '0')
		if digit > 9 || v > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		v = v*10 + digit
	}
	if raw[0] == '-' {
		return -int64(v), true
	}
	return int64(v), true
}
