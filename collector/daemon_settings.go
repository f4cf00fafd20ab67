package collector

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/blockdev"
)

// runningOptions are the numeric and boolean options exported per OSD: what
// scrub and recovery may cost, and how mClock shares an OSD out.
func runningOptions() []string {
	return []string{
		"osd_max_scrubs", "osd_scrub_sleep", "osd_scrub_chunk_min", "osd_scrub_chunk_max",
		"osd_shallow_scrub_chunk_min", "osd_shallow_scrub_chunk_max", "osd_deep_scrub_stride", "osd_scrub_priority",
		"osd_scrub_begin_hour", "osd_scrub_end_hour", "osd_scrub_begin_week_day", "osd_scrub_end_week_day",
		"osd_scrub_load_threshold", "osd_scrub_during_recovery",
		"osd_max_backfills", "osd_recovery_max_active_hdd", "osd_recovery_max_active_ssd",
		"osd_recovery_sleep_hdd", "osd_recovery_sleep_ssd", "osd_recovery_op_priority",
		"osd_mclock_max_capacity_iops_hdd", "osd_mclock_max_capacity_iops_ssd", "osd_mclock_override_recovery_settings",
		"osd_mclock_scheduler_client_res", "osd_mclock_scheduler_client_wgt", "osd_mclock_scheduler_client_lim",
		"osd_mclock_scheduler_background_recovery_lim",
		"osd_mclock_scheduler_background_best_effort_res", "osd_mclock_scheduler_background_best_effort_wgt", "osd_mclock_scheduler_background_best_effort_lim",
	}
}

// The text options go into cephrisk_osd_running_info.
const (
	opQueueOption       = "osd_op_queue"
	mclockProfileOption = "osd_mclock_profile"
)

// measuredOptions is how the names of options begin that each OSD measures for
// itself, so that no two have the same value.
const measuredOptions = "osd_mclock_max_capacity_iops_"

// keepOptions drops the two thousand options that nobody exports.
func keepOptions(all map[string]string) map[string]string {
	kept := map[string]string{}
	for _, name := range append(runningOptions(), opQueueOption, mclockProfileOption) {
		if v, ok := all[name]; ok {
			kept[name] = v
		}
	}
	return kept
}

// optionValue reads an option's running value; false for one that is no number.
func optionValue(text string) (float64, bool) {
	switch text {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// osdDisk is one disk below an OSD.
type osdDisk struct {
	role, name string
	queue      blockdev.Queue
}

// class is what the OSD's data is on.
func (o *daemonOSD) class() string {
	class := "unknown"
	for _, d := range o.disks {
		if d.role != string(blockdev.Block) {
			continue
		}
		switch c := d.queue.Class(d.name); {
		case c == "hdd":
			return c // the slowest disk decides
		case c != "" && class != "ssd":
			class = c
		}
	}
	return class
}

// lookAtDisks refreshes the disks of the OSDs that are due, and sets when each
// is due again.
func (p *daemonPoller) lookAtDisks(now time.Time) {
	var dirs []blockdev.OSD
	for i, osd := range p.sorted() {
		if now.Before(osd.settingsAt) {
			continue
		}
		if dirs == nil {
			var err error
			if dirs, err = p.disks.OSDs(); err != nil {
				p.deps.Log.Debug("OSD directories", "err", err)
			}
			if dirs == nil {
				dirs = []blockdev.OSD{}
			}
		}
		next := now.Add(settingsEvery)
		if osd.settingsAt.IsZero() {
			// Spread over the polls of a minute from the second time on.
			next = next.Add(time.Duration(i%6) * p.deps.Interval)
		}
		osd.settingsAt = next
		osd.disks = p.disksOf(osd, dirs)
	}
}

func (p *daemonPoller) disksOf(osd *daemonOSD, dirs []blockdev.OSD) []osdDisk {
	i := slices.IndexFunc(dirs, func(d blockdev.OSD) bool {
		return strconv.Itoa(d.ID) == osd.socket.ID && (d.FSID == "" || osd.socket.FSID == "" || d.FSID == osd.socket.FSID)
	})
	if i < 0 {
		return nil
	}
	var all []osdDisk
	for _, role := range []blockdev.Role{blockdev.Block, blockdev.DB, blockdev.WAL} {
		device, err := p.disks.Device(dirs[i], role)
		var disks []string
		if err == nil {
			disks, err = p.disks.Disks(device)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.deps.Log.Debug("disks of an OSD", "ceph_daemon", osd.name, "role", string(role), "err", err)
		}
		for _, disk := range disks {
			all = append(all, osdDisk{string(role), disk, p.disks.Queue(disk)})
		}
	}
	return all
}

// sorted returns the OSDs known, by name.
func (p *daemonPoller) sorted() []*daemonOSD {
	all := make([]*daemonOSD, 0, len(p.osds))
	for _, osd := range p.osds {
		all = append(all, osd)
	}
	slices.SortFunc(all, func(a, b *daemonOSD) int { return strings.Compare(a.name, b.name) })
	return all
}
