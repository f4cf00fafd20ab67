package collector

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/enclosure"
)

// enclosureSnapshot is what one poll of the shelves found.
type enclosureSnapshot struct {
	table  *enclosureTable
	survey *enclosure.Survey
	low    bool
}

func (s *enclosureSnapshot) Emit(e *Emitter) {
	for i := range s.survey.Shelves {
		s.emitShelf(e, &s.survey.Shelves[i])
	}
	s.emitProcesses(e)
	s.emitOSDs(e)
}

func (s *enclosureSnapshot) emitShelf(e *Emitter, v *enclosure.ShelfView) {
	t := s.table
	e.Emit(t.info, 1, v.ID, v.Vendor, v.Product, v.Revision)
	e.EmitBool(t.present, v.Present, v.ID)
	if v.Shelf == nil {
		return
	}
	c := v.Shelf.Conditions
	e.EmitBool(t.condition, c.InvalidOperation, v.ID, "invop")
	e.EmitBool(t.condition, c.Info, v.ID, "info")
	e.EmitBool(t.condition, c.Noncritical, v.ID, "noncritical")
	e.EmitBool(t.condition, c.Critical, v.ID, "critical")
	e.EmitBool(t.condition, c.Unrecoverable, v.ID, "unrecoverable")
	for _, o := range v.Shelf.Overall {
		e.Emit(t.overall, float64(o.Raw.Status()), v.ID, o.Type.String(), strconv.Itoa(o.Header))
	}
	for i := range v.Shelf.Elements {
		s.emitElement(e, v.ID, &v.Shelf.Elements[i])
	}
	s.emitRollup(e, v)
}

// emitRollup counts elements by type and status. Reserved codes have a series
// only where they occur.
func (s *enclosureSnapshot) emitRollup(e *Emitter, v *enclosure.ShelfView) {
	var kinds []enclosure.ElementType
	counts := map[enclosure.ElementType]map[string]int{}
	for _, el := range v.Shelf.Elements {
		if counts[el.Type] == nil {
			kinds = append(kinds, el.Type)
			counts[el.Type] = map[string]int{}
			for _, status := range enclosure.StatusNames() {
				counts[el.Type][status] = 0
			}
		}
		counts[el.Type][el.Raw.Status().String()]++
	}
	for _, kind := range kinds {
		for _, status := range slices.Sorted(maps.Keys(counts[kind])) {
			e.Emit(s.table.elements, float64(counts[kind][status]), v.ID, kind.String(), status)
		}
	}
}

func (s *enclosureSnapshot) emitElement(e *Emitter, id string, el *enclosure.Element) {
	t, kind, element := s.table, el.Type.String(), strconv.Itoa(el.Index)
	e.Emit(t.status, float64(el.Raw.Status()), id, kind, element)
	for _, flag := range el.Raw.Flags(el.Type) {
		if el.Slot != nil && flag == "predicted_failure" {
			continue // a series of the slot's
		}
		e.Emit(t.flag, 1, id, kind, element, flag)
	}
	if el.Slot != nil {
		s.emitSlot(e, id, el)
		return
	}
	if el.Name != "" {
		e.Emit(t.elementInfo, 1, id, kind, element, el.Name)
	}
	row, value, ok := t.volts, 0.0, false
	switch el.Type {
	case enclosure.TypeTemperature:
		row = t.celsius
		value, ok = el.Raw.Celsius()
		s.emitLimits(e, id, el)
	case enclosure.TypeVoltage:
		value, ok = el.Raw.Volts()
	case enclosure.TypeCurrent:
		row = t.amperes
		value, ok = el.Raw.Amperes()
	case enclosure.TypeCooling:
		row = t.rpm
		value, ok = el.Raw.RPM()
	}
	if ok {
		e.Emit(row, value, id, kind, element)
	}
}

func (s *enclosureSnapshot) emitLimits(e *Emitter, id string, el *enclosure.Element) {
	if el.Limits == nil {
		return
	}
	for _, l := range el.Limits.Celsius() {
		if s.low || strings.HasPrefix(l.Name, "high_") {
			e.Emit(s.table.celsiusLimit, l.Value, id, el.Type.String(), strconv.Itoa(el.Index), l.Name)
		}
	}
}

