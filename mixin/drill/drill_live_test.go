// Package drill is the pack's fire drill: a real Ceph, the exporter as a pair, a
// real Prometheus and a real Alertmanager, real faults, and a receiver that says
// whether each page came, was right, and was taken back after the repair.
//
// `make drill` runs all of it and writes docs/fire-drill.md; `make test` runs the
// faults that are marked short.
package drill

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"

	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest"
	"github.com/ceph-risk/ceph_risk_exporter/internal/cephtest/exporter"
	"github.com/ceph-risk/ceph_risk_exporter/internal/msa/msatest"
)

var update = flag.Bool("update", false, "write docs/fire-drill.md from this run")

// fault is something that happens to the cluster or to the exporters.
type fault struct {
	name   string // as in docs/fire-drill.md
	short  bool   // is in the short form
	inject func(d *drill)
	// pages lists what must arrive, once the fault has been injected.
	pages func(d *drill) []page
	// may lists alerts that can come along, depending on where in its interval a
	// collector is met.
	may []string
	// during lists faults that happen while this one lasts. Its own pages must
	// neither come again nor be taken back meanwhile.
	during []fault
	repair func(d *drill)
}

// page is a page that has to arrive.
type page struct {
	alert, severity string
	labels          map[string]string // beside alertname, severity and cluster
	// says asks Ceph, and returns what the summary must be.
	says func(d *drill) string
	// tells is what the description must match.
	tells string
}

func (p page) all() map[string]string {
	all := map[string]string{"alertname": p.alert, "severity": p.severity, "cluster": "drill"}
	maps.Copy(all, p.labels)
	return all
}

func (p page) is(n notice) bool { return maps.Equal(n.Labels, p.all()) }

// drill is one run.
type drill struct {
	*testing.T
	ctx context.Context
	*monitoring
	c    *cephtest.Cluster
	pair [2]*exporter.Exporter
	rows []*row

	// In the long form only:
	host    *exporter.Exporter // reads the gateway's ops log
	s3      *minio.Core
	objects int // uploaded so far
	array   *msatest.Array
	shelves *shelves
}

func (d *drill) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// ceph runs a command, given in words.
func (d *drill) ceph(words string) {
	d.Helper()
	_, err := d.c.Ceph(d.ctx, strings.Fields(words)...)
	d.must(err)
}

func (d *drill) cephJSON(v any, words string) {
	d.Helper()
	d.must(d.c.CephJSON(d.ctx, v, strings.Fields(words)...))
}

// run injects a fault, waits for its pages, repairs it and waits until they are
// taken back. held are the pages of faults that last longer.
func (d *drill) run(f fault, held []page) {
	d.Helper()
	mark, begin := d.count(), time.Now()
	d.Logf("%s: injected", f.name)
	f.inject(d)
	pages := f.pages(d)
	var rows []*row
	for _, p := range pages {
		rows = append(rows, d.arrives(f, p, mark, begin))
	}
	if len(pages) == 0 {
		rows = append(rows, &row{fault: f.name})
	}
	d.rows = append(d.rows, rows...)
	d.expected(f, mark, pages)
	for _, inner := range d.chosen(f.during) {
		d.run(inner, append(slices.Clone(held), pages...))
	}
	before, repaired := d.count(), time.Now()
	f.repair(d)
	d.Logf("%s: repaired", f.name)
	for i, p := range pages {
		await(d, f.name+": the page to be taken back", func() error {
			n, err := d.find(before, "resolved", p)
			rows[i].resolved = n.at.Sub(repaired)
			return err
		})
	}
	d.quiet(f, held)
	d.expected(f, before, pages)
}

// arrives waits for a page and compares it with what Ceph says.
func (d *drill) arrives(f fault, p page, mark int, begin time.Time) *row {
	d.Helper()
	var n notice
	await(d, f.name+": a page", func() (err error) {
		n, err = d.find(mark, "firing", p)
		return err
	})
	d.Logf("%s: %s", f.name, n)
	if n.to != p.severity {
		d.Errorf("%s: it went to %s, want %s", f.name, n.to, p.severity)
	}
	if diff := cmp.Diff(p.says(d), n.Annotations["summary"]); diff != "" {
		d.Errorf("%s: %s differs from what Ceph says (-Ceph +page):\n%s", f.name, p.alert, diff)
	}
	if text := n.Annotations["description"]; !regexp.MustCompile(p.tells).MatchString(text) {
		d.Errorf("%s: %s tells %q, want %q", f.name, p.alert, text, p.tells)
	}
	return &row{fault: f.name, notice: n, paged: n.at.Sub(begin)}
}

// expected fails for every page since the mark that the fault does not explain.
func (d *drill) expected(f fault, mark int, pages []page) {
	d.Helper()
	for _, n := range d.since(mark) {
		if !slices.ContainsFunc(pages, func(p page) bool { return p.is(n) }) && !slices.Contains(f.may, n.name()) {
			d.Errorf("%s: unexpected: %s", f.name, n)
		}
	}
}

