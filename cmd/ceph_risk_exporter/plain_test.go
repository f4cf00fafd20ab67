package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/ceph"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
)

// This file computes the series once more from the bytes that the exporter
// received: with encoding/json, maps and loops, and nothing of the product.

type plainPG struct {
	ID              string  `json:"pgid"`
	State           string  `json:"state"`
	Scrub           string  `json:"last_scrub_stamp"`
	Deep            string  `json:"last_deep_scrub_stamp"`
	Acting          []int   `json:"acting"`
	Up              []int   `json:"up"`
	Primary         int     `json:"acting_primary"`
	ObjectsScrubbed int     `json:"objects_scrubbed"`
	Schedule        *string `json:"scrub_schedule"`
	Stats           struct {
		Bytes      float64 `json:"num_bytes"`
		Objects    float64 `json:"num_objects"`
		DeepErrors int     `json:"num_deep_scrub_errors"`
	} `json:"stat_sum"`
}

func (p *plainPG) pool() string { pool, _, _ := strings.Cut(p.ID, "."); return pool }

// number is the PG's number within its pool.
func (p *plainPG) number() uint64 {
	_, text, _ := strings.Cut(p.ID, ".")
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		panic(fmt.Sprintf("pg %s: %v", p.ID, err))
	}
	return n
}

func (p *plainPG) has(token string) bool {
	for _, t := range strings.Split(p.State, "+") {
		if t == token {
			return true
		}
	}
	return false
}

// stamp returns microseconds since the epoch.
func (p *plainPG) stamp(level string) int64 {
	text := p.Scrub
	if level == "deep" {
		text = p.Deep
	}
	at, err := time.Parse("2006-01-02T15:04:05.000000-0700", text)
	if err != nil {
		panic(fmt.Sprintf("pg %s: %v", p.ID, err))
	}
	return at.UnixMicro()
}

type plainMap struct {
	Flags []string `json:"flags_set"`
	Pools []struct {
		ID      int                `json:"pool"`
		Flags   string             `json:"flags_names"`
		Options map[string]float64 `json:"options"`
	} `json:"pools"`
	OSDs []struct {
		ID int `json:"osd"`
		Up int `json:"up"`
	} `json:"osds"`
}

// plainView is everything a judgement needs, out of the recording.
type plainView struct {
	pgs     []plainPG
	osds    plainMap
	mgr     map[string]string
	osd     map[int]map[string]string // running values that are not defaults
	osdBase map[string]string
}

var plainLevels = []string{"shallow", "deep"}

// interval is the level's interval for a pool, by the options of one daemon.
func (v *plainView) interval(pool, level string, daemon func(option string) string) float64 {
	option, poolOption := "osd_scrub_max_interval", "scrub_max_interval"
	if level == "deep" {
		option, poolOption = "osd_deep_scrub_interval", "deep_scrub_interval"
	}
	for _, p := range v.osds.Pools {
		if strconv.Itoa(p.ID) == pool && p.Options[poolOption] > 0 {
			return p.Options[poolOption]
		}
	}
	return number(daemon(option))
}

func number(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return f
}

func (v *plainView) mgrOption(name string) string { return v.mgr[name] }

func (v *plainView) osdOption(osd int) func(string) string {
	return func(name string) string {
		if s, ok := v.osd[osd][name]; ok {
			return s
		}
		return v.osdBase[name]
	}
}

func (v *plainView) ratio(level string) float64 {
	if level == "deep" {
		return number(v.mgr["mon_warn_pg_not_deep_scrubbed_ratio"])
	}
	return number(v.mgr["mon_warn_pg_not_scrubbed_ratio"])
}

func (v *plainView) late(p *plainPG, level string, now int64) bool {
	limit := v.interval(p.pool(), level, v.mgrOption) * (1 + v.ratio(level))
	return float64(now-p.stamp(level)) > limit*1e6
}

