package enclosure

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// makeTree writes files (content) and links ("-> target") below a directory with
// the parts sys, dev and root.
func makeTree(t testing.TB, files map[string]string) Tree {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"sys", "dev", "root"} {
		if err := os.Mkdir(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Tree{Sysfs: filepath.Join(dir, "sys"), Dev: filepath.Join(dir, "dev"), Rootfs: filepath.Join(dir, "root")}
}

func TestLinksAreFollowedInsideTheHostsRoot(t *testing.T) {
	tree := makeTree(t, map[string]string{
		"root/srv/ceph/osd/ceph-1/whoami":  "1",
		"root/var/lib/ceph":                "-> /srv/ceph",
		"root/var/up":                      "-> ../../../../../../srv",
		"root/loop":                        "-> /loop2",
		"root/loop2":                       "-> loop",
		"root/dangling":                    "-> /nowhere",
		"root/to-dev":                      "-> /dev/vg/lv",
		"dev/vg/lv":                        "-> ../dm-3",
		"dev/dm-3":                         "",
		"sys/devices/virtual/block/dm-3/x": "",
		"sys/class/block/dm-3":             "-> ../../devices/virtual/block/dm-3",
		"root/to-sys":                      "-> /sys/class/block/dm-3/x",
		"root/a/self":                      "-> ./././../a",
	})
	for path, want := range map[string]string{
		"/var/lib/ceph/osd/ceph-1": "/srv/ceph/osd/ceph-1",
		"/var/up/ceph":             "/srv/ceph",
		"/to-dev":                  "/dev/dm-3",
		"/to-sys":                  "/sys/devices/virtual/block/dm-3/x",
		"/a/self/self":             "/a",
		"relative/../srv//ceph/":   "/srv/ceph",
		"/../../srv":               "/srv",
		"/loop":                    "resolve /loop: too many symbolic links",
		"/dangling":                "resolve /dangling: no such file",
		"/":                        "/",
	} {
		for name, tr := range map[string]Tree{"plain": tree, "remembering": tree.remembering()} {
			for range 2 {
				got, err := tr.resolve(path)
				if err != nil {
					got = strings.Replace(err.Error(), filepath.Dir(tr.Sysfs), "", 1)
					if strings.HasSuffix(got, "no such file or directory") {
						got = "resolve " + path + ": no such file"
					}
				}
				if got != want {
					t.Errorf("%s, %s: %s, want %s", path, name, got, want)
				}
			}
		}
	}
	if got := tree.read("/var/lib/ceph/osd/ceph-1", "whoami"); got != "1" {
		t.Errorf("whoami %q", got)
	}
}

// A link to a file of this process's own root must not be read through the
// host's tree.
func TestNothingOutsideTheRootsIsRead(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := makeTree(t, map[string]string{
		"root/var/lib/ceph/osd/ceph-1/whoami": "-> " + secret,
		"sys/class/block/sda":                 "-> " + filepath.Dir(secret),
		"sys/class/block/sdb/wwid":            "-> " + secret,
	})
	for _, got := range []string{
		tree.read("/var/lib/ceph/osd/ceph-1", "whoami"), tree.read("/sys/class/block/sda", "secret"), tree.read("/sys/class/block/sdb", "wwid"),
	} {
		if got != "" {
			t.Errorf("read %q", got)
		}
	}
}

// slotTree is a disk with a link to a slot directory of that name.
func slotTree(name, slot string) map[string]string {
	device := "sys/devices/pci0000:00/0000:3b:00.0/host6/target6:0:0/6:0:0:0"
	enclosure := "sys/devices/pci0000:00/0000:3b:00.0/host6/target6:0:1/6:0:1:0/enclosure/6:0:1:0"
	files := map[string]string{
		"sys/class/block/sda":                "-> ../../devices/pci0000:00/0000:3b:00.0/host6/target6:0:0/6:0:0:0/block/sda",
		device + "/block/sda/device":         "-> ../../../6:0:0:0",
		device + "/block/sda/dev":            "8:0\n",
		device + "/state":                    "running\n",
		enclosure + "/id":                    "0x500a0b1122334455\n",
		enclosure + "/" + name + "/status":   "OK\n",
		device + "/enclosure_device:" + name: "-> ../../target6:0:1/6:0:1:0/enclosure/6:0:1:0/" + name,
	}
	if slot != "" {
		files[enclosure+"/"+name+"/slot"] = slot
	}
	return files
}

// The slot's number is in its file `slot`, whatever the directory is called;
// without that file there is no number.
func TestTheKernelsSlotDirectories(t *testing.T) {
	for _, name := range []string{"Slot 00", "SLOT_001", "Disk #00", "slot00       ", "0", "SLOT 00,T5G93KUD             ", "9-1"} {
		for content, want := range map[string]int{"5\n": 5, "": -1, "banana\n": -1, "-1\n": -1, "70000\n": -1} {
			w := newWalk(makeTree(t, slotTree(name, content)))
			disks := w.disksOf("sda")
			if len(disks) != 1 || disks[0].Paths[0].Enclosure != 0x500a0b1122334455 || disks[0].Paths[0].Slot != want || disks[0].Paths[0].HBA != "0000:3b:00.0" {
				t.Errorf("%q with slot %q: %+v", name, content, disks)
			}
		}
	}
}

// Two directories with one number are both kept by the kernel; the address says
// which it is.
func TestTwoSlotsWithOneNumber(t *testing.T) {
	shelf := &Shelf{ID: 0x500a0b1122334455, Elements: []Element{
		{Type: TypeArrayDeviceSlot, Slot: &Slot{Number: 9, Label: "9", Addresses: []uint64{1}}},
		{Type: TypeArrayDeviceSlot, Slot: &Slot{Number: 9, Label: "9-1", Addresses: []uint64{2}}},
	}}
	id := FormatID(shelf.ID)
	for address, want := range map[uint64]string{1: "9", 2: "9-1", 3: "9"} {
		d := Disk{Paths: []Path{{Enclosure: shelf.ID, Slot: 9, Address: address}}}
		if got := locate(d, map[string]*Shelf{id: shelf}); got.slot != want || got.enclosure != id {
			t.Errorf("address %d: %+v, want %s", address, got, want)
		}
	}
	// While the shelf does not answer, the suffix is remembered.
	var m Memory
	v := Volume{Daemon: "osd.1", Role: "block", Disks: []Disk{{Name: "sda", WWN: "w", Paths: []Path{{Enclosure: shelf.ID, Slot: 9, Address: 2}}}}}
	m.observe(v, func(d Disk) location { return locate(d, map[string]*Shelf{id: shelf}) })
	m.observe(v, func(d Disk) location { return locate(d, nil) })
	if m.Entries[0].Slot != "9-1" {
		t.Errorf("slot %s", m.Entries[0].Slot)
	}
}

func TestSESDevicesAreFoundWithoutTheEnclosureClass(t *testing.T) {
	base := "sys/devices/pci0000:00/0000:3b:00.0/host6/port-6:0/end_device-6:0:9/target6:0:1/6:0:1:0"
	files := map[string]string{
		"sys/class/scsi_generic/sg3":             "-> ../../devices/pci0000:00/0000:3b:00.0/host6/port-6:0/end_device-6:0:9/target6:0:1/6:0:1:0/scsi_generic/sg3",
		base + "/scsi_generic/sg3/dev":           "21:3\n",
		base + "/scsi_generic/sg3/device":        "-> ../../../6:0:1:0",
		base + "/type":                           "13\n",
		base + "/vendor":                         "DELL    \n",
		base + "/model":                          "MD1220          \n",
		"sys/class/scsi_generic/sg4/device/type": "0\n",
		"sys/class/scsi_generic/sg5/dev":         "21:5\n",
	}
	want := Device{SG: "sg3", HCTL: "6:0:1:0", IOM: "6:0:1:0", Vendor: "DELL", Model: "MD1220"}
	check := func() {
		t.Helper()
		if got := makeTree(t, files).Devices(); len(got) != 1 || got[0] != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	check()
	files[base+"/wwid"], want.IOM = "naa.500a0b1122334400\n", "naa.500a0b1122334400"
	check()
	files["sys/class/sas_device/end_device-6:0:9/sas_address"], want.IOM = "0x500a0b11223344fd\n", "500a0b11223344fd"
	check()
	files[base+"/sas_address"], want.IOM = "0x500a0b11223344fe\n", "500a0b11223344fe"
	check()
	files["sys/class/enclosure/6:0:1:0/id"], want.LogicalID = "0x500a0b1122334455\n", 0x500a0b1122334455
	check()
}

func TestOSDDirectoriesOfEveryLayout(t *testing.T) {
	const fsid, osd = "4b5c8c0a-ff60-454b-a1b4-9747aa737d19", "00000000-0000-4000-8000-000000000001"
	tree := makeTree(t, map[string]string{
		"root/var/lib/ceph/osd/ceph-3/keyring":                        "",
		"root/var/lib/ceph/osd/site-b-4/whoami":                       "4\n", // not a directory of an OSD by its name
		"root/var/lib/ceph/osd/siteb-5/whoami":                        "5\n",
		"root/var/lib/ceph/" + fsid + "/osd.12/whoami":                "12\n",
		"root/var/lib/ceph/" + fsid + "/osd.12/fsid":                  osd + "\n",
		"root/var/lib/ceph/" + fsid + "/osd.12/ceph_fsid":             fsid + "\n",
		"root/var/lib/ceph/" + fsid + "/mon.a/keyring":                "",
		"root/var/lib/ceph/" + fsid + "/osd.12_removed/x":             "",
		"root/var/lib/rook/rook-ceph/" + fsid + "_" + osd + "/whoami": "7\n",
		"root/var/lib/rook/rook-ceph/" + osd + "_x/whoami":            "8\n",
		"root/var/lib/rook/rook-ceph/log":                             "",
		"root/var/lib/ceph/mon/ceph-3/keyring":                        "",
	})
	var got []string
	for _, d := range tree.osdDirs() {
		got = append(got, fmt.Sprintf("%s %s %s", d.daemon, d.cluster, d.osd))
	}
	slices.Sort(got)
	if want := []string{"osd.12 " + fsid + " " + osd, "osd.3  ", "osd.5  ", "osd.7  "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Device nodes need not be called as the kernel calls the device, and an OSD
// may sit on a partition.
func TestWhatAnOSDLinksTo(t *testing.T) {
	files := slotTree("Slot 00", "0")
	maps.Copy(files, map[string]string{
		"sys/devices/pci0000:00/0000:3b:00.0/host6/target6:0:0/6:0:0:0/block/sda/sda2/partition": "2\n",
		"sys/class/block/sda2": "-> ../../devices/pci0000:00/0000:3b:00.0/host6/target6:0:0/6:0:0:0/block/sda/sda2",
		"dev/sda":              "", "dev/sda2": "",
		"dev/disk/by-partuuid/1234":         "-> ../../sda2",
		"dev/vg-gone/lv":                    "-> ../dm-9",
		"sys/class/block/dm-0/dm/name":      "vg--a-osd--block--1\n",
		"sys/class/block/dm-0/dm/uuid":      "LVM-abc\n",
		"sys/class/block/dm-0/slaves/sda2":  "-> ../../sda2",
		"sys/class/block/dm-1/dm/name":      "loop\n",
		"sys/class/block/dm-1/slaves/dm-1":  "-> ../../dm-1",
		"sys/class/block/dm-2/dm/name":      "dead\n",
		"sys/class/block/dm-2/slaves/sdzz":  "-> ../../sdzz",
		"root/var/lib/ceph/osd/ceph-1/node": "",
	})
	w := newWalk(makeTree(t, files))
	for target, want := range map[string]string{
		"/dev/sda": "sda", "/dev/disk/by-partuuid/1234": "sda2", "/dev/vg-a/osd-block-1": "dm-0", "/dev/mapper/vg--a-osd--block--1": "dm-0",
		"/dev/vg-gone/lv": "", "/dev/none": "", "/var/lib/ceph/osd/ceph-1/node": "", "": "",
	} {
		if got := w.blockDevice(target); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	for name, want := range map[string]string{"sda": "[sda]", "sda2": "[sda]", "dm-0": "[sda]", "dm-1": "[]", "dm-2": "[]", "none": "[]"} {
		var got []string
		for _, d := range w.disksOf(name) {
			got = append(got, d.Name)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}

func TestTheHostsNumberedDevices(t *testing.T) {
	// The test machine's own devices are not to be looked at: a plain file has no
	// device number, which is all that can be shown without making a node.
	tree := makeTree(t, map[string]string{"dev/node": ""})
	if got := tree.deviceByNumber("/dev/node"); got != "" {
		t.Errorf("%q", got)
	}
}

// FuzzSysfs gives a slot directory, its number and a WWN any name that a file
// system can hold.
func FuzzSysfs(f *testing.F) {
	for _, name := range []string{"Slot 00", "SLOT_001", "Disk #00", "slot00       ", "0", "SLOT 00,T5G93KUD ", "é", "\xff", "..."} {
		f.Add(name, "5\n", "naa.5000c500a1b2c3d4\n", "0x500a0b1122334455\n")
	}
	f.Fuzz(func(t *testing.T, name, slot, wwid, id string) {
		if name == "" || name == "." || name == ".." || len(name) > 200 || strings.ContainsAny(name, "/\x00") {
			return
		}
		if strings.HasPrefix(slot+wwid+id, "-> ") || strings.HasPrefix(wwid, "-> ") || strings.HasPrefix(id, "-> ") {
			return // how makeTree is told of links
		}
		files := slotTree(name, "x"+slot)
		for k := range files {
			switch {
			case strings.HasSuffix(k, "/slot"):
				files[k] = slot
			case strings.HasSuffix(k, "/id"):
				files[k] = id
			}
		}
		files["sys/devices/pci0000:00/0000:3b:00.0/host6/target6:0:0/6:0:0:0/wwid"] = wwid
		disks := newWalk(makeTree(t, files)).disksOf("sda")
		if len(disks) != 1 || len(disks[0].Paths) != 1 {
			t.Fatalf("%+v", disks)
		}
		d := disks[0]
		if !utf8.ValidString(d.WWN) || len(d.WWN) > 2*maxLabel || d.Paths[0].Slot < -1 || d.Paths[0].Slot > 65535 {
			t.Fatalf("%+v", d)
		}
		at := locate(d, nil)
		if len(at.slot) > 5 || len(at.enclosure) != 0 && len(at.enclosure) != 16 {
			t.Fatalf("%+v", at)
		}
	})
}

// FuzzNames gives everything that takes names apart without a file system any
// name.
func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"osd.12", "ceph-12", "5000ccab01000000", "0x5000", "/dev/ceph-a-b/osd-block-c", "/dev/mapper/x", "/dev//", "0000:3b:00.0",
		"/sys/devices/pci0000:00/0000:3b:00.0/host6/port-6:0/end_device-6:0:9/target6:0:1/6:0:1:0", "SLOT 000,3FGXXXXX", "nvme0c1n1", "sdaa",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseForget(s); err == nil && !strings.HasPrefix(id, "osd.") && len(id) != 16 {
			t.Fatalf("%q may be forgotten as %q", s, id)
		}
		for _, name := range dmNames(s) {
			if strings.Contains(name, "/") {
				t.Fatalf("%q: device-mapper name %q", s, name)
			}
		}
		if h := hba(s); h != "" && !isPCIAddress(h) {
			t.Fatalf("%q: HBA %q", s, h)
		}
		if e := endDevice(s); strings.Contains(e, "/") {
			t.Fatalf("%q: end device %q", s, e)
		}
		for _, kind := range []ElementType{TypeArrayDeviceSlot, TypePowerSupply} {
			if name := ElementName(kind, label([]byte(s))); len(name) > maxLabel || !utf8.ValidString(name) {
				t.Fatalf("%q: element name %q", s, name)
			}
		}
		isDisk(s)
		parseAddress(s)
	})
}