// emitSlot emits what the shelf says of a slot. LEDs and predictions, off nearly
// always, have a series only while they are on.
func (s *enclosureSnapshot) emitSlot(e *Emitter, id string, el *enclosure.Element) {
	t, slot := s.table, el.Slot.Label
	e.Emit(t.slotInfo, 1, id, slot, el.Type.String(), strconv.Itoa(el.Index), el.Name)
	if occupied, known := el.Raw.Occupied(); known {
		e.EmitBool(t.slotOccupied, occupied, id, slot)
	}
	if !el.Raw.Status().Known() {
		return
	}
	e.EmitBool(t.slotFaultSensed, el.Raw.FaultSensed(), id, slot)
	for _, led := range []struct {
		row *Row
		on  bool
	}{
		{t.slotFaultRequested, el.Raw.FaultRequested()},
		{t.slotLocate, el.Raw.Identify()},
		{t.slotPredictedFailure, el.Raw.PredictedFailure()},
	} {
		if led.on {
			e.Emit(led.row, 1, id, slot)
		}
	}
}

// emitProcesses emits what is known of the IOMs. Where one is reached over two
// HBAs, it answered when it did over either.
func (s *enclosureSnapshot) emitProcesses(e *Emitter) {
	t := s.table
	type iom struct{ enclosure, name string }
	var ioms []iom
	last, pages := map[iom]float64{}, map[iom]map[string]bool{}
	for _, p := range s.survey.Processes {
		e.EmitBool(t.processUp, p.Up, p.Enclosure, p.IOM, p.SG)
		at := iom{p.Enclosure, p.IOM}
		if pages[at] == nil {
			ioms, pages[at] = append(ioms, at), map[string]bool{}
		}
		if !p.Last.IsZero() {
			last[at] = max(last[at], float64(p.Last.UnixMilli())/1000)
		}
		for _, state := range p.Pages {
			name := enclosure.PageName(state.Page)
			pages[at][name] = pages[at][name] || state.OK
		}
	}
	for _, at := range ioms {
		if stamp, ok := last[at]; ok {
			e.Emit(t.lastSuccess, stamp, at.enclosure, at.name)
		}
		for _, page := range slices.Sorted(maps.Keys(pages[at])) {
			e.EmitBool(t.pageOK, pages[at][page], at.enclosure, at.name, page)
		}
	}
}

// osdDevice is one of an OSD's devices, over all disks it has.
type osdDevice struct {
	paths    map[string]int // by state
	expected int
	missing  bool
}

// osdHardware is what an OSD shares with others.
type osdHardware struct {
	hba, enclosure, slot string
	disk                 map[string]string // by role
	devices              map[string]*osdDevice
}

// emitOSDs emits the map. Two clusters on one host may both have an osd.3: the
// series are then of both together.
func (s *enclosureSnapshot) emitOSDs(e *Emitter) {
	t := s.table
	osds := map[string]*osdHardware{}
	for i := range s.survey.OSDs {
		o := &s.survey.OSDs[i]
		if o.Enclosure != "" {
			e.Emit(t.slotOSD, 1, o.Enclosure, o.Slot, o.Daemon, o.Role, o.Device, o.WWN, o.Serial)
		}
		if osds[o.Daemon] == nil {
			osds[o.Daemon] = &osdHardware{disk: map[string]string{}, devices: map[string]*osdDevice{}}
		}
		osds[o.Daemon].add(o)
	}
	for _, daemon := range slices.Sorted(maps.Keys(osds)) {
		h := osds[daemon]
		for _, role := range slices.Sorted(maps.Keys(h.devices)) {
			d := h.devices[role]
			for _, state := range slices.Sorted(maps.Keys(d.paths)) {
				e.Emit(t.osdPaths, float64(d.paths[state]), daemon, role, state)
			}
			e.Emit(t.osdPathsExpected, float64(d.expected), daemon, role)
			e.EmitBool(t.osdVolumeMissing, d.missing, daemon, role)
		}
		e.Emit(t.osdHardware, 1, daemon, s.survey.Host, h.hba, h.enclosure, h.slot, h.disk["block"], h.disk["db"], h.disk["wal"])
	}
}

// add takes in one disk of the OSD. Where a role has several, the first names it.
func (h *osdHardware) add(o *enclosure.OSDView) {
	d := h.devices[o.Role]
	if d == nil {
		d = &osdDevice{paths: map[string]int{"running": 0}}
		h.devices[o.Role] = d
		h.disk[o.Role] = o.Disk()
		if o.Role == "block" {
			h.hba, h.enclosure, h.slot = strings.Join(o.HBAs, "+"), o.Enclosure, o.Slot
		}
	}
	for state, n := range o.States {
		d.paths[state] += n
	}
	d.expected += o.Paths
	d.missing = d.missing || o.VolumeMissing
}
