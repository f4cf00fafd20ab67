package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure"
)

// shelves is the section about enclosures.
type shelves struct {
	Notices []notice
	Rows    []*shelf
	More    *More
}

type shelf struct {
	ID, Title  string
	Href       string
	Present    bool
	Conditions []string
	IOMs       *Num
	Slots      []*slot
	MoreSlots  *More
	Parts      []part // those that are not fine
	MoreParts  *More
	Fine       *Num // elements with status ok
	worst      int
	ups, ioms  float64
	order      map[string]*slot
}

// slot is one place for a disk.
type slot struct {
	Label, Name string
	OSDs        []string
	State       string // ok, warn, bad, empty, locate, unknown: also the class
	Word, Sign  string
	Href        string
}

type part struct {
	Name, Status, Href string
	severity           int
}

// States of a slot from harmless to severe, with the sign that tells them apart
// without colour.
var slotStates = []struct{ name, sign string }{
	{"ok", "✓"}, {"empty", "·"}, {"unknown", "?"}, {"locate", "◎"}, {"warn", "!"}, {"bad", "✕"},
}

func (v *overview) shelves() shelves {
	s := shelves{}
	all := map[string]*shelf{}
	v.each("cephrisk_enclosure_info", func(m Sample) {
		id := m.Get("enclosure_id")
		all[id] = &shelf{
			ID: id, Title: clip(strings.TrimSpace(m.Get("vendor")+" "+m.Get("product")), 80), Present: true,
			Href: series("cephrisk_enclosure_present", "enclosure_id", id), order: map[string]*slot{},
		}
	})
	v.fillSlots(all)
	v.fillParts(all)
	of := func(m Sample) *shelf { return all[m.Get("enclosure_id")] }
	v.each("cephrisk_enclosure_present", func(m Sample) {
		if x := of(m); x != nil && m.Value == 0 {
			x.Present, x.worst = false, len(slotStates)
		}
	})
	v.each("cephrisk_enclosure_condition", func(m Sample) {
		if x := of(m); x != nil && m.Value > 0 {
			x.Conditions = append(x.Conditions, m.Get("condition"))
		}
	})
	v.each("cephrisk_enclosure_service_processor_up", func(m Sample) {
		if x := of(m); x != nil {
			x.ups, x.ioms = x.ups+m.Value, x.ioms+1
		}
	})
	for _, x := range all {
		slices.Sort(x.Conditions)
		x.finish()
		s.Rows = append(s.Rows, x)
	}
	order(s.Rows, func(a, b *shelf) int { return cmp.Compare(b.worst, a.worst) }, func(a, b *shelf) int { return natural(a.ID, b.ID) })
	var n int
	s.Rows, n = first(s.Rows, maxShelves)
	s.More = more(n, "shelves", "cephrisk_enclosure_present")
	s.Notices = v.notices(len(s.Rows) > 0, "This host sees no shelf with a SES processor, and remembers none.", "enclosure")
	return s
}

// fillSlots reads slots and what is in them.
func (v *overview) fillSlots(all map[string]*shelf) {
	codes := map[string]float64{}
	key := func(m Sample) string {
		return m.Get("enclosure_id") + "\xff" + m.Get("type") + "\xff" + m.Get("element")
	}
	v.each("cephrisk_enclosure_element_status_code", func(m Sample) { codes[key(m)] = m.Value })
	find := func(m Sample) *slot {
		if x := all[m.Get("enclosure_id")]; x != nil {
			return x.at(m.Get("slot"))
		}
		return nil
	}
	v.each("cephrisk_enclosure_slot_info", func(m Sample) {
		s := find(m)
		if s == nil {
			return
		}
		s.Name, s.State = clip(m.Get("name"), 60), "unknown"
		s.Href = series("cephrisk_enclosure_slot_info", "enclosure_id", m.Get("enclosure_id"), "slot", s.Label)
		code, known := codes[key(m)]
		if known {
			s.judge(enclosure.StatusCode(code))
		}
	})
	v.each("cephrisk_enclosure_slot_occupied", func(m Sample) {
		if s := find(m); s != nil && m.Value == 0 && severity(s.State) <= severity("unknown") {
			s.State, s.Word = "empty", "empty"
		}
	})
	for _, f := range []struct{ name, state, word string }{
		{"cephrisk_enclosure_slot_locate", "locate", "locate LED"},
		{"cephrisk_enclosure_slot_fault_requested", "warn", "fault LED"},
		{"cephrisk_enclosure_slot_predicted_failure", "warn", "failure predicted"},
		{"cephrisk_enclosure_slot_fault_sensed", "bad", "fault"},
	} {
		v.each(f.name, func(m Sample) {
			if s := find(m); s != nil && m.Value > 0 {
				s.is(f.state, f.word)
			}
		})
	}
	down := map[string]bool{}
	v.each("cephrisk_osd_up", func(m Sample) { down[m.Get("ceph_daemon")] = m.Value == 0 })
	v.each("cephrisk_enclosure_slot_osd_info", func(m Sample) {
		s := find(m)
		if s == nil {
			return
		}
		osd := m.Get("ceph_daemon")
		if role := m.Get("role"); role != "block" {
			osd += " " + role
		}
		s.OSDs = append(s.OSDs, osd)
		s.Href = series("cephrisk_enclosure_slot_osd_info", "enclosure_id", m.Get("enclosure_id"), "slot", s.Label)
		if s.State == "empty" {
			s.is("warn", "disk gone")
		}
		if down[m.Get("ceph_daemon")] {
			s.is("warn", "OSD down")
		}
	})
}

