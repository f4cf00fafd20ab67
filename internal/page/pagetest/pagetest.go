// Package pagetest makes readings for tests of the pages: from text in the
// exposition format, and made-up ones of any size.
package pagetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ceph-risk/ceph_risk_exporter/internal/page"
)

// Reading is a page.Reading of what a text says.
type Reading struct {
	Time     time.Time
	Families map[string]*dto.MetricFamily
	States   []page.Collector
}

// Parse reads texts in the exposition format.
func Parse(t testing.TB, at time.Time, states []page.Collector, texts ...string) *Reading {
	t.Helper()
	r := &Reading{Time: at, Families: map[string]*dto.MetricFamily{}, States: states}
	for _, text := range texts {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(r.Families, families)
	}
	return r
}

// At implements page.Reading.
func (r *Reading) At() time.Time { return r.Time }

// Names implements page.Reading.
func (r *Reading) Names() []string { return slices.Sorted(maps.Keys(r.Families)) }

// Len implements page.Reading.
func (r *Reading) Len(name string) int { return len(r.Families[name].GetMetric()) }

// Describe implements page.Reading.
func (r *Reading) Describe(name string) (help, kind string, ok bool) {
	f := r.Families[name]
	return f.GetHelp(), strings.ToLower(f.GetType().String()), f != nil
}

// Each implements page.Reading.
func (r *Reading) Each(name string, yield func(page.Sample) bool) {
	for _, m := range r.Families[name].GetMetric() {
		s := page.Sample{Value: m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()}
		if h := m.GetHistogram(); h != nil {
			s.Value, s.Count = h.GetSampleSum(), h.SampleCount
		}
		if h := m.GetSummary(); h != nil {
			s.Value, s.Count = h.GetSampleSum(), h.SampleCount
		}
		for _, l := range m.Label {
			s.Labels = append(s.Labels, l.GetName(), l.GetValue())
		}
		if !yield(s) {
			return
		}
	}
}

// Collectors implements page.Reading.
func (r *Reading) Collectors() []page.Collector { return r.States }

// Size says how much to make up.
type Size struct {
	Pools, OSDs, Shelves, Slots, Gateways, Arrays int
	// Name turns a plain name into the one to use, to make hostile ones.
	Name func(string) string
}

// escaper writes label values as the text format wants them.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// text collects samples family by family.
type text struct {
	strings.Builder
	name func(string) string
}

func (b *text) add(name string, value float64, labels ...string) {
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+`="`+escaper.Replace(labels[i+1])+`"`)
	}
	fmt.Fprintf(b, "%s{%s} %v\n", name, strings.Join(pairs, ","), value)
}

// MadeUp returns an exposition of that size: a cluster that has work before it,
// and hosts with shelves, gateways and arrays that have faults.
func MadeUp(at time.Time, s Size) string {
	b := &text{name: s.Name}
	if b.name == nil {
		b.name = func(n string) string { return n }
	}
	now := float64(at.Unix())
	b.add("cephrisk_cluster_info", 1, "fsid", "4b5c8c0a-ff60-454b-a1b4-9747aa737d19", "release", "tentacle")
	for _, level := range []string{"deep", "shallow"} {
		b.add("cephrisk_scrub_option_mgr", map[string]float64{"deep": 0.75, "shallow": 0.5}[level], "option", map[string]string{"deep": "mon_warn_pg_not_deep_scrubbed_ratio", "shallow": "mon_warn_pg_not_scrubbed_ratio"}[level])
	}
	b.add("cephrisk_scrub_forecast_timestamp_seconds", now-95)
	b.add("cephrisk_scrub_forecast_pgs", 14, "state", "blocked")
	for i := range s.Pools {
		b.pool(i, now)
	}
	b.osds(s.OSDs)
	for i := range s.Shelves {
		b.shelf(i, s.Slots)
	}
	b.uploads(s.Gateways, now)
	for i := range s.Arrays {
		array := b.name(fmt.Sprintf("array%d", i+1))
		b.add("cephrisk_msa_up", 1, "array", array)
		b.add("cephrisk_msa_info", 1, "array", array, "vendor", "HPE", "product", "MSA 2060", "system_name", "x", "serial", "y")
		for disk := range 24 {
			b.add("cephrisk_msa_health_code", float64([]int{0, 0, 0, 0, 0, 1}[disk%6]), "array", array, "object", "disk", "id", fmt.Sprintf("disk_01.%02d", disk+1))
		}
		b.add("cephrisk_msa_jobs_running", 1, "array", array, "task", "VRSC")
	}
	return b.String()
}

