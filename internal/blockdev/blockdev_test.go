package blockdev_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/blockdev"
)

// host builds a host below a directory of its own. Absolute links in it point
// to the host's own root, as they do on a mounted host.
type host struct {
	t *testing.T
	blockdev.Roots
}

func newHost(t *testing.T) *host {
	root := t.TempDir()
	return &host{t, blockdev.Roots{Rootfs: root, Sysfs: filepath.Join(root, "sys")}}
}

func (h *host) file(path, content string) {
	h.t.Helper()
	path = filepath.Join(h.Rootfs, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) link(path, target string) {
	h.t.Helper()
	path = filepath.Join(h.Rootfs, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) disk(name, scheduler, cache, rotational, requests, depth string) {
	dir := "sys/devices/pci0/" + name
	h.file(dir+"/queue/scheduler", scheduler+"\n")
	h.file(dir+"/queue/write_cache", cache+"\n")
	h.file(dir+"/queue/rotational", rotational+"\n")
	h.file(dir+"/queue/nr_requests", requests+"\n")
	if depth != "" {
		h.file(dir+"/device/queue_depth", depth+"\n")
	}
	h.link("sys/class/block/"+name, "../../devices/pci0/"+name)
	h.file("dev/"+name, "")
}

func (h *host) partition(name, disk string) {
	h.file("sys/devices/pci0/"+disk+"/"+name+"/partition", "1\n")
	h.link("sys/class/block/"+name, "../../devices/pci0/"+disk+"/"+name)
	h.file("dev/"+name, "")
}

func (h *host) mapped(name string, slaves ...string) {
	for _, s := range slaves {
		h.link("sys/devices/virtual/"+name+"/slaves/"+s, "../../../../class/block/"+s)
	}
	h.link("sys/class/block/"+name, "../../devices/virtual/"+name)
	h.file("dev/"+name, "")
}

func testHost(t *testing.T) *host {
	const fsid = "4b5c8c0a-ff60-454b-a1b4-9747aa737d19"
	h := newHost(t)
	h.disk("sda", "[mq-deadline] none", "write back", "1", "64", "32")
	h.disk("sdb", "mq-deadline [none]", "write through", "0", "128", "31")
	h.disk("sdc", "none", "write back", "1", "62", "30")
	h.disk("sdd", "none", "write back", "1", "62", "30")
	h.disk("nvme0n1", "[none] mq-deadline", "write through", "0", "1023", "")
	h.partition("sdb2", "sdb")
	h.partition("nvme0n1p3", "nvme0n1")
	h.mapped("dm-0", "sda")        // logical volume
	h.mapped("dm-1", "sdc", "sdd") // multipath
	h.mapped("dm-2", "dm-1")       // logical volume on it
	h.mapped("dm-3", "dm-2")       // encrypted
	h.mapped("dm-4", "nvme0n1p3")  // DB volume
	h.link("dev/ceph-vg/osd-block-0", "../dm-0")
	h.link("dev/mapper/crypt", "../dm-3")
	h.link("dev/ceph-db/osd-db-0", "/dev/dm-4")
	h.link("dev/disk/by-partuuid/x", "../../sdb2")
	h.link("var/lib/ceph/osd/ceph-0/block", "/dev/ceph-vg/osd-block-0")
	h.link("var/lib/ceph/osd/ceph-0/block.db", "/dev/ceph-db/osd-db-0")
	h.link("var/lib/ceph/osd/ceph-12/block", "/dev/disk/by-partuuid/x")
	h.link("var/lib/ceph/"+fsid+"/osd.3/block", "/dev/mapper/crypt")
	h.file("var/lib/ceph/osd/ceph-7/block", "")
	h.link("var/lib/ceph/osd/ceph-8/block", "/dev/gone/x")
	h.link("var/lib/ceph/osd/ceph-9/block", "block")
	h.file("var/lib/ceph/osd/ceph-x/block", "")
	return h
}

func TestDisksBelowEachOSD(t *testing.T) {
	h := testHost(t)
	osds, err := h.OSDs()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, osd := range osds {
		for _, role := range []blockdev.Role{blockdev.Block, blockdev.DB, blockdev.WAL} {
			name, err := h.Device(osd, role)
			if errors.Is(err, fs.ErrNotExist) && role != blockdev.Block {
				continue
			}
			if err != nil {
				got = append(got, fmt.Sprintf("%d %s error", osd.ID, role))
				continue
			}
			disks, err := h.Disks(name)
			got = append(got, fmt.Sprintf("%d %s %s %v %v", osd.ID, role, name, disks, err))
		}
	}
	want := []string{
		"0 block dm-0 [sda] <nil>",
		"0 db dm-4 [nvme0n1] <nil>",
		"3 block dm-3 [sdc sdd] <nil>",
		"7 block error", // a plain file
		"8 block error", // a link to nothing
		"9 block error", // a link to itself
		"12 block sdb2 [sdb] <nil>",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if osds[1].FSID != "4b5c8c0a-ff60-454b-a1b4-9747aa737d19" || osds[0].FSID != "" || osds[0].Dir != "/var/lib/ceph/osd/ceph-0" {
		t.Errorf("got %+v", osds[:2])
	}
}

func TestQueueSettings(t *testing.T) {
	h := testHost(t)
	show := func(disk string) string {
		q := h.Queue(disk)
		s := fmt.Sprintf("%s|%s|%s", q.Scheduler, q.WriteCache, q.Class(disk))
		for _, n := range []*int{q.Requests, q.Depth} {
			if n == nil {
				s += "|absent"
			} else {
				s += fmt.Sprintf("|%d", *n)
			}
		}
		return s
	}
	for disk, want := range map[string]string{
		"sda":     "mq-deadline|write back|hdd|64|32",
		"sdb":     "none|write through|ssd|128|31",
		"sdc":     "none|write back|hdd|62|30",
		"nvme0n1": "none|write through|nvme|1023|absent",
		"sdz":     "|||absent|absent",
	} {
		if got := show(disk); got != want {
			t.Errorf("%s: got %s, want %s", disk, got, want)
		}
	}
}

func TestUnknownDeviceIsAnError(t *testing.T) {
	h := testHost(t)
	if _, err := h.Disks("sdz"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	empty := newHost(t)
	if osds, err := empty.OSDs(); err != nil || len(osds) != 0 {
		t.Errorf("host without OSDs: got %v, %v", osds, err)
	}
}
