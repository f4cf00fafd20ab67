package scrub

import "time"

// Window is the time of day and week in which an OSD may begin a periodic
// scrub: osd_scrub_begin_hour to osd_scrub_end_hour, and the same for week
// days, Sunday being 0. Begin belongs to it, end does not; where both are equal
// it is always open. The zero Window is always open.
type Window struct {
	BeginHour, EndHour       int
	BeginWeekDay, EndWeekDay int
}

// Open reports whether both day and hour permit a scrub to begin. An OSD looks
// at its own local time, so t must be in the zone that the OSDs run in.
func (w Window) Open(t time.Time) bool {
	return between(w.BeginHour, w.EndHour, t.Hour()) && between(w.BeginWeekDay, w.EndWeekDay, int(t.Weekday()))
}

// between is Ceph's isbetween_modulo: half open, over midnight where end is
// before begin.
func between(begin, end, v int) bool {
	switch {
	case begin == end:
		return true
	case begin < end:
		return begin <= v && v < end
	default:
		return begin <= v || v < end
	}
}
