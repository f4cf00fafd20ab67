package enclosure

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Survey is what one poll found. Slices are sorted.
type Survey struct {
	Host      string
	Shelves   []ShelfView
	Processes []ProcessView
	OSDs      []OSDView
}

// ShelfView is a shelf that is there, or that was.
type ShelfView struct {
	ID       string
	Vendor   string
	Product  string
	Revision string
	Present  bool   // the kernel lists a SES device or a disk of it
	Shelf    *Shelf // nil: none of its SES processes answered
}

// ProcessView is one SES process that is there, or that was.
type ProcessView struct {
	Enclosure string // empty: it never said to which shelf it belongs
	IOM       string
	SG        string
	Up        bool
	Pages     []PageState
	Last      time.Time // of the last good status page; zero: none yet
}

// OSDView is one disk of an OSD.
type OSDView struct {
	Entry
	// States counts the disk's paths by their state; empty: the disk is not there.
	States map[string]int
	// VolumeMissing: the disk is there, but the volume that the OSD had on it is
	// not. LVM did not activate it, as when the host came up before its shelf.
	VolumeMissing bool
}

// locate finds a disk's slot: by the kernel's link, whose number is translated
// into the shelf's label, else by the addresses that the shelf sees in its slots.
func locate(d Disk, shelves map[string]*Shelf) location {
	for _, p := range d.Paths {
		if p.Enclosure == 0 {
			continue
		}
		at := location{enclosure: FormatID(p.Enclosure)}
		shelf := shelves[at.enclosure]
		at.certain = shelf != nil
		if shelf != nil {
			if slot := shelf.SlotAt(p.Slot); slot != nil {
				at.slot = slot.Label
				return at
			}
			if slot := shelf.SlotOf(p.Address); slot != nil {
				at.slot = slot.Label
				return at
			}
		}
		if p.Slot >= 0 {
			at.slot = fmt.Sprint(p.Slot)
		}
		return at
	}
	for _, p := range d.Paths {
		for _, id := range slices.Sorted(maps.Keys(shelves)) {
			if slot := shelves[id].SlotOf(p.Address); p.Address != 0 && slot != nil {
				return location{enclosure: id, slot: slot.Label, certain: true}
			}
		}
	}
	return location{}
}

// osdViews says of each line of the map what is there of it now.
func (w *Watcher) osdViews(blocks *walk, volumes []Volume, visible map[string][]Path) []OSDView {
	out := make([]OSDView, 0, len(w.memory.Entries))
	for _, e := range w.memory.Entries {
		v := OSDView{Entry: e, States: map[string]int{}}
		paths := visible[e.Disk()]
		there := false
		for _, vol := range volumes {
			if !e.is(vol.Daemon, vol.Cluster) || e.Role != vol.Role {
				continue
			}
			for _, d := range vol.Disks {
				if d.Key() == e.Disk() {
					there, paths = true, d.Paths
				}
			}
		}
		running := false
		for _, p := range paths {
			v.States[p.State]++
			running = running || p.State == stateRunning
		}
		v.VolumeMissing = !there && running && e.Volume != "" && blocks.dmByUUID(e.Volume) == ""
		out = append(out, v)
	}
	return out
}

// shelfViews lists every shelf that is there or was.
func (w *Watcher) shelfViews(shelves map[string]*Shelf, processes []ProcessView, visible map[string][]Path) []ShelfView {
	present := map[string]bool{}
	for _, p := range processes {
		present[p.Enclosure] = present[p.Enclosure] || w.listed(p.IOM)
	}
	for _, paths := range visible {
		for _, p := range paths {
			if p.Enclosure != 0 {
				present[FormatID(p.Enclosure)] = true
			}
		}
	}
	var out []ShelfView
	for _, m := range w.memory.Shelves {
		out = append(out, ShelfView{
			ID: m.ID, Vendor: m.Vendor, Product: m.Product, Revision: m.Revision,
			Present: present[m.ID], Shelf: shelves[m.ID],
		})
	}
	return out
}

// listed says whether the kernel lists a SES device of that IOM now.
func (w *Watcher) listed(iom string) bool {
	for _, p := range w.processes {
		if p.device.IOM == iom {
			return true
		}
	}
	return false
}

// processViews lists the SES processes that are there, and the remembered ones
// that are not.
func (w *Watcher) processViews() []ProcessView {
	var out []ProcessView
	known := map[string]bool{}
	for _, p := range w.ordered() {
		known[p.device.IOM] = true
		out = append(out, ProcessView{
			Enclosure: w.shelfIDOf(p), IOM: p.device.IOM, SG: p.device.SG,
			Up: p.report != nil, Pages: p.process.pageStates(), Last: p.last,
		})
	}
	for _, s := range w.memory.Shelves {
		for _, i := range s.IOMs {
			if !known[i.IOM] {
				out = append(out, ProcessView{Enclosure: s.ID, IOM: i.IOM, SG: i.SG})
			}
		}
	}
	slices.SortFunc(out, func(a, b ProcessView) int {
		return strings.Compare(a.Enclosure+" "+a.IOM+" "+a.SG, b.Enclosure+" "+b.IOM+" "+b.SG)
	})
	return out
}

// shelfIDOf returns to which shelf a device belongs: as it says, as it said, as
// the kernel knows, as it was before a restart.
func (w *Watcher) shelfIDOf(p *watched) string {
	if c := p.process.report.Config; c != nil {
		return p.shelfID(c)
	}
	if p.device.LogicalID != 0 {
		return FormatID(p.device.LogicalID)
	}
	return w.memory.shelfOf(p.device.IOM)
}

// hostname returns the host's name, which in a container is not the process's.
func (t Tree) hostname() string {
	if name := t.read("/etc", "hostname"); name != "" {
		return label([]byte(name))
	}
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
