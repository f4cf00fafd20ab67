package osdperf

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Version is the answer to `version`.
type Version struct {
	Version string `json:"version"` // 18.2.7
	Release string `json:"release"` // reef
	Major   int    `json:"-"`       // 18
}

// DecodeVersion reads the answer to `version`.
func DecodeVersion(answer []byte) (Version, error) {
	var v Version
	if err := json.Unmarshal(answer, &v); err != nil {
		return Version{}, fmt.Errorf("decode version: %w", err)
	}
	major, _, _ := strings.Cut(v.Version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return Version{}, fmt.Errorf("decode version: %q: %w", v.Version, err)
	}
	v.Major = n
	v.Version = strings.ToValidUTF8(v.Version, "\uFFFD")
	v.Release = strings.ToValidUTF8(v.Release, "\uFFFD")
	return v, nil
}

// ScrubReservations says how many scrubs an OSD takes part in.
type ScrubReservations struct {
	Local  int // as the primary
	Remote int // granted to other OSDs' scrubs
	Max    int // osd_max_scrubs
}

// DecodeScrubReservations reads the answer to `dump_scrub_reservations`:
// 16 to 18 {scrubs_local, scrubs_remote, osd_max_scrubs}; from 19 on without
// scrubs_remote, with a reserver's state instead, which 20 prints as an object
// and 19 as an array without the field names.
func DecodeScrubReservations(answer []byte) (ScrubReservations, error) {
	fail := func(err error) (ScrubReservations, error) {
		return ScrubReservations{}, fmt.Errorf("decode dump_scrub_reservations: %w", err)
	}
	var dump struct {
		Local  *int            `json:"scrubs_local"`
		Remote *int            `json:"scrubs_remote"`
		Max    *int            `json:"osd_max_scrubs"`
		Queue  json.RawMessage `json:"remote_scrub_reservations"`
	}
	if err := json.Unmarshal(answer, &dump); err != nil {
		return fail(err)
	}
	if dump.Local == nil || dump.Max == nil {
		return fail(fmt.Errorf("no scrubs_local or no osd_max_scrubs"))
	}
	r := ScrubReservations{Local: *dump.Local, Max: *dump.Max}
	switch {
	case dump.Remote != nil:
		r.Remote = *dump.Remote
	case len(dump.Queue) > 0 && dump.Queue[0] == '{':
		q, err := decodeReserver(dump.Queue)
		if err != nil {
			return fail(err)
		}
		r.Remote = len(q.InProgress)
	case len(dump.Queue) > 0 && dump.Queue[0] == '[':
		// [max_allowed, min_priority, queues, in_progress]
		var fields []json.RawMessage
		var held []json.RawMessage
		if err := json.Unmarshal(dump.Queue, &fields); err != nil {
			return fail(err)
		}
		if len(fields) != 4 {
			return fail(fmt.Errorf("%d fields in remote_scrub_reservations, want 4", len(fields)))
		}
		if err := json.Unmarshal(fields[3], &held); err != nil {
			return fail(err)
		}
		r.Remote = len(held)
	default:
		return fail(fmt.Errorf("no scrubs_remote and no remote_scrub_reservations"))
	}
	return r, nil
}

// RecoveryReservations says what background work an OSD has granted itself and
// others.
type RecoveryReservations struct {
	// Recovery counts recovery and backfill reservations held, in either role.
	Recovery int
	// Deletion counts reservations held to delete a PG's leftovers.
	Deletion int
}

// Priorities of a reservation to delete a PG. The two normal ones are just below
// those of recovery, and only a pool with a negative recovery_priority comes
// down to them; a full OSD's, 255, is that of forced recovery too.
const (
	deletePriority         = 179
	deletePriorityNearFull = 219
)

// DecodeRecoveryReservations reads the answer to `dump_recovery_reservations`.
// The queues say what waits; only what is in progress is work.
func DecodeRecoveryReservations(answer []byte) (RecoveryReservations, error) {
	fail := func(err error) (RecoveryReservations, error) {
		return RecoveryReservations{}, fmt.Errorf("decode dump_recovery_reservations: %w", err)
	}
	var dump struct {
		Local  json.RawMessage `json:"local_reservations"`
		Remote json.RawMessage `json:"remote_reservations"`
	}
	if err := json.Unmarshal(answer, &dump); err != nil {
		return fail(err)
	}
	local, err := decodeReserver(dump.Local)
	if err != nil {
		return fail(fmt.Errorf("local_reservations: %w", err))
	}
	remote, err := decodeReserver(dump.Remote)
	if err != nil {
		return fail(fmt.Errorf("remote_reservations: %w", err))
	}
	r := RecoveryReservations{Recovery: len(remote.InProgress)}
	for _, held := range local.InProgress {
		if held.Priority == deletePriority || held.Priority == deletePriorityNearFull {
			r.Deletion++
		} else {
			r.Recovery++
		}
	}
	return r, nil
}

type reserver struct {
	InProgress []struct {
		Priority int `json:"prio"`
	} `json:"in_progress"`
}

func decodeReserver(raw json.RawMessage) (reserver, error) {
	var fields struct {
		InProgress *json.RawMessage `json:"in_progress"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return reserver{}, err
	}
	if fields.InProgress == nil {
		return reserver{}, fmt.Errorf("no in_progress")
	}
	var r reserver
	err := json.Unmarshal(raw, &r)
	return r, err
}

// DecodeOptions reads the answer to `config show`: every option's running value
// as text.
func DecodeOptions(answer []byte) (map[string]string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(answer, &all); err != nil {
		return nil, fmt.Errorf("decode config show: %w", err)
	}
	options := make(map[string]string, len(all))
	for name, raw := range all {
		var text string
		// The odd value that is no string is none of those read here.
		if json.Unmarshal(raw, &text) == nil {
			options[name] = strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	if len(options) == 0 {
		return nil, fmt.Errorf("decode config show: no options")
	}
	return options, nil
}
