package ceph

import (
	"fmt"
	"strconv"
)

// OSDUsage is a row of `osd df`. What the answer does not have is nil: older
// releases lack keys, and an OSD that has not reported has nan for ratios.
type OSDUsage struct {
	ID          int32
	DeviceClass string // empty if it has none
	Status      string // up, down, destroyed; empty if the answer does not say
	Reweight    *float64
	CrushWeight *float64
	PGs         *int64
	// Bytes, to the KiB that Ceph rounds to. Meta is an estimate that can be
	// negative; on FileStore it is always 0 and means nothing.
	Size, Used, Avail *int64
	Data, Omap, Meta  *int64
	Utilization, Var  *float64 // percent; relative to the average
}

// SizeKnown reports whether the OSD has a size, without which no share of it
// makes sense: an OSD that is up can have 0 for all its sizes.
func (u *OSDUsage) SizeKnown() bool { return u.Size != nil && *u.Size > 0 }

// Unaccounted returns the bytes that are used and are neither data, omap nor
// meta; false if one of the four is absent.
func (u *OSDUsage) Unaccounted() (int64, bool) {
	if u.Used == nil || u.Data == nil || u.Omap == nil || u.Meta == nil {
		return 0, false
	}
	return *u.Used - *u.Data - *u.Omap - *u.Meta, true
}

// OSDUsages is what `osd df` says.
type OSDUsages struct {
	OSDs            []OSDUsage
	Stray           []OSDUsage // OSDs that the CRUSH map does not have
	SanitisedTokens int        // bare nan and inf in the answer
}

// DecodeOSDUsages decodes the answer of `osd df` or `osd df tree`. Rows that
// are not OSDs are left out, and an OSD below several roots counts once.
func DecodeOSDUsages(data []byte) (*OSDUsages, error) {
	const what = "osd df"
	var raw struct {
		Nodes []rawUsage `json:"nodes"`
		Stray []rawUsage `json:"stray"`
	}
	nonFinite, err := decode(what, data, &raw)
	if err != nil {
		return nil, err
	}
	if raw.Nodes == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	u := &OSDUsages{SanitisedTokens: nonFinite}
	if u.OSDs, err = usages(raw.Nodes); err != nil {
		return nil, fmt.Errorf("decode %s: nodes: %w", what, err)
	}
	if u.Stray, err = usages(raw.Stray); err != nil {
		return nil, fmt.Errorf("decode %s: stray: %w", what, err)
	}
	return u, nil
}

type rawUsage struct {
	ID          *int32   `json:"id"`
	Type        *string  `json:"type"`
	DeviceClass string   `json:"device_class"`
	Status      string   `json:"status"`
	Reweight    *float64 `json:"reweight"`
	CrushWeight *float64 `json:"crush_weight"`
	PGs         *int64   `json:"pgs"`
	Size        *int64   `json:"kb"`
	Used        *int64   `json:"kb_used"`
	Data        *int64   `json:"kb_used_data"`
	Omap        *int64   `json:"kb_used_omap"`
	Meta        *int64   `json:"kb_used_meta"`
	Avail       *int64   `json:"kb_avail"`
	Utilization *float64 `json:"utilization"`
	Var         *float64 `json:"var"`
}

// usages keeps the rows that are OSDs. Buckets have negative ids.
func usages(raw []rawUsage) ([]OSDUsage, error) {
	seen := make(map[int32]bool, len(raw))
	out := make([]OSDUsage, 0, len(raw))
	for i := range raw {
		r := &raw[i]
		if r.ID == nil || *r.ID < 0 || r.Type != nil && *r.Type != "osd" || seen[*r.ID] {
			continue
		}
		seen[*r.ID] = true
		u := OSDUsage{
			ID: *r.ID, DeviceClass: r.DeviceClass, Status: r.Status, Reweight: r.Reweight, CrushWeight: r.CrushWeight,
			PGs: r.PGs, Utilization: r.Utilization, Var: r.Var,
			Size: r.Size, Used: r.Used, Avail: r.Avail, Data: r.Data, Omap: r.Omap, Meta: r.Meta,
		}
		for _, kib := range []*int64{u.Size, u.Used, u.Avail, u.Data, u.Omap, u.Meta} {
			if kib == nil {
				continue
			}
			if *kib>>50 != 0 && *kib>>50 != -1 {
				return nil, fmt.Errorf("osd.%d: %d KiB: %w", u.ID, *kib, strconv.ErrRange)
			}
			*kib <<= 10
		}
		out = append(out, u)
	}
	return out, nil
}

// StatFS is an OSD's own account of its space, in bytes.
type StatFS struct {
	OSD       int32
	Total     *int64
	Available *int64
	Reserved  *int64 // internally_reserved
	Allocated *int64
	Stored    *int64 // data_stored
	// Omap and Meta are omap_allocated and internal_metadata: estimates, which
	// can be negative although Ceph prints them unsigned here.
	Omap, Meta *int64
}

// DecodeStatFS decodes the answer of `pg dump osds`: exact bytes where `osd
// df` rounds to KiB. The first result is the mgr's pg_ready.
func DecodeStatFS(data []byte) (bool, []StatFS, error) {
	const what = "pg dump osds"
	type wrapped = *unsigned
	var raw struct {
		Ready *bool `json:"pg_ready"`
		OSDs  []struct {
			ID     *int32 `json:"osd"`
			StatFS struct {
				Total     wrapped `json:"total"`
				Available wrapped `json:"available"`
				Reserved  wrapped `json:"internally_reserved"`
				Allocated wrapped `json:"allocated"`
				Stored    wrapped `json:"data_stored"`
				Omap      wrapped `json:"omap_allocated"`
				Meta      wrapped `json:"internal_metadata"`
			} `json:"statfs"`
		} `json:"osd_stats"`
	}
	if _, err := decode(what, data, &raw); err != nil {
		return false, nil, err
	}
	if raw.Ready == nil {
		return false, nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	out := make([]StatFS, 0, len(raw.OSDs))
	for i := range raw.OSDs {
		r := &raw.OSDs[i]
		if r.ID == nil {
			return false, nil, fmt.Errorf("decode %s: osd_stats[%d]: osd: %w", what, i, errMissing)
		}
		s := &r.StatFS
		out = append(out, StatFS{
			OSD: *r.ID, Total: (*int64)(s.Total), Available: (*int64)(s.Available), Reserved: (*int64)(s.Reserved),
			Allocated: (*int64)(s.Allocated), Stored: (*int64)(s.Stored), Omap: (*int64)(s.Omap), Meta: (*int64)(s.Meta),
		})
	}
	return *raw.Ready, out, nil
}

// unsigned is a signed number that Ceph prints unsigned: -1 comes as 2^64-1.
type unsigned int64

func (u *unsigned) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*u = unsigned(v)
		return nil
	}
	v, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("%q: %w", clip(text), errNotCount)
	}
	*u = unsigned(v)
	return nil
}
