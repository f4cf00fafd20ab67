package ceph

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Version is a Ceph release, compared part by part.
type Version struct {
	Major, Minor, Patch int
}

// String returns it as in "18.2.7".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare orders versions, the older first.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch))
}

var errBadVersion = errors.New("not a Ceph version")

// ParseVersion reads "ceph version 16.2.15 (618f...) pacific (stable)", or the
// number alone; what development builds append to it is dropped.
func ParseVersion(text string) (Version, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(text, "ceph version "), " ")
	number, _, _ = strings.Cut(number, "-")
	parts := strings.Split(number, ".")
	var v [3]int
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || len(parts) != len(v) {
			return Version{}, fmt.Errorf("version %q: %w", clip([]byte(text)), errBadVersion)
		}
		v[i] = int(n)
	}
	return Version{v[0], v[1], v[2]}, nil
}

// DecodeVersion decodes the answer of `version`: that of the mon which
// answered.
func DecodeVersion(data []byte) (Version, error) {
	const what = "version"
	var raw struct {
		Version *string `json:"version"`
	}
	if _, err := decode(what, data, &raw); err != nil {
		return Version{}, err
	}
	if raw.Version == nil {
		return Version{}, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	v, err := ParseVersion(*raw.Version)
	if err != nil {
		return Version{}, fmt.Errorf("decode %s: %w", what, err)
	}
	return v, nil
}

// DecodeVersions decodes the answer of `versions`: daemons per version, by
// kind of daemon ("mon", "mgr", "osd", ...; "overall" is the sum of all).
func DecodeVersions(data []byte) (map[string]map[Version]int, error) {
	const what = "versions"
	var raw map[string]map[string]int
	if _, err := decode(what, data, &raw); err != nil {
		return nil, err
	}
	if raw["overall"] == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	out := make(map[string]map[Version]int, len(raw))
	for kind, counts := range raw {
		out[kind] = make(map[Version]int, len(counts))
		for text, n := range counts {
			v, err := ParseVersion(text)
			if err != nil {
				return nil, fmt.Errorf("decode %s: %s: %w", what, kind, err)
			}
			out[kind][v] += n
		}
	}
	return out, nil
}

// MgrMap is what `mgr dump` says.
type MgrMap struct {
	Epoch        int64
	Active       string // the active mgr's name; empty if there is none
	Available    bool   // whether it can answer
	ActiveChange Stamp  // since when it is active
}

// DecodeMgrMap decodes the answer of `mgr dump`.
func DecodeMgrMap(data []byte) (*MgrMap, error) {
	const what = "mgr dump"
	var raw struct {
		Epoch     *int64  `json:"epoch"`
		Active    *string `json:"active_name"`
		Available *bool   `json:"available"`
		Change    *string `json:"active_change"`
	}
	if _, err := decode(what, data, &raw); err != nil {
		return nil, err
	}
	if raw.Epoch == nil || raw.Active == nil || raw.Available == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	m := &MgrMap{Epoch: *raw.Epoch, Active: *raw.Active, Available: *raw.Available, ActiveChange: NoStamp}
	if raw.Change != nil {
		var err error
		if m.ActiveChange, err = ParseStamp([]byte(*raw.Change)); err != nil {
			return nil, fmt.Errorf("decode %s: active_change: %q: %w", what, clip([]byte(*raw.Change)), err)
		}
	}
	return m, nil
}
