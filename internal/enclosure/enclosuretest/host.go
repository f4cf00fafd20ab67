package enclosuretest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Host is a made-up host with shelves of 60 disks. Each disk holds one OSD: a
// multipath device over two paths, one per HBA and IOM, on it a logical volume,
// and for every second OSD dm-crypt on top. Groups of 15 OSDs share an NVMe
// device for their DB volumes. Everything is decided by the fields, nothing by
// chance.
type Host struct {
	Shelves []HostShelf
	// KernelLinks says whether the kernel's ses module linked disks to slots.
	KernelLinks bool
	// Inactive are the OSDs whose logical volumes LVM did not activate.
	Inactive map[int]bool
	// Swapped are the OSDs whose disks were replaced by new ones.
	Swapped map[int]bool
	// Moved says in which bay (shelf*Bays+slot) an OSD's disk is, where it is not
	// its own.
	Moved map[int]int
	// Dead are paths of disks the kernel has taken offline: "osd/path".
	Dead map[string]bool
	// Unmounted: the directories of OSDs whose volume is inactive are empty, as
	// those of packages are.
	Unmounted bool

	// Bays is how many slots of each shelf have a disk.
	Bays int

	root    string
	written map[string]node
}

// HostShelf is one shelf of a Host.
type HostShelf struct {
	LogicalID uint64
	Gone      bool
	// IOMGone are its IOMs (1, 2) that are not there.
	IOMGone map[byte]bool
}

// ClusterFSID is the cluster to which the OSDs of a Host belong.
const ClusterFSID = "4b5c8c0a-ff60-454b-a1b4-9747aa737d19"

const osdsPerDB = 15

// TwoShelves is a host with two shelves and so many disks in each, at most 60,
// everything in order.
func TwoShelves(bays int) *Host {
	return &Host{
		Bays:        bays,
		KernelLinks: true,
		Shelves:     []HostShelf{{LogicalID: 0x5000ccab01000000}, {LogicalID: 0x5000ccab02000000}},
		Inactive:    map[int]bool{}, Swapped: map[int]bool{}, Moved: map[int]int{}, Dead: map[string]bool{},
	}
}

// Write makes the trees sys, dev and root below dir, which must be empty, or as
// an earlier Write of the same Host left it.
func (h *Host) Write(dir string) error {
	if h.root != dir {
		h.root, h.written = dir, map[string]node{}
	}
	w := &writer{nodes: map[string]node{}}
	w.file("root/etc/hostname", "storage1\n")
	for s := range h.Shelves {
		h.writeShelf(w, s)
	}
	for osd := range len(h.Shelves) * h.Bays {
		h.writeOSD(w, osd)
	}
	err := w.apply(dir, h.written)
	h.written = w.nodes
	return err
}

// Adapter returns the PCI address of the HBA that IOM iom of each shelf is
// cabled to.
func Adapter(iom byte) string { return fmt.Sprintf("0000:%02x:00.0", 0x3a+int(iom)) }

// bus is where an HBA's SCSI host is.
func bus(iom byte) string {
	return fmt.Sprintf("sys/devices/pci0000:3a/0000:3a:%02x.0/%s/host%d", iom, Adapter(iom), iom)
}

// SESName and its kin name what a shelf's IOM has in the kernel.
func SESName(shelf int, iom byte) string { return fmt.Sprintf("sg%d", 200+2*shelf+int(iom)) }

func sesHCTL(shelf int, iom byte) string { return fmt.Sprintf("%d:0:%d:0", iom, 200+shelf) }

// IOMAddress is the SAS address of an IOM's SES process.
func IOMAddress(id uint64, iom byte) uint64 { return id | 0xff00 | uint64(iom) }

