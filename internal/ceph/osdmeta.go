package ceph

import (
	"fmt"
	"strings"
)

// OSDMetadata is what an OSD said of itself when it last booted. Text that the
// answer does not have is empty: of an OSD that never booted there is nothing
// but the id.
type OSDMetadata struct {
	ID          int32
	Hostname    string
	DeviceClass string // default_device_class; CRUSH may have another
	ObjectStore string // bluestore, filestore, ...
	Release     string // pacific, reef, tentacle
	Version     string // 16.2.15
	Container   string // container_name
	Rotational  string // "1" or "0"
	Devices     []OSDDevice
}

// DeviceRole is what an OSD uses a device for.
type DeviceRole string

// The roles of BlueStore's devices.
const (
	DeviceBlock DeviceRole = "block"
	DeviceDB    DeviceRole = "db"
	DeviceWAL   DeviceRole = "wal"
)

// OSDDevice is a device below an OSD.
type OSDDevice struct {
	Role DeviceRole
	Name string // sdb, nvme0n1
	ID   string // VENDOR_MODEL_SERIAL; empty if Ceph does not know it
}

// Serial returns the last part of the device's id.
func (d OSDDevice) Serial() string { return d.ID[strings.LastIndexByte(d.ID, '_')+1:] }

type rawMetadata struct {
	ID          *int32 `json:"id"`
	Hostname    string `json:"hostname"`
	DeviceClass string `json:"default_device_class"`
	ObjectStore string `json:"osd_objectstore"`
	Release     string `json:"ceph_release"`
	Version     string `json:"ceph_version_short"`
	Container   string `json:"container_name"`
	Rotational  string `json:"rotational"`
	DeviceIDs   string `json:"device_ids"`
	Block       string `json:"bluestore_bdev_devices"`
	DB          string `json:"bluefs_db_devices"`
	WAL         string `json:"bluefs_wal_devices"`
}

// DecodeOSDMetadata decodes the answer of `osd metadata` for all OSDs.
func DecodeOSDMetadata(data []byte) ([]OSDMetadata, error) {
	const what = "osd metadata"
	var raw []rawMetadata
	if _, err := decode(what, data, &raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("decode %s: %w", what, ErrForeign)
	}
	out := make([]OSDMetadata, 0, len(raw))
	for i := range raw {
		r := &raw[i]
		if r.ID == nil {
			return nil, fmt.Errorf("decode %s: entry %d: id: %w", what, i, errMissing)
		}
		m := OSDMetadata{
			ID: *r.ID, Hostname: r.Hostname, DeviceClass: r.DeviceClass, ObjectStore: r.ObjectStore,
			Release: r.Release, Version: r.Version, Container: r.Container, Rotational: r.Rotational,
		}
		ids := deviceIDs(r.DeviceIDs)
		for _, use := range []struct {
			role  DeviceRole
			names string
		}{{DeviceBlock, r.Block}, {DeviceDB, r.DB}, {DeviceWAL, r.WAL}} {
			for _, name := range list(use.names) {
				m.Devices = append(m.Devices, OSDDevice{use.role, name, ids[name]})
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// deviceIDs reads "sda=ID,nvme0n1=ID".
func deviceIDs(text string) map[string]string {
	ids := map[string]string{}
	for _, pair := range list(text) {
		if name, id, ok := strings.Cut(pair, "="); ok {
			ids[name] = id
		}
	}
	return ids
}