// pool adds one pool. The first have late PGs, the others are younger and younger.
func (b *text) pool(i int, now float64) {
	id, pgs := fmt.Sprint(i+1), float64(int(16)<<(i*5%8))
	names := []string{"rbd", "default.rgw.buckets.data", "cephfs_data", "volumes", "default.rgw.buckets.index", "archive", "cephfs_metadata", ".mgr"}
	name := names[i%len(names)]
	if i >= len(names) {
		name += fmt.Sprint(i)
	}
	b.add("cephrisk_pool_info", 1, "pool_id", id, "name", b.name(name), "type", "replicated")
	b.add("cephrisk_pool_pgs", pgs, "pool_id", id)
	b.add("cephrisk_pool_pgs_unknown", float64(i%7/6), "pool_id", id)
	for _, level := range []string{"deep", "shallow"} {
		left, oldest := pgs/float64(1+i%5), 0.4
		for _, step := range []string{"0.5", "1", "1.25", "1.5", "1.75", "2", "3"} {
			b.add("cephrisk_pool_pgs_older", float64(int(left)), "pool_id", id, "level", level, "intervals", step)
			if left >= 1 {
				oldest, _ = strconv.ParseFloat(step, 64)
			}
			if level == "deep" && step == "1.75" || level == "shallow" && step == "1.5" {
				b.add("cephrisk_pool_pgs_late", float64(int(left)), "pool_id", id, "level", level)
			}
			left /= map[string]float64{"deep": 2.6, "shallow": 9}[level] + float64(i%4)
		}
		b.add("cephrisk_pool_oldest_scrub_timestamp_seconds", now-(oldest+0.1)*7*86400+3600*float64(i), "pool_id", id, "level", level)
		b.add("cephrisk_pool_scrub_errors", 0, "pool_id", id, "level", level)
		// Every second pool cannot keep up with its deep scrubs.
		first := 1.5 + 0.7*float64(i)
		slow := level == "deep" && i%2 == 0 && first < 7
		for _, days := range []float64{1, 3, 7} {
			horizon := fmt.Sprintf("%vd", days)
			grow := 0.0
			if slow {
				grow = math.Round(max(0, days-first)*pgs/10) / 5
			}
			b.add("cephrisk_scrub_forecast_late_pgs", grow, "pool_id", id, "level", level, "horizon", horizon)
			b.add("cephrisk_scrub_forecast_late_pgs_standard_deviation", math.Round(grow*3)/10, "pool_id", id, "level", level, "horizon", horizon)
			idle := pgs * days * days / map[string]float64{"deep": 150, "shallow": 400}[level]
			b.add("cephrisk_pool_pgs_late_within", math.Floor(max(grow, idle)), "pool_id", id, "level", level, "horizon", horizon)
		}
		if slow {
			b.add("cephrisk_scrub_forecast_first_late_timestamp_seconds", now+86400*first, "pool_id", id, "level", level)
		}
		b.add("cephrisk_scrubs_running", float64(1+i%3), "pool_id", id, "level", level, "phase", "running")
		b.add("cephrisk_scrubs_running", float64(i%2), "pool_id", id, "level", level, "phase", "reserving")
	}
	b.add("cephrisk_scrub_forecast_required_bytes_per_second", pgs*1.1e6, "pool_id", id)
	b.add("cephrisk_scrub_forecast_achieved_bytes_per_second", pgs*1e6*float64(1+i%2), "pool_id", id)
	b.add("cephrisk_scrub_stuck_pgs", 0, "pool_id", id)
	b.add("cephrisk_pool_pgs_scrub_blocked", float64(i%3), "pool_id", id, "level", "deep", "reason", "recovery")
	b.add("cephrisk_pool_pgs_scrub_blocked", float64(i%5), "pool_id", id, "level", "deep", "reason", "slots")
}

func (b *text) osds(n int) {
	both := 0
	for i := range n {
		osd := fmt.Sprintf("osd.%d", i)
		b.add("cephrisk_osd_info", 1, "ceph_daemon", osd, "hostname", b.name(fmt.Sprintf("store%02d", i/12+1)), "device_class", "hdd", "objectstore", "bluestore", "ceph_version", "20.2.0")
		b.add("cephrisk_osd_up", float64(1-flag(i == 7)), "ceph_daemon", osd)
		for _, level := range []string{"deep", "shallow"} {
			b.add("cephrisk_osd_scrubs_running", float64(flag(i%9 == 4 && level == "deep")), "ceph_daemon", osd, "level", level, "role", "primary")
			b.add("cephrisk_osd_scrubs_running", float64(flag(i%4 == 1)), "ceph_daemon", osd, "level", level, "role", "replica")
		}
		recovering := flag(i%10 == 3) * 2
		b.add("cephrisk_osd_recovering_pgs", float64(recovering), "ceph_daemon", osd)
		if recovering > 0 && (i%9 == 4 || i%4 == 1) {
			both++
		}
		b.add("cephrisk_osd_scrub_slots", 1, "ceph_daemon", osd)
		b.add("cephrisk_osd_size_bytes", 16e12, "ceph_daemon", osd)
		b.add("cephrisk_osd_bluestore_meta_bytes", 4e9+float64(i*i%97)*4e8, "ceph_daemon", osd)
		b.add("cephrisk_osd_bluestore_omap_bytes", 2e9+float64(i%13)*1e8, "ceph_daemon", osd)
		b.add("cephrisk_osd_boot_estimate_seconds", 40+float64(i*i%97)*7, "ceph_daemon", osd, "shutdown", "unclean")
		b.add("cephrisk_daemon_up", 1, "ceph_daemon", osd)
	}
	b.add("cephrisk_scrub_recovery_overlap_osds", float64(both))
	for i, doing := range []string{"scrub", "recovery", "both"} {
		b.add("cephrisk_scrub_recovery_overlap_pgs", float64(both*(i+1)), "doing", doing)
	}
}

