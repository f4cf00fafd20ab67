package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// forecast is the section about what will be late.
type forecast struct {
	Notices []notice
	Charts  []*chart
	Rows    []forecastRow
	More    *More
	From    *Instant
	Blocked *Num
}

type forecastRow struct {
	Pool           string
	First          *Instant
	FirstHref      string
	Late           *Num
	Spread         *Num
	Needed, Got    *Num
	first, lateNum float64
}

const (
	latePGs   = "cephrisk_scrub_forecast_late_pgs"
	firstLate = "cephrisk_scrub_forecast_first_late_timestamp_seconds"
)

func (v *overview) forecast() forecast {
	f := forecast{}
	for _, level := range []string{"deep", "shallow"} {
		if c := v.chart(level); c != nil {
			f.Charts = append(f.Charts, c)
		}
	}
	if stamp, ok := v.sum("cephrisk_scrub_forecast_timestamp_seconds"); ok {
		i := at(instant(stamp), v.now)
		f.From = &i
	}
	if n, ok := v.sum("cephrisk_scrub_forecast_pgs", "state", "blocked"); ok && n > 0 {
		f.Blocked = num(count(n), "cephrisk_scrub_forecast_pgs", "state", "blocked")
	}
	v.forecastRows(&f)
	f.Notices = v.notices(len(f.Charts) > 0, "The forecast has not been computed yet.", "forecast", "pg")
	return f
}

// forecastRows lists deep scrubs by pool, the first to become late on top.
func (v *overview) forecastRows(f *forecast) {
	horizon := v.farthest()
	late := v.byLabel(latePGs, "pool_id", "level", "deep", "horizon", horizon)
	spread := v.byLabel("cephrisk_scrub_forecast_late_pgs_standard_deviation", "pool_id", "level", "deep", "horizon", horizon)
	firsts := v.byLabel(firstLate, "pool_id", "level", "deep")
	needed := v.byLabel("cephrisk_scrub_forecast_required_bytes_per_second", "pool_id")
	got := v.byLabel("cephrisk_scrub_forecast_achieved_bytes_per_second", "pool_id")
	for id := range needed {
		if _, ok := late[id]; !ok {
			late[id] = math.NaN()
		}
	}
	for id, n := range late {
		row := forecastRow{Pool: v.poolName(id), lateNum: n, first: math.Inf(1)}
		if !math.IsNaN(n) {
			row.Late = num(short(n), latePGs, "pool_id", id, "level", "deep", "horizon", horizon).bad(math.Round(n))
			row.Spread = num(short(spread[id]), "cephrisk_scrub_forecast_late_pgs_standard_deviation", "pool_id", id, "level", "deep", "horizon", horizon)
		}
		if stamp, ok := firsts[id]; ok {
			i := at(instant(stamp), v.now)
			row.first, row.First, row.FirstHref = stamp, &i, series(firstLate, "pool_id", id, "level", "deep")
		}
		if rate, ok := needed[id]; ok {
			row.Needed = num(size(rate)+"/s", "cephrisk_scrub_forecast_required_bytes_per_second", "pool_id", id)
		}
		if rate, ok := got[id]; ok {
			row.Got = num(size(rate)+"/s", "cephrisk_scrub_forecast_achieved_bytes_per_second", "pool_id", id)
			row.Got.Bad = rate < needed[id]
		}
		f.Rows = append(f.Rows, row)
	}
	order(f.Rows, func(a, b forecastRow) int { return cmp.Compare(a.first, b.first) },
		func(a, b forecastRow) int { return cmp.Compare(b.lateNum, a.lateNum) },
		func(a, b forecastRow) int { return natural(a.Pool, b.Pool) })
	var n int
	f.Rows, n = first(f.Rows, maxPools)
	f.More = more(n, "pools", latePGs, "level", "deep")
}

func (v *overview) farthest() string {
	out, days := "", 0.0
	v.each(latePGs, func(s Sample) {
		if d, ok := horizonDays(s.Get("horizon")); ok && d > days {
			out, days = s.Get("horizon"), d
		}
	})
	return out
}

// horizonDays reads "3d".
func horizonDays(s string) (float64, bool) {
	text, ok := strings.CutSuffix(s, "d")
	d, err := strconv.ParseFloat(text, 64)
	return d, ok && err == nil && d > 0
}

// chart is the curve of late PGs of one level, all pools together.
type chart struct {
	Level     string
	Known     bool // there is a forecast, not only what is late if nothing is scrubbed
	Points    []chartPoint
	Line      string // SVG points of the forecast
	Idle      string // and of what is late if nothing is scrubbed
	Ticks     []tick
	Days      []tick
	First     *Instant
	FirstHref string
	FirstX    float64 // 0: not within the chart
	FirstEnd  bool    // its label goes to the left
	Summary   string
}

