package forecast

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Making the simulation faster must not change a figure of it: these are of
// every count, instant and share of forecasts over several seeds.
func TestForecastsAreWhatTheyWere(t *testing.T) {
	want := map[string]string{
		"16, one slot":  "6a7f0d8797619fa2",
		"16, two slots": "bc8f71983ee94fd9",
		"16, window":    "938e69eabc904ab6",
		"18, one slot":  "92cf83b3ff56b1f5",
		"18, two slots": "ce6a6383a2bffe07",
		"18, window":    "3eb9459f9eab2f0f",
		"19, one slot":  "02cd5d94b76d2227",
		"19, two slots": "c62029bf088ccfc5",
		"19, window":    "790120377af86058",
		"20, one slot":  "0c6ed5469bd62cb9",
		"20, two slots": "39e467d35d3f1704",
		"20, window":    "f21087b021fecf80",
	}
	got := make(map[string]string)
	for _, release := range []int{16, 18, 19, 20} {
		for name, change := range map[string]func(*Options){
			"one slot":  func(o *Options) { o.MaxScrubs = 1 },
			"two slots": func(o *Options) { o.MaxScrubs = 2 },
			"window":    func(o *Options) { o.MaxScrubs, o.BeginHour, o.EndHour = 1, 22, 3 },
		} {
			in := simulated(t, 1500, max(16, release&^1))
			in.Release = release
			change(&in.DefaultOptions)
			f := simulateOrFail(t, in, Run{Horizons: days, Seeds: 4, Seed: 7, RecoveryEnds: -1})
			got[fmt.Sprintf("%d, %s", release, name)] = digest(f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// digest is short for all of a forecast.
func digest(f *Forecast) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%+v %+v %v\n", f.Total, f.OSDs, f.MissingDurations)
	for _, id := range slices.Sorted(maps.Keys(f.Pools)) {
		fmt.Fprintf(b, "%d %+v\n", id, *f.Pools[id])
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))[:16]
}
