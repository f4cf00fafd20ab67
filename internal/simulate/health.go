package simulate

import (
	"encoding/json"
	"fmt"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
)

// detailLines is where Ceph cuts the list of late PGs.
const detailLines = 50

type healthDetail struct {
	Message string `json:"message"`
}

type healthCheck struct {
	Severity string `json:"severity"`
	Summary  struct {
		Message string `json:"message"`
		Count   int    `json:"count"`
	} `json:"summary"`
	Detail *[]healthDetail `json:"detail,omitempty"`
	Muted  bool            `json:"muted"`
}

// health answers with the checks that the PGs raise, by the rule of
// PGMap::get_health_checks (ceph src/mon/PGMap.cc).
func (c *Cluster) health(cmd *command) ([]byte, error) {
	var answer struct {
		Status string                 `json:"status"`
		Checks map[string]healthCheck `json:"checks"`
		Mutes  []struct{}             `json:"mutes"`
	}
	answer.Status = "HEALTH_OK"
	answer.Checks = map[string]healthCheck{}
	answer.Mutes = []struct{}{}
	raise := func(name, severity, message string, count int, detail []healthDetail) {
		if count == 0 {
			return
		}
		k := healthCheck{Severity: severity}
		k.Summary.Message, k.Summary.Count = message, count
		if cmd.Detail == "detail" {
			k.Detail = &detail
		}
		answer.Checks[name] = k
		if answer.Status != "HEALTH_ERR" {
			answer.Status = severity
		}
	}
	n, lines := c.late(false)
	raise("PG_NOT_SCRUBBED", "HEALTH_WARN", fmt.Sprintf("%d pgs not scrubbed in time", n), n, lines)
	n, lines = c.late(true)
	raise("PG_NOT_DEEP_SCRUBBED", "HEALTH_WARN", fmt.Sprintf("%d pgs not deep-scrubbed in time", n), n, lines)
	c.damage(raise)
	c.flagged(raise)
	return json.Marshal(answer)
}

// late counts the PGs that have not been scrubbed in time and lists the first.
func (c *Cluster) late(deep bool) (int, []healthDetail) {
	n := 0
	var lines []healthDetail
	for i := range c.pools {
		p := &c.pools[i]
		limit := (1 + warnRatio) * c.maxInterval(p)
		if deep {
			limit = (1 + warnDeepRatio) * c.deepInterval(p)
		}
		before := c.clock - ceph.Stamp(limit*1e6)
		for k := p.first; k < p.first+p.pgs; k++ {
			g := &c.pgs[k]
			at, what := g.LastScrub, "scrubbed"
			if deep {
				at, what = g.LastDeepScrub, "deep-scrubbed"
			}
			if at >= before {
				continue
			}
			n++
			if n <= detailLines {
				lines = append(lines, healthDetail{fmt.Sprintf("pg %d.%x not %s since %s", g.ID.Pool, g.ID.Seed, what, stampText(at))})
			}
		}
	}
	if n > detailLines {
		lines = append(lines, healthDetail{fmt.Sprintf("%d more pgs... ", n-detailLines)})
	}
	return n, lines
}

type raiser func(name, severity, message string, count int, detail []healthDetail)

func (c *Cluster) damage(raise raiser) {
	errors, degraded := 0, 0
	var damaged, lines []healthDetail
	for i := range c.pgs {
		g := &c.pgs[i]
		text := func() string {
			return fmt.Sprintf("pg %d.%x is %s, acting %s", g.ID.Pool, g.ID.Seed, appendState(nil, g.State), setText(c.sets[g.Acting]))
		}
		if g.State.Has(ceph.StateInconsistent) {
			errors += int(g.DeepErrors)
			damaged = append(damaged, healthDetail{text()})
		}
		if g.State.Has(ceph.StateDegraded) {
			degraded++
			lines = append(lines, healthDetail{text()})
		}
	}
	raise("OSD_SCRUB_ERRORS", "HEALTH_ERR", fmt.Sprintf("%d scrub errors", errors), errors, []healthDetail{})
	raise("PG_DAMAGED", "HEALTH_ERR", fmt.Sprintf("Possible data damage: %d pgs inconsistent", len(damaged)), len(damaged), damaged)
	raise("PG_DEGRADED", "HEALTH_WARN", fmt.Sprintf("Degraded data redundancy: %d pgs degraded", degraded), degraded, lines)
}

func (c *Cluster) flagged(raise raiser) {
	set := c.flagNames()
	if set != "" {
		raise("OSDMAP_FLAGS", "HEALTH_WARN", set+" flag(s) set", 1, []healthDetail{})
	}
}

// flagNames are the flags that are set, joined by commas.
func (c *Cluster) flagNames() string {
	s := ""
	for _, name := range [...]string{"noscrub", "nodeep-scrub"} {
		if c.flags[name] {
			if s != "" {
				s += ","
			}
			s += name
		}
	}
	return s
}

func setText(set []int32) string {
	b := []byte{'['}
	for i, o := range set {
		if i > 0 {
			b = append(b, ',')
		}
		if o == ceph.NoOSD {
			b = append(b, "NONE"...)
			continue
		}
		b = fmt.Append(b, o)
	}
	return string(append(b, ']'))
}
