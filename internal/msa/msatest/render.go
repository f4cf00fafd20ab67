package msatest

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The enumerations, as the array words them.
var (
	healthText     = map[int]string{0: "OK", 1: "Degraded", 2: "Fault", 3: "Unknown", 4: "N/A"}
	groupText      = map[int]string{0: "FTOL", 1: "FTDN", 2: "CRIT", 3: "OFFL", 4: "QTCR", 5: "QTOF", 6: "QTDN", 7: "STOP", 8: "MSNG", 9: "DMGD", 250: "UP"}
	enclosureText  = map[int]string{0: "Unsupported", 1: "Up", 2: "Error", 3: "Warning", 4: "Unrecoverable", 5: "Not Present", 6: "Unknown", 7: "Unavailable"}
	psuText        = map[int]string{0: "Up", 1: "Warning", 2: "Error", 3: "Not Present", 4: "Unknown"}
	fanText        = map[int]string{0: "Up", 1: "Error", 2: "Off", 3: "Missing"}
	controllerText = map[int]string{0: "Operational", 1: "Down", 2: "Not Installed"}
	jobNumber      = map[string]int{"": 0, "VRSC": 6}
)

// document writes one answer.
type document struct {
	strings.Builder
	oid int
}

func (m *Model) document(request string) *document {
	d := &document{}
	d.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n")
	fmt.Fprintf(d, "<RESPONSE VERSION=\"L100\" REQUEST=\"%s\">\n", escape(request))
	return d
}

func (d *document) open(basetype, name string) {
	d.oid++
	fmt.Fprintf(d, "<OBJECT basetype=\"%s\" name=\"%s\" oid=\"%d\" format=\"rows\">\n", basetype, name, d.oid)
}

func (d *document) close() { d.WriteString("</OBJECT>\n") }

func (d *document) text(name, value string) {
	fmt.Fprintf(d, "<PROPERTY name=\"%s\" type=\"string\" size=\"32\" draw=\"true\" sort=\"string\" display-name=\"%s\">%s</PROPERTY>\n",
		name, name, escape(value))
}

func (d *document) number(name string, value int) { d.text(name, strconv.Itoa(value)) }

// enum writes a property with its numeric twin.
func (d *document) enum(name string, code int, texts map[int]string) {
	d.text(name, texts[code])
	d.number(name+"-numeric", code)
}

func (d *document) health(code int) {
	d.enum("health", code, healthText)
	reason := ""
	if code != 0 {
		reason = "Made up for a test."
	}
	d.text("health-reason", reason)
}

func (d *document) blocks(name string, blocks uint64) {
	d.text(name, fmt.Sprintf("%.1fGB", float64(blocks)*512/1e9))
	fmt.Fprintf(d, "<PROPERTY name=\"%s-numeric\" units=\"blocks512\" type=\"uint64\" size=\"20\">%d</PROPERTY>\n", name, blocks)
}

func (d *document) status(kind string, numeric int, response, code string) string {
	d.open("status", "status")
	d.text("response-type", kind)
	d.number("response-type-numeric", numeric)
	d.text("response", response)
	d.text("return-code", code)
	d.close()
	d.WriteString("</RESPONSE>\n")
	return d.String()
}

