package ceph

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// String returns the id as Ceph prints it: "1.2f".
func (id PGID) String() string { return string(id.Append(nil)) }

// Append appends the id as String returns it: what per-PG series are labeled
// with, some hundred thousand times per poll.
func (id PGID) Append(b []byte) []byte {
	b = append(id.AppendPool(b), '.')
	digits := max(1, (bits.Len32(id.Seed)+3)/4)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[id.Seed>>shift&15])
	}
	return b
}

// AppendPool appends the pool's id.
func (id PGID) AppendPool(b []byte) []byte {
	if id.Pool >= 0 && id.Pool < 10 {
		return append(b, byte('0'+id.Pool))
	}
	return strconv.AppendInt(b, int64(id.Pool), 10)
}

// ParsePGID reads an id as String writes it.
func ParsePGID(text string) (PGID, error) {
	id, ok := parsePGID([]byte(text))
	if !ok {
		return PGID{}, fmt.Errorf("pgid %q: %w", clip([]byte(text)), errBadPGID)
	}
	return id, nil
}

func parsePGID(text []byte) (PGID, bool) {
	dot := bytes.IndexByte(text, '.')
	if dot < 1 || dot > 10 || len(text) < dot+2 || len(text) > dot+9 {
		return PGID{}, false
	}
	var pool, seed uint64
	for _, c := range text[:dot] {
		if c-'0' > 9 {
			return PGID{}, false
		}
		pool = pool*10 + uint64(c-'0')
	}
	for _, c := range text[dot+1:] {
		if !isHex(c) {
			return PGID{}, false
		}
		if c > '9' {
			c += 9 // 'A' and 'a' are 1 below, in their low four bits
		}
		seed = seed<<4 | uint64(c&15)
	}
	return PGID{int32(pool), uint32(seed)}, pool <= math.MaxInt32
}

var errBadStamp = errors.New("not a stamp")

// errNoZone: local time of a daemon that does not say which zone it is in, as
// in Nautilus.
var errNoZone = errors.New("stamp without a zone")

// ParseStamp reads what utime_t prints: "2022-02-04T10:46:32.228199+0000" in
// any zone (also "+00:00" and "Z"), or raw seconds as in "0.000000" for what is
// below ten years since the epoch. Digits beyond microseconds are dropped.
// It returns BadStamp with an error.
func ParseStamp(text []byte) (Stamp, error) {
	if len(text) < 19 || text[4] != '-' {
		return parseRawStamp(text)
	}
	if text[7] != '-' || text[10] != 'T' && text[10] != ' ' || text[13] != ':' || text[16] != ':' {
		return BadStamp, errBadStamp
	}
	year, ok0 := number2(text[0:2])
	year2, ok1 := number2(text[2:4])
	month, ok2 := number2(text[5:7])
	day, ok3 := number2(text[8:10])
	hour, ok4 := number2(text[11:13])
	minute, ok5 := number2(text[14:16])
	second, ok6 := number2(text[17:19])
	year = year*100 + year2
	if !(ok0 && ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || month < 1 || month > 12 ||
		day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return BadStamp, errBadStamp
	}
	micros, rest, ok := parseFraction(text[19:])
	if !ok {
		return BadStamp, errBadStamp
	}
	offset, err := parseZone(rest)
	if err != nil {
		return BadStamp, err
	}
	seconds := daysSinceEpoch(year, month, day)*86400 + int64(hour*3600+minute*60+second-offset)
	return Stamp(seconds*1e6 + micros), nil
}

func number2(text []byte) (int, bool) {
	a, b := text[0]-'0', text[1]-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
}

