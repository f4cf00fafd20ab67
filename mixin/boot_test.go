package mixin

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/osdboot"
)

// The rules fit through the boots of all hosts what an exporter fits through
// those of its own.
func TestFleetsBootEstimateIsTheLineThroughAllHostsBoots(t *testing.T) {
	cephtest.RequireTool(t, "promtool")
	const gib = 1 << 30
	rules, err := filepath.Abs("../alerts/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	fmt.Fprintf(&file, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n", rules)
	random := rand.New(rand.NewPCG(1, 2))
	class := osdboot.Class{Release: 18, Shutdown: osdboot.Unclean, AllocationFile: osdboot.Yes}
	lines := map[string]int{}
	for i := range 40 {
		n, base, slope := 1+random.IntN(6), 40*random.Float64()-20, 60*random.Float64()-20
		hosts := [3][]osdboot.Observation{}
		var all []osdboot.Observation
		for range n {
			size := float64(1 + random.IntN(2+2*(i%8)))
			o := osdboot.Observation{Bytes: size * gib, Seconds: max(1, base+slope*size+random.Float64()), Class: class}
			host := random.IntN(len(hosts))
			hosts[host], all = append(hosts[host], o), append(all, o)
		}
		const kind = `shutdown="unclean", release="18", allocation_file="yes"`
		fmt.Fprintf(&file, "- name: %q\n  interval: 1m\n  input_series:\n", fmt.Sprint(i))
		series := func(name, instance, labels string, v float64) {
			fmt.Fprintf(&file, "  - series: 'cephrisk_osd_%s{cluster=\"c1\", job=\"ceph_risk_exporter\", instance=%q, %s}'\n    values: '%vx2'\n", name, instance, labels, v)
		}
		for host, seen := range hosts {
			s, some := osdboot.SumsOf(seen)[class]
			if !some {
				continue
			}
			for name, v := range map[string]float64{
				"": float64(s.N), "_seconds": s.Seconds, "_bytes": s.Bytes, "_bytes_squared": s.BytesSquared,
				"_byte_seconds": s.ByteSeconds, "_smallest_bytes": s.Smallest, "_largest_bytes": s.Largest,
			} {
				series("boots_seen"+name, fmt.Sprint("host", host), kind, v)
			}
		}
		// Boots after another kind of shutdown do not count.
		series("boots_seen", "host1", `shutdown="clean", release="18", allocation_file="any"`, 7)
		series("boots_seen_seconds", "host1", `shutdown="clean", release="18", allocation_file="any"`, 7e6)
		const at = 12 * gib
		series("boot_estimate_bytes", "host9", `ceph_daemon="osd.5", `+kind, at)
		fit := osdboot.SumsOf(all)[class].Fit()
		want, _ := fit.Estimate(at)
		zero, _ := fit.Estimate(0)
		switch {
		case want == zero:
			lines["flat"]++
		case zero == 0:
			lines["through 0"]++
		default:
			lines["sloped"]++
		}
		// promtool compares to the last bit, so what is compared is the difference.
		fmt.Fprintf(&file, "  promql_expr_test:\n  - expr: 'abs(cephrisk:osd_boot_estimate_seconds:fleet - %v) < bool %v'\n    eval_time: 2m\n    exp_samples: [{labels: '{ceph_daemon=\"osd.5\", cluster=\"c1\", shutdown=\"unclean\"}', value: 1}]\n", want, 1e-6*(1+want))
		fmt.Fprintf(&file, "  - expr: 'cephrisk:osd_boot_estimate_observations:fleet'\n    eval_time: 2m\n    exp_samples: [{labels: 'cephrisk:osd_boot_estimate_observations:fleet{ceph_daemon=\"osd.5\", cluster=\"c1\", shutdown=\"unclean\"}', value: %d}]\n", n)
	}
	if len(lines) != 3 {
		t.Errorf("not every kind of line was tried: %v", lines)
	}
	path := filepath.Join(t.TempDir(), "boot.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "test", "rules", path)
}
