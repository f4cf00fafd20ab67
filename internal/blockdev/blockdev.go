// Package blockdev finds the disks below an OSD: from the OSD's data directory
// over logical volumes, encryption and partitions down to what the kernel drives,
// and reads from sysfs how each is set up.
//
// The host may be mounted elsewhere (a container's view of it), so every path is
// taken below one of Roots, symbolic links included.
package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Roots say where the host's file systems are seen.
type Roots struct {
	Rootfs string // the host's /
	Sysfs  string // the host's /sys
}

// OSD is an OSD's data directory.
type OSD struct {
	ID   int
	FSID string // of the cluster, where the path says it (cephadm)
	Dir  string // as the host names it: /var/lib/ceph/osd/ceph-3
}

// OSDs lists the OSD data directories of the package and cephadm layouts, by id.
// A host without any has none; that is no error.
func (r Roots) OSDs() ([]OSD, error) {
	var found []OSD
	for _, layout := range []string{"/var/lib/ceph/osd/ceph-*", "/var/lib/ceph/*/osd.*"} {
		dirs, err := filepath.Glob(filepath.Join(r.Rootfs, layout))
		if err != nil {
			return nil, fmt.Errorf("find OSD directories: %w", err)
		}
		for _, dir := range dirs {
			base := filepath.Base(dir)
			id, err := strconv.Atoi(base[strings.LastIndexAny(base, "-.")+1:])
			if err != nil {
				continue
			}
			rel, err := filepath.Rel(r.Rootfs, dir)
			if err != nil {
				return nil, fmt.Errorf("find OSD directories: %w", err)
			}
			osd := OSD{ID: id, Dir: "/" + rel}
			if parent := filepath.Base(filepath.Dir(dir)); parent != "osd" {
				osd.FSID = parent
			}
			found = append(found, osd)
		}
	}
	slices.SortFunc(found, func(a, b OSD) int {
		if a.ID != b.ID {
			return a.ID - b.ID
		}
		return strings.Compare(a.Dir, b.Dir)
	})
	return found, nil
}

// Role is what an OSD uses a device for.
type Role string

// The roles: data, RocksDB and its write-ahead log.
const (
	Block Role = "block"
	DB    Role = "db"
	WAL   Role = "wal"
)

// Device returns the kernel's name (dm-3, sdb2) of the device that an OSD uses
// in a role. fs.ErrNotExist: it has none of its own.
func (r Roots) Device(osd OSD, role Role) (string, error) {
	link := "block"
	if role != Block {
		link = "block." + string(role)
	}
	return r.Resolve(filepath.Join(osd.Dir, link))
}

// maxLinks is how many symbolic links the kernel follows, too.
const maxLinks = 40

// Resolve follows a host path to the device it ends at and returns the kernel's
// name of it. A path that ends at no block device is an error: an OSD on a plain
// file has no disk of its own.
func (r Roots) Resolve(path string) (string, error) {
	end, err := r.follow(path)
	if err != nil {
		return "", fmt.Errorf("find device of %s: %w", path, err)
	}
	// With udev the last name is the kernel's; a node made by hand or below
	// /dev/mapper has only its numbers.
	if name := filepath.Base(end); r.isDevice(name) && strings.HasPrefix(end, "/dev/") {
		return name, nil
	}
	info, err := os.Stat(filepath.Join(r.Rootfs, end))
	if err != nil {
		return "", fmt.Errorf("find device of %s: %w", path, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode()&fs.ModeDevice == 0 || info.Mode()&fs.ModeCharDevice != 0 {
		return "", fmt.Errorf("find device of %s: %s is not a block device", path, end)
	}
	numbers := fmt.Sprintf("%d:%d", major(uint64(stat.Rdev)), minor(uint64(stat.Rdev)))
	target, err := os.Readlink(filepath.Join(r.Sysfs, "dev", "block", numbers))
	if err != nil {
		return "", fmt.Errorf("find device of %s: %w", path, err)
	}
	return filepath.Base(target), nil
}

// follow resolves symbolic links element by element, absolute ones from Rootfs.
func (r Roots) follow(path string) (string, error) {
	done, todo := "/", strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for links := 0; len(todo) > 0; {
		step := filepath.Join(done, todo[0])
		todo = todo[1:]
		target, err := os.Readlink(filepath.Join(r.Rootfs, step))
		switch {
		case err == nil:
			if links++; links > maxLinks {
				return "", syscall.ELOOP
			}
			if filepath.IsAbs(target) {
				done = "/"
			}
			todo = append(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), todo...)
		case errors.Is(err, syscall.EINVAL): // not a link
			done = step
		default:
			// The node may be missing in this view of /dev; its name still says
			// which device it is.
			if errors.Is(err, fs.ErrNotExist) && len(todo) == 0 && filepath.Dir(step) == "/dev" {
				return step, nil
			}
			return "", err
		}
	}
	return done, nil
}

func (r Roots) isDevice(name string) bool {
	_, err := os.Stat(r.class(name))
	return err == nil
}

func (r Roots) class(name string) string { return filepath.Join(r.Sysfs, "class", "block", name) }

func major(dev uint64) uint64 { return dev>>8&0xfff | dev>>32&^0xfff }
func minor(dev uint64) uint64 { return dev&0xff | dev>>12&^0xff }

// Disks returns the whole disks below a device, sorted: the device itself, the
// disk of a partition, or everything below a logical volume, an encrypted or a
// multipath device, or an array.
func (r Roots) Disks(name string) ([]string, error) {
	disks := map[string]bool{}
	if err := r.descend(name, disks, map[string]bool{}); err != nil {
		return nil, fmt.Errorf("find disks below %s: %w", name, err)
	}
	names := make([]string, 0, len(disks))
	for d := range disks {
		names = append(names, d)
	}
	slices.Sort(names)
	return names, nil
}

func (r Roots) descend(name string, disks, seen map[string]bool) error {
	if seen[name] {
		return nil
	}
	seen[name] = true
	slaves, err := os.ReadDir(filepath.Join(r.class(name), "slaves"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, s := range slaves {
		if err := r.descend(s.Name(), disks, seen); err != nil {
			return err
		}
	}
	if len(slaves) > 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(r.class(name), "partition")); err == nil {
		// A partition's directory lies in its disk's.
		dir, err := filepath.EvalSymlinks(r.class(name))
		if err != nil {
			return err
		}
		disks[filepath.Base(filepath.Dir(dir))] = true
		return nil
	}
	if !r.isDevice(name) {
		return fs.ErrNotExist
	}
	disks[name] = true
	return nil
}
