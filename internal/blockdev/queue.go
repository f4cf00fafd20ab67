package blockdev

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Queue is how the kernel drives a disk. What sysfs does not say is nil or "".
type Queue struct {
	Scheduler  string // none, mq-deadline, bfq, kyber
	WriteCache string // "write back": a volatile cache is on; "write through"
	Rotational *bool
	// Requests is how many requests the kernel queues (nr_requests), Depth how
	// many the device takes at once (SCSI's queue_depth).
	Requests, Depth *int
}

// Queue reads a whole disk's settings.
func (r Roots) Queue(disk string) Queue {
	dir := r.class(disk)
	q := Queue{
		Scheduler:  chosen(read(dir, "queue/scheduler")),
		WriteCache: read(dir, "queue/write_cache"),
		Requests:   number(read(dir, "queue/nr_requests")),
		Depth:      number(read(dir, "device/queue_depth")),
	}
	switch read(dir, "queue/rotational") {
	case "0":
		q.Rotational = new(bool)
	case "1":
		yes := true
		q.Rotational = &yes
	}
	return q
}

// Class is the device class that Ceph gives by default to an OSD on this disk;
// empty where the disk does not say what it is.
func (q Queue) Class(disk string) string {
	switch {
	case q.Rotational == nil:
		return ""
	case *q.Rotational:
		return "hdd"
	case strings.HasPrefix(disk, "nvme"):
		return "nvme"
	default:
		return "ssd"
	}
}

func read(dir, file string) string {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// chosen picks the word in brackets from "[mq-deadline] none".
func chosen(schedulers string) string {
	_, rest, open := strings.Cut(schedulers, "[")
	name, _, closed := strings.Cut(rest, "]")
	if open && closed {
		return name
	}
	return schedulers // a device without a choice prints "none"
}

func number(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	return &n
}