func (d *document) success() string {
	return d.status("Success", 0, "Command completed successfully.", "0")
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// Answer renders the answer to a command whose session is good.
func (m *Model) Answer(command string) string {
	d := m.document(command)
	last := len(m.Events)
	if n, ok := strings.CutPrefix(command, "show events last "); ok {
		if count, err := strconv.Atoi(n); err == nil {
			last, command = count, "show events"
		}
	}
	known := true
	switch command {
	case "show system":
		m.system(d)
	case "show enclosures":
		m.enclosures(d)
	case "show controllers":
		m.controllers(d)
	case "show power-supplies":
		m.psus(d, "")
	case "show fans":
		if known = m.Generation != P2000; known {
			m.fans(d, "")
		}
	case "show disk-groups":
		if known = m.Generation != P2000; known {
			m.groups(d, "disk-groups")
		}
	case "show vdisks":
		if known = m.Generation != MSA2060; known {
			m.groups(d, "virtual-disks")
		}
	case "show disks":
		m.disks(d)
	case "show sensor-status":
		m.sensors(d)
	case "show ports":
		m.ports(d)
	case "show events":
		m.events(d, last)
	default:
		known = false
	}
	if !known {
		return m.document(command).status("Error", 1, "The command is ambiguous. Please check the help for this command.", "-10028")
	}
	return d.success()
}

func (m *Model) system(d *document) {
	d.open("system", "system-information")
	d.text("system-name", m.SystemName)
	d.text("midplane-serial-number", m.Serial)
	d.text("vendor-name", "HPE")
	d.text("product-id", m.Product)
	d.health(m.Health)
	d.close()
}

func (m *Model) enclosures(d *document) {
	for _, e := range m.Enclosures {
		d.open("enclosures", "enclosures")
		d.text("durable-id", fmt.Sprintf("enclosure_%d", e.ID))
		d.number("enclosure-id", e.ID)
		d.enum("status", e.Status, enclosureText)
		d.health(e.Health)
		if e.ID == 0 { // the one that holds the controllers
			m.controllers(d)
			m.psus(d, "nested")
		}
		d.close()
	}
}

func (m *Model) controllers(d *document) {
	for _, c := range m.Controllers {
		d.open("controllers", "controllers")
		d.text("durable-id", "controller_"+strings.ToLower(c.ID))
		d.text("controller-id", c.ID)
		d.enum("status", c.Status, controllerText)
		d.health(c.Health)
		d.close()
	}
}

func (m *Model) psus(d *document, form string) {
	for _, p := range m.PSUs {
		d.open("power-supplies", "power-supplies")
		d.text("durable-id", p.ID)
		d.enum("status", p.Status, psuText)
		d.health(p.Health)
		d.number("dc12v", p.DC12V)
		d.number("dc5v", p.DC5V)
		d.number("dc33v", p.DC33V)
		if form == "nested" {
			m.fans(d, p.ID)
		}
		d.close()
	}
}

func (m *Model) fans(d *document, psu string) {
	for _, f := range m.Fans {
		if psu != "" && f.PSU != psu {
			continue
		}
		d.open("fan", "fan-details")
		d.text("durable-id", f.ID)
		d.text("name", "Fan "+f.ID)
		d.enum("status", f.Status, fanText)
		d.number("speed", f.RPM)
		d.health(f.Health)
		d.close()
	}
}

func (m *Model) groups(d *document, basetype string) {
	for _, g := range m.Groups {
		d.open(basetype, basetype)
		d.text("name", g.Name)
		d.blocks("size", g.Blocks)
		d.blocks("freespace", g.FreeBlocks)
		d.number("diskcount", m.disksOf(g.Name))
		d.number("sparecount", g.Spares)
		d.text("serial-number", g.Serial)
		d.text("raidtype", g.RAID)
		d.enum("status", g.Status, groupText)
		d.health(g.Health)
		d.text("current-job", g.Job)
		d.number("current-job-numeric", jobNumber[g.Job])
		percent := ""
		if g.Job != "" {
			percent = fmt.Sprintf("%d%%", g.Percent)
		}
		d.text("current-job-completion", percent)
		d.close()
	}
}

func (m *Model) disksOf(group string) int {
	n := 0
	for _, disk := range m.Disks {
		if disk.Group == group {
			n++
		}
	}
	return n
}

func (m *Model) disks(d *document) {
	for _, disk := range m.Disks {
		d.open("drives", "drive")
		d.text("durable-id", fmt.Sprintf("disk_%02d.%02d", disk.Enclosure, disk.Slot))
		d.number("enclosure-id", disk.Enclosure)
		d.number("slot", disk.Slot)
		d.text("location", fmt.Sprintf("%d.%d", disk.Enclosure, disk.Slot))
		d.text("serial-number", disk.Serial)
		d.text("vendor", disk.Vendor)
		d.text("model", "MB"+disk.Description)
		if m.Generation == P2000 {
			d.text("virtual-disk", disk.Group)
		} else {
			d.text("disk-group", disk.Group)
		}
		job, percent := disk.DiskJob, disk.DiskPercent
		for _, g := range m.Groups {
			if g.Name == disk.Group && g.Job != "" {
				job, percent = g.Job, g.Percent
			}
		}
		d.text("job-running", job)
		d.number("job-running-numeric", jobNumber[job])
		completion := ""
		if job != "" {
			completion = fmt.Sprintf("%d%%", percent)
		}
		d.text("current-job-completion", completion)
		d.text("temperature", disk.Temperature)
		d.number("temperature-numeric", leadingNumber(disk.Temperature))
		d.number("temperature-status-numeric", disk.TemperatureStatus)
		life := "N/A"
		if disk.LifeLeft != 255 {
			life = fmt.Sprintf("%d%%", disk.LifeLeft)
		}
		d.text("ssd-life-left", life)
		d.number("ssd-life-left-numeric", disk.LifeLeft)
		d.health(disk.Health)
		d.close()
	}
}

func leadingNumber(s string) int {
	n, _ := strconv.Atoi(strings.Fields(s + " x")[0])
	return n
}

func (m *Model) sensors(d *document) {
	for _, s := range m.Sensors {
		d.open("sensors", "sensor")
		if m.Generation != P2000 {
			d.text("durable-id", s.ID)
			d.number("enclosure-id", s.Enclosure)
			d.text("sensor-type", s.Type)
		}
		d.text("sensor-name", s.Name)
		d.text("value", s.Value)
		d.text("status", s.Status)
		d.number("status-numeric", 17) // wrong on real firmware, too
		d.close()
	}
}

func (m *Model) ports(d *document) {
	for _, p := range m.Ports {
		d.open("port", "ports")
		d.text("durable-id", "hostport_"+p.Name)
		d.text("port", p.Name)
		if p.Connected {
			d.enum("status", 0, psuText)
			d.health(0)
		} else {
			d.enum("status", 6, map[int]string{6: "Disconnected"})
			d.enum("health", 4, healthText)
			d.text("health-reason", "There is no host connection to this host port.")
		}
		d.close()
	}
}

// events lists the newest first, as the array does.
func (m *Model) events(d *document, last int) {
	list := slices.Clone(m.Events)
	slices.SortStableFunc(list, func(a, b Event) int {
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		return b.Number - a.Number
	})
	for _, e := range list[:min(last, len(list))] {
		d.open("events", "event")
		d.text("time-stamp", e.Time.UTC().Format("2006-01-02 15:04:05"))
		if m.Generation != P2000 {
			d.text("time-stamp-numeric", strconv.FormatInt(e.Time.Unix(), 10))
		}
		d.number("event-code", e.Code)
		d.text("event-id", e.Controller+strconv.Itoa(e.Number))
		d.text("controller", e.Controller)
		d.text("severity", e.Severity)
		d.text("message", e.Message)
		d.close()
	}
}