// at returns the slot with that label. A slot of a shelf that has gone is known
// from its OSDs only.
func (x *shelf) at(label string) *slot {
	if x.order[label] == nil {
		x.order[label] = &slot{Label: clip(label, 20), State: "unknown", Word: "no status"}
	}
	return x.order[label]
}

// judge takes the enclosure's own word for the slot.
func (s *slot) judge(code enclosure.StatusCode) {
	s.Word = strings.ReplaceAll(code.String(), "_", " ")
	switch code {
	case enclosure.StatusOK:
		s.State = "ok"
	case enclosure.StatusNotInstalled:
		s.State, s.Word = "empty", "empty"
	case enclosure.StatusNoncritical:
		s.State = "warn"
	case enclosure.StatusCritical, enclosure.StatusUnrecoverable:
		s.State = "bad"
	}
}

// is raises the state, but never lowers it.
func (s *slot) is(state, word string) {
	if severity(state) >= severity(s.State) {
		s.State, s.Word = state, word
	}
}

func severity(state string) int {
	for i, s := range slotStates {
		if s.name == state {
			return i
		}
	}
	return 0
}

// fillParts lists the elements other than slots that are not fine.
func (v *overview) fillParts(all map[string]*shelf) {
	names := map[string]string{}
	key := func(m Sample) string {
		return m.Get("enclosure_id") + "\xff" + m.Get("type") + "\xff" + m.Get("element")
	}
	v.each("cephrisk_enclosure_element_info", func(m Sample) { names[key(m)] = clip(m.Get("name"), 60) })
	slots := map[string]bool{}
	v.each("cephrisk_enclosure_slot_info", func(m Sample) { slots[key(m)] = true })
	v.each("cephrisk_enclosure_element_status_code", func(m Sample) {
		x, code := all[m.Get("enclosure_id")], enclosure.StatusCode(m.Value)
		if x == nil || slots[key(m)] {
			return
		}
		level := map[enclosure.StatusCode]int{enclosure.StatusNoncritical: 1, enclosure.StatusCritical: 2, enclosure.StatusUnrecoverable: 3}[code]
		if level == 0 {
			return
		}
		text := fmt.Sprintf("%s %s", strings.ReplaceAll(m.Get("type"), "_", " "), m.Get("element"))
		if name := names[key(m)]; name != "" {
			text += " (" + name + ")"
		}
		x.worst = max(x.worst, level)
		x.Parts = append(x.Parts, part{
			Name: text, Status: code.String(), severity: level,
			Href: series("cephrisk_enclosure_element_status_code", "enclosure_id", x.ID, "type", m.Get("type"), "element", m.Get("element")),
		})
	})
	fine := v.byLabel("cephrisk_enclosure_elements", "enclosure_id", "status", "ok")
	for id, x := range all {
		if n, ok := fine[id]; ok {
			x.Fine = num(count(n), "cephrisk_enclosure_elements", "enclosure_id", id, "status", "ok")
		}
	}
}

// finish puts what was collected in order and within bounds.
func (x *shelf) finish() {
	for _, label := range sortedKeys(x.order) {
		s := x.order[label]
		s.Sign = slotStates[severity(s.State)].sign
		slices.SortFunc(s.OSDs, natural)
		if rest := len(s.OSDs) - 2; rest > 0 { // the DB device of many
			s.OSDs = append(s.OSDs[:2], fmt.Sprintf("and %d more", rest))
		}
		if s.Href == "" {
			s.Href = series("cephrisk_enclosure_slot_occupied", "enclosure_id", x.ID, "slot", label)
		}
		if n := severity(s.State); n > severity("locate") {
			x.worst = max(x.worst, n)
		}
		x.Slots = append(x.Slots, s)
	}
	var n int
	x.Slots, n = first(x.Slots, maxSlots)
	x.MoreSlots = more(n, "slots", "cephrisk_enclosure_slot_info", "enclosure_id", x.ID)
	order(x.Parts, func(a, b part) int { return cmp.Compare(b.severity, a.severity) }, func(a, b part) int { return natural(a.Name, b.Name) })
	x.Parts, n = first(x.Parts, maxParts)
	x.MoreParts = more(n, "parts", "cephrisk_enclosure_element_status_code", "enclosure_id", x.ID)
	if x.ioms > 0 {
		x.IOMs = num(fmt.Sprintf("%s of %s", count(x.ups), count(x.ioms)), "cephrisk_enclosure_service_processor_up", "enclosure_id", x.ID).bad(x.ioms - x.ups)
	}
}
