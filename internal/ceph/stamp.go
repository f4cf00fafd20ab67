package ceph

import "time"

// Stamp is an instant in microseconds since the Unix epoch, or one of the two
// values below. Ceph's utime_t prints microseconds, so nothing is lost.
type Stamp int64

const (
	// NoStamp: the field was not in the answer.
	NoStamp Stamp = -1 << 63
	// BadStamp: the field was there and could not be read, for instance a
	// date without a zone (Nautilus).
	BadStamp Stamp = NoStamp + 1
)

// tenYears is the bound below which utime_t prints raw "sec.usec" instead of
// a date (ceph src/include/utime.h, utime_t::localtime): never set, in practice.
const tenYears = 60 * 60 * 24 * 365 * 10

// Known reports whether the stamp was in the answer and could be read.
func (s Stamp) Known() bool { return s > BadStamp }

// Unset reports whether the stamp is known to hold no date: below ten years
// since the epoch, as in "0.000000".
func (s Stamp) Unset() bool { return s.Known() && s < tenYears*1e6 }

// Dated reports whether the stamp holds a date, so that an age makes sense.
func (s Stamp) Dated() bool { return s.Known() && !s.Unset() }

// Time returns the instant in UTC. It must not be asked of a stamp that is
// not Known.
func (s Stamp) Time() time.Time { return time.UnixMicro(int64(s)).UTC() }

// Seconds returns the instant in seconds since the epoch.
func (s Stamp) Seconds() float64 { return float64(s) / 1e6 }

// StampOf converts a time.
func StampOf(t time.Time) Stamp { return Stamp(t.UnixMicro()) }
