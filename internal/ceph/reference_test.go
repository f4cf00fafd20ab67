package ceph

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The reference decoder does what DecodePGs does by way of encoding/json,
// time.Parse and strconv, without care for speed.

type refMember struct {
	key   string
	value any
}

type refObject []refMember // in order, duplicates kept

func referencePGs(data []byte) (*PGTable, error) {
	start, err := documentStart(data)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data[start:]))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, err
	}
	if err := checkTail(data[start+int(dec.InputOffset()):]); err != nil {
		return nil, err
	}
	dec = json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	r := &refDecoder{dec: dec, ids: map[string]SetID{"": 0}, table: &PGTable{Sets: [][]int32{{}}}}
	return r.decode()
}

type refDecoder struct {
	dec    *json.Decoder
	ids    map[string]SetID
	table  *PGTable
	ready  bool
	hasPGs bool
}

func (r *refDecoder) value() any {
	token, err := r.dec.Token()
	if err != nil {
		panic(err) // the document is known to be valid
	}
	switch token {
	case json.Delim('{'):
		o := refObject{}
		for r.dec.More() {
			key, _ := r.dec.Token()
			o = append(o, refMember{key.(string), r.value()})
		}
		r.dec.Token()
		return o
	case json.Delim('['):
		a := []any{}
		for r.dec.More() {
			a = append(a, r.value())
		}
		r.dec.Token()
		return a
	}
	return token
}

func (r *refDecoder) decode() (*PGTable, error) {
	top, ok := r.value().(refObject)
	if !ok {
		return nil, ErrNotPGs
	}
	for _, m := range top {
		switch m.key {
		case "pg_ready":
			if r.table.Ready, r.ready = m.value.(bool); !r.ready {
				return nil, errors.New("pg_ready")
			}
		case "pg_map":
			inner, ok := m.value.(refObject)
			if !ok {
				return nil, errors.New("pg_map")
			}
			for _, m := range inner {
				if err := r.stats(m); err != nil {
					return nil, err
				}
			}
		default:
			if err := r.stats(m); err != nil {
				return nil, err
			}
		}
	}
	if !r.ready {
		return nil, ErrNotPGs
	}
	r.sort()
	return r.table, nil
}

func (r *refDecoder) stats(m refMember) error {
	if m.key != "pg_stats" {
		return nil
	}
	entries, ok := m.value.([]any)
	if !ok || r.hasPGs {
		return errors.New("pg_stats")
	}
	r.hasPGs = true
	for _, entry := range entries {
		members, ok := entry.(refObject)
		if !ok {
			r.table.BadCount++
			continue
		}
		r.pg(members)
	}
	return nil
}

