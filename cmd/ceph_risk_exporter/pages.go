package main

import (
	"net/http"
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/collector"
	"github.com/ceph-risk/ceph_risk_exporter/internal/page"
)

// pages adds what is for people to the handler.
func (a *application) pages(mux *http.ServeMux) error {
	h, err := page.New(page.Config{
		Version: version().Version, Role: a.cfg.role, Simulated: a.cfg.simulate != nil,
		Declared: declared(), Read: a.reading, Log: a.log,
	})
	if err != nil {
		return err
	}
	mux.HandleFunc("GET /{$}", h.Overview)
	mux.HandleFunc("GET /metric", h.Metric)
	mux.Handle("GET /debug/collector", collector.NewDebugHandler(a.set))
	return nil
}

// declared lists the families that this program can export.
func declared() []page.Declared {
	var out []page.Declared
	add := func(name string, rows []*collector.Row) {
		for _, r := range rows {
			out = append(out, page.Declared{
				Name: r.Name, Help: r.Help, Kind: r.Kind.String(), Collector: name,
				Cardinality: r.Cardinality, Source: r.Source, Since: r.Since,
			})
		}
	}
	for _, s := range collector.Specs() {
		add(s.Name, s.Rows())
	}
	add("", collector.SelfRows())
	add("", collector.ProcessRows())
	return out
}

// reading is what the last polls left, as the pages want it.
type reading struct {
	*collector.Readout
	collectors []page.Collector
}

func (a *application) reading() page.Reading {
	r, err := a.set.Read(a.others)
	if err != nil {
		a.log.Warn("some of the exporter's own metrics are missing on the pages", "err", err)
	}
	return &reading{Readout: r, collectors: a.collectorStates()}
}

// At implements page.Reading.
func (r *reading) At() time.Time { return r.Readout.At }

// Describe implements page.Reading.
func (r *reading) Describe(name string) (help, kind string, ok bool) {
	help, k, ok := r.Readout.Describe(name)
	return help, k.String(), ok
}

// Each implements page.Reading.
func (r *reading) Each(name string, yield func(page.Sample) bool) {
	r.Readout.Each(name, func(s *collector.Sample) bool {
		return yield(page.Sample{Labels: s.Labels, Value: s.Value, Count: s.Count})
	})
}

// Collectors implements page.Reading.
func (r *reading) Collectors() []page.Collector { return r.collectors }

// collectorStates lists all collectors, in the order of the registry, with the
// reason for those that do not run.
func (a *application) collectorStates() []page.Collector {
	states := map[string]collector.Status{}
	for _, s := range a.set.Status() {
		states[s.Name] = s
	}
	var out []page.Collector
	for _, spec := range collector.Specs() {
		s, on := states[spec.Name]
		c := page.Collector{Name: spec.Name, Help: spec.Help}
		if !on {
			c.Off = a.cfg.whyOff(spec)
			out = append(out, c)
			continue
		}
		c.Polled, c.Err, c.LastErr, c.LastErrAt = s.Polled, errorText(s.Err), errorText(s.LastErr), s.LastErrAt
		c.At, c.LastSuccess, c.Duration, c.Interval, c.Failures = s.At, s.LastSuccess, s.Duration, s.Interval, s.Failures
		out = append(out, c)
	}
	return out
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// whyOff says why a collector does not run in this process.
func (c *config) whyOff(spec collector.Spec) string {
	switch {
	case spec.Roles&roleOf(c.role) != 0:
		return "it was switched off with --no-collector." + spec.Name
	case spec.Roles == 0:
		return "it runs only when asked for, with --collector." + spec.Name
	case spec.Roles == collector.RoleHost:
		return "it belongs to the host role, which the exporter on each Ceph host has; this one has --role=" + c.role
	case spec.Roles == collector.RoleCluster:
		return "it belongs to the cluster role, which one exporter per cluster has; this one has --role=" + c.role
	}
	return "--role=" + c.role + " does not include it"
}
