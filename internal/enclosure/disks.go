package enclosure

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Disk is one physical device over all paths through which an OSD uses it.
type Disk struct {
	Name   string // of the multipath device, where there is one
	WWN    string
	Serial string
	Paths  []Path
}

// Key tells disks apart: by WWN, else serial number, else name.
func (d Disk) Key() string { return diskKey(d.WWN, d.Serial, d.Name) }

func diskKey(wwn, serial, name string) string {
	switch {
	case wwn != "":
		return wwn
	case serial != "":
		return serial
	}
	return name
}

// Path is one way to a disk: one block device of the kernel.
type Path struct {
	Name    string // sda
	State   string // of the SCSI device: running, offline, ...
	HBA     string // PCI address
	Address uint64 // of the disk's port on this path; 0: unknown
	// Enclosure and Slot are what the kernel links the device to; 0 and -1
	// where it links none.
	Enclosure uint64
	Slot      int
	wwn       string
	serial    string
}

// stateRunning is the kernel's word for a path that is used.
const stateRunning = "running"

// maxDepth bounds how many device-mapper levels may lie between an OSD and its
// disk.
const maxDepth = 16

// walk is one look at the host's block devices. It reads each of them once.
type walk struct {
	Tree
	paths map[string]Path
	dm    []dmDevice
}

func newWalk(t Tree) *walk { return &walk{Tree: t, paths: map[string]Path{}} }

// disksOf returns the physical devices below a block device.
func (t *walk) disksOf(name string) []Disk {
	return t.disksBelow(name, 0)
}

func (t *walk) disksBelow(name string, depth int) []Disk {
	dir, err := t.resolve(path.Join("/sys/class/block", name))
	if err != nil || depth > maxDepth {
		return nil
	}
	if t.read(dir, "partition") != "" {
		return t.disksBelow(path.Base(path.Dir(dir)), depth+1)
	}
	slaves := t.list(path.Join(dir, "slaves"))
	if len(slaves) == 0 {
		if strings.HasPrefix(name, "dm-") || strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "md") {
			return nil // its devices have gone
		}
		p := t.path(name, dir)
		return []Disk{{Name: name, WWN: p.wwn, Serial: p.serial, Paths: []Path{p}}}
	}
	var below []Disk
	for _, s := range slaves {
		below = append(below, t.disksBelow(s, depth+1)...)
	}
	if strings.HasPrefix(t.read(dir, "dm/uuid"), "mpath-") {
		return joinPaths(name, below)
	}
	return uniqueDisks(below)
}

// joinPaths makes one disk of the devices below a multipath device.
func joinPaths(name string, below []Disk) []Disk {
	if len(below) == 0 {
		return nil
	}
	d := Disk{Name: name, WWN: below[0].WWN, Serial: below[0].Serial}
	for _, b := range below {
		d.Paths = append(d.Paths, b.Paths...)
	}
	return []Disk{d}
}

// uniqueDisks drops what was reached over two volumes of the same disk.
func uniqueDisks(disks []Disk) []Disk {
	var out []Disk
	for _, d := range disks {
		if !slices.ContainsFunc(out, func(o Disk) bool { return o.Name == d.Name }) {
			out = append(out, d)
		}
	}
	return out
}

// path describes a leaf of the device tree.
func (t *walk) path(name, dir string) Path {
	p, known := t.paths[name]
	if !known {
		p = t.readPath(name, dir)
		t.paths[name] = p
	}
	return p
}

func (t Tree) readPath(name, dir string) Path {
	p := Path{Name: name, Slot: -1, HBA: hba(dir), State: "unknown"}
	device, err := t.resolve(path.Join(dir, "device"))
	if err != nil {
		return p
	}
	switch state := label([]byte(t.read(device, "state"))); state {
	case "":
	case "live": // NVMe's word
		p.State = stateRunning
	default:
		p.State = state
	}
	p.Address = t.sasAddress(device)
	p.wwn = t.wwn(dir, device)
	p.serial = t.serial(dir, device)
	p.Enclosure, p.Slot = t.slotLink(device)
	return p
}

// wwn returns the name of the disk itself, the same over all its ports.
func (t Tree) wwn(dir, device string) string {
	for _, at := range []string{device, dir} {
		if w := label([]byte(t.read(at, "wwid"))); w != "" {
			if hex, ok := strings.CutPrefix(w, "naa."); ok {
				return "0x" + hex
			}
			return strings.Join(strings.Fields(w), "_")
		}
	}
	return ""
}

// serial returns the disk's serial number: as udev has it, since Ceph's device
// names are made of that, else the unit serial number that the kernel read.
func (t Tree) serial(dir, device string) string {
	udev := map[string]string{}
	if number := t.read(dir, "dev"); number != "" && !strings.Contains(number, "/") {
		for line := range strings.Lines(t.read("/run/udev/data", "b"+number)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				udev[key] = value
			}
		}
	}
	for _, key := range []string{"E:ID_SCSI_SERIAL", "E:ID_SERIAL_SHORT"} {
		if v := label([]byte(udev[key])); v != "" {
			return v
		}
	}
	if page := t.readBytes(device, "vpd_pg80"); len(page) > 4 {
		return label(page[4:])
	}
	return label([]byte(t.read(device, "serial"))) // NVMe
}

// slotLink reads the kernel's link from a disk to its slot. The directory's
// name is of no use: it may hold a serial number, and is another slot's where
// slots are not the shelf's first elements. Without a file `slot` there is no
// number.
func (t Tree) slotLink(device string) (enclosure uint64, slot int) {
	slot = -1
	for _, name := range t.list(device) {
		if !strings.HasPrefix(name, "enclosure_device:") {
			continue
		}
		dir, err := t.resolve(path.Join(device, name))
		if err != nil {
			continue
		}
		id, err := ParseID(t.read(path.Dir(dir), "id"))
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(t.read(dir, "slot"), 10, 16); err == nil {
			slot = int(n)
		}
		return id, slot
	}
	return t.bayLink(device)
}

// bayLink asks the SAS transport for the bay, which some HBAs know without SES.
func (t Tree) bayLink(device string) (enclosure uint64, slot int) {
	end := endDevice(device)
	if end == "" {
		return 0, -1
	}
	dir := path.Join("/sys/class/sas_device", end)
	id := parseAddress(t.read(dir, "enclosure_identifier"))
	bay, err := strconv.ParseUint(t.read(dir, "bay_identifier"), 10, 16)
	if id == 0 || err != nil {
		return 0, -1
	}
	return id, int(bay)
}

// allDisks lists every disk path of the host by disk. It says whether a disk
// is there at all, whatever uses it.
func (t *walk) allDisks() map[string][]Path {
	out := map[string][]Path{}
	for _, name := range t.list("/sys/class/block") {
		if !isDisk(name) {
			continue
		}
		dir, err := t.resolve(path.Join("/sys/class/block", name))
		if err != nil || t.read(dir, "partition") != "" {
			continue
		}
		p := t.path(name, dir)
		key := diskKey(p.wwn, p.serial, name)
		out[key] = append(out[key], p)
	}
	return out
}

// isDisk leaves out virtual devices, and the hidden per-path devices of NVMe
// multipathing (nvme0c1n1).
func isDisk(name string) bool {
	if rest, ok := strings.CutPrefix(name, "nvme"); ok {
		return !strings.Contains(rest, "c")
	}
	return strings.HasPrefix(name, "sd")
}
