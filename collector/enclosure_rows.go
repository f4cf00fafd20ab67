package collector

type enclosureTable struct {
	Table

	info, present, condition       *Row
	processUp, lastSuccess, pageOK *Row

	elements, status, overall, elementInfo, flag *Row
	celsius, celsiusLimit, volts, amperes, rpm   *Row

	slotInfo, slotOccupied, slotFaultSensed, slotFaultRequested, slotLocate, slotPredictedFailure *Row

	slotOSD, osdPaths, osdPathsExpected, osdVolumeMissing, osdHardware *Row
}

const (
	perEnclosure = "one per enclosure"
	perElement   = "one per element"
	perOSDRole   = "one per OSD and role"

	fromStatusPage = "SES page 02h of all IOMs over SG_IO"
	fromOSDLinks   = "links block, block.db and block.wal of the OSD's directory, followed through sysfs"

	statusCodes = "0 unsupported, 1 ok, 2 critical, 3 noncritical, 4 unrecoverable, 5 not installed, 6 unknown, 7 not available, 8 no access; 9 to 15 are reserved"
)

func newEnclosureTable() *enclosureTable {
	t := &enclosureTable{}
	t.addShelves()
	t.addElements()
	t.addSlots()
	t.addOSDs()
	return t
}

// shelf adds a gauge with the enclosure's id and further labels.
func (t *enclosureTable) shelf(name, help, cardinality, source string, labels ...string) *Row {
	return t.Add(Row{Name: "cephrisk_enclosure_" + name, Help: help, Kind: Gauge,
		Labels: append([]string{"enclosure_id"}, labels...), Cardinality: cardinality, Source: source})
}

func (t *enclosureTable) addShelves() {
	t.info = t.shelf("info", "1, for every enclosure that is there or is remembered", perEnclosure, "SES page 01h", "vendor", "product", "revision")
	t.present = t.shelf("present", "1 while the kernel lists a SES device or a disk of the enclosure, 0 when a remembered enclosure has gone", perEnclosure, "sysfs, and the remembered map")
	t.condition = t.shelf("condition", "1 while an IOM reports the enclosure-wide condition (invop, info, noncritical, critical, unrecoverable); the bits are independent of each other and of the elements, and info is set for good on some shelves",
		"five per enclosure", fromStatusPage, "condition")
	t.processUp = t.shelf("service_processor_up", "1 when the IOM's SES process gave its status in the last poll, 0 when it did not, also when it has gone; iom is its SAS address",
		"one per IOM", fromStatusPage+"; sysfs", "iom", "sg")
	t.lastSuccess = t.shelf("last_success_timestamp_seconds", "When the IOM's status was last read; absent until it was since the exporter started", "one per IOM", fromStatusPage, "iom")
	t.pageOK = t.shelf("page_read_success", "1 when the last attempt to read the page succeeded, 0 when it did not; absent for a page that the enclosure does not have. Status is read at each poll, the others once an hour and on changes",
		"up to five per IOM", "SES pages 01h, 02h, 05h, 07h and 0Ah", "iom", "page")
}

func (t *enclosureTable) addElements() {
	element := []string{"type", "element"}
	t.elements = t.shelf("elements", "Elements of the type with that status, zeros included", "nine per enclosure and type", fromStatusPage, "type", "status")
	t.status = t.shelf("element_status_code", "Status of the element as the enclosure reports it: "+statusCodes+". Of two IOMs the one that may access the element is believed, then the worse word. element counts all elements of the type, those of subenclosures included",
		perElement, fromStatusPage, element...)
	t.overall = t.shelf("overall_status_code", "Status of the overall element in front of each group of elements: "+statusCodes, "one per type header", fromStatusPage, "type", "type_header")
	t.elementInfo = t.shelf("element_info", "1, with the enclosure's name for the element; slots have an info series of their own", perElement+" that has a name", "SES page 07h, without serial numbers", "type", "element", "name")
	t.flag = t.shelf("element_flag", "1 while the element reports the fault (fail, ac_fail, dc_fail, over_temperature_fail, over_temperature_warning, open, predicted_failure, disabled, ...); absent while it does not",
		"one per element and flag that is set", fromStatusPage, "type", "element", "flag")
	t.celsius = t.shelf("temperature_celsius", "Temperature; absent when the sensor has no reading", "one per temperature sensor", fromStatusPage, element...)
	t.celsiusLimit = t.shelf("temperature_threshold_celsius", "The enclosure's own limit for the sensor: high_critical, high_warning; with --enclosure.low-thresholds also low_warning, low_critical",
		"two per temperature sensor", "SES page 05h", "type", "element", "threshold")
	t.volts = t.shelf("voltage_volts", "Voltage; absent when the sensor has no reading", "one per voltage sensor", fromStatusPage, element...)
	t.amperes = t.shelf("current_amperes", "Current; absent when the sensor has no reading", "one per current sensor", fromStatusPage, element...)
	t.rpm = t.shelf("fan_speed_rpm", "Speed of the fan in revolutions per minute; absent when the fan has no reading", "one per fan", fromStatusPage, element...)
}

