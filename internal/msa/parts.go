package msa

import (
	"fmt"
	"sort"
	"strings"
)

// Part is what all hardware and logical parts have. Codes are the array's own
// numbers (HealthValues and the status list of the kind), nil where not given.
type Part struct {
	ID     string // unique among its kind within the array
	Health *int
	Status *int
}

// System is the array as a whole.
type System struct {
	Part
	Name, Vendor, Product, Serial string
}

// Enclosure is a shelf; its ID is the number that the array shows.
type Enclosure struct{ Part }

// Controller is a controller; its ID is A or B.
type Controller struct{ Part }

// DiskGroup is a disk group, or a vdisk on older models. Sizes are in bytes.
type DiskGroup struct {
	Part
	Serial, RAID  string
	Size, Free    *float64
	Disks, Spares *float64
	Job           string   // abbreviation of the job that runs, "" for none
	Progress      *float64 // of that job, 0 to 1
}

// Disk is a disk; its ID is enclosure.slot.
type Disk struct {
	Part
	Enclosure, Serial, Vendor, Model string
	Group                            string // disk group or vdisk, "" for none
	Celsius                          *float64
	TemperatureStatus                *int
	LifeLeft                         *float64 // of an SSD, 0 to 1
	Job                              string
	Progress                         *float64
}

// PSU is a power supply.
type PSU struct {
	Part
	Rails []Rail
}

// Rail is one output voltage of a power supply.
type Rail struct {
	Name  string // nominal volts
	Volts float64
}

// Fan is a fan.
type Fan struct {
	Part
	RPM *float64
}

// Port is a host port. One without a connection has health N/A, not a fault.
type Port struct{ Part }

// Sensor is a sensor of sensor-status. Its status is a text: the numeric twin
// is wrong on some firmware.
type Sensor struct {
	ID, Name, Enclosure string
	Status              string // lower case, as the array words it; "" if not given
	Unit                string // C, V, A or %; "" where the value is not a reading
	Value               *float64
}

// Parts is everything an array said of its parts in one poll, each kind in the
// order of ID.
type Parts struct {
	System      *System
	Enclosures  []Enclosure
	Controllers []Controller
	Groups      []DiskGroup
	Disks       []Disk
	PSUs        []PSU
	Fans        []Fan
	Ports       []Port
	Sensors     []Sensor
}

// NewParts gives types to the answers of one poll. The same part may be in
// several of them (a fan in its power supply and in `show fans`): properties are
// merged, the first answer wins.
func NewParts(answers []*Response) *Parts {
	p := &Parts{}
	for _, o := range merged(answers, typeSystem, func(*Object) string { return typeSystem }) {
		p.System = &System{o.part(HealthValues), o.First("system-name"), o.First("vendor-name"), o.First("product-id"), o.First("midplane-serial-number")}
	}
	for _, o := range merged(answers, typeEnclosure, firstOf("enclosure-id", "durable-id")) {
		p.Enclosures = append(p.Enclosures, Enclosure{o.part(EnclosureStatusValues)})
	}
	for _, o := range merged(answers, typeController, firstOf("controller-id", "durable-id")) {
		p.Controllers = append(p.Controllers, Controller{o.part(ControllerStatusValues)})
	}
	p.Groups = groups(answers)
	for _, o := range merged(answers, typeDisk, firstOf("location", "durable-id")) {
		p.Disks = append(p.Disks, o.disk())
	}
	for _, o := range merged(answers, typePSU, firstOf("durable-id", "name")) {
		part := o.part(PSUStatusValues)
		p.PSUs = append(p.PSUs, PSU{part, o.rails()})
	}
	for _, o := range merged(answers, typeFan, firstOf("durable-id", "name")) {
		fan := Fan{Part: o.part(FanStatusValues)}
		if fan.Status == nil || *fan.Status != fanMissing {
			fan.RPM = o.Count("speed", false)
		}
		p.Fans = append(p.Fans, fan)
	}
	for _, o := range merged(answers, typePort, firstOf("port", "durable-id")) {
		p.Ports = append(p.Ports, Port{o.part(nil)})
	}
	p.Sensors = sensors(answers)
	return p
}

