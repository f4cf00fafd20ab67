package ceph

import (
	"fmt"
	"strconv"
	"strings"
)

// Health is what `health detail` says.
type Health struct {
	Status string // HEALTH_OK, HEALTH_WARN or HEALTH_ERR
	Checks map[string]HealthCheck
	Mutes  []HealthMute
}

// HealthCheck is one check that is raised.
type HealthCheck struct {
	Severity string
	Message  string
	// Count is Ceph's own number of what the check is about; nil where neither
	// the answer nor its message has one. It is never the number of details,
	// which Ceph cuts off (mon_health_max_detail, 50).
	Count *int64
	Muted bool
	// Detail are the lines as they are, "1111 more pgs... " included.
	Detail []string
}

// HealthMute is a check that somebody has silenced, raised or not.
type HealthMute struct {
	Code   string `json:"code"`
	Sticky bool   `json:"sticky"`
	TTL    string `json:"ttl"` // an instant; empty where the mute has no end
}

// PGs returns the ids of the PGs that the details name, in their order. They
// are all of them only if Ceph did not cut the details off.
func (c *HealthCheck) PGs() []PGID {
	var ids []PGID
	for _, line := range c.Detail {
		rest, ok := strings.CutPrefix(line, "pg ")
		word, _, _ := strings.Cut(rest, " ")
		if id, valid := parsePGID([]byte(word)); ok && valid {
			ids = append(ids, id)
		}
	}
	return ids
}

// DecodeHealth decodes the answer of `health detail`, or of `health`.
func DecodeHealth(data []byte) (*Health, error) {
	var raw struct {
		Status  string `json:"status"`
		Overall string `json:"overall_status"`
		Checks  map[string]struct {
			Severity string `json:"severity"`
			Summary  struct {
				Message string `json:"message"`
				Count   *int64 `json:"count"`
			} `json:"summary"`
			Detail []struct {
				Message string `json:"message"`
			} `json:"detail"`
			Muted bool `json:"muted"`
		} `json:"checks"`
		Mutes   []HealthMute `json:"mutes"`
		Summary []struct {
			Severity string `json:"severity"`
			Summary  string `json:"summary"`
		} `json:"summary"`
	}
	const what = "health detail"
	if _, err := decode(what, data, &raw); err != nil {
		return nil, err
	}
	if raw.Status == "" {
		raw.Status = raw.Overall
	}
	if raw.Status == "" || raw.Checks == nil && raw.Summary == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	h := &Health{Status: raw.Status, Checks: make(map[string]HealthCheck, len(raw.Checks)), Mutes: raw.Mutes}
	for name, r := range raw.Checks {
		c := HealthCheck{Severity: r.Severity, Message: r.Summary.Message, Count: r.Summary.Count, Muted: r.Muted}
		if c.Count == nil {
			c.Count = countIn(c.Message)
		}
		for _, line := range r.Detail {
			c.Detail = append(c.Detail, line.Message)
		}
		h.Checks[name] = c
	}
	if raw.Checks == nil {
		for _, r := range raw.Summary {
			if name := oldCheck(r.Summary); name != "" {
				h.Checks[name] = HealthCheck{Severity: r.Severity, Message: r.Summary, Count: countIn(r.Summary)}
			}
		}
	}
	return h, nil
}

// countIn returns the number that a message begins with, or that follows its
// first colon: "1161 pgs not deep-scrubbed in time", "Possible data damage: 3
// pgs inconsistent". Shares such as "1/3 mons down" are none.
func countIn(message string) *int64 {
	_, behind, _ := strings.Cut(message, ": ")
	for _, text := range []string{message, behind} {
		word, _, more := strings.Cut(text, " ")
		if n, err := strconv.ParseUint(word, 10, 63); err == nil && more {
			count := int64(n)
			return &count
		}
	}
	return nil
}

// oldCheck names the checks of interest in answers that have texts alone.
func oldCheck(summary string) string {
	switch {
	case strings.Contains(summary, " not deep-scrubbed"):
		return "PG_NOT_DEEP_SCRUBBED"
	case strings.Contains(summary, " not scrubbed"):
		return "PG_NOT_SCRUBBED"
	}
	return ""
}