// writeShelf writes the SES devices of a shelf and the kernel's slots.
func (h *Host) writeShelf(w *writer, shelf int) {
	s := h.Shelves[shelf]
	for iom := byte(1); iom <= 2; iom++ {
		if s.Gone || s.IOMGone[iom] {
			continue
		}
		hctl, sg := sesHCTL(shelf, iom), SESName(shelf, iom)
		end := fmt.Sprintf("end_device-%d:%d", iom, 200+shelf)
		dir := fmt.Sprintf("%s/%s/target%s/%s", bus(iom), end, hctl[:len(hctl)-2], hctl)
		w.file(dir+"/type", "13\n")
		w.file(dir+"/vendor", "ACME    \n")
		w.file(dir+"/model", "DENSE60         \n")
		w.file(dir+"/state", "running\n")
		w.file(dir+"/wwid", fmt.Sprintf("naa.%016x\n", s.LogicalID|0x1000))
		w.file(fmt.Sprintf("%s/%s/sas_device/%s/sas_address", bus(iom), end, end), fmt.Sprintf("0x%016x\n", IOMAddress(s.LogicalID, iom)))
		w.class("sas_device", end, fmt.Sprintf("%s/%s/sas_device/%s", bus(iom), end, end))
		w.file(dir+"/scsi_generic/"+sg+"/dev", fmt.Sprintf("21:%s\n", sg[2:]))
		w.link(dir+"/scsi_generic/"+sg+"/device", "../../../"+hctl)
		w.class("scsi_generic", sg, dir+"/scsi_generic/"+sg)
		w.file("dev/"+sg, "")
		if !h.KernelLinks {
			continue
		}
		enclosure := dir + "/enclosure/" + hctl
		w.file(enclosure+"/id", fmt.Sprintf("%#x\n", s.LogicalID))
		w.file(enclosure+"/components", "60\n")
		w.class("enclosure", hctl, enclosure)
		for slot := range h.Bays {
			// The name holds a serial number and padding;
			name := kernelSlot(slot)
			w.file(enclosure+"/"+name+"/slot", fmt.Sprintf("%d\n", slot))
		}
	}
}

func kernelSlot(slot int) string { return fmt.Sprintf("SLOT %03d,T%07d             ", slot, slot*31) }

// WWN is an OSD's disk's name in sysfs's spelling, without naa.
func (h *Host) WWN(osd int) string {
	generation := 0
	if h.Swapped[osd] {
		generation = 1
	}
	return fmt.Sprintf("5000c500%d%07x", generation, osd)
}

// Serial is an OSD's disk's serial number.
func (h *Host) Serial(osd int) string {
	if h.Swapped[osd] {
		return fmt.Sprintf("NEW%05d", osd)
	}
	return fmt.Sprintf("ZX%06d", osd)
}

// Bay returns where an OSD's disk is.
func (h *Host) Bay(osd int) (shelf, slot int) {
	bay := osd
	if to, ok := h.Moved[osd]; ok {
		bay = to
	}
	return bay / h.Bays, bay % h.Bays
}

// sdName names block devices as the kernel does: sda, sdz, sdaa.
func sdName(n int) string {
	name := ""
	for n++; n > 0; n = (n - 1) / 26 {
		name = string(rune('a'+(n-1)%26)) + name
	}
	return "sd" + name
}