// lateness returns the series of the lateness families as of now.
func (v *plainView) lateness(now int64) exporter.Series {
	out := exporter.Series{}
	add := func(name string, n float64, labels ...string) { out[name+labelText(labels...)] += n }
	count := func(name string, yes bool, labels ...string) {
		if yes {
			add(name, 1, labels...)
		} else {
			add(name, 0, labels...)
		}
	}
	for i := range v.pgs {
		p := &v.pgs[i]
		pool := p.pool()
		add("cephrisk_pool_pgs", 1, "pool_id", pool)
		count("cephrisk_pool_pgs_unknown", p.State == "unknown", "pool_id", pool)
		for _, level := range plainLevels {
			labels := []string{"level", level, "pool_id", pool}
			if p.State == "unknown" { // its pool counts, it is not judged
				for _, name := range []string{"pgs_late", "pgs_late_by_osd_interval", "pgs_overdue", "bytes_late", "pgs_stamp_in_future"} {
					add("cephrisk_pool_"+name, 0, labels...)
				}
				for _, step := range plainSteps {
					add("cephrisk_pool_pgs_older", 0, "intervals", fmt.Sprint(step), "level", level, "pool_id", pool)
				}
				for _, days := range plainDays {
					add("cephrisk_pool_pgs_late_within", 0, "horizon", fmt.Sprintf("%dd", days), "level", level, "pool_id", pool)
				}
				continue
			}
			age := float64(now-p.stamp(level)) / 1e6
			interval := v.interval(pool, level, v.mgrOption)
			limit := interval * (1 + v.ratio(level))
			byOSD := v.interval(pool, level, v.osdOption(p.Primary)) * (1 + v.ratio(level))
			count("cephrisk_pool_pgs_late", v.late(p, level, now), labels...)
			count("cephrisk_pool_pgs_late_by_osd_interval", float64(now-p.stamp(level)) > byOSD*1e6, labels...)
			count("cephrisk_pool_pgs_overdue", float64(now-p.stamp(level)) > interval*1e6, labels...)
			if v.late(p, level, now) {
				add("cephrisk_pool_bytes_late", p.Stats.Bytes, labels...)
			} else {
				add("cephrisk_pool_bytes_late", 0, labels...)
			}
			for _, step := range plainSteps {
				count("cephrisk_pool_pgs_older", float64(now-p.stamp(level)) > step*interval*1e6,
					"intervals", fmt.Sprint(step), "level", level, "pool_id", pool)
			}
			for _, days := range plainDays {
				count("cephrisk_pool_pgs_late_within", float64(now-p.stamp(level))+float64(days)*86400e6 > limit*1e6,
					"horizon", fmt.Sprintf("%dd", days), "level", level, "pool_id", pool)
			}
			count("cephrisk_pool_pgs_stamp_in_future", age < 0, labels...)
			if level == "deep" {
				out["cephrisk_pg_last_deep_scrub_age_seconds"+labelText("pgid", p.ID, "pool_id", pool)] = math.Max(math.Trunc(age), 0)
			}
		}
	}
	maps.Copy(out, v.worst(now))
	return out
}

// The steps of age and the horizons that PGs are counted by.
var (
	plainSteps = []float64{0.5, 1, 1.25, 1.5, 1.75, 2, 3}
	plainDays  = []int{1, 3, 7}
)

// latenessFamilies are the families that lateness returns all series of.
var latenessFamilies = []string{
	"cephrisk_pool_pgs", "cephrisk_pool_pgs_unknown", "cephrisk_pool_pgs_late", "cephrisk_pool_pgs_late_by_osd_interval",
	"cephrisk_pool_pgs_overdue", "cephrisk_pool_bytes_late", "cephrisk_pool_pgs_older", "cephrisk_pool_pgs_late_within",
	"cephrisk_pool_pgs_stamp_in_future", "cephrisk_pg_last_deep_scrub_age_seconds",
	"cephrisk_pg_worst_scrub_age_seconds",
}

// plainWorst is how many PGs are named per pool and level.
const plainWorst = 5

// worst returns the ages of the PGs that are longest without scrub, of each pool
// and level; of equal ones those with the lower number.
func (v *plainView) worst(now int64) exporter.Series {
	out := exporter.Series{}
	for _, level := range plainLevels {
		byPool := map[string][]*plainPG{}
		for i := range v.pgs {
			if p := &v.pgs[i]; p.State != "unknown" {
				byPool[p.pool()] = append(byPool[p.pool()], p)
			}
		}
		for pool, pgs := range byPool {
			sort.SliceStable(pgs, func(i, j int) bool {
				if a, b := pgs[i].stamp(level), pgs[j].stamp(level); a != b {
					return a < b
				}
				return pgs[i].number() < pgs[j].number()
			})
			for _, p := range pgs[:min(plainWorst, len(pgs))] {
				age := math.Max(math.Trunc(float64(now-p.stamp(level))/1e6), 0) // whole seconds, and none ahead of the clock
				out["cephrisk_pg_worst_scrub_age_seconds"+labelText("level", level, "pgid", p.ID, "pool_id", pool)] = age
			}
		}
	}
	return out
}

