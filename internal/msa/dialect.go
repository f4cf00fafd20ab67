package msa

import (
	"regexp"
	"strings"
)

// This file holds everything about the API that is read in documents and other
// clients rather than in a specification, and all that could not be checked on
// a real array. The latter is marked "unverified"; docs/msa.md lists the same.

// EnumValue is one value of an enumerated property.
type EnumValue struct {
	Code int
	Text string
}

// HealthValues are the values of `health`, of every object.
var HealthValues = []EnumValue{{0, "OK"}, {1, "Degraded"}, {2, "Fault"}, {3, "Unknown"}, {4, "N/A"}}

// GroupStatusValues are the values of `status` of a disk group or vdisk.
var GroupStatusValues = []EnumValue{
	{0, "FTOL"}, {1, "FTDN"}, {2, "CRIT"}, {3, "OFFL"}, {4, "QTCR"}, {5, "QTOF"}, {6, "QTDN"}, {7, "STOP"},
	{8, "MSNG"}, {9, "DMGD"}, {11, "QTDN"}, {250, "UP"},
}

// EnclosureStatusValues are the values of `status` of an enclosure.
var EnclosureStatusValues = []EnumValue{
	{0, "Unsupported"}, {1, "Up"}, {2, "Error"}, {3, "Warning"}, {4, "Unrecoverable"}, {5, "Not Present"},
	{6, "Unknown"}, {7, "Unavailable"}, {20, "Spun Down"},
}

// PSUStatusValues are the values of `status` of a power supply.
var PSUStatusValues = []EnumValue{{0, "Up"}, {1, "Warning"}, {2, "Error"}, {3, "Not Present"}, {4, "Unknown"}, {6, "Disconnected"}}

// FanStatusValues are the values of `status` of a fan.
var FanStatusValues = []EnumValue{{0, "Up"}, {1, "Error"}, {2, "Off"}, {fanMissing, "Missing"}}

// ControllerStatusValues are the values of `status` of a controller.
var ControllerStatusValues = []EnumValue{{0, "Operational"}, {1, "Down"}, {2, "Not Installed"}}

// TemperatureStatusValues are the values of `temperature-status` of a disk;
// here 1 is the good one.
var TemperatureStatusValues = []EnumValue{{1, "OK"}, {2, "Critical"}, {3, "Warning"}, {4, "Unknown"}}

const fanMissing = 3

// fillerOctet is what 8-bit properties hold when they hold nothing.
const fillerOctet = 255

// sizeUnits are the units of exact sizes, in bytes.
var sizeUnits = map[string]float64{"blocks512": 512}

// psuRails are the power supply's voltages, in hundredths of a volt. Models
// without these sensors give 0 for all of them.
var psuRails = []struct{ property, rail string }{{"dc12v", "12"}, {"dc5v", "5"}, {"dc33v", "3.3"}}

const psuVolt = 0.01

// A variant is one way to log in.
type variant struct {
	base string // below which the API is
	hash Hash
	join string // between user and password
}

// loginVariants are tried in this order until one is accepted. Which firmware
// changed from MD5 to SHA-256 is unverified, and so is the joint "_!".
var loginVariants = []variant{
	{"/api", HashSHA256, "_"},
	{"/api", HashMD5, "_"},
	{"/api", HashSHA256, "_!"},
	{"/v3/api", HashMD5, "_"},
}

// The commands, in the words of the CLI. Models differ in what they know:
// optional ones are left out for a while once an array says that it does not
// know them.
const (
	cmdSystem      = "show system"
	cmdEnclosures  = "show enclosures"
	cmdControllers = "show controllers"
	cmdPSUs        = "show power-supplies"
	cmdFans        = "show fans"
	cmdDisks       = "show disks"
	cmdDiskGroups  = "show disk-groups"
	cmdVdisks      = "show vdisks"
	cmdSensors     = "show sensor-status"
	cmdPorts       = "show ports"
	cmdEvents      = "show events"
	cmdEventsLast  = "show events last " // and a number
	cmdLogin       = "login"
	cmdExit        = "exit"
)

