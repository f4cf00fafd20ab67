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
		"16, one slot":  "babf63ade60dc093",
		"16, two slots": "0b5de166a378cf80",
		"16, window":    "27b01fd96a292e55",
		"18, one slot":  "bd7b8bb286f28d40",
		"18, two slots": "a52ec8591e4e4dc9",
		"18, window":    "261b41d0b670fb0e",
		"19, one slot":  "6ee3e3cb4c9a2cd6",
		"19, two slots": "7aa02241dfb46f16",
		"19, window":    "10a3f0140481f69e",
		"20, one slot":  "724684fa8bda4510",
		"20, two slots": "ec113d2eb194dee0",
		"20, window":    "fc849ceeda926347",
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
