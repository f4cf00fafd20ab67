package mixin

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hostFamilies are the metrics of exporters on OSD hosts, as the generated document
// has them: the simulation makes up the cluster's side only.
type hostFamily struct {
	name, kind string // gauge, counter, summary, histogram
	labels     []string
}

func hostFamilies(t *testing.T) []hostFamily {
	t.Helper()
	data, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("(?m)^`([a-z0-9_]+)(?:\\{(.*)\\})?`\n")
	var out []hostFamily
	for _, collector := range []string{"daemon", "bluestore", "enclosure", "rgw"} {
		_, rest, ok := strings.Cut(string(data), "\n## "+collector+"\n")
		if !ok {
			t.Fatalf("no section %s", collector)
		}
		section, _, _ := strings.Cut(rest, "\n## ")
		for _, text := range strings.Split(section, "\n### ")[1:] {
			m := heading.FindStringSubmatch(text)
			f := hostFamily{name: m[1], kind: "gauge"}
			if m[2] != "" {
				f.labels = strings.Split(m[2], ", ")
			}
			for _, kind := range []string{"counter", "summary", "histogram"} {
				if strings.Contains(text, "\nType: "+kind) {
					f.kind = kind
				}
			}
			// There only by flag, or only while something is wrong.
			if !strings.Contains(f.name, "distribution") && !strings.Contains(f.name, "_bucket_") && !strings.Contains(f.name, "_user_") && !slices.Contains(f.labels, "flag") {
				out = append(out, f)
			}
		}
	}
	return out
}

const hostOSDs = 60

// elements of a shelf with 60 bays, as an H4060-J has them.
var shelfElements = map[string]int{"array_device_slot": 60, "power_supply": 2, "cooling": 8, "temperature": 60, "controller": 2, "enclosure": 1, "sas_expander": 6, "sas_connector": 24, "voltage": 16, "current": 15}

// writeHost writes what the exporter of a host with 60 OSDs in one shelf shows after
// so many seconds: one gateway, all in order, some load.
func writeHost(to io.Writer, families []hostFamily, host, seconds int) {
	w := bufio.NewWriter(to)
	for _, f := range families {
		for i, labels := range combinations(f, host) {
			value := float64(seconds) * float64(1+i%7)
			if f.kind == "gauge" {
				value = steady(f.name)
			}
			switch f.kind {
			case "summary":
				fmt.Fprintf(w, "%s_sum{%s} %g\n%s_count{%s} %g\n", f.name, labels, value/1000, f.name, labels, value)
			case "histogram":
				for k := range 24 {
					fmt.Fprintf(w, "%s_bucket{%s,le=\"%g\"} %g\n", f.name, labels, 1e-4*math.Pow(2, float64(k)), math.Floor(value*float64(k+1)/24))
				}
				fmt.Fprintf(w, "%s_bucket{%s,le=\"+Inf\"} %g\n%s_sum{%s} %g\n%s_count{%s} %g\n", f.name, labels, value, f.name, labels, value/1000, f.name, labels, value)
			default:
				fmt.Fprintf(w, "%s{%s} %g\n", f.name, labels, value)
			}
		}
	}
	_ = w.Flush() // the scraper may have gone
}

// steady is the value of a gauge of a healthy host.
func steady(name string) float64 {
	for part, value := range map[string]float64{
		"_missing": 0, "_fault_": 0, "_predicted": 0, "_abandoned": 0, "_condition": 0, "_booting": 0, "slow_used": 0, "lag_bytes": 0,
		"temperature_celsius": 30, "temperature_threshold": 60, "log_bytes": 8 << 20, "db_": 30 << 30, "estimate_bytes": 30 << 30,
		"boots_seen": 40, "boot_": 60, "timestamp": 1.7e9,
	} {
		if strings.Contains(name, part) {
			return value
		}
	}
	return 1
}

// combinations lists the label sets that the family has on the host.
func combinations(f hostFamily, host int) []string {
	sets := []string{""}
	add := func(values ...string) {
		var more []string
		for _, s := range sets {
			for _, v := range values {
				more = append(more, strings.TrimPrefix(s+","+v, ","))
			}
		}
		sets = more
	}
	shelf := fmt.Sprintf("5000c500%08d", host)
	numbers := func(n int, format string, first int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, first+i))
		}
		return out
	}
	osd := numbers(hostOSDs, `ceph_daemon="osd.%d"`, host*hostOSDs)
	for _, label := range f.labels {
		quoted := func(values ...string) {
			for i := range values {
				values[i] = label + "=" + strconv.Quote(values[i])
			}
			add(values...)
		}
		switch label {
		case "ceph_daemon":
			switch {
			case strings.HasPrefix(f.name, "cephrisk_rgw_"):
				quoted(fmt.Sprintf("rgw.h%d", host))
			case slices.Contains(f.labels, "slot"): // one OSD per slot
				for i := range osd {
					osd[i] += fmt.Sprintf(`,slot="%d"`, i)
				}
				add(osd...)
			default:
				add(osd...)
			}
		case "slot":
			if !slices.Contains(f.labels, "ceph_daemon") {
				add(numbers(hostOSDs, `slot="%d"`, 0)...)
			}
		case "type":
			var all []string
			for kind, n := range shelfElements {
				if slices.Contains(f.labels, "slot") || strings.Contains(f.name, "temperature") && kind != "temperature" {
					continue
				}
				if !slices.Contains(f.labels, "element") {
					n = 1
				}
				all = append(all, numbers(n, `type="`+kind+`",element="%d"`, 0)...)
			}
			if len(all) == 0 {
				all = []string{`type="array_device_slot",element="0"`}
			}
			add(all...)
		case "element": // with its type
		case "activity":
			quoted("none", "scrub", "recovery", "scrub_recovery", "other")
		case "op":
			quoted("read", "write", "rw")
		case "kind":
			quoted("put", "multipart", "copy", "post")
		case "status_class":
			quoted("4xx", "5xx")
		case "shutdown":
			quoted("clean", "unclean")
		case "threshold":
			quoted("high_critical", "high_warning")
		case "condition":
			quoted("invop", "info", "noncritical", "critical", "unrecoverable")
		case "status":
			quoted("ok", "critical", "noncritical", "unrecoverable", "not_installed", "unknown", "not_available", "no_access", "unsupported")
		case "iom", "pool_type", "result", "reason":
			quoted("a", "b")
		case "option":
			quoted(numbers(30, "osd_option_%d", 0)...)
		case "state":
			quoted("running")
		case "role":
			quoted("block")
		case "hostname":
			quoted(fmt.Sprintf("h%d", host))
		case "enclosure_id":
			quoted(shelf)
		case "db_disk":
			var six []string
			for i := range 6 {
				six = append(six, fmt.Sprintf("nvme%d-%d", host, i))
			}
			quoted(six[0])
		default:
			quoted("x")
		}
	}
	return sets
}