func (r *refDecoder) pg(members refObject) {
	pg := PG{
		LastScrub: NoStamp, LastDeepScrub: NoStamp, LastCleanScrub: NoStamp, LastChange: NoStamp, ScheduleAt: NoStamp,
		Bytes: -1, Objects: -1, ObjectsScrubbed: -1, ShallowErrors: -1, DeepErrors: -1,
		LastScrubSeconds: -1, ScrubDuration: -1, SnapTrimQueue: -1, UpPrimary: -1, ActingPrimary: -1,
	}
	var pgid string
	hasState, bad := false, false
	text := func(v any) (string, bool) {
		s, ok := v.(string)
		bad = bad || !ok && v != nil
		return s, ok
	}
	stamp := func(v any) Stamp {
		s, ok := text(v)
		switch {
		case v == nil:
			return NoStamp
		case !ok:
			return BadStamp
		}
		stamp, ok := refStamp(s)
		bad = bad || !ok
		return stamp
	}
	count := func(v any, limit int64) int64 {
		if v == nil {
			return -1
		}
		number, ok := v.(json.Number)
		n, err := strconv.ParseInt(string(number), 10, 64)
		if !ok || err != nil || n > limit || n == math.MinInt64 {
			bad = true
			return -1
		}
		return max(n, -1)
	}
	float := func(v any) float32 {
		if v == nil {
			return -1
		}
		number, ok := v.(json.Number)
		n, err := strconv.ParseFloat(string(number), 32)
		if !ok || err != nil {
			bad = true
			return -1
		}
		return float32(max(n, -1))
	}
	count32 := func(v any) int32 { return int32(count(v, math.MaxInt32)) }
	set := func(v any) SetID {
		list, ok := v.([]any)
		var osds []int32
		for _, item := range list {
			number, isNumber := item.(json.Number)
			n, err := strconv.ParseInt(string(number), 10, 32)
			if !isNumber || err != nil || n < 0 || number[0] == '-' {
				ok = false
			}
			osds = append(osds, int32(n))
		}
		if !ok {
			bad = bad || v != nil
			return 0
		}
		return r.intern(osds)
	}
	for _, m := range members {
		switch m.key {
		case "pgid":
			pgid, _ = text(m.value)
		case "state":
			var s string
			if s, hasState = text(m.value); hasState {
				pg.State = refState(s)
			} else {
				pg.State = 0
			}
		case "last_scrub_stamp":
			pg.LastScrub = stamp(m.value)
		case "last_deep_scrub_stamp":
			pg.LastDeepScrub = stamp(m.value)
		case "last_clean_scrub_stamp":
			pg.LastCleanScrub = stamp(m.value)
		case "last_change":
			pg.LastChange = stamp(m.value)
		case "scrub_schedule":
			s, _ := text(m.value)
			pg.Schedule, pg.ScheduleAt = ParseSchedule([]byte(s))
		case "objects_scrubbed":
			pg.ObjectsScrubbed = count(m.value, math.MaxInt64)
		case "last_scrub_duration":
			pg.LastScrubSeconds = count32(m.value)
		case "scrub_duration":
			pg.ScrubDuration = float(m.value)
		case "snaptrimq_len":
			pg.SnapTrimQueue = count32(m.value)
		case "up_primary":
			pg.UpPrimary = count32(m.value)
		case "acting_primary":
			pg.ActingPrimary = count32(m.value)
		case "up":
			pg.Up = set(m.value)
		case "acting":
			pg.Acting = set(m.value)
		case "stat_sum":
			sum, ok := m.value.(refObject)
			bad = bad || !ok && m.value != nil
			for _, m := range sum {
				switch m.key {
				case "num_bytes":
					pg.Bytes = count(m.value, math.MaxInt64)
				case "num_objects":
					pg.Objects = count(m.value, math.MaxInt64)
				case "num_shallow_scrub_errors":
					pg.ShallowErrors = count32(m.value)
				case "num_deep_scrub_errors":
					pg.DeepErrors = count32(m.value)
				}
			}
		}
	}
	var ok bool
	pg.ID, ok = refPGID(pgid)
	if bad || !ok || !hasState {
		r.table.BadCount++
	}
	if ok {
		r.table.PGs = append(r.table.PGs, pg)
	}
}

func (r *refDecoder) intern(osds []int32) SetID {
	text, _ := json.Marshal(osds)
	if len(osds) == 0 {
		return 0
	}
	id, ok := r.ids[string(text)]
	if !ok {
		id = SetID(len(r.table.Sets))
		r.ids[string(text)] = id
		r.table.Sets = append(r.table.Sets, osds)
	}
	return id
}

func (r *refDecoder) sort() {
	slices.SortStableFunc(r.table.PGs, func(a, b PG) int { return a.ID.Compare(b.ID) })
	all := len(r.table.PGs)
	r.table.PGs = slices.CompactFunc(r.table.PGs, func(a, b PG) bool { return a.ID == b.ID })
	r.table.BadCount += all - len(r.table.PGs)
}

func refPGID(text string) (PGID, bool) {
	pool, seed, ok := strings.Cut(text, ".")
	p, err1 := strconv.ParseInt(pool, 10, 32)
	s, err2 := strconv.ParseUint(seed, 16, 32)
	ok = ok && err1 == nil && err2 == nil && p >= 0 && len(pool) <= 10 && len(seed) <= 8 &&
		!strings.ContainsAny(text, "+-_")
	return PGID{int32(p), uint32(s)}, ok
}

func refState(text string) State {
	var s State
	for token := range strings.SplitSeq(text, "+") {
		if i := slices.Index(stateNames[:], token); i >= 0 {
			s |= 1 << i
		} else {
			s |= StateOther
		}
	}
	return s
}

// time.Parse and strconv take more than Ceph prints.
var (
	refDate = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)$`)
	refRaw  = regexp.MustCompile(`^(\d{1,9})\.(\d+)$`)
)

func refStamp(text string) (Stamp, bool) {
	if m := refRaw.FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.Atoi(m[1])
		micros, _ := strconv.Atoi((m[2] + "000000")[:6])
		if seconds < tenYears {
			return Stamp(seconds*1e6 + micros), true
		}
	}
	if !refDate.MatchString(text) {
		return BadStamp, false
	}
	text = strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{"2006-01-02T15:04:05-0700", "2006-01-02T15:04:05-07:00", "2006-01-02T15:04:05Z"} {
		if t, err := time.Parse(layout, text); err == nil {
			return StampOf(t), true
		}
	}
	return BadStamp, false
}
