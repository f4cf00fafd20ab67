package collector

import (
	"fmt"
	"strings"

	"github.com/ceph-risk/ceph_risk_exporter/internal/msa"
)

// msaTable is everything the msa collector exports.
type msaTable struct {
	Table

	up, controllerUp, refused, lastSuccess, logins, command *Row
	info, health                                            *Row

	controllerStatus, enclosureStatus, psuStatus, fanStatus       *Row
	groupStatus, groupInfo, groupSize, groupFree, groupDisks      *Row
	groupSpares                                                   *Row
	diskInfo, diskTemperature, diskTemperatureStatus, diskLife    *Row
	psuVoltage, fanSpeed                                          *Row
	sensorInfo, sensorStatus                                      *Row
	sensorTemperature, sensorVoltage, sensorCurrent, sensorCharge *Row
	jobs, jobProgress                                             *Row
	scrubStart, scrubFinish, scrubFinding, scrubErrors            *Row
	events                                                        *Row
}

const (
	perArray = "one per array"
	perGroup = "one per array and disk group or vdisk"
	perDisk  = "one per array and disk"
)

func newMSATable() *msaTable {
	t := &msaTable{}
	t.addAccessRows()
	t.addPartRows()
	t.addReadingRows()
	t.addScrubRows()
	return t
}

// add declares a row that carries `array`, as all of them do.
func (t *msaTable) add(name, help string, kind Kind, cardinality, source string, labels ...string) *Row {
	return t.Add(Row{
		Name: "cephrisk_msa_" + name, Help: help, Kind: kind, Cardinality: cardinality, Source: source,
		Labels: append([]string{"array"}, labels...),
	})
}

func (t *msaTable) addAccessRows() {
	const login = "XML API, login"
	t.up = t.add("up", "1 when one of the array's controllers answered in the last poll, 0 when none did or login was refused; then all other series of the array are absent, except those that tell why, and counters",
		Gauge, perArray, "XML API, `show system`")
	t.controllerUp = t.add("controller_up", "1 when the management controller at that address accepted the session and answered in the last poll",
		Gauge, "one per configured controller", "XML API, `show system`", "address")
	t.refused = t.add("login_refused", "1 while the array refuses user or password. Attempts are then 5 minutes to an hour apart, so that the account is not locked; a changed password file is tried at once",
		Gauge, perArray, login)
	t.lastSuccess = t.add("last_success_timestamp_seconds", "Instant of the last poll that the array answered; absent when there was none", Gauge, perArray, "the exporter itself")
	t.logins = t.add("logins_total", "Attempts to log in, by how they ended: accepted, refused (user, password, or the array's own error), failed (no usable answer)",
		Counter, "three per array", login, "result")
	t.command = t.add("command_success", "1 when the array answered that command in the last poll, 0 when it failed and its series are absent; absent where the model does not know the command",
		Gauge, "up to ten per array", "the exporter itself", "command")
}

func (t *msaTable) addPartRows() {
	const status = "property `status-numeric`"
	t.info = t.add("info", "1, with what the array is", Gauge, perArray, "XML API, `show system`", "system_name", "vendor", "product", "serial")
	t.health = t.add("health_code", "Health as the array judges it: "+valueList(msa.HealthValues)+" (a host port without connection has it). object: system, enclosure, controller, disk_group (or vdisk), disk, psu, fan, port",
		Gauge, "one per part: about 120 for an array of 82 disks", "XML API, property `health-numeric` of each object", "object", "id")
	t.controllerStatus = t.add("controller_status_code", "Status of a controller: "+valueList(msa.ControllerStatusValues), Gauge, "two per array", "XML API, `show controllers`, "+status, "controller")
	t.enclosureStatus = t.add("enclosure_status_code", "Status of an enclosure: "+valueList(msa.EnclosureStatusValues), Gauge, "one per enclosure", "XML API, `show enclosures`, "+status, "enclosure")
	t.psuStatus = t.add("psu_status_code", "Status of a power supply: "+valueList(msa.PSUStatusValues), Gauge, "two per enclosure", "XML API, `show power-supplies`, "+status, "psu")
	t.fanStatus = t.add("fan_status_code", "Status of a fan: "+valueList(msa.FanStatusValues), Gauge, "one per fan", "XML API, `show fans` or `show enclosures`, "+status, "fan")
	const groups = "XML API, `show disk-groups` or `show vdisks`"
	t.groupStatus = t.add("disk_group_status_code", "Status of a disk group or vdisk: "+valueList(msa.GroupStatusValues), Gauge, perGroup, groups+", "+status, "disk_group")
	t.groupInfo = t.add("disk_group_info", "1, with what the disk group or vdisk is", Gauge, perGroup, groups, "disk_group", "raid", "serial")
	t.groupSize = t.add("disk_group_size_bytes", "Size of a disk group or vdisk", Gauge, perGroup, groups+", property `size-numeric` with unit blocks512", "disk_group")
	t.groupFree = t.add("disk_group_free_bytes", "Free bytes of a disk group or vdisk", Gauge, perGroup, groups+", property `freespace-numeric` with unit blocks512", "disk_group")
	t.groupDisks = t.add("disk_group_disks", "Disks of a disk group or vdisk", Gauge, perGroup, groups+", property `diskcount`", "disk_group")
	t.groupSpares = t.add("disk_group_spares", "Spare disks of a disk group or vdisk", Gauge, perGroup, groups+", property `sparecount`", "disk_group")
	t.diskInfo = t.add("disk_info", "1, with what the disk is (enclosure.slot) and the disk group or vdisk it belongs to", Gauge, perDisk, "XML API, `show disks`",
		"disk", "enclosure", "disk_group", "vendor", "model", "serial")
}

