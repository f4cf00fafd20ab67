package enclosure

import (
	"slices"
	"strings"
)

// Entry is one line of the map: a disk of an OSD, where it sits, and how it was
// wired when all its paths were there. Entries outlive the disk's and the
// shelf's disappearance.
type Entry struct {
	Daemon    string   `json:"daemon"`
	Cluster   string   `json:"cluster,omitempty"`
	OSD       string   `json:"osd,omitempty"`
	Role      string   `json:"role"`
	Volume    string   `json:"volume,omitempty"` // device-mapper uuid
	Device    string   `json:"device"`
	WWN       string   `json:"wwn,omitempty"`
	Serial    string   `json:"serial,omitempty"`
	Enclosure string   `json:"enclosure,omitempty"`
	Slot      string   `json:"slot,omitempty"`
	HBAs      []string `json:"hbas,omitempty"`
	Paths     int      `json:"paths"`
}

// Disk is the disk's identity.
func (e Entry) Disk() string { return diskKey(e.WWN, e.Serial, e.Device) }

// is says whether the entry belongs to that OSD. An OSD directory does not
// always name its cluster.
func (e Entry) is(daemon, cluster string) bool {
	return e.Daemon == daemon && (e.Cluster == cluster || e.Cluster == "" || cluster == "")
}

// shelfMemory is what is still known of a shelf when it has gone.
type shelfMemory struct {
	ID       string      `json:"id"`
	Vendor   string      `json:"vendor,omitempty"`
	Product  string      `json:"product,omitempty"`
	Revision string      `json:"revision,omitempty"`
	IOMs     []iomMemory `json:"ioms,omitempty"`
}

type iomMemory struct {
	IOM     string `json:"iom"`
	SG      string `json:"sg"`
	Process byte   `json:"process"` // relative ES process id: which of the shelf's bays for IOMs
}

// Memory is the last known map, as it is kept over restarts.
type Memory struct {
	Shelves []shelfMemory `json:"shelves"`
	Entries []Entry       `json:"entries"`
}

// location is where a disk was found.
type location struct {
	enclosure string
	slot      string
	certain   bool // the shelf itself was asked, not only the kernel
}

// observe puts what was found of one OSD's device in place of what was known.
// A volume without disks changes nothing: that is when the map is needed.
func (m *Memory) observe(v Volume, locate func(Disk) location) {
	if len(v.Disks) == 0 {
		return
	}
	var old []Entry
	m.drop(func(e Entry) bool {
		if !e.is(v.Daemon, v.Cluster) || e.Role != v.Role {
			return false
		}
		old = append(old, e)
		return true
	})
	for _, d := range v.Disks {
		m.Entries = append(m.Entries, newEntry(v, d, locate(d), old))
	}
}

// newEntry describes a disk as found now, and keeps of the old entries what
// this look could not show.
func newEntry(v Volume, d Disk, at location, old []Entry) Entry {
	e := Entry{
		Daemon: v.Daemon, Cluster: v.Cluster, OSD: v.OSD, Role: v.Role, Volume: v.ID,
		Device: d.Name, WWN: d.WWN, Serial: d.Serial, Enclosure: at.enclosure, Slot: at.slot, Paths: len(d.Paths),
	}
	for _, p := range d.Paths {
		if p.HBA != "" && !slices.Contains(e.HBAs, p.HBA) {
			e.HBAs = append(e.HBAs, p.HBA)
		}
	}
	slices.Sort(e.HBAs)
	for _, o := range old {
		if o.Disk() != e.Disk() {
			continue
		}
		// A label beyond the number is known only while the shelf answers.
		same := o.Enclosure == e.Enclosure && !at.certain && (e.Slot == "" || strings.HasPrefix(o.Slot, e.Slot+"-"))
		if e.Enclosure == "" || same {
			e.Enclosure, e.Slot = o.Enclosure, o.Slot
		}
	}
	for _, o := range old {
		// The wiring is the shelf's: it holds also for a new disk.
		if o.Enclosure == e.Enclosure && o.Paths > e.Paths {
			e.Paths, e.HBAs = o.Paths, o.HBAs
		}
	}
	return e
}