// Basetypes of the objects.
const (
	typeStatus     = "status"
	typeSystem     = "system"
	typeEnclosure  = "enclosures"
	typeController = "controllers"
	typePSU        = "power-supplies"
	typeFan        = "fan"
	typeDisk       = "drives"
	typeDiskGroup  = "disk-groups"
	typeVdisk      = "virtual-disks"
	typeSensor     = "sensors"
	typePort       = "port"
	typeEvent      = "events"
)

// codeAmbiguous is the return code for a command the model does not know.
const codeAmbiguous = "-10028"

// codeRefused is the return code of a login with a wrong user or password; no
// other answer to a login is known to have it.
const codeRefused = "2"

// aboutAccount recognises such a refusal by its text. "Authentication
// Unsuccessful" is known, the other words are unverified.
func aboutAccount(message string) bool {
	message = strings.ToLower(message)
	for _, word := range []string{"authentication", "password", "credential", "user"} {
		if strings.Contains(message, word) {
			return true
		}
	}
	return false
}

// unknownCommand recognises the same by its text; "not recognized" is
// unverified over the XML API.
func unknownCommand(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "command is ambiguous") || strings.Contains(message, "was not recognized")
}

// sessionLost recognises an answer to an expired key by its text (unverified;
// the first command of a poll needs no text, see client.go).
func sessionLost(message string) bool {
	return strings.Contains(strings.ToLower(strings.ReplaceAll(message, " ", "")), "session")
}

// Jobs of a disk group, as the array abbreviates them. INIT, EXPD and VRFY are
// unverified; an unknown one is passed on as it is.
const (
	JobScrub       = "VRSC"
	JobReconstruct = "RCON"
	JobDiskScrub   = "DRSC"
)

// Sensor kinds by the `sensor-type` of either generation: texts, and numbers on
// older ones.
var sensorKinds = map[string]string{
	"temperature": UnitCelsius, "3": UnitCelsius,
	"voltage": UnitVolt, "6": UnitVolt, "9": UnitVolt,
	"current": UnitAmpere,
}

// Units of sensor readings.
const (
	UnitCelsius = "C"
	UnitVolt    = "V"
	UnitAmpere  = "A"
	UnitPercent = "%"
)

// Events by which a scrub of a disk group is followed.
const (
	eventScrubStarted = 206
	eventScrubEnded   = 207
)

// Severities in `severity`, lower case, from the least to the most severe;
// anything else is "other".
var severities = []string{"resolved", "informational", "warning", "error", "critical"}

// benign are the severities at which a completed scrub may still be clean.
var benign = map[string]bool{"informational": true, "resolved": true}

var (
	// scrubTarget finds the group and its serial number in an event's message:
	// "... (disk group: dgB01, SN: 00c0ff...)". The G2 wording, "vdisk", is
	// unverified.
	scrubTarget = regexp.MustCompile(`(?i)\b(?:disk[ -]group|virtual[ -]disk|vdisk)\s*:\s*([^,()]+)`)
	scrubSerial = regexp.MustCompile(`(?i)\b(?:SN|serial number)\s*:\s*([0-9a-z]+)`)
	// scrubClean is the only text that makes a scrub clean.
	scrubClean = regexp.MustCompile(`(?i)\bno errors (?:were )?found\b`)
	// scrubCut are words of a scrub that did not reach its end, even where no
	// errors were found up to then (unverified).
	scrubCut = regexp.MustCompile(`(?i)did not complete|not completed|abort|cancel|terminat|interrupt|\bfail`)
	// scrubNumber finds how many errors a completion speaks of (unverified: no
	// text of a scrub with errors has been seen). A bound ("fewer than 100") is
	// no number.
	scrubNumber = regexp.MustCompile(`(?i)((?:fewer|less|more|greater)\s+than\s+|at\s+least\s+|over\s+)?\b(\d+)\s+(?:[a-z]+\s+){0,4}?(?:errors?|mismatch(?:es)?)\b|\b(?:errors|mismatches)(?:\s+found)?\s*[:=]\s*(\d+)`)
)