// shelf adds one shelf with a fault of each kind.
func (b *text) shelf(n, slots int) {
	id := fmt.Sprintf("5000ccab04%06x", n)
	shelf := func(name string, value float64, labels ...string) {
		b.add("cephrisk_enclosure_"+name, value, append([]string{"enclosure_id", id}, labels...)...)
	}
	shelf("info", 1, "vendor", "HGST", "product", b.name("H4060-J"), "revision", "2033")
	shelf("present", float64(1-flag(n == 1)))
	shelf("condition", 1, "condition", "info")
	shelf("condition", float64(flag(n == 0)), "condition", "noncritical")
	for _, iom := range []string{"a", "b"} {
		shelf("service_processor_up", float64(flag(n != 0 || iom == "a")), "iom", id+iom, "sg", "sg"+iom)
	}
	for i := range slots {
		slot, element := fmt.Sprint(i), fmt.Sprint(i)
		shelf("slot_info", 1, "slot", slot, "type", "array_device_slot", "element", element, "name", b.name("SLOT "+slot))
		code := 1
		switch {
		case i%20 == 13:
			code = 5
		case i == 17:
			code = 2
		}
		shelf("element_status_code", float64(code), "type", "array_device_slot", "element", element)
		shelf("slot_occupied", float64(flag(code != 5)), "slot", slot)
		shelf("slot_fault_sensed", float64(flag(i == 17)), "slot", slot)
		if i == 30 {
			shelf("slot_locate", 1, "slot", slot)
		}
		if i == 41 {
			shelf("slot_predicted_failure", 1, "slot", slot)
		}
		if code != 5 {
			shelf("slot_osd_info", 1, "slot", slot, "ceph_daemon", fmt.Sprintf("osd.%d", n*slots+i), "role", "block", "device", "sda", "wwn", "x", "serial", "y")
		}
	}
	shelf("element_status_code", 3, "type", "temperature_sensor", "element", "4")
	shelf("element_status_code", float64(1+flag(n == 0)), "type", "power_supply", "element", "1")
	shelf("element_info", 1, "type", "power_supply", "element", "1", "name", b.name("PSU B"))
	shelf("elements", 78, "type", "temperature_sensor", "status", "ok")
}

func (b *text) uploads(gateways int, now float64) {
	if gateways == 0 {
		return
	}
	for i := range gateways {
		gateway := b.name(fmt.Sprintf("rgw.main.%d", i))
		for k, kind := range []string{"put", "multipart", "copy", "post"} {
			b.add("cephrisk_rgw_uploads_completed_total", float64(1200000/(1+k*k*40)+i*1000), "ceph_daemon", gateway, "instance_id", fmt.Sprint(i), "kind", kind)
		}
		b.add("cephrisk_rgw_upload_failures_total", float64(i*17), "ceph_daemon", gateway, "instance_id", fmt.Sprint(i), "kind", "put", "status_class", "5xx")
		b.add("cephrisk_rgw_uploaded_bytes_total", 3.3e12+float64(i)*1e11, "ceph_daemon", gateway, "instance_id", fmt.Sprint(i), "kind", "put")
		b.add("cephrisk_rgw_ops_log_lag_bytes", float64(i)*400, "ceph_daemon", gateway, "instance_id", fmt.Sprint(i))
		b.add("cephrisk_rgw_ops_log_last_record_timestamp_seconds", now-float64(i*3), "ceph_daemon", gateway, "instance_id", fmt.Sprint(i))
	}
	b.add("cephrisk_rgw_multipart_open", 23)
	b.add("cephrisk_rgw_multipart_abandoned", 4)
	b.add("cephrisk_rgw_multipart_oldest_open_timestamp_seconds", now-900000)
	b.add("cephrisk_rgw_multipart_view_complete", 1)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// AllWork returns collectors that all have just polled, but one that failed once.
func AllWork(at time.Time, names ...string) []page.Collector {
	var out []page.Collector
	for i, name := range names {
		c := page.Collector{
			Name: name, Help: "what " + name + " tells", Polled: true, At: at.Add(-20 * time.Second), LastSuccess: at.Add(-20 * time.Second),
			Duration: time.Duration(1+i*37) * time.Millisecond, Interval: time.Minute,
		}
		if name == "osd" {
			c.LastErr, c.LastErrAt, c.Failures = "mgr osd df: no answer within 15s", at.Add(-3*time.Hour), 2
		}
		out = append(out, c)
	}
	return out
}
