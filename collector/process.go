package collector

import (
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// Version says what was built.
type Version struct {
	Version, Revision, GoVersion string
	Librados                     bool // built with librados
}

// CommandStats are the numbers of the client that talks to mon and mgr. All but
// Stuck and StuckLimit are counters.
type CommandStats struct {
	MonCalls, MgrCalls, Connects  uint64
	Abandoned, Returned, Rejected uint64
	Bytes                         uint64
	Stuck, StuckLimit             int
}

// Process is what the exporter says about itself beyond its collectors.
type Process struct {
	Version   Version
	Simulated bool
	SetAside  func() uint64
	// Threads returns the process's threads, false where that is not known.
	Threads  func() (int, bool)
	Commands func() CommandStats // nil: nobody asks mon or mgr
}

type processTable struct {
	Table
	threads, build, simulated, setAside                      *Row
	calls, connects, abandoned, returned, rejected, received *Row
	stuck, stuckLimit                                        *Row
}

func newProcessTable() *processTable {
	const one, source = "one", "the exporter itself"
	t := &processTable{}
	add := func(name, help string, kind Kind, labels ...string) *Row {
		return t.Add(Row{Name: "cephrisk_" + name, Help: help, Kind: kind, Labels: labels, Cardinality: one, Source: source})
	}
	t.build = add("build_info", "1, with what was built", Gauge, "version", "revision", "goversion", "librados")
	t.simulated = add("simulated", "1 when the cluster is made up (--simulate); absent otherwise", Gauge)
	t.threads = add("process_threads", "Threads of the exporter, those of librados included, which Go does not count", Gauge)
	t.setAside = add("state_set_aside_total", "State files that could not be read and were set aside", Counter)
	t.calls = add("ceph_commands_total", "Commands sent to mon or mgr", Counter, "target")
	t.calls.Cardinality = "one per target: mon, mgr"
	t.connects = add("ceph_connects_total", "Attempts to connect to the cluster", Counter)
	t.abandoned = add("ceph_commands_abandoned_total", "Commands and attempts to connect that were given up because no answer came in time", Counter)
	t.returned = add("ceph_commands_returned_total", "Given-up commands whose call into librados has come back since", Counter)
	t.rejected = add("ceph_commands_rejected_total", "Commands refused at once because too many given-up ones are still inside librados", Counter)
	t.received = add("ceph_received_bytes_total", "Bytes of the answers of mon and mgr", Counter)
	t.stuck = add("ceph_commands_stuck", "Given-up commands that are inside librados now", Gauge)
	t.stuckLimit = add("ceph_commands_stuck_limit", "Number of stuck commands at which further ones are refused; three quarters of it for those that wait for a mon, or for a mgr, alone", Gauge)
	return t
}

// ProcessRows returns the rows of Process.
func ProcessRows() []*Row { return newProcessTable().Rows() }

type processGatherer struct {
	table *processTable
	p     Process
}

// NewProcess returns a prometheus.Gatherer for p.
func NewProcess(p Process) interface {
	Gather() ([]*dto.MetricFamily, error)
} {
	return &processGatherer{table: newProcessTable(), p: p}
}

// Gather implements prometheus.Gatherer.
func (g *processGatherer) Gather() ([]*dto.MetricFamily, error) {
	t, e := g.table, newEmitter(g.table.Rows())
	v := g.p.Version
	e.Emit(t.build, 1, v.Version, v.Revision, v.GoVersion, strconv.FormatBool(v.Librados))
	if g.p.Simulated {
		e.Emit(t.simulated, 1)
	}
	e.Emit(t.setAside, float64(g.p.SetAside()))
	if n, ok := g.p.Threads(); ok {
		e.Emit(t.threads, float64(n))
	}
	if g.p.Commands != nil {
		s := g.p.Commands()
		e.Emit(t.calls, float64(s.MonCalls), "mon")
		e.Emit(t.calls, float64(s.MgrCalls), "mgr")
		e.Emit(t.connects, float64(s.Connects))
		e.Emit(t.abandoned, float64(s.Abandoned))
		e.Emit(t.returned, float64(s.Returned))
		e.Emit(t.rejected, float64(s.Rejected))
		e.Emit(t.received, float64(s.Bytes))
		e.Emit(t.stuck, float64(s.Stuck))
		e.Emit(t.stuckLimit, float64(s.StuckLimit))
	}
	return e.result(), nil
}