// groups: where a model lists a group both as disk group and as vdisk, it is one.
func groups(answers []*Response) []DiskGroup {
	var list []DiskGroup
	listed := map[string]bool{}
	for _, basetype := range []string{typeDiskGroup, typeVdisk} {
		for _, o := range merged(answers, basetype, firstOf("name", "serial-number")) {
			if !listed[o.id] {
				listed[o.id] = true
				list = append(list, o.diskGroup())
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

// identified is an object with its ID.
type identified struct {
	*Object
	id string
}

// merged returns the objects of a class, one per ID, sorted by it. One without
// an ID cannot be told apart from others and is left out.
func merged(answers []*Response, basetype string, id func(*Object) string) []identified {
	byID := map[string]*Object{}
	for _, answer := range answers {
		for _, o := range answer.All(basetype) {
			key := id(o)
			if key == "" {
				continue
			}
			known := byID[key]
			if known == nil {
				known = &Object{Basetype: basetype, properties: map[string]property{}}
				byID[key] = known
			}
			for name, p := range o.properties {
				if _, ok := known.properties[name]; !ok {
					known.properties[name] = p
				}
			}
		}
	}
	list := make([]identified, 0, len(byID))
	for key, o := range byID {
		list = append(list, identified{o, key})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

func firstOf(names ...string) func(*Object) string {
	return func(o *Object) string { return o.First(names...) }
}

func (o identified) part(status []EnumValue) Part {
	return Part{ID: o.id, Health: o.Code("health", HealthValues), Status: o.Code("status", status)}
}

func (o identified) diskGroup() DiskGroup {
	return DiskGroup{
		Part:     o.part(GroupStatusValues),
		Serial:   o.First("serial-number"),
		RAID:     o.First("raidtype"),
		Size:     o.Bytes("size"),
		Free:     o.Bytes("freespace"),
		Disks:    o.Count("diskcount", false),
		Spares:   o.Count("sparecount", false),
		Job:      jobName(o.First("current-job")),
		Progress: o.Ratio("current-job-completion"),
	}
}

func (o identified) disk() Disk {
	d := Disk{
		Part:              o.part(nil),
		Enclosure:         o.First("enclosure-id"),
		Serial:            o.First("serial-number"),
		Vendor:            o.First("vendor"),
		Model:             o.First("model"),
		Group:             o.First("disk-group", "virtual-disk", "vdisk"),
		Celsius:           o.Celsius("temperature"),
		TemperatureStatus: o.Code("temperature-status", TemperatureStatusValues),
		Job:               jobName(o.First("job-running")),
		Progress:          o.Ratio("current-job-completion"),
	}
	if enclosure, _, ok := strings.Cut(o.id, "."); ok && d.Enclosure == "" {
		d.Enclosure = enclosure
	}
	if left := o.Count("ssd-life-left", true); left != nil && *left <= 100 {
		*left /= 100
		d.LifeLeft = left
	}
	return d
}

// rails returns a power supply's voltages. Models that do not measure them give
// zeros; a zero beside other readings is one.
func (o identified) rails() []Rail {
	var rails []Rail
	measured := false
	for _, r := range psuRails {
		if raw := o.Count(r.property, false); raw != nil {
			rails = append(rails, Rail{r.rail, *raw * psuVolt})
			measured = measured || *raw != 0
		}
	}
	if !measured {
		return nil
	}
	return rails
}

// sensors keeps every object apart: names repeat across enclosures, and on
// firmware without durable-id even within one.
func sensors(answers []*Response) []Sensor {
	var list []Sensor
	taken, next := map[string]bool{}, map[string]int{}
	for _, answer := range answers {
		for _, o := range answer.All(typeSensor) {
			s := Sensor{Name: o.First("sensor-name"), Enclosure: o.First("enclosure-id"), Status: strings.ToLower(o.First("status"))}
			s.ID = o.First("durable-id")
			if s.ID == "" && s.Name != "" {
				s.ID = strings.TrimPrefix(s.Enclosure+"/"+s.Name, "/")
			}
			if s.ID == "" {
				continue
			}
			for id := s.ID; taken[s.ID]; s.ID = fmt.Sprintf("%s#%d", id, next[id]+1) {
				next[id]++
			}
			taken[s.ID] = true
			s.Unit, s.Value = o.sensorReading()
			list = append(list, s)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

// sensorReading: the type says what is measured, or else the unit behind the
// value does.
func (o *Object) sensorReading() (string, *float64) {
	text, ok := o.Text("value")
	if !ok {
		return "", nil
	}
	n, unit, ok := reading(text)
	if !ok {
		return "", nil
	}
	kind := sensorKinds[strings.ToLower(o.First("sensor-type"))]
	switch {
	case unit == "F" && (kind == "" || kind == UnitCelsius):
		n = (n - 32) * 5 / 9
		return UnitCelsius, &n
	case unit == "" && kind != "":
		return kind, &n
	case (unit == UnitCelsius || unit == UnitVolt || unit == UnitAmpere || unit == UnitPercent) && (kind == "" || kind == unit):
		return unit, &n
	}
	return "", nil
}
