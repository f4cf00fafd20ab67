package page

import (
	"cmp"
	"fmt"
	"math"
)

// running is the section about what goes on now.
type running struct {
	Notices []notice
	Levels  []runningLevel
	Stuck   *Num
	OSDs    *Num // with both
	PGs     []reason
	Blocked []reason
	Rows    []osdRow
	Busy    int
	Quiet   bool // it is known that no OSD scrubs or recovers
	More    *More
}

type runningLevel struct {
	Level  string
	Total  *Num
	Phases []reason
}

// reason is a count and what it counts.
type reason struct {
	Text string
	Num  *Num
}

type osdRow struct {
	OSD, Host       string
	Deep, Shallow   *Num // scrubs the OSD takes part in
	Primary         *Num
	Slots           *Num
	Recovering      *Num
	Both            bool
	scrubs, recover float64
}

const osdScrubs = "cephrisk_osd_scrubs_running"

func (v *overview) running() running {
	s := running{}
	const family = "cephrisk_scrubs_running"
	for _, level := range []string{"deep", "shallow"} {
		phases := v.byLabel(family, "phase", "level", level)
		if len(phases) == 0 {
			continue
		}
		l, total := runningLevel{Level: level}, 0.0
		for _, phase := range sortedKeys(phases) {
			total += phases[phase]
			if phases[phase] > 0 {
				l.Phases = append(l.Phases, reason{phase, num(count(phases[phase]), family, "level", level, "phase", phase)})
			}
		}
		l.Total = num(count(total), family, "level", level)
		s.Levels = append(s.Levels, l)
	}
	if n, ok := v.sum("cephrisk_scrub_stuck_pgs"); ok {
		s.Stuck = num(count(n), "cephrisk_scrub_stuck_pgs").bad(n)
	}
	if n, ok := v.sum("cephrisk_scrub_recovery_overlap_osds"); ok {
		s.OSDs = num(count(n), "cephrisk_scrub_recovery_overlap_osds").bad(n)
	}
	for name, n := range v.sorted("cephrisk_scrub_recovery_overlap_pgs", "doing") {
		s.PGs = append(s.PGs, reason{name, num(count(n), "cephrisk_scrub_recovery_overlap_pgs", "doing", name)})
	}
	for name, n := range v.sorted("cephrisk_pool_pgs_scrub_blocked", "reason") {
		if n > 0 {
			s.Blocked = append(s.Blocked, reason{name, num(count(n), "cephrisk_pool_pgs_scrub_blocked", "reason", name)})
		}
	}
	v.busyOSDs(&s)
	s.Notices = v.notices(len(s.Levels) > 0, "Nothing is known of running scrubs yet.", "pg")
	return s
}

// sorted yields a family's values by one label, in the label's order.
func (v *overview) sorted(name, label string) func(yield func(string, float64) bool) {
	values := v.byLabel(name, label)
	return func(yield func(string, float64) bool) {
		for _, key := range sortedKeys(values) {
			if !yield(key, values[key]) {
				return
			}
		}
	}
}

