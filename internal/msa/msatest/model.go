package msatest

import "time"

// Generation selects the dialect of the array.
type Generation int

// The generations that differ in what they know and how they say it.
const (
	// P2000: vdisks, `show disk-groups` is ambiguous, sensors without
	// durable-id, no `show fans`, MD5.
	P2000 Generation = iota
	// MSA2040: disk groups, MD5.
	MSA2040
	// MSA2060: disk groups, SHA-256.
	MSA2060
)

// Model is the state of the made-up array. Codes are the array's own.
type Model struct {
	Generation  Generation
	SystemName  string
	Product     string
	Serial      string
	Health      int
	Enclosures  []Enclosure
	Controllers []Controller
	Groups      []Group
	Disks       []Disk
	PSUs        []PSU
	Fans        []Fan
	Ports       []Port
	Sensors     []Sensor
	Events      []Event
}

// Enclosure is a shelf.
type Enclosure struct{ ID, Health, Status int }

// Controller is a controller.
type Controller struct {
	ID             string // A or B
	Health, Status int
}

// Group is a disk group or vdisk.
type Group struct {
	Name, Serial, RAID string
	Health, Status     int
	Blocks, FreeBlocks uint64 // of 512 bytes
	Spares             int
	Job                string // VRSC, RCON, ...
	Percent            int
}

// Disk is a disk. DiskJob is the job it shows although its group shows none.
type Disk struct {
	Enclosure, Slot     int
	Serial              string
	Group               string
	Health              int
	Temperature         string // "39 C", "102 F", "N/A"
	TemperatureStatus   int
	LifeLeft            int // 255 for none
	DiskJob             string
	DiskPercent         int
	Description, Vendor string
}

// PSU is a power supply; voltages in hundredths of a volt.
type PSU struct {
	ID                 string // psu_1.1
	Health, Status     int
	DC12V, DC5V, DC33V int
}

// Fan is a fan.
type Fan struct {
	ID             string // fan_1.1
	PSU            string // of the power supply it sits in
	Health, Status int
	RPM            int
}

// Port is a host port.
type Port struct {
	Name      string // A1
	Connected bool
}

// Sensor is a sensor.
type Sensor struct {
	ID, Name, Type string
	Enclosure      int
	Value          string
	Status         string
}

// Event is an entry of the log.
type Event struct {
	Controller string
	Number     int
	Code       int
	Severity   string
	Message    string
	Time       time.Time
}

// Start is the time of the oldest event in the default model.
var Start = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// NewModel is a healthy array with two enclosures, two groups of four disks, one
// spare disk, and one clean scrub of each group in the log.
func NewModel(g Generation) *Model {
	m := &Model{
		Generation:  g,
		SystemName:  "shelf-a",
		Product:     map[Generation]string{P2000: "MSA2000 G2", MSA2040: "MSA 2040 SAN", MSA2060: "MSA 2060 SAS"}[g],
		Serial:      "00C0FF000001",
		Enclosures:  []Enclosure{{0, 0, 1}, {1, 0, 1}},
		Controllers: []Controller{{ID: "A"}, {ID: "B"}},
		Groups: []Group{
			{Name: "dgA01", Serial: "00c0ff0000aa", RAID: "RAID6", Blocks: 8 << 21, FreeBlocks: 1 << 21, Spares: 1},
			{Name: "dgB01", Serial: "00c0ff0000bb", RAID: "RAID6", Blocks: 8 << 21},
		},
		PSUs: []PSU{
			{ID: "psu_0.1", DC12V: 1211, DC5V: 509, DC33V: 334}, {ID: "psu_0.2", DC12V: 1205, DC5V: 507, DC33V: 333},
		},
		Fans:  []Fan{{ID: "fan_0.1", PSU: "psu_0.1", RPM: 3660}, {ID: "fan_0.2", PSU: "psu_0.2", RPM: 3720}},
		Ports: []Port{{"A1", true}, {"A2", false}, {"B1", true}, {"B2", false}},
		Sensors: []Sensor{
			{"sensor_temp_0.A", "On-Board Temperature 1-Ctlr A", "Temperature", 0, "39 C", "OK"},
			{"sensor_volt_0.1", "Voltage 12V Loc: left-PSU", "Voltage", 0, "12.11", "OK"},
			{"sensor_curr_0.1", "Current 12V Rail Loc: left-PSU", "Current", 0, "5.40", "OK"},
			{"sensor_cap_0.A", "Capacitor Charge-Ctlr A", "Charge Capacity", 0, "100%", "OK"},
			{"sensor_unit_0", "Overall Unit Status", "Overall Unit Status", 0, "OK", "OK"},
			{"sensor_unit_1", "Overall Unit Status", "Overall Unit Status", 1, "OK", "OK"},
		},
	}
	if g == MSA2060 { // does not measure them
		for i := range m.PSUs {
			m.PSUs[i].DC12V, m.PSUs[i].DC5V, m.PSUs[i].DC33V = 0, 0, 0
		}
	}
	for slot := 1; slot <= 9; slot++ {
		d := Disk{
			Enclosure: 1, Slot: slot, Serial: "S" + string(rune('A'+slot)), Temperature: "35 C", TemperatureStatus: 1,
			LifeLeft: 255, Vendor: "SEAGATE", Description: "SAS", Group: "dgA01",
		}
		switch {
		case slot == 9:
			d.Group, d.LifeLeft, d.Description = "", 97, "SSD"
		case slot > 4:
			d.Group = "dgB01"
		}
		m.Disks = append(m.Disks, d)
	}
	m.scrub("A", m.Groups[0], Start, Start.Add(4*time.Hour))
	m.scrub("B", m.Groups[1], Start.Add(6*time.Hour), Start.Add(9*time.Hour))
	return m
}

// scrub logs a clean scrub.
func (m *Model) scrub(controller string, g Group, from, to time.Time) {
	m.StartScrub(controller, g.Name, from)
	m.EndScrub(controller, g.Name, to, "INFORMATIONAL", "completed. No errors were found.")
}

// StartScrub logs the start of a scrub.
func (m *Model) StartScrub(controller, group string, at time.Time) {
	m.Log(controller, 206, "INFORMATIONAL", m.scrubText(group, "was started."), at)
}

// EndScrub logs the end of a scrub in the given words.
func (m *Model) EndScrub(controller, group string, at time.Time, severity, words string) {
	m.Log(controller, 207, severity, m.scrubText(group, words), at)
}

func (m *Model) scrubText(group, words string) string {
	serial := ""
	for _, g := range m.Groups {
		if g.Name == group {
			serial = g.Serial
		}
	}
	if m.Generation == P2000 {
		return "A scrub-vdisk job " + words + " (vdisk: " + group + ", SN: " + serial + ")"
	}
	return "A scrub-disk-group job " + words + " (disk group: " + group + ", SN: " + serial + ")"
}

// Log appends an event with that controller's next number.
func (m *Model) Log(controller string, code int, severity, message string, at time.Time) {
	number := 100
	for _, e := range m.Events {
		if e.Controller == controller && e.Number >= number {
			number = e.Number + 1
		}
	}
	m.Events = append(m.Events, Event{controller, number, code, severity, message, at})
}
