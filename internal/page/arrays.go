package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa"
)

// arrays is the section about HPE MSA arrays.
type arrays struct {
	Notices []notice
	Rows    []*array
	More    *More
}

type array struct {
	Name, Model string
	Up          bool
	Href        string
	Last        *Instant
	Parts       []part // those that are not fine
	MoreParts   *More
	Fine        *Num
	Jobs        []reason
	worst       int
}

// Codes of a part's health that call for attention, and how much.
var healthRank = map[float64]int{1: 1, 2: 2, 3: 1} // degraded, fault, unknown

func (v *overview) arrays() arrays {
	const health = "cephrisk_msa_health_code"
	s := arrays{}
	all := map[string]*array{}
	v.each("cephrisk_msa_up", func(m Sample) {
		name := m.Get("array")
		x := &array{Name: name, Up: m.Value > 0, Href: series("cephrisk_msa_up", "array", name)}
		if !x.Up {
			x.worst = 3
		}
		all[name] = x
		s.Rows = append(s.Rows, x)
	})
	of := func(m Sample) *array { return all[m.Get("array")] }
	v.each("cephrisk_msa_info", func(m Sample) {
		if x := of(m); x != nil {
			x.Model = clip(strings.TrimSpace(m.Get("vendor")+" "+m.Get("product")), 80)
		}
	})
	v.each("cephrisk_msa_last_success_timestamp_seconds", func(m Sample) {
		if x := of(m); x != nil {
			i := at(instant(m.Value), v.now)
			x.Last = &i
		}
	})
	fine := map[string]float64{}
	v.each(health, func(m Sample) {
		x := of(m)
		if x == nil {
			return
		}
		if m.Value == 0 {
			fine[x.Name]++
		}
		if level := healthRank[m.Value]; level > 0 {
			x.worst = max(x.worst, level)
			x.Parts = append(x.Parts, part{
				Name: strings.ReplaceAll(m.Get("object"), "_", " ") + " " + clip(m.Get("id"), 60), Status: healthWord(m.Value), severity: level,
				Href: series(health, "array", x.Name, "object", m.Get("object"), "id", m.Get("id")),
			})
		}
	})
	v.each("cephrisk_msa_jobs_running", func(m Sample) {
		if x := of(m); x != nil && m.Value > 0 {
			x.Jobs = append(x.Jobs, reason{m.Get("task"), num(count(m.Value), "cephrisk_msa_jobs_running", "array", x.Name, "task", m.Get("task"))})
		}
	})
	for _, x := range s.Rows {
		x.finish(fine[x.Name], health)
	}
	order(s.Rows, func(a, b *array) int { return cmp.Compare(b.worst, a.worst) }, func(a, b *array) int { return natural(a.Name, b.Name) })
	var n int
	s.Rows, n = first(s.Rows, maxRows)
	s.More = more(n, "arrays", "cephrisk_msa_up")
	s.Notices = v.notices(len(s.Rows) > 0, "No array is configured.", "msa")
	return s
}

func (x *array) finish(fine float64, health string) {
	order(x.Parts, func(a, b part) int { return cmp.Compare(b.severity, a.severity) }, func(a, b part) int { return natural(a.Name, b.Name) })
	slices.SortFunc(x.Jobs, func(a, b reason) int { return strings.Compare(a.Text, b.Text) })
	var n int
	x.Parts, n = first(x.Parts, maxParts)
	x.MoreParts = more(n, "parts", health, "array", x.Name)
	if fine > 0 {
		x.Fine = num(count(fine), health, "array", x.Name)
	}
}

func healthWord(code float64) string {
	for _, v := range msa.HealthValues {
		if float64(v.Code) == code {
			return strings.ToLower(v.Text)
		}
	}
	return fmt.Sprintf("code %v", code)
}
