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

// Fit is a straight line through the boots of a class: seconds as a function
// of the bytes of the database.
type Fit struct {
	N             int // observations
	base, perByte float64
}

// spread is by what factor the largest database must exceed the smallest before
// a slope is believed.
const spread = 1.5

// FitOf fits the observations of one class. Neither part of the line is
// negative: a larger database is never quicker, and none costs less than
// nothing. With too little to tell a slope from, it is the mean.
func FitOf(all []Observation, c Class) Fit {
	var f Fit
	var sx, sy, sxx, sxy, least, most float64
	for _, o := range all {
		if o.Class != c {
			continue
		}
		if f.N == 0 || o.Bytes < least {
			least = o.Bytes
		}
		most = max(most, o.Bytes)
		f.N++
		sx, sy = sx+o.Bytes, sy+o.Seconds
		sxx, sxy = sxx+o.Bytes*o.Bytes, sxy+o.Bytes*o.Seconds
	}
	if f.N == 0 {
		return f
	}
	n := float64(f.N)
	f.base = sy / n
	variance := sxx - sx*sx/n
	if f.N < 3 || most < spread*least || variance <= 0 {
		return f
	}
	slope := (sxy - sx*sy/n) / variance
	if slope <= 0 {
		return f
	}
	f.perByte, f.base = slope, (sy-slope*sx)/n
	if f.base < 0 {
		f.perByte, f.base = sxy/sxx, 0
	}
	return f
}

// Estimate returns the seconds that a boot should take with a database of that
// size; false where no boot of the class was seen.
func (f Fit) Estimate(bytes float64) (float64, bool) {
	return f.base + f.perByte*bytes, f.N > 0
}