type chartPoint struct {
	When       string
	X, Y       float64
	IdleY      float64
	Late, Idle *Num
	day        float64
	late, idle float64
	hasLate    bool
	hasIdle    bool
}

type tick struct {
	At   float64
	Text string
}

// Geometry of a chart in its own units.
const (
	chartLeft, chartRight, chartTop, chartBottom = 44.0, 376.0, 26.0, 170.0
)

func (v *overview) chart(level string) *chart {
	c := &chart{Level: level}
	points := map[float64]*chartPoint{}
	point := func(day float64, when string) *chartPoint {
		if points[day] == nil {
			points[day] = &chartPoint{day: day, When: when}
		}
		return points[day]
	}
	v.each(latePGs, func(s Sample) {
		if d, ok := horizonDays(s.Get("horizon")); ok && s.Get("level") == level {
			p := point(d, s.Get("horizon"))
			p.late, p.hasLate = p.late+s.Value, true
			p.Late = num(short(p.late), latePGs, "level", level, "horizon", p.When)
		}
	})
	v.each("cephrisk_pool_pgs_late_within", func(s Sample) {
		if d, ok := horizonDays(s.Get("horizon")); ok && s.Get("level") == level {
			p := point(d, s.Get("horizon"))
			p.idle, p.hasIdle = p.idle+s.Value, true
			p.Idle = num(count(p.idle), "cephrisk_pool_pgs_late_within", "level", level, "horizon", p.When)
		}
	})
	if len(points) == 0 {
		return nil
	}
	for _, p := range points {
		c.Known = c.Known || p.hasLate
	}
	if late, ok := v.sum("cephrisk_pool_pgs_late", "level", level); ok {
		p := point(0, "now")
		n := num(count(late), "cephrisk_pool_pgs_late", "level", level)
		p.late, p.idle, p.hasLate, p.hasIdle, p.Late, p.Idle = late, late, c.Known, true, n, n
	}
	for _, p := range points {
		c.Points = append(c.Points, *p)
	}
	slices.SortFunc(c.Points, func(a, b chartPoint) int { return cmp.Compare(a.day, b.day) })
	v.firstOf(c)
	c.draw(v.now)
	return c
}

// firstOf finds the pool whose next PG becomes late first.
func (v *overview) firstOf(c *chart) {
	earliest := math.Inf(1)
	v.each(firstLate, func(s Sample) {
		if s.Get("level") == c.Level && s.Value < earliest {
			earliest = s.Value
			i := at(instant(s.Value), v.now)
			c.First, c.FirstHref = &i, series(firstLate, "level", c.Level)
		}
	})
	if c.First == nil {
		return
	}
	last := c.Points[len(c.Points)-1].day
	if day := instant(earliest).Sub(v.now).Hours() / 24; day >= 0 && day <= last && last > 0 {
		c.FirstX = chartLeft + (chartRight-chartLeft)*day/last
		c.FirstEnd = day > last/2
	}
}

func (c *chart) draw(now time.Time) {
	last, top := c.Points[len(c.Points)-1].day, 0.0
	for _, p := range c.Points {
		top = max(top, p.late, p.idle)
	}
	step := niceStep(top)
	limit := max(step*math.Ceil(top/step), step)
	y := func(n float64) float64 { return chartBottom - (chartBottom-chartTop)*n/limit }
	var line, idle []string
	for i := range c.Points {
		p := &c.Points[i]
		p.X = chartLeft
		if last > 0 {
			p.X += (chartRight - chartLeft) * p.day / last
		}
		p.Y, p.IdleY = y(p.late), y(p.idle)
		if p.hasLate {
			line = append(line, fmt.Sprintf("%.1f,%.1f", p.X, p.Y))
		}
		if p.hasIdle {
			idle = append(idle, fmt.Sprintf("%.1f,%.1f", p.X, p.IdleY))
		}
		text := p.When
		if p.day > 0 {
			text = now.Add(time.Duration(p.day * float64(24*time.Hour))).UTC().Format("2 Jan")
		}
		c.Days = append(c.Days, tick{p.X, text})
	}
	c.Line, c.Idle = strings.Join(line, " "), strings.Join(idle, " ")
	for n := 0.0; n <= limit+step/2; n += step {
		c.Ticks = append(c.Ticks, tick{y(n), count(n)})
	}
	c.Summary = c.summary()
}

func (c *chart) summary() string {
	var parts []string
	for _, p := range c.Points {
		if p.hasLate {
			parts = append(parts, fmt.Sprintf("%s %s", p.When, short(p.late)))
		}
	}
	return "Late PGs, " + c.Level + ": " + strings.Join(parts, ", ")
}

// niceStep returns a step of 1, 2 or 5 times a power of ten that divides top into
// at most four.
func niceStep(top float64) float64 {
	step := 1.0
	for {
		for _, f := range []float64{1, 2, 5} {
			if step*f*4 >= top {
				return step * f
			}
		}
		step *= 10
	}
}