// writeDisk writes the paths of an OSD's disk and returns their names.
func (h *Host) writeDisk(w *writer, osd int) []string {
	shelf, slot := h.Bay(osd)
	s := h.Shelves[shelf]
	var names []string
	for iom := byte(1); iom <= 2; iom++ {
		if s.Gone || s.IOMGone[iom] {
			continue
		}
		n := 2*osd + int(iom) - 1
		name, hctl := sdName(n), fmt.Sprintf("%d:0:%d:0", iom, osd)
		end := fmt.Sprintf("end_device-%d:%d", iom, osd)
		dir := fmt.Sprintf("%s/%s/target%d:0:%d/%s", bus(iom), end, iom, osd, hctl)
		state := "running"
		if h.Dead[fmt.Sprintf("%d/%d", osd, iom)] {
			state = "offline"
		}
		w.file(dir+"/type", "0\n")
		w.file(dir+"/state", state+"\n")
		w.file(dir+"/wwid", "naa."+h.WWN(osd)+"\n")
		w.file(dir+"/sas_address", fmt.Sprintf("0x%016x\n", DenseDisk(s.LogicalID, slot, iom)))
		w.file(dir+"/block/"+name+"/dev", fmt.Sprintf("8:%d\n", 16*n))
		w.link(dir+"/block/"+name+"/device", "../../../"+hctl)
		w.class("block", name, dir+"/block/"+name)
		if osd%4 < 2 {
			w.file(fmt.Sprintf("root/run/udev/data/b8:%d", 16*n), fmt.Sprintf("S:disk/by-id/wwn-0x%s\nE:ID_SCSI_SERIAL=%s\n", h.WWN(osd), h.Serial(osd)))
		} else { // udev did not run in time
			w.file(dir+"/vpd_pg80", "\x00\x80\x00\x14"+fmt.Sprintf("%-20s", h.Serial(osd)))
		}
		if h.KernelLinks {
			target := fmt.Sprintf("%s/end_device-%d:%d/target%d:0:%d/%s/enclosure/%s/%s",
				bus(iom), iom, 200+shelf, iom, 200+shelf, sesHCTL(shelf, iom), sesHCTL(shelf, iom), kernelSlot(slot))
			w.relativeLink(dir+"/enclosure_device:"+kernelSlot(slot), target)
		}
		names = append(names, name)
	}
	return names
}

// writeDM writes a device-mapper device and returns its kernel name.
func writeDM(w *writer, number int, name, uuid string, slaves ...string) string {
	kernel := fmt.Sprintf("dm-%d", number)
	dir := "sys/devices/virtual/block/" + kernel
	w.file(dir+"/dm/name", name+"\n")
	w.file(dir+"/dm/uuid", uuid+"\n")
	w.dir(dir + "/slaves")
	for _, s := range slaves {
		w.link(dir+"/slaves/"+s, "../../../../../class/block/"+s)
	}
	w.class("block", kernel, dir)
	return kernel
}

func vg(kind string, n int) string {
	return fmt.Sprintf("ceph-%08x-%s-0000-0000-000000000000", n, kind)
}

// writeVolume writes a logical volume and its node, and returns its kernel name.
func writeVolume(w *writer, number int, group, volume string, n int, slaves ...string) string {
	double := func(s string) string { return strings.ReplaceAll(s, "-", "--") }
	kernel := writeDM(w, number, double(group)+"-"+double(volume), fmt.Sprintf("LVM-%064d", n), slaves...)
	w.link("dev/"+group+"/"+volume, "../"+kernel)
	return kernel
}

// writeOSD writes an OSD's devices and its directory: of the first shelf as
// packages have it, of the others as cephadm does.
func (h *Host) writeOSD(w *writer, osd int) {
	paths := h.writeDisk(w, osd)
	group, volume := vg("b10c", osd), fmt.Sprintf("osd-block-%08x", osd)
	if h.Swapped[osd] {
		volume += "-new"
	}
	crypt := fmt.Sprintf("crypt-%08x", osd)
	if len(paths) > 0 {
		mpath := writeDM(w, 4*osd, fmt.Sprintf("mpath%d", osd), "mpath-3"+h.WWN(osd), paths...)
		if !h.Inactive[osd] {
			n := osd
			if h.Swapped[osd] {
				n += 100_000
			}
			lv := writeVolume(w, 4*osd+1, group, volume, n, mpath)
			if osd%2 == 1 {
				writeDM(w, 4*osd+2, crypt, fmt.Sprintf("CRYPT-LUKS2-%032d-%s", osd, crypt), lv)
			}
		}
	}
	db := writeDB(w, osd)

	dir := fmt.Sprintf("root/var/lib/ceph/osd/ceph-%d", osd)
	if osd >= h.Bays {
		dir = fmt.Sprintf("root/var/lib/ceph/%s/osd.%d", ClusterFSID, osd)
	}
	w.dir(dir)
	if h.Unmounted && (h.Inactive[osd] || len(paths) == 0) {
		return
	}
	w.file(dir+"/whoami", fmt.Sprintf("%d\n", osd))
	w.file(dir+"/ceph_fsid", ClusterFSID+"\n")
	w.file(dir+"/fsid", OSDUUID(osd)+"\n")
	if osd%2 == 1 {
		w.link(dir+"/block", "/dev/mapper/"+crypt)
	} else {
		w.link(dir+"/block", "/dev/"+group+"/"+volume)
	}
	w.link(dir+"/block.db", "/dev/"+db)
}

