package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// ageTable is the heat map of one level: pools by age in units of the interval.
type ageTable struct {
	Level string
	Bands []band
	Rows  []ageRow
	More  *More
	Note  string
}

// band is a range of ages in multiples of the PG's own interval.
type band struct {
	Text string
	Hue  string // t in time, o overdue, l late
	low  float64
}

type ageRow struct {
	Pool, Type  string
	Href        string
	PGs         *Num
	Cells       []cell
	Late        *Num
	Unjudged    *Num // PGs without an age; nil: none
	Oldest      *Instant
	OldestHref  string
	late, share float64
}

// cell is how many PGs of a pool are in a band.
type cell struct {
	*Num
	Class string
}

// ages makes the heat map from cephrisk_pool_pgs_older, which counts every PG.
func (v *overview) ages(level string) *ageTable {
	const family = "cephrisk_pool_pgs_older"
	t := &ageTable{Level: level}
	older, steps := map[string]map[float64]float64{}, map[float64]bool{}
	v.each(family, func(s Sample) {
		step, err := strconv.ParseFloat(s.Get("intervals"), 64)
		if err != nil || s.Get("level") != level {
			return
		}
		id := s.Get("pool_id")
		if older[id] == nil {
			older[id] = map[float64]float64{}
		}
		older[id][step], steps[step] = s.Value, true
	})
	if len(older) == 0 {
		return t
	}
	t.Bands, t.Note = v.bands(level, steps)
	late := v.byLabel("cephrisk_pool_pgs_late", "pool_id", "level", level)
	oldest := v.byLabel("cephrisk_pool_oldest_scrub_timestamp_seconds", "pool_id", "level", level)
	pgs := v.byLabel("cephrisk_pool_pgs", "pool_id")
	unknown := v.byLabel("cephrisk_pool_pgs_unknown", "pool_id")
	unreadable := v.byLabel("cephrisk_pool_pgs_stamp_unreadable", "pool_id", "level", level)
	for id, counts := range older {
		row := ageRow{Pool: v.poolName(id), Type: v.pools[id].Type, Href: series(family, "pool_id", id, "level", level), late: late[id]}
		row.PGs = num(count(pgs[id]), "cephrisk_pool_pgs", "pool_id", id)
		if n, ok := late[id]; ok {
			row.Late = num(count(n), "cephrisk_pool_pgs_late", "pool_id", id, "level", level).bad(n)
		}
		without := unknown[id] + unreadable[id]
		if without > 0 {
			row.Unjudged = num(count(without), "cephrisk_pool_pgs_unknown", "pool_id", id)
		}
		if stamp, ok := oldest[id]; ok {
			i := at(instant(stamp), v.now)
			row.Oldest, row.OldestHref = &i, series("cephrisk_pool_oldest_scrub_timestamp_seconds", "pool_id", id, "level", level)
		}
		row.fill(t.Bands, counts, id, level, pgs[id]-without)
		t.Rows = append(t.Rows, row)
	}
	order(t.Rows, func(a, b ageRow) int { return cmp.Compare(b.late, a.late) },
		func(a, b ageRow) int { return cmp.Compare(b.share, a.share) },
		func(a, b ageRow) int { return natural(a.Pool, b.Pool) },
		func(a, b ageRow) int { return natural(a.Href, b.Href) })
	var n int
	t.Rows, n = first(t.Rows, maxPools)
	t.More = more(n, "pools", family, "level", level)
	return t
}

// fill makes the cells: PGs older than the band's lower edge and not older than
// the next one's.
func (row *ageRow) fill(bands []band, older map[float64]float64, id, level string, judged float64) {
	for i, b := range bands {
		n := judged
		if i > 0 {
			n = older[b.low]
		}
		if i+1 < len(bands) {
			n -= older[bands[i+1].low]
		}
		n = max(n, 0)
		if b.Hue != "t" && judged > 0 {
			row.share += n / judged
		}
		grade := heat(n, judged)
		if b.Hue == "l" && grade > 0 {
			grade = max(grade, 3) // one late PG of a thousand shall be seen
		}
		c := cell{Num: num(compact(n), "cephrisk_pool_pgs_older", "pool_id", id, "level", level), Class: b.Hue + strconv.Itoa(grade)}
		if n == 0 {
			c.Href = "" // nothing to look up, and fewer stops for the keyboard
		}
		row.Cells = append(row.Cells, c)
	}
}

// heat grades a share from 0, none, to 5, most.
func heat(n, of float64) int {
	if n <= 0 || of <= 0 {
		return 0
	}
	share, grade := n/of, 1
	for _, step := range []float64{0.02, 0.1, 0.3, 0.6} {
		if share > step {
			grade++
		}
	}
	return grade
}

// bands names the ranges between the steps. What is late follows from the mgr's
// ratio.
func (v *overview) bands(level string, steps map[float64]bool) ([]band, string) {
	edges := []float64{0}
	for step := range steps {
		edges = append(edges, step)
	}
	slices.Sort(edges)
	option := map[string]string{"deep": "mon_warn_pg_not_deep_scrubbed_ratio", "shallow": "mon_warn_pg_not_scrubbed_ratio"}[level]
	ratio, known := v.sum("cephrisk_scrub_option_mgr", "option", option)
	var out []band
	for i, low := range edges {
		b := band{low: low, Hue: "t"}
		switch {
		case known && ratio > 0 && low >= 1+ratio-1e-9:
			b.Hue = "l"
		case low >= 1:
			b.Hue = "o"
		}
		switch {
		case i == len(edges)-1:
			b.Text = "> " + trim(low)
		case i == 0:
			b.Text = "≤ " + trim(edges[1])
		default:
			b.Text = trim(low) + "–" + trim(edges[i+1])
		}
		out = append(out, b)
	}
	switch {
	case !known:
		return out, "The mgr's options are not known, so that nothing is marked as late."
	case ratio <= 0:
		return out, "The mgr's ratio is 0: Ceph does not warn, and nothing is late."
	}
	return out, fmt.Sprintf("Late above %s intervals, by the mgr's ratio of %s.", trim(1+ratio), trim(ratio))
}

func trim(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
