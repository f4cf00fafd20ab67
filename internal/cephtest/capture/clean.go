package capture

import (
	"bytes"
	"fmt"
	"regexp"
)

// A cleaner replaces what names the machine or the cluster. The same value
// becomes the same stand-in in every answer, so answers still fit together.
type cleaner struct {
	literal []replacement
	uuids   map[string]string
}

type replacement struct{ old, new []byte }

// newCleaner makes a cleaner of the answers of a cluster in dir, with its
// root, its identity and the name of its host.
func newCleaner(dir, root, fsid, host string) *cleaner {
	k := &cleaner{uuids: map[string]string{}}
	add := func(old, stand string) {
		k.literal = append(k.literal, replacement{[]byte(old), []byte(stand)})
	}
	add(dir, "/srv/ceph")
	add(root, "")
	add("127.0.0.1", "192.0.2.1")
	add(`"`+host+`"`, `"node1"`)
	k.uuid([]byte(fsid)) // the first, so that every cluster has the same
	return k
}

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	keyPattern  = regexp.MustCompile(`A[Q-Z][A-Za-z0-9+/]{36,56}==?`)
	// Values that describe the machine, by key.
	machinePattern = regexp.MustCompile(`"(kernel_version|kernel_description|cpu|distro|distro_description|distro_version|container_image|container_hostname|device_ids|device_paths|bluestore_bdev_devices|bluestore_bdev_dev_node|devices|default_device_class_source|mem_total_kb|mem_swap_kb)":( ?)"[^"]*"`)
)

// machine holds stand-ins for machinePattern's keys.
func machine(key string) string {
	switch key {
	case "kernel_version":
		return "6.1.0"
	case "kernel_description":
		return "#1 SMP"
	case "cpu":
		return "Some CPU @ 2.00GHz"
	case "distro":
		return "debian"
	case "distro_description":
		return "Debian GNU/Linux"
	case "distro_version":
		return "0"
	case "devices", "bluestore_bdev_devices":
		return "sda"
	case "device_ids":
		return "sda=VENDOR_MODEL_SERIAL1"
	case "device_paths":
		return "sda=/dev/disk/by-path/pci-0000:00:00.0-scsi-0:0:0:0"
	case "mem_total_kb":
		return "25000000"
	case "mem_swap_kb":
		return "0"
	}
	return ""
}

func (k *cleaner) uuid(old []byte) []byte {
	stand, ok := k.uuids[string(old)]
	if !ok {
		stand = fmt.Sprintf("00000000-0000-4000-8000-%012x", len(k.uuids)+1)
		k.uuids[string(old)] = stand
	}
	return []byte(stand)
}

func (k *cleaner) clean(answer []byte) []byte {
	for _, r := range k.literal {
		answer = bytes.ReplaceAll(answer, r.old, r.new)
	}
	answer = uuidPattern.ReplaceAllFunc(answer, k.uuid)
	answer = keyPattern.ReplaceAll(answer, []byte("KEY"))
	return machinePattern.ReplaceAllFunc(answer, func(m []byte) []byte {
		parts := machinePattern.FindSubmatch(m)
		return fmt.Appendf(nil, `"%s":%s"%s"`, parts[1], parts[2], machine(string(parts[1])))
	})
}
