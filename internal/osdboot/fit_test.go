package osdboot

import (
	"math"
	"testing"
)

const gib = 1 << 30

var reefClean = Class{Release: 18, Shutdown: Clean, AllocationFile: No}

func seen(c Class, pairs ...float64) (out []Observation) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Observation{Bytes: pairs[i] * gib, Seconds: pairs[i+1], Class: c})
	}
	return out
}

func TestFitFollowsTheSizeOfTheDatabaseAndNeverInvents(t *testing.T) {
	other := reefClean
	other.Shutdown = Unclean
	for name, c := range map[string]struct {
		all    []Observation
		at     float64 // GiB
		want   float64
		n      int
		absent bool
	}{
		"no boot of that kind":               {all: seen(other, 1, 100, 10, 1000), absent: true},
		"one boot":                           {all: seen(reefClean, 1, 30), at: 50, want: 30, n: 1},
		"two boots are no line":              {all: seen(reefClean, 1, 30, 100, 50), at: 10, want: 40, n: 2},
		"a line":                             {all: seen(reefClean, 10, 30, 20, 50, 40, 90), at: 100, want: 210, n: 3},
		"databases of much the same size":    {all: seen(reefClean, 10, 30, 11, 50, 12, 10), at: 100, want: 30, n: 3},
		"larger ones were quicker: the mean": {all: seen(reefClean, 10, 30, 20, 20, 30, 10), at: 100, want: 20, n: 3},
		"none costs less than nothing":       {all: seen(reefClean, 10, 1, 20, 20, 30, 39), at: 0, want: 0, n: 3},
		"others do not count":                {all: append(seen(other, 1, 1e6, 2, 1e6, 3, 1e6), seen(reefClean, 1, 30)...), at: 1, want: 30, n: 1},
		"databases without any size":         {all: seen(reefClean, 0, 5, 0, 7, 0, 9), at: 3, want: 7, n: 3},
	} {
		f := SumsOf(c.all)[reefClean].Fit()
		got, ok := f.Estimate(c.at * gib)
		if ok == c.absent || f.N != c.n || ok && math.Abs(got-c.want) > 1e-6*(1+c.want) {
			t.Errorf("%s: %v %v from %d, want %v from %d", name, got, ok, f.N, c.want, c.n)
		}
	}
}

func TestOldObservationsMakeRoomInTheirOwnClass(t *testing.T) {
	var all []Observation
	rare := reefClean
	rare.Shutdown = Unclean
	all = Add(all, Observation{Seconds: -1, Class: rare})
	for i := range 3 * maxPerClass {
		all = Add(all, Observation{Seconds: float64(i), Class: reefClean})
	}
	if len(all) != maxPerClass+1 || all[0].Class != rare || all[1].Seconds != 2*maxPerClass || all[len(all)-1].Seconds != 3*maxPerClass-1 {
		t.Errorf("%d kept, first %+v, second %+v", len(all), all[0], all[1])
	}
}

func TestTriOf(t *testing.T) {
	for want, b := range map[Tri]*bool{NotKnown: nil, No: ptr(false), Yes: ptr(true)} {
		if got := TriOf(b); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