// keepRoles drops devices that an OSD has no more: its directory is there with
// its block device, but without a link for that role.
func (m *Memory) keepRoles(volumes []Volume) {
	byDaemon := map[string][]Volume{}
	for _, v := range volumes {
		byDaemon[v.Daemon] = append(byDaemon[v.Daemon], v)
	}
	m.drop(func(e Entry) bool {
		block, role := false, false
		for _, v := range byDaemon[e.Daemon] {
			if e.is(v.Daemon, v.Cluster) {
				block = block || v.Role == "block" && len(v.Disks) > 0
				role = role || v.Role == e.Role
			}
		}
		return block && !role
	})
}

// drop removes the entries for which leave is true.
func (m *Memory) drop(leave func(Entry) bool) {
	m.Entries = slices.DeleteFunc(m.Entries, leave)
}

// forget removes an enclosure with everything in it, or an OSD.
func (m *Memory) forget(id string) {
	if strings.HasPrefix(id, "osd.") {
		m.drop(func(e Entry) bool { return e.Daemon == id })
		return
	}
	m.drop(func(e Entry) bool { return e.Enclosure == id })
	m.Shelves = slices.DeleteFunc(m.Shelves, func(s shelfMemory) bool { return s.ID == id })
}

// ParseForget checks what may be forgotten: an enclosure's id, or an OSD's name.
func ParseForget(s string) (string, error) {
	if osdByID.MatchString(s) && strings.HasPrefix(s, "osd.") {
		return s, nil
	}
	id, err := ParseID(s)
	if err != nil {
		return "", err
	}
	return FormatID(id), nil
}

// shelf returns the memory of a shelf, made where there is none.
func (m *Memory) shelf(id string) *shelfMemory {
	for i := range m.Shelves {
		if m.Shelves[i].ID == id {
			return &m.Shelves[i]
		}
	}
	m.Shelves = append(m.Shelves, shelfMemory{ID: id})
	return &m.Shelves[len(m.Shelves)-1]
}

// iom notes under which name the kernel lists a shelf's IOM. A new one takes the
// place of the one that was in its bay and is no longer listed.
func (s *shelfMemory) iom(n iomMemory, listed func(iom string) bool) {
	for i, old := range s.IOMs {
		if old.IOM == n.IOM {
			s.IOMs[i] = n
			return
		}
	}
	s.IOMs = append(slices.DeleteFunc(s.IOMs, func(old iomMemory) bool {
		return old.Process == n.Process && !listed(old.IOM)
	}), n)
}

// noteShelves sees to it that every shelf in the map is remembered, also one
// whose SES processes never answered.
func (m *Memory) noteShelves() {
	for _, e := range m.Entries {
		if e.Enclosure != "" {
			m.shelf(e.Enclosure)
		}
	}
}

// shelfOf returns the shelf to which an IOM belonged; empty where none is known.
func (m *Memory) shelfOf(iom string) string {
	for _, s := range m.Shelves {
		for _, i := range s.IOMs {
			if i.IOM == iom {
				return s.ID
			}
		}
	}
	return ""
}

// sort gives the memory the one order it is written in.
func (m *Memory) sort() {
	slices.SortFunc(m.Shelves, func(a, b shelfMemory) int { return strings.Compare(a.ID, b.ID) })
	for _, s := range m.Shelves {
		slices.SortFunc(s.IOMs, func(a, b iomMemory) int { return strings.Compare(a.IOM, b.IOM) })
	}
	key := func(e Entry) string { return e.Cluster + " " + e.Daemon + " " + e.Role + " " + e.Disk() }
	slices.SortFunc(m.Entries, func(a, b Entry) int { return strings.Compare(key(a), key(b)) })
}