// quiet waits until nothing fires but what is held.
func (d *drill) quiet(f fault, held []page) {
	d.Helper()
	await(d, f.name+": silence", func() error {
		for _, n := range d.firing() {
			if !slices.ContainsFunc(held, func(p page) bool { return p.is(n) }) {
				return fmt.Errorf("still there: %s", n)
			}
		}
		return nil
	})
}

// chosen are the faults of the form that runs.
func (d *drill) chosen(all []fault) []fault {
	if cephtest.Long() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return !f.short })
}

// TestFireDrill: every fault pages, with what Ceph itself says, and only then. In
// the long form a cluster that is left alone runs beside the one with the faults.
func TestFireDrill(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	var quiet, faulty []*row
	t.Run("drill", func(t *testing.T) {
		t.Run("faults", func(t *testing.T) {
			t.Parallel()
			d := &drill{T: t, ctx: ctx}
			d.start()
			d.healthy(10 * time.Second)
			for _, f := range d.chosen(faults()) {
				d.run(f, nil)
			}
			faulty = d.rows
		})
		t.Run("no fault", func(t *testing.T) {
			cephtest.SkipUnlessLong(t)
			t.Parallel()
			d := &drill{T: t, ctx: ctx}
			d.start()
			const length = 10 * time.Minute
			d.healthy(length)
			quiet = []*row{{fault: fmt.Sprintf("none: clients write for %s", length)}}
		})
	})
	if cephtest.Long() && *update && !t.Failed() {
		if err := writeRecord(append(quiet, faulty...)); err != nil {
			t.Fatal(err)
		}
	}
}

// options are those of the cluster: in the long form scrubs and recovery are slow
// enough to meet, there is a gateway, and two OSDs for each of two shelves.
func options() cephtest.Options {
	o := cephtest.Options{
		Release: cephtest.R18,
		Pools:   []cephtest.Pool{{Name: "data", PGs: 16, Objects: 64}, {Name: "erasure", PGs: 8, EC: true, Objects: 32}},
	}
	if cephtest.Long() {
		o.OSDs, o.RGWs, o.RGWOpsLog = 2*perShelf, 1, true
		o.Conf = map[string]map[string]string{
			"osd": {
				"osd_op_queue": "wpq", "osd_scrub_sleep": "0.5", "osd_scrub_chunk_min": "1", "osd_scrub_chunk_max": "5",
				"osd_shallow_scrub_chunk_min": "1", "osd_shallow_scrub_chunk_max": "5", "osd_scrub_load_threshold": "1000",
			},
			// Ceph names no more than fifty late PGs.
			"global": {"osd_pool_default_pg_num": "2", "osd_pool_default_pgp_num": "2", "osd_pool_default_pg_autoscale_mode": "off"},
		}
	}
	return o
}

// start brings everything up.
func (d *drill) start() {
	d.c = cephtest.New(d, options())
	args := []string{
		"--collector.pg.interval=5s", "--collector.pg.fast-interval=2s", "--collector.pg.dump-timeout=15s",
		"--collector.osd.interval=5s", "--collector.forecast.interval=10s",
	}
	if cephtest.Long() {
		args = append(args, d.startArray()...)
	}
	d.pair[0] = exporter.Start(d, d.c, "one", args...)
	d.pair[1] = d.pair[0].Another("two", args...)
	targets := []string{instance(d.pair[0]), instance(d.pair[1])}
	if cephtest.Long() {
		d.host = d.pair[0].Another("host", d.startGateway()...)
		targets = append(targets, instance(d.host), d.startShelves())
	}
	d.must(d.c.WaitHealthy(d.ctx))
	d.monitoring = startMonitoring(d.T, targets)
}

// healthy loads the cluster for a while, in which nobody is paged.
func (d *drill) healthy(length time.Duration) {
	d.Helper()
	d.must(d.c.CreatePool(d.ctx, cephtest.Pool{Name: "load"}))
	ctx, cancel := context.WithTimeout(d.ctx, length)
	defer cancel()
	objects := 0
	for ctx.Err() == nil {
		err := d.c.PutObjects(ctx, "load", 200, 4096)
		if err == nil && cephtest.Long() {
			err = d.put(ctx, 20)
		}
		if err != nil && ctx.Err() == nil {
			d.Fatal(err)
		}
		objects += 200
	}
	for _, n := range d.since(0) {
		d.Errorf("a page from a healthy cluster: %s", n)
	}
	d.Logf("healthy for %s, %d objects written", length, objects)
	d.must(d.c.DeletePool(d.ctx, "load"))
}

// instance is an exporter's label instance.
func instance(e *exporter.Exporter) string { return strings.TrimPrefix(e.URL, "http://") }