func (t *enclosureTable) addSlots() {
	t.slotInfo = t.shelf("slot_info", "1, with the element that the slot is and the enclosure's name for it; slot is the number the enclosure gives it, with a suffix where two have the same",
		"one per slot", "SES pages 07h and 0Ah", "slot", "type", "element", "name")
	t.slotOccupied = t.shelf("slot_occupied", "1 when the slot holds a device, 0 when it is empty; absent when the enclosure does not say", "one per slot", fromStatusPage, "slot")
	t.slotFaultSensed = t.shelf("slot_fault_sensed", "1 when the enclosure found a fault in the slot", "one per slot", fromStatusPage, "slot")
	t.slotFaultRequested = t.shelf("slot_fault_requested", "1 while a host has the slot's fault LED on; absent while none has", "one per slot with that LED on", fromStatusPage, "slot")
	t.slotLocate = t.shelf("slot_locate", "1 while the slot's locate LED is on; absent while it is off", "one per slot with that LED on", fromStatusPage, "slot")
	t.slotPredictedFailure = t.shelf("slot_predicted_failure", "1 while the enclosure predicts the slot's failure; absent while it does not", "one per slot with that prediction", fromStatusPage, "slot")
}

func (t *enclosureTable) addOSDs() {
	t.slotOSD = t.shelf("slot_osd_info", "1, with the OSD whose device of that role (block, db, wal) is in the slot, or was when it was last seen; device is the multipath device where there is one",
		"one per OSD device in an enclosure", fromOSDLinks+"; the remembered map", "slot", "ceph_daemon", "role", "device", "wwn", "serial")
	role := []string{"ceph_daemon", "role"}
	t.osdPaths = t.Add(Row{Name: "cephrisk_osd_device_paths", Kind: Gauge, Labels: append(role, "state"),
		Help:        "Paths to the OSD's device by the state the kernel gives them (running, offline, blocked, ...); running is always there, also at 0",
		Cardinality: perOSDRole + " and state that occurs", Source: fromOSDLinks + "; state of the SCSI device"})
	t.osdPathsExpected = t.Add(Row{Name: "cephrisk_osd_device_paths_expected", Kind: Gauge, Labels: role,
		Help:        "The most paths that the OSD's device had since it has been in its enclosure",
		Cardinality: perOSDRole, Source: "the remembered map"})
	t.osdVolumeMissing = t.Add(Row{Name: "cephrisk_osd_volume_missing", Kind: Gauge, Labels: role,
		Help:        "1 when the disk of the OSD is there but the volume it had on it is not: LVM (or dm-crypt) did not activate it, as when the host was ready before its shelf",
		Cardinality: perOSDRole, Source: "the remembered map; sysfs"})
	t.osdHardware = t.Add(Row{Name: "cephrisk_osd_hardware_info", Kind: Gauge,
		Labels: []string{"ceph_daemon", "hostname", "hba", "enclosure_id", "slot", "disk", "db_disk", "wal_disk"},
		Help: "1, with everything that the OSD shares with others, or did when it was last seen: host, HBA (PCI address, joined by + where its paths go over several), enclosure, and the disks (WWN, else serial) of its roles. " +
			"Several dead OSDs that are all of those with one value have their common cause there",
		Cardinality: "one per OSD", Source: fromOSDLinks + "; the remembered map"})
}
