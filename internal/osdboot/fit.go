package osdboot

import (
	"slices"
	"time"
)

// Observation is a boot that was seen, with the size of the database that the
// OSD had to open.
type Observation struct {
	OSD     string    `json:"osd"`
	At      time.Time `json:"at"` // it was active
	Seconds float64   `json:"seconds"`
	Bytes   float64   `json:"bytes"` // in use on BlueFS
	Class   Class     `json:"class"`
}

// Class is what boots must have in common to be compared.
type Class struct {
	Release  int      `json:"release"` // major number
	Shutdown Shutdown `json:"shutdown"`
	// AllocationFile as in Boot; of a Class it matters after an unclean shutdown.
	AllocationFile Tri `json:"allocation_file"`
}

// Tri is yes, no or not known.
type Tri int8

// The values of Tri.
const (
	NotKnown Tri = iota
	No
	Yes
)

// String returns "yes", "no" or "unknown".
func (t Tri) String() string {
	switch t {
	case Yes:
		return "yes"
	case No:
		return "no"
	default:
		return "unknown"
	}
}

// TriOf converts a boolean that may be absent.
func TriOf(b *bool) Tri {
	switch {
	case b == nil:
		return NotKnown
	case *b:
		return Yes
	default:
		return No
	}
}

// maxPerClass bounds the observations that are kept of a class.
const maxPerClass = 200

// Add appends an observation and drops the oldest of its class beyond a bound.
func Add(all []Observation, o Observation) []Observation {
	n := 1
	oldest := -1
	for i := range all {
		if all[i].Class == o.Class {
			n++
			if oldest < 0 {
				oldest = i
			}
		}
	}
	if n > maxPerClass {
		all = slices.Delete(all, oldest, oldest+1)
	}
	return append(all, o)
}

// Sums is what a class's boots come to. Sums of several hosts can be added, so
// that a line can be fitted through the boots of a whole cluster.
type Sums struct {
	N              int     // boots
	Seconds, Bytes float64 // sums
	// Sums of the squares of bytes, and of bytes times seconds.
	BytesSquared, ByteSeconds float64
	Smallest, Largest         float64 // bytes of a database; 0 without a boot
}

// SumsOf sums the observations by class.
func SumsOf(all []Observation) map[Class]Sums {
	out := make(map[Class]Sums)
	for _, o := range all {
		s := out[o.Class]
		if s.N == 0 || o.Bytes < s.Smallest {
			s.Smallest = o.Bytes
		}
		s.Largest = max(s.Largest, o.Bytes)
		s.N++
		s.Seconds, s.Bytes = s.Seconds+o.Seconds, s.Bytes+o.Bytes
		s.BytesSquared, s.ByteSeconds = s.BytesSquared+o.Bytes*o.Bytes, s.ByteSeconds+o.Bytes*o.Seconds
		out[o.Class] = s
	}
	return out
}

// Fit is a straight line through the boots of a class: seconds as a function
// of the bytes of the database.
type Fit struct {
	N             int // observations
	base, perByte float64
}

// spread is by what factor the largest database must exceed the smallest before
// a slope is believed.
const spread = 1.5

// Fit fits a line. Neither part of it is negative: a larger database is never
// quicker, and none costs less than nothing. With too little to tell a slope
// from, it is the mean.
func (s Sums) Fit() Fit {
	f := Fit{N: s.N}
	if s.N == 0 {
		return f
	}
	n := float64(s.N)
	f.base = s.Seconds / n
	variance := s.BytesSquared - s.Bytes*s.Bytes/n
	if s.N < 3 || s.Largest < spread*s.Smallest || variance <= 0 {
		return f
	}
	slope := (s.ByteSeconds - s.Bytes*s.Seconds/n) / variance
	if slope <= 0 {
		return f
	}
	f.perByte, f.base = slope, (s.Seconds-slope*s.Bytes)/n
	if f.base < 0 {
		f.perByte, f.base = s.ByteSeconds/s.BytesSquared, 0
	}
	return f
}

// Estimate returns the seconds that a boot should take with a database of that
// size; false where no boot of the class was seen.
func (f Fit) Estimate(bytes float64) (float64, bool) {
	return f.base + f.perByte*bytes, f.N > 0
}
