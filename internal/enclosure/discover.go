package enclosure

import (
	"path"
	"strconv"
	"strings"
)

// Device is one SES device as the kernel lists it. A shelf with two IOMs has
// two.
type Device struct {
	SG     string // sg3
	HCTL   string // 6:0:1:0
	IOM    string // a name that survives a reboot, where there is one: its SAS address or WWN
	Vendor string
	Model  string
	// LogicalID is the shelf's, where the kernel's ses module is loaded; 0: not
	// known from sysfs.
	LogicalID uint64
}

// scsiTypeEnclosure is the peripheral device type of a SES device.
const scsiTypeEnclosure = "13"

// Devices lists the SES devices of this host. It does not look at
// /sys/class/enclosure for that: the module behind it may be absent, and it
// leaves out devices that do not say EncServ in their INQUIRY.
func (t Tree) Devices() []Device {
	var out []Device
	for _, sg := range t.list("/sys/class/scsi_generic") {
		dir, err := t.resolve(path.Join("/sys/class/scsi_generic", sg, "device"))
		if err != nil || t.read(dir, "type") != scsiTypeEnclosure {
			continue
		}
		d := Device{
			SG: sg, HCTL: path.Base(dir),
			Vendor: label([]byte(t.read(dir, "vendor"))), Model: label([]byte(t.read(dir, "model"))),
		}
		d.IOM = t.stableName(dir)
		if id, err := ParseID(t.read(path.Join("/sys/class/enclosure", d.HCTL), "id")); err == nil {
			d.LogicalID = id
		}
		out = append(out, d)
	}
	return out
}

// stableName names a SCSI device by its SAS address, else its WWN, else its
// place on the bus.
func (t Tree) stableName(dir string) string {
	if a := t.sasAddress(dir); a != 0 {
		return FormatID(a)
	}
	if w := label([]byte(t.read(dir, "wwid"))); w != "" {
		return w
	}
	return path.Base(dir)
}

// sasAddress returns the address of the port through which a SCSI device is
// reached: from the HBA driver's own attribute or the SAS transport class. 0
// where it has none.
func (t Tree) sasAddress(dir string) uint64 {
	if a := parseAddress(t.read(dir, "sas_address")); a != 0 {
		return a
	}
	if end := endDevice(dir); end != "" {
		return parseAddress(t.read(path.Join("/sys/class/sas_device", end), "sas_address"))
	}
	return 0
}

// endDevice returns the end_device-* directory above a SCSI device.
func endDevice(dir string) string {
	for part := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(part, "end_device-") {
			return part
		}
	}
	return ""
}

// parseAddress reads 0x-prefixed hex; 0 where it is something else.
func parseAddress(s string) uint64 {
	a, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		return 0
	}
	return a
}

// hba returns the PCI address of the adapter a device hangs on: the last PCI
// function above it. Empty where there is none.
func hba(dir string) string {
	found := ""
	for part := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(part, "host") || strings.HasPrefix(part, "nvme") {
			break
		}
		if isPCIAddress(part) {
			found = part
		}
	}
	return found
}

// isPCIAddress: 0000:3b:00.0.
func isPCIAddress(s string) bool {
	if len(s) < 12 || s[len(s)-2] != '.' || strings.Count(s, ":") != 2 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("0123456789abcdef:.", r) {
			return false
		}
	}
	return true
}