// running returns the series of running scrubs, from the answer to the frequent
// question.
func (v *plainView) running(active []plainPG) exporter.Series {
	out := exporter.Series{}
	for _, p := range v.osds.Pools {
		for _, level := range plainLevels {
			for _, phase := range []string{"unknown", "reserving", "running"} {
				out["cephrisk_scrubs_running"+labelText("level", level, "phase", phase, "pool_id", strconv.Itoa(p.ID))] = 0
			}
		}
	}
	for _, o := range v.osds.OSDs {
		for _, level := range plainLevels {
			for _, role := range []string{"primary", "replica"} {
				if o.Up == 1 {
					out["cephrisk_osd_scrubs_running"+labelText("ceph_daemon", fmt.Sprintf("osd.%d", o.ID), "level", level, "role", role)] = 0
				}
			}
		}
	}
	for i := range active {
		p := &active[i]
		if !p.has("scrubbing") {
			continue
		}
		level := "shallow"
		if p.has("deep") {
			level = "deep"
		}
		out["cephrisk_scrubs_running"+labelText("level", level, "phase", phaseOf(p), "pool_id", p.pool())]++
		for _, osd := range p.Acting {
			if osd == 2147483647 {
				continue
			}
			role := "replica"
			if osd == p.Primary {
				role = "primary"
			}
			out["cephrisk_osd_scrubs_running"+labelText("ceph_daemon", fmt.Sprintf("osd.%d", osd), "level", level, "role", role)]++
		}
	}
	return out
}

func phaseOf(p *plainPG) string {
	schedule := ""
	if p.Schedule != nil {
		schedule = *p.Schedule
	}
	switch {
	case strings.Contains(schedule, "scrubbing for"), strings.HasPrefix(schedule, "Blocked!"):
		return "running"
	case strings.HasPrefix(schedule, "Reserving"), strings.HasPrefix(schedule, "queued for"):
		return "reserving"
	case p.ObjectsScrubbed > 0:
		return "running"
	default:
		return "unknown"
	}
}

func labelText(pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		parts = append(parts, fmt.Sprintf("%s=%q", pairs[i], pairs[i+1]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// viewAt puts together what the exporter had received at that instant: the last
// full dump and what came before it.
func viewAt(t *testing.T, recording []ceph.RecordedAnswer, at time.Time) *plainView {
	t.Helper()
	v := &plainView{osd: map[int]map[string]string{}}
	dump := -1
	for i := range recording {
		if r := &recording[i]; r.Prefix() == "pg dump" && r.Error == "" && !r.At.After(at) {
			dump = i
		}
	}
	if dump < 0 {
		t.Fatalf("no dump before %s among %d answers", at, len(recording))
	}
	// Of each question the last answer counts, and only that is decoded.
	last := map[string]*ceph.RecordedAnswer{}
	for i := range recording[:dump+1] {
		if r := &recording[i]; r.Error == "" {
			last[string(r.Command)] = r
		}
	}
	v.pgs = plainPGs(t, recording[dump].Answer)
	for command, r := range last {
		var c struct{ Prefix, Who string }
		decodePlain(t, []byte(command), &c)
		switch c.Prefix {
		case "osd dump":
			decodePlain(t, r.Answer, &v.osds)
		case "config show-with-defaults", "config show":
			options := plainOptions(t, r.Answer)
			id, isOSD := strings.CutPrefix(c.Who, "osd.")
			n, _ := strconv.Atoi(id)
			switch {
			case !isOSD:
				v.mgr = options
			case c.Prefix == "config show":
				v.osd[n] = options
			default:
				v.osdBase = options
			}
		}
	}
	return v
}

func plainPGs(t *testing.T, answer []byte) []plainPG {
	t.Helper()
	var d struct {
		PGs []plainPG `json:"pg_stats"`
	}
	decodePlain(t, answer, &d)
	return d.PGs
}

func plainOptions(t *testing.T, answer []byte) map[string]string {
	t.Helper()
	var list []struct{ Name, Value string }
	decodePlain(t, answer, &list)
	out := map[string]string{}
	for _, o := range list {
		out[o.Name] = o.Value
	}
	return out
}

func decodePlain(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v in %.100s", err, data)
	}
}
