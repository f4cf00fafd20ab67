package ceph

import (
	"errors"
	"fmt"
	"strings"
)

// ErrForeign: the answer is JSON, and not what the command answers with.
var ErrForeign = errors.New("not the answer of this command")

// OSDMap is what `osd dump` says of the cluster.
type OSDMap struct {
	FSID              string
	Epoch             int64
	Flags             []string // cluster flags that are set: "noscrub", "nodeep-scrub", ...
	RequireOSDRelease string   // "pacific", "reef", "tentacle"
	Pools             []Pool
	OSDs              []OSD
	// NodeFlags are flags of OSDs below a CRUSH node, by the node's name, and
	// ClassFlags those of a device class: `ceph osd set-group`.
	NodeFlags, ClassFlags map[string][]string
}

// Pool is an entry of pools.
type Pool struct {
	ID             int32
	Name           string
	Type           PoolType
	Size, MinSize  int // copies, or chunks of an erasure-coded pool
	PGNum          int
	CrushRule      int
	Flags          []string // flags_names: "hashpspool", "noscrub", "nodeep-scrub", ...
	ErasureProfile string   // empty for a replicated pool
	Options        PoolOptions
}

// PoolType is Ceph's own number for the kind of a pool.
type PoolType int

// The pool types that exist.
const (
	PoolReplicated PoolType = 1
	PoolErasure    PoolType = 3
)

// String returns the label value.
func (t PoolType) String() string {
	switch t {
	case PoolReplicated:
		return "replicated"
	case PoolErasure:
		return "erasure"
	}
	return "unknown"
}

// PoolOptions are the scrub options that a pool can override: nil is not set,
// which is not the same text as 0 or a negative number, though for most
// purposes Ceph treats all three alike. Seconds, but for the priority.
type PoolOptions struct {
	ScrubMinInterval  *float64 `json:"scrub_min_interval"`
	ScrubMaxInterval  *float64 `json:"scrub_max_interval"`
	DeepScrubInterval *float64 `json:"deep_scrub_interval"`
	ScrubPriority     *int64   `json:"scrub_priority"`
}

// OSD is an entry of osds.
type OSD struct {
	ID     int32
	UUID   string
	Up, In bool
	Weight float64  // 0 to 1
	State  []string // "exists", "up", ..., and flags of its own such as "noout"
}

// HasFlag reports whether that cluster flag is set.
func (m *OSDMap) HasFlag(flag string) bool { return hasFlag(m.Flags, flag) }

// OSDHasFlag reports whether that flag holds for the OSD: set for the cluster,
// the OSD itself, its device class, or the CRUSH node that has its host's name.
// Flags of nodes further up, such as racks, are not found.
func (m *OSDMap) OSDHasFlag(o *OSD, host, class, flag string) bool {
	short, _, _ := strings.Cut(host, ".")
	return m.HasFlag(flag) || hasFlag(o.State, flag) || hasFlag(m.ClassFlags[class], flag) ||
		hasFlag(m.NodeFlags[host], flag) || hasFlag(m.NodeFlags[short], flag)
}

// HasFlag reports whether that pool flag is set.
func (p *Pool) HasFlag(flag string) bool { return hasFlag(p.Flags, flag) }

func hasFlag(flags []string, flag string) bool {
	for _, f := range flags {
		if f == flag {
			return true
		}
	}
	return false
}

// DecodeOSDMap decodes the answer of `osd dump`.
func DecodeOSDMap(data []byte) (*OSDMap, error) {
	var raw struct {
		FSID     *string   `json:"fsid"`
		Epoch    *int64    `json:"epoch"`
		Flags    *string   `json:"flags"`
		FlagsSet []string  `json:"flags_set"`
		Release  string    `json:"require_osd_release"`
		Pools    []rawPool `json:"pools"`
		OSDs     []rawOSD  `json:"osds"`

		NodeFlags  map[string][]string `json:"crush_node_flags"`
		ClassFlags map[string][]string `json:"device_class_flags"`
	}
	const what = "osd dump"
	if _, err := decode(what, data, &raw); err != nil {
		return nil, err
	}
	if raw.FSID == nil || raw.Epoch == nil || raw.Pools == nil || raw.OSDs == nil || raw.Flags == nil && raw.FlagsSet == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	m := &OSDMap{
		FSID: *raw.FSID, Epoch: *raw.Epoch, Flags: raw.FlagsSet, RequireOSDRelease: raw.Release,
		Pools: make([]Pool, 0, len(raw.Pools)), OSDs: make([]OSD, 0, len(raw.OSDs)),
		NodeFlags: raw.NodeFlags, ClassFlags: raw.ClassFlags,
	}
	if m.Flags == nil {
		m.Flags = list(*raw.Flags)
	}
	for i := range raw.Pools {
		pool, err := raw.Pools[i].pool()
		if err != nil {
			return nil, fmt.Errorf("decode %s: pools[%d]: %w", what, i, err)
		}
		m.Pools = append(m.Pools, pool)
	}
	for i := range raw.OSDs {
		osd, err := raw.OSDs[i].osd()
		if err != nil {
			return nil, fmt.Errorf("decode %s: osds[%d]: %w", what, i, err)
		}
		m.OSDs = append(m.OSDs, osd)
	}
	return m, nil
}

// list splits a comma-separated list; the empty text is the empty list.
func list(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ",")
}

type rawPool struct {
	ID             *int32      `json:"pool"`
	Name           *string     `json:"pool_name"`
	Type           *PoolType   `json:"type"`
	Size           *int        `json:"size"`
	MinSize        *int        `json:"min_size"`
	PGNum          *int        `json:"pg_num"`
	CrushRule      *int        `json:"crush_rule"`
	Flags          *string     `json:"flags_names"`
	ErasureProfile string      `json:"erasure_code_profile"`
	Options        PoolOptions `json:"options"`
}

func (r *rawPool) pool() (Pool, error) {
	var m missing
	p := Pool{
		ID: need(&m, "pool", r.ID), Name: need(&m, "pool_name", r.Name), Type: need(&m, "type", r.Type),
		Size: need(&m, "size", r.Size), MinSize: need(&m, "min_size", r.MinSize), PGNum: need(&m, "pg_num", r.PGNum),
		CrushRule: need(&m, "crush_rule", r.CrushRule), Flags: list(need(&m, "flags_names", r.Flags)),
		Options: r.Options,
	}
	if p.Type == PoolErasure {
		p.ErasureProfile = r.ErasureProfile
	}
	return p, m.err
}

type rawOSD struct {
	ID     *int32   `json:"osd"`
	UUID   string   `json:"uuid"`
	Up     *int     `json:"up"`
	In     *int     `json:"in"`
	Weight *float64 `json:"weight"`
	State  []string `json:"state"`
}

func (r *rawOSD) osd() (OSD, error) {
	var m missing
	return OSD{
		ID: need(&m, "osd", r.ID), UUID: r.UUID, Up: need(&m, "up", r.Up) != 0, In: need(&m, "in", r.In) != 0,
		Weight: need(&m, "weight", r.Weight), State: r.State,
	}, m.err
}

// missing holds the first key that was needed and not there.
type missing struct{ err error }

func need[T any](m *missing, key string, value *T) T {
	if value != nil {
		return *value
	}
	if m.err == nil {
		m.err = fmt.Errorf("%s: %w", key, errMissing)
	}
	var zero T
	return zero
}
