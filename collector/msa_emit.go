package collector

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa"
)

// msaSnapshot is what the arrays said in one poll.
type msaSnapshot struct {
	table  *msaTable
	arrays []msaState
}

// Emit implements Snapshot.
func (s *msaSnapshot) Emit(e *Emitter) {
	for _, a := range s.arrays {
		if a.report == nil {
			continue // the first poll of a slow array still runs
		}
		m := &msaEmitter{e, s.table, a.name}
		m.access(a)
		m.events(a.report.Events)
		if p := a.report.Parts; p != nil {
			m.parts(p)
			m.disks(p.Disks)
			m.sensors(p.Sensors)
			m.jobs(a.report)
			m.scrubs(a.report.Scrubs)
		}
	}
}

// msaEmitter emits the series of one array.
type msaEmitter struct {
	*Emitter
	*msaTable
	array string
}

func (m *msaEmitter) emit(row *Row, value float64, labels ...string) {
	m.Emit(row, value, append([]string{m.array}, labels...)...)
}

func (m *msaEmitter) bool(row *Row, value bool, labels ...string) {
	m.EmitBool(row, value, append([]string{m.array}, labels...)...)
}

// some emits a value that may be absent.
func (m *msaEmitter) some(row *Row, value *float64, labels ...string) {
	if value != nil {
		m.emit(row, *value, labels...)
	}
}

func (m *msaEmitter) code(row *Row, value *int, labels ...string) {
	if value != nil {
		m.emit(row, float64(*value), labels...)
	}
}

func (m *msaEmitter) instant(row *Row, t time.Time, labels ...string) {
	if !t.IsZero() {
		m.emit(row, float64(t.Unix()), labels...)
	}
}

func (m *msaEmitter) access(a msaState) {
	r := a.report
	m.bool(m.up, a.err == nil)
	m.instant(m.lastSuccess, a.lastSuccess)
	m.emit(m.logins, float64(r.Logins.Accepted), "accepted")
	m.emit(m.logins, float64(r.Logins.Refused), "refused")
	m.emit(m.logins, float64(r.Logins.Failed), "failed")
	if len(r.Controllers) == 0 {
		return // nothing was heard of them for a while
	}
	m.bool(m.refused, r.Refused)
	for _, c := range r.Controllers {
		m.bool(m.controllerUp, c.Err == nil, c.Address)
	}
	for _, c := range r.Commands {
		m.bool(m.command, c.Err == nil, c.Command)
	}
}

func (m *msaEmitter) parts(p *msa.Parts) {
	if s := p.System; s != nil {
		m.emit(m.info, 1, s.Name, s.Vendor, s.Product, s.Serial)
		m.code(m.health, s.Health, "system", s.ID)
	}
	part := func(object string, status *Row, p msa.Part) {
		m.code(m.health, p.Health, object, p.ID)
		if status != nil {
			m.code(status, p.Status, p.ID)
		}
	}
	for _, x := range p.Enclosures {
		part("enclosure", m.enclosureStatus, x.Part)
	}
	for _, x := range p.Controllers {
		part("controller", m.controllerStatus, x.Part)
	}
	for _, x := range p.PSUs {
		part("psu", m.psuStatus, x.Part)
		for _, rail := range x.Rails {
			m.emit(m.psuVoltage, rail.Volts, x.ID, rail.Name)
		}
	}
	for _, x := range p.Fans {
		part("fan", m.fanStatus, x.Part)
		m.some(m.fanSpeed, x.RPM, x.ID)
	}
	for _, x := range p.Ports {
		part("port", nil, x.Part)
	}
	for _, x := range p.Groups {
		part("disk_group", m.groupStatus, x.Part)
		m.emit(m.groupInfo, 1, x.ID, x.RAID, x.Serial)
		m.some(m.groupSize, x.Size, x.ID)
		m.some(m.groupFree, x.Free, x.ID)
		m.some(m.groupDisks, x.Disks, x.ID)
		m.some(m.groupSpares, x.Spares, x.ID)
	}
}

func (m *msaEmitter) disks(disks []msa.Disk) {
	for _, d := range disks {
		m.code(m.health, d.Health, "disk", d.ID)
		m.emit(m.diskInfo, 1, d.ID, d.Enclosure, d.Group, d.Vendor, d.Model, d.Serial)
		m.some(m.diskTemperature, d.Celsius, d.ID)
		m.code(m.diskTemperatureStatus, d.TemperatureStatus, d.ID)
		m.some(m.diskLife, d.LifeLeft, d.ID)
	}
}

// msaSensorStates are the states of cephrisk_msa_sensor_status.
var msaSensorStates = []string{"ok", "warning", "error", "critical", "other"}

func (m *msaEmitter) sensors(sensors []msa.Sensor) {
	for _, s := range sensors {
		m.emit(m.sensorInfo, 1, s.ID, s.Enclosure, s.Name)
		if s.Status == "" {
			continue
		}
		has := "other"
		for _, state := range msaSensorStates {
			if s.Status == state {
				has = state
			}
		}
		for _, state := range msaSensorStates {
			m.bool(m.sensorStatus, state == has, s.ID, state)
		}
		if has == "other" || s.Value == nil {
			continue // not there, or not known: its reading means nothing
		}
		switch s.Unit {
		case msa.UnitCelsius:
			m.emit(m.sensorTemperature, *s.Value, s.ID)
		case msa.UnitVolt:
			m.emit(m.sensorVoltage, *s.Value, s.ID)
		case msa.UnitAmpere:
			m.emit(m.sensorCurrent, *s.Value, s.ID)
		case msa.UnitPercent:
			m.emit(m.sensorCharge, *s.Value/100, s.ID)
		}
	}
}

func (m *msaEmitter) jobs(r *msa.Report) {
	count := map[string]int{msa.JobScrub: 0, msa.JobReconstruct: 0}
	for _, j := range r.Jobs {
		count[j.Name]++
		m.some(m.jobProgress, j.Progress, j.Group, j.Name)
	}
	if r.GroupsRead { // else 0 would be a guess
		for _, name := range slices.Sorted(maps.Keys(count)) {
			m.emit(m.msaTable.jobs, float64(count[name]), name)
		}
	}
}

func (m *msaEmitter) scrubs(scrubs []msa.Scrub) {
	for _, s := range scrubs {
		m.instant(m.scrubStart, s.Started, s.Group)
		if !s.Ended {
			continue
		}
		m.instant(m.scrubFinish, s.Finished, s.Group)
		m.bool(m.scrubFinding, s.Finding, s.Group)
		m.some(m.scrubErrors, s.Errors, s.Group)
	}
}

func (m *msaEmitter) events(events []msa.EventCount) {
	for _, c := range events {
		m.emit(m.msaTable.events, float64(c.Count), strconv.Itoa(c.Code), c.Severity)
	}
}
