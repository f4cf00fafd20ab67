package collector

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// benchPGs have three series each.
const benchPGs = 200_000

// constCollector is the plain way: const metrics made in every scrape.
type constCollector struct {
	n     int
	descs []*prometheus.Desc
}

func newConstCollector(n int) *constCollector {
	c := &constCollector{n: n}
	for _, name := range []string{"cephrisk_pg_last_deep_scrub_age_seconds", "cephrisk_pg_last_deep_scrub_timestamp_seconds", "cephrisk_pg_last_scrub_timestamp_seconds"} {
		c.descs = append(c.descs, prometheus.NewDesc(name, "Help", []string{"pgid", "pool_id"}, nil))
	}
	return c
}

func (c *constCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

func (c *constCollector) Collect(ch chan<- prometheus.Metric) {
	for i := range c.n {
		pgid, pool := string(bulkPGID(nil, i)), string(bulkPool(nil, i))
		for k, d := range c.descs {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, 1764500000+float64((i*7919+k)%1000000), pgid, pool)
		}
	}
}

// discard is a ResponseWriter that counts.
type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(b []byte) (int, error) {
	d.n += int64(len(b))
	return len(b), nil
}

func scrapeOnce(h http.Handler, accept, encoding string) int64 {
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", encoding)
	w := &discard{header: http.Header{}}
	h.ServeHTTP(w, r)
	return w.n
}

// cpu is the CPU time of this process, garbage collection included.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf returns the median CPU time of each of fs, which take turns.
func cpuOf(n int, fs ...func()) []time.Duration {
	took := make([][]time.Duration, len(fs))
	for range n {
		for i, f := range fs {
			runtime.GC()
			begin := cpu()
			f()
			runtime.GC() // what f left behind is f's
			took[i] = append(took[i], cpu()-begin)
		}
	}
	medians := make([]time.Duration, len(fs))
	for i := range took {
		slices.Sort(took[i])
		medians[i] = took[i][n/2]
	}
	return medians
}

// steadyPoller is a cluster that scrubs as Ceph does with its defaults
// (osd_scrub_min_interval, osd_deep_scrub_interval): each PG once a day, and deep
// once a week, at an instant of its own that a seed chooses. With a minute between
// two polls 0.08 % of the PGs change a stamp, and the age of every PG changes.
// (osd_scrub_interval_randomize_ratio and a busy cluster make it less.)
type steadyPoller struct {
	bulkPoller
	daily, weekly []uint32 // seconds into the day, and into the week, of each PG
}

func newSteadyPoller(n int) *steadyPoller {
	p := &steadyPoller{bulkPoller: *newBulkPoller(n), daily: make([]uint32, n), weekly: make([]uint32, n)}
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range n {
		p.daily[i], p.weekly[i] = rng.Uint32N(day), rng.Uint32N(week)
	}
	return p
}

const day, week = 86_400, 7 * 86_400

func (p *steadyPoller) Poll(context.Context, time.Time) (Snapshot, error) {
	p.polls++
	return steadySnapshot{p, 1764500000 + 60*uint32(p.polls)}, nil
}

type steadySnapshot struct {
	p   *steadyPoller
	now uint32
}

func (s steadySnapshot) Emit(e *Emitter) {
	p := s.p
	shallow := func(i int) uint32 { return s.now - (s.now-p.daily[i])%day }
	deep := func(i int) uint32 { return s.now - (s.now-p.weekly[i])%week }
	e.Bulk(p.n, []BulkLabel{bulkPGID, bulkPool},
		BulkColumn{p.age, func(i int) float64 { return float64(s.now - deep(i)) }},
		BulkColumn{p.deep, func(i int) float64 { return float64(deep(i)) }},
		BulkColumn{p.shallow, func(i int) float64 { return float64(max(deep(i), shallow(i))) }})
}

// BenchmarkExposition compares, in every format and encoding and in one run,
// const metrics on promhttp with a poll and a scrape of ours, and with a scrape
// of ours alone. Polls come in two kinds: steady is what a cluster does from
// minute to minute, changed moves every stamp of every PG, so that it costs as
// much as the first poll. It measures CPU time, not wall time.
func BenchmarkExposition(b *testing.B) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newConstCollector(benchPGs))
	plain := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	for _, form := range []struct{ name, accept string }{
		{"text", accepts[0]}, {"openmetrics", accepts[2]}, {"protobuf", accepts[4]},
	} {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			b.Run(form.name+"/"+encoding, func(b *testing.B) {
				for b.Loop() {
					// In turn, as the machine has other work at times.
					run := []func(){func() { scrapeOnce(plain, form.accept, encoding) }}
					var wire int64
					for _, p := range []tabledPoller{newSteadyPoller(benchPGs), newBulkPoller(benchPGs)} {
						set := bulkSet(b, p)
						h := NewHandler(set, nil, HandlerOpts{})
						poll(set)
						wire = scrapeOnce(h, form.accept, encoding)
						run = append(run,
							func() { poll(set); scrapeOnce(h, form.accept, encoding) },
							func() { scrapeOnce(h, form.accept, encoding) })
					}
					took := cpuOf(3, run...)
					constant, steady, alone, changed := took[0], took[1], took[2], took[3]

					ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
					times := func(d time.Duration) float64 { return float64(constant) / float64(max(d, time.Microsecond)) }
					b.ReportMetric(ms(constant), "const-ms")
					b.ReportMetric(ms(steady), "steady-poll+scrape-ms")
					b.ReportMetric(ms(changed), "changed-poll+scrape-ms")
					b.ReportMetric(ms(alone), "scrape-ms")
					b.ReportMetric(times(steady), "x-const-steady")
					b.ReportMetric(times(changed), "x-const-changed")
					b.ReportMetric(times(alone), "x-const-scrape")
					b.ReportMetric(float64(wire)/(3*benchPGs), "bytes/series")
				}
			})
		}
	}
}
