package enclosure

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Volume is one of an OSD's devices: what its directory links to, and which
// disks lie below.
type Volume struct {
	Daemon  string // osd.12
	Cluster string // fsid of the cluster; empty where the directory does not say
	OSD     string // uuid of the OSD itself
	Role    string // block, db or wal
	// ID is the device-mapper uuid, which is the same after a reboot; empty for
	// a bare disk and where the volume is not there.
	ID string
	// Disks is empty where the volume is not there, or its disks have gone.
	Disks []Disk
}

// osdDir is a directory of one OSD.
type osdDir struct {
	path    string // resolved
	daemon  string
	cluster string
	osd     string
}

var (
	osdByID   = regexp.MustCompile(`^(?:osd\.|[a-zA-Z0-9_]+-)([0-9]+)$`) // osd.12, ceph-12
	clusterID = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// roles are the links of a BlueStore OSD's directory and what they mean.
func roles() []struct{ link, role string } {
	return []struct{ link, role string }{{"block", "block"}, {"block.db", "db"}, {"block.wal", "wal"}}
}

// osdDirs lists the OSD directories of packages (/var/lib/ceph/osd/ceph-12),
// cephadm (/var/lib/ceph/<fsid>/osd.12) and Rook
// (/var/lib/rook/<namespace>/<fsid>_<osd uuid>).
func (t Tree) osdDirs() []osdDir {
	var out []osdDir
	add := func(dir, name string) {
		resolved, err := t.resolve(dir)
		if err != nil {
			return
		}
		d := osdDir{path: resolved, cluster: label([]byte(t.read(resolved, "ceph_fsid"))), osd: label([]byte(t.read(resolved, "fsid")))}
		id := t.read(resolved, "whoami")
		if _, err := strconv.ParseUint(id, 10, 31); err != nil {
			m := osdByID.FindStringSubmatch(name)
			if m == nil {
				return
			}
			id = m[1]
		}
		d.daemon = "osd." + id
		out = append(out, d)
	}
	for _, name := range t.list("/var/lib/ceph/osd") {
		if osdByID.MatchString(name) {
			add(path.Join("/var/lib/ceph/osd", name), name)
		}
	}
	for _, fsid := range t.list("/var/lib/ceph") {
		if !clusterID.MatchString(fsid) {
			continue
		}
		for _, name := range t.list(path.Join("/var/lib/ceph", fsid)) {
			if strings.HasPrefix(name, "osd.") && osdByID.MatchString(name) {
				add(path.Join("/var/lib/ceph", fsid, name), name)
			}
		}
	}
	for _, namespace := range t.list("/var/lib/rook") {
		for _, name := range t.list(path.Join("/var/lib/rook", namespace)) {
			if fsid, osd, ok := strings.Cut(name, "_"); ok && clusterID.MatchString(fsid) && clusterID.MatchString(osd) {
				add(path.Join("/var/lib/rook", namespace, name), name)
			}
		}
	}
	return out
}

// volumes returns the devices of all OSDs whose directories this host has. An
// OSD whose directory is empty (its tmpfs is filled only when LVM has found its
// volume) is not among them.
func (t *walk) volumes() []Volume {
	var out []Volume
	for _, dir := range t.osdDirs() {
		for _, r := range roles() {
			target, err := t.link(dir.path, r.link)
			if err != nil {
				continue
			}
			v := Volume{Daemon: dir.daemon, Cluster: dir.cluster, OSD: dir.osd, Role: r.role}
			if name := t.blockDevice(target); name != "" {
				v.ID, v.Disks = t.dmUUID(name), t.disksOf(name)
			}
			out = append(out, v)
		}
	}
	return onePerDevice(out)
}

// onePerDevice keeps one entry per OSD and role: a directory left over from an
// adopted OSD may link to what is gone.
func onePerDevice(volumes []Volume) []Volume {
	var out []Volume
	for _, v := range volumes {
		i := slices.IndexFunc(out, func(o Volume) bool {
			return o.Daemon == v.Daemon && o.Role == v.Role && (o.Cluster == v.Cluster || o.Cluster == "" || v.Cluster == "")
		})
		switch {
		case i < 0:
			out = append(out, v)
		case len(out[i].Disks) == 0 && len(v.Disks) > 0:
			out[i] = v
		}
	}
	return out
}

// blockDevice returns the kernel's name of the device that a path means; empty
// where there is no such device. A logical volume is looked up by its
// device-mapper name: that needs no /dev, and a link that udev left behind does
// not count as a volume.
func (t *walk) blockDevice(target string) string {
	for _, name := range dmNames(target) {
		if kernel := t.dmByName(name); kernel != "" {
			return kernel
		}
	}
	resolved, err := t.resolve(target)
	if err != nil {
		return ""
	}
	if name := path.Base(resolved); path.Dir(resolved) == "/dev" && t.exists(path.Join("/sys/class/block", name)) {
		return name
	}
	return t.deviceByNumber(resolved)
}

// dmNames lists what device-mapper may call a path: LVM doubles the hyphens of
// group and volume and puts one between them.
func dmNames(target string) []string {
	parts := strings.Split(strings.TrimPrefix(target, "/dev/"), "/")
	if !strings.HasPrefix(target, "/dev/") || len(parts) != 2 {
		return nil
	}
	if parts[0] == "mapper" {
		return []string{parts[1]}
	}
	double := func(s string) string { return strings.ReplaceAll(s, "-", "--") }
	return []string{double(parts[0]) + "-" + double(parts[1])}
}

// dmByName finds a device-mapper device by its name.
func (t *walk) dmByName(name string) string {
	for _, d := range t.dmDevices() {
		if d.name == name {
			return d.kernel
		}
	}
	return ""
}

// dmByUUID finds a device-mapper device by its uuid.
func (t *walk) dmByUUID(uuid string) string {
	for _, d := range t.dmDevices() {
		if uuid != "" && d.uuid == uuid {
			return d.kernel
		}
	}
	return ""
}

func (t *walk) dmUUID(kernel string) string {
	for _, d := range t.dmDevices() {
		if d.kernel == kernel {
			return d.uuid
		}
	}
	return ""
}

type dmDevice struct{ kernel, name, uuid string }

// dmDevices lists the device-mapper devices, once per walk.
func (t *walk) dmDevices() []dmDevice {
	if t.dm != nil {
		return t.dm
	}
	t.dm = []dmDevice{}
	for _, kernel := range t.list("/sys/class/block") {
		if !strings.HasPrefix(kernel, "dm-") {
			continue
		}
		dir, err := t.resolve(path.Join("/sys/class/block", kernel, "dm"))
		if err != nil {
			continue
		}
		t.dm = append(t.dm, dmDevice{kernel, t.read(dir, "name"), t.read(dir, "uuid")})
	}
	return t.dm
}

func (t Tree) exists(host string) bool {
	_, err := t.resolve(host)
	return err == nil
}