// OSDUUID is the uuid of an OSD.
func OSDUUID(osd int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", osd) }

// DBDisk returns the number of the NVMe device with an OSD's DB.
func DBDisk(osd int) int { return osd / osdsPerDB }

// writeDB writes the volume of an OSD's DB, and the device with the first of
// them.
func writeDB(w *writer, osd int) string {
	n := DBDisk(osd)
	name := fmt.Sprintf("nvme%dn1", n)
	if osd%osdsPerDB == 0 {
		dir := fmt.Sprintf("sys/devices/pci0000:64/0000:64:%02x.0/0000:%02x:00.0/nvme/nvme%d", n, 0x65+n, n)
		w.file(dir+"/state", "live\n")
		w.file(dir+"/serial", fmt.Sprintf("NV%06d  \n", n))
		w.file(dir+"/"+name+"/wwid", fmt.Sprintf("eui.%016x\n", 0x36000+n))
		w.file(dir+"/"+name+"/dev", fmt.Sprintf("259:%d\n", n))
		w.link(dir+"/"+name+"/device", "../../nvme"+fmt.Sprint(n))
		w.class("block", name, dir+"/"+name)
	}
	group, volume := vg("db00", n), fmt.Sprintf("osd-db-%08x", osd)
	writeVolume(w, 4*osd+3, group, volume, 1_000_000+osd, name)
	return group + "/" + volume
}

// node is what a path is to be.
type node struct {
	kind    byte // 'f'ile, 'l'ink or 'd'irectory
	content string
}

// writer collects a tree.
type writer struct {
	nodes map[string]node
}

func (w *writer) file(path, content string) { w.nodes[path] = node{'f', content} }
func (w *writer) link(path, target string)  { w.nodes[path] = node{'l', target} }
func (w *writer) dir(path string)           { w.nodes[path] = node{kind: 'd'} }

// apply brings a directory from what was written before to what is collected.
// Directories that become empty stay.
func (w *writer) apply(root string, before map[string]node) error {
	for path, old := range before {
		if now, ok := w.nodes[path]; old.kind != 'd' && (!ok || now != old) {
			if err := os.Remove(filepath.Join(root, path)); err != nil {
				return err
			}
		}
	}
	made := map[string]bool{}
	for path, n := range w.nodes {
		if before[path] == n {
			continue
		}
		full := filepath.Join(root, path)
		dir := filepath.Dir(full)
		if n.kind == 'd' {
			dir = full
		}
		var err error
		if !made[dir] {
			err = os.MkdirAll(dir, 0o755)
			made[dir] = true
		}
		switch {
		case err != nil:
		case n.kind == 'f':
			err = os.WriteFile(full, []byte(n.content), 0o600)
		case n.kind == 'l':
			err = os.Symlink(n.content, full)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// relativeLink links to another path of the tree, as sysfs does.
func (w *writer) relativeLink(path, target string) {
	up := strings.Repeat("../", strings.Count(path, "/"))
	w.link(path, up+target)
}

// class lists a device in its class.
func (w *writer) class(class, name, target string) {
	w.relativeLink("sys/class/"+class+"/"+name, target)
}