func (t *msaTable) addReadingRows() {
	const disks, sensors = "XML API, `show disks`", "XML API, `show sensor-status`, property `value`"
	t.diskTemperature = t.add("disk_temperature_celsius", "Temperature of a disk", Gauge, perDisk, disks+", property `temperature`", "disk")
	t.diskTemperatureStatus = t.add("disk_temperature_status_code", "The array's judgement of a disk's temperature: "+valueList(msa.TemperatureStatusValues), Gauge, perDisk, disks+", property `temperature-status-numeric`", "disk")
	t.diskLife = t.add("disk_ssd_life_left_ratio", "Life left of an SSD, 1 for new", Gauge, "one per SSD", disks+", property `ssd-life-left-numeric`", "disk")
	t.psuVoltage = t.add("psu_voltage_volts", "Output voltage of a power supply, by its nominal value; absent on models that do not measure it", Gauge, "three per power supply", "XML API, `show power-supplies`, properties `dc12v`, `dc5v`, `dc33v`", "psu", "rail")
	t.fanSpeed = t.add("fan_speed_rpm", "Speed of a fan in revolutions per minute; absent for a missing one", Gauge, "one per fan", "XML API, `show fans` or `show enclosures`, property `speed`", "fan")
	t.sensorInfo = t.add("sensor_info", "1, with the sensor's name, which is not unique", Gauge, "one per sensor", "XML API, `show sensor-status`", "sensor", "enclosure", "name")
	t.sensorStatus = t.add("sensor_status", "1 for the status the sensor has, 0 for the others; other: unknown, not installed, and any that is not listed", Gauge, "five per sensor",
		"XML API, `show sensor-status`, property `status` (its numeric twin is wrong on some firmware)", "sensor", "status")
	t.sensorTemperature = t.add("sensor_temperature_celsius", "Reading of a temperature sensor", Gauge, "one per temperature sensor", sensors, "sensor")
	t.sensorVoltage = t.add("sensor_voltage_volts", "Reading of a voltage sensor", Gauge, "one per voltage sensor", sensors, "sensor")
	t.sensorCurrent = t.add("sensor_current_amperes", "Reading of a current sensor", Gauge, "one per current sensor", sensors, "sensor")
	t.sensorCharge = t.add("sensor_charge_ratio", "Reading of a charge sensor (the capacitors that save the cache), 1 for full", Gauge, "one per charge sensor", sensors, "sensor")
}

func (t *msaTable) addScrubRows() {
	const log = "XML API, `show events`, events 206 and 207"
	t.jobs = t.add("jobs_running", "Jobs that run on disk groups or vdisks, by the array's abbreviation: VRSC scrub, DRSC disk scrub, RCON reconstruction, others as the array gives them. A job counts once, not once per disk",
		Gauge, "one per array and job; VRSC and RCON always", "XML API, `show disk-groups` or `show vdisks`, `show disks`", "task")
	t.jobProgress = t.add("job_progress_ratio", "Progress of a running job, 0 to 1; absent where the array gives none", Gauge, "one per running job", "XML API, property `current-job-completion`", "disk_group", "task")
	t.scrubStart = t.add("scrub_last_start_timestamp_seconds", "When the last scrub of a disk group started, by the array's clock; absent when the event log does not reach back to it", Gauge, perGroup, log, "disk_group")
	t.scrubFinish = t.add("scrub_last_finish_timestamp_seconds", "When the last scrub of a disk group ended, whatever its result, by the array's clock; absent when the event log does not reach back to it", Gauge, perGroup, log, "disk_group")
	t.scrubFinding = t.add("scrub_last_finding", "1 when the last scrub of a disk group that ended did not say that no errors were found, did not come to its end, or was logged above informational severity; 0 when it was clean. disk_group=\"unknown\" where the event names none",
		Gauge, perGroup, log, "disk_group")
	t.scrubErrors = t.add("scrub_last_errors", "Errors of the last scrub of a disk group that ended, 0 when it said that none were found; absent where its text gives no number, see cephrisk_msa_scrub_last_finding", Gauge, perGroup, log, "disk_group")
	t.events = t.add("events_total", "Events that the array logged since the exporter first read its log, by code and severity. A combination that is new starts with 0 and gets its events in the next poll",
		Counter, "one per array and combination in its log, about 50", "XML API, `show events`", "event_code", "severity")
}

// valueList spells out an enumeration for HELP.
func valueList(values []msa.EnumValue) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprintf("%d %s", v.Code, v.Text)
	}
	return strings.Join(parts, ", ")
}