func daysIn(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// daysSinceEpoch counts in years that begin in March, so that the leap day is
// the last day of its year.
func daysSinceEpoch(year, month, day int) int64 {
	if month < 3 {
		year, month = year-1, month+12
	}
	return int64(365*year + floorDiv(year, 4) - floorDiv(year, 100) + floorDiv(year, 400) + (153*(month-3)+2)/5 + day - 719469)
}

// floorDiv matters for the first two months of year 0 alone.
func floorDiv(a, b int) int {
	if a < 0 {
		return (a - b + 1) / b
	}
	return a / b
}

// parseFraction reads ".228199" into microseconds, and nothing into 0.
func parseFraction(text []byte) (int64, []byte, bool) {
	if len(text) == 0 || text[0] != '.' {
		return 0, text, true
	}
	end := digits(text, 1)
	var micros int64
	for i := 1; i <= 6; i++ {
		micros *= 10
		if i < end {
			micros += int64(text[i] - '0')
		}
	}
	return micros, text[end:], end > 1
}

// parseZone reads Z, +0200 or +02:00 into seconds east of Greenwich.
func parseZone(text []byte) (int, error) {
	switch {
	case len(text) == 0:
		return 0, errNoZone
	case len(text) == 1 && text[0] == 'Z':
		return 0, nil
	case text[0] != '+' && text[0] != '-', len(text) != 5 && (len(text) != 6 || text[3] != ':'):
		return 0, errBadStamp
	}
	hours, ok1 := number2(text[1:3])
	minutes, ok2 := number2(text[len(text)-2:])
	if !ok1 || !ok2 || hours > 23 || minutes > 59 {
		return 0, errBadStamp
	}
	offset := hours*3600 + minutes*60
	if text[0] == '-' {
		offset = -offset
	}
	return offset, nil
}

// parseRawStamp reads "sec.usec", which Ceph prints for nothing but what is
// below ten years since the epoch.
func parseRawStamp(text []byte) (Stamp, error) {
	end := digits(text, 0)
	if end == 0 || end > 9 || end == len(text) {
		return BadStamp, errBadStamp
	}
	seconds, _ := wholeNumber(text[:end])
	micros, rest, ok := parseFraction(text[end:])
	s := Stamp(seconds*1e6 + micros)
	if !ok || len(rest) > 0 || !s.Unset() {
		return BadStamp, errBadStamp
	}
	return s, nil
}

// stateNames are the tokens in the order of their bits.
var stateNames = [...]string{
	"stale", "creating", "active", "activating", "clean", "recovery_wait", "recovery_toofull", "recovering",
	"forced_recovery", "down", "recovery_unfound", "backfill_unfound", "undersized", "degraded", "remapped",
	"premerge", "scrubbing", "deep", "inconsistent", "peering", "repair", "backfill_wait", "backfilling",
	"forced_backfill", "backfill_toofull", "incomplete", "peered", "snaptrim", "snaptrim_wait", "snaptrim_error",
	"failed_repair", "laggy", "wait", "unknown",
}

// ParseState reads a state string, "active+clean" for instance, token by token
// in any order.
func ParseState(text []byte) State {
	var s State
	for {
		token, rest, more := bytes.Cut(text, []byte{'+'})
		s |= stateToken(token)
		if !more {
			return s
		}
		text = rest
	}
}

func stateToken(token []byte) State {
	for i, name := range stateNames {
		if string(token) == name {
			return 1 << i
		}
	}
	return StateOther
}

// ParseSchedule reads scrub_schedule. The stamp is that of a schedule with a
// time: BadStamp if it has no zone, NoStamp for every other kind.
func ParseSchedule(text []byte) (ScheduleKind, Stamp) {
	prefix := func(p string) bool { return len(text) >= len(p) && string(text[:len(p)]) == p }
	switch {
	case len(text) == 0:
		return ScheduleAbsent, NoStamp
	case string(text) == "--" || string(text) == "no scrub is scheduled":
		return ScheduleNone, NoStamp
	case string(text) == "queued for scrub" || string(text) == "queued for deep scrub":
		return ScheduleQueued, NoStamp
	case prefix("Reserving."):
		return ScheduleReserving, NoStamp
	case prefix("scrubbing for ") || prefix("deep scrubbing for "):
		return ScheduleRunning, NoStamp
	case prefix("Blocked!"):
		return ScheduleBlocked, NoStamp
	}
	if _, at, ok := bytes.Cut(text, []byte("scrub scheduled @ ")); ok {
		at, _, _ = bytes.Cut(at, []byte{' '})
		stamp, _ := ParseStamp(at)
		return ScheduleAtTime, stamp
	}
	return ScheduleOther, NoStamp
}

// String returns the tokens as Ceph prints them, "other" for those that are not
// known, and nothing for no state at all.
func (s State) String() string {
	var tokens []string
	for i, name := range stateNames {
		if s.Has(1 << i) {
			tokens = append(tokens, name)
		}
	}
	if s.Has(StateOther) {
		tokens = append(tokens, "other")
	}
	return strings.Join(tokens, "+")
}