// busyOSDs lists the OSDs that scrub or recover, those that do both on top.
func (v *overview) busyOSDs(s *running) {
	rows := map[string]*osdRow{}
	row := func(osd string) *osdRow {
		if rows[osd] == nil {
			rows[osd] = &osdRow{OSD: osd, Host: v.hosts[osd]}
		}
		return rows[osd]
	}
	deep, shallow, primary := map[string]float64{}, map[string]float64{}, map[string]float64{}
	v.each(osdScrubs, func(sample Sample) {
		if sample.Value <= 0 {
			return
		}
		osd := sample.Get("ceph_daemon")
		row(osd).scrubs += sample.Value
		if sample.Get("level") == "deep" {
			deep[osd] += sample.Value
		} else {
			shallow[osd] += sample.Value
		}
		if sample.Get("role") == "primary" {
			primary[osd] += sample.Value
		}
	})
	v.each("cephrisk_osd_recovering_pgs", func(sample Sample) {
		if sample.Value > 0 {
			row(sample.Get("ceph_daemon")).recover = sample.Value
		}
	})
	slots := v.byLabel("cephrisk_osd_scrub_slots", "ceph_daemon")
	list := make([]*osdRow, 0, len(rows))
	for _, r := range rows {
		r.Both = r.scrubs > 0 && r.recover > 0
		list = append(list, r)
	}
	order(list, func(a, b *osdRow) int { return cmp.Compare(flag(b.Both), flag(a.Both)) },
		func(a, b *osdRow) int { return cmp.Compare(b.scrubs, a.scrubs) },
		func(a, b *osdRow) int { return cmp.Compare(b.recover, a.recover) },
		func(a, b *osdRow) int { return natural(a.OSD, b.OSD) })
	s.Busy, s.Quiet = len(list), len(list) == 0 && v.r.Len(osdScrubs) > 0
	list, n := first(list, maxOSDs)
	s.More = more(n, "busy OSDs", osdScrubs)
	for _, r := range list {
		r.Deep = num(count(deep[r.OSD]), osdScrubs, "ceph_daemon", r.OSD, "level", "deep")
		r.Shallow = num(count(shallow[r.OSD]), osdScrubs, "ceph_daemon", r.OSD, "level", "shallow")
		r.Primary = num(count(primary[r.OSD]), osdScrubs, "ceph_daemon", r.OSD, "role", "primary")
		r.Recovering = num(count(r.recover), "cephrisk_osd_recovering_pgs", "ceph_daemon", r.OSD)
		if n, ok := slots[r.OSD]; ok {
			r.Slots = num(count(n), "cephrisk_osd_scrub_slots", "ceph_daemon", r.OSD)
		}
		s.Rows = append(s.Rows, *r)
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// meta is the section about the metadata of OSDs.
type meta struct {
	Notices []notice
	Rows    []metaRow
	More    *More
	Boots   bool // some row has an estimate
	Total   *Num
}

type metaRow struct {
	OSD, Host         string
	Meta, Share, Omap *Num
	Bar               int // 0 to 100, of the largest
	Boot              *Num
	meta              float64
}

func (v *overview) meta() meta {
	const family = "cephrisk_osd_bluestore_meta_bytes"
	s := meta{}
	omap := v.byLabel("cephrisk_osd_bluestore_omap_bytes", "ceph_daemon")
	sizes := v.byLabel("cephrisk_osd_size_bytes", "ceph_daemon")
	boots := v.byLabel("cephrisk_osd_boot_estimate_seconds", "ceph_daemon", "shutdown", "unclean")
	var list []metaRow
	total, largest := 0.0, 0.0
	v.each(family, func(sample Sample) {
		total, largest = total+sample.Value, max(largest, sample.Value)
		list = append(list, metaRow{OSD: sample.Get("ceph_daemon"), meta: sample.Value})
	})
	// An OSD whose next boot is estimated is of this host: those are listed also
	// where no collector asks the cluster.
	if len(list) == 0 {
		for osd := range boots {
			list = append(list, metaRow{OSD: osd, meta: math.NaN()})
		}
	}
	order(list, func(a, b metaRow) int { return cmp.Compare(b.meta, a.meta) },
		func(a, b metaRow) int { return cmp.Compare(boots[b.OSD], boots[a.OSD]) },
		func(a, b metaRow) int { return natural(a.OSD, b.OSD) })
	var n int
	s.Rows, n = first(list, maxOSDs)
	s.More = more(n, "OSDs", family)
	for i := range s.Rows {
		r := &s.Rows[i]
		r.Host = v.hosts[r.OSD]
		if !math.IsNaN(r.meta) {
			r.Meta = num(size(r.meta), family, "ceph_daemon", r.OSD)
			if whole := sizes[r.OSD]; whole > 0 {
				r.Share = num(short(100*r.meta/whole)+" %", "cephrisk_osd_size_bytes", "ceph_daemon", r.OSD)
			}
			if largest > 0 {
				r.Bar = int(math.Round(100 * max(r.meta, 0) / largest))
			}
		}
		if b, ok := omap[r.OSD]; ok {
			r.Omap = num(size(b), "cephrisk_osd_bluestore_omap_bytes", "ceph_daemon", r.OSD)
		}
		if b, ok := boots[r.OSD]; ok {
			s.Boots = true
			r.Boot = num(fmt.Sprintf("%s s", short(b)), "cephrisk_osd_boot_estimate_seconds", "ceph_daemon", r.OSD)
		}
	}
	if len(list) > 0 && largest > 0 {
		s.Total = num(size(total), family)
	}
	s.Notices = v.notices(len(s.Rows) > 0, "No OSD has reported how much of its space is metadata.", "osd")
	return s
}
