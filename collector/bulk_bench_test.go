package collector

import (
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

// BenchmarkExposition compares, in every format and encoding and in one run,
// const metrics on promhttp with a poll and a scrape of ours, and with a scrape
// of ours alone. It measures CPU time, not wall time.
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
					p := newBulkPoller(benchPGs)
					set := bulkSet(b, p)
					h := NewHandler(set, nil, HandlerOpts{})
					poll(set)
					wire := scrapeOnce(h, form.accept, encoding)
					took := cpuOf(3, // in turn, as the machine has other work at times
						func() { scrapeOnce(plain, form.accept, encoding) },
						func() { poll(set); scrapeOnce(h, form.accept, encoding) },
						func() { scrapeOnce(h, form.accept, encoding) })
					constant, both, alone := took[0], took[1], took[2]

					ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
					b.ReportMetric(ms(constant), "const-ms")
					b.ReportMetric(ms(both), "poll+scrape-ms")
					b.ReportMetric(ms(alone), "scrape-ms")
					b.ReportMetric(float64(constant)/float64(both), "x-const")
					b.ReportMetric(float64(constant)/float64(max(alone, time.Microsecond)), "x-const-scrape")
					b.ReportMetric(float64(wire)/(3*benchPGs), "bytes/series")
				}
			})
		}
	}
}
