package collector

// Kind is the metric type of a row.
type Kind uint8

// The metric types a row can have.
const (
	Gauge Kind = iota
	Counter
	Histogram
	Summary
)

// A Row declares one metric family: everything that Describe, the emitter,
// docs/metrics.md and the lint need, stated once.
type Row struct {
	Name   string   // with prefix and unit: cephrisk_pool_pgs_late
	Help   string   // one sentence or two, no trailing full stop
	Kind   Kind     // metric type
	Labels []string // label names, in the order of the values given to Emit
	// Cardinality says how many series there are: "one per pool and level".
	Cardinality string
	// Source says where the value comes from: "mgr `pg dump pgs`, field
	// last_deep_scrub_stamp".
	Source string
	// Since is the first Ceph release that has it, where not all have.
	Since string
}

// A Table holds the rows of one collector. Collectors embed it in a struct with
// one field per row and fill both at once:
//
//	type osdTable struct {
//		Table
//		metaBytes *Row
//	}
//
//	func newOSDTable() *osdTable {
//		t := &osdTable{}
//		t.metaBytes = t.Add(Row{Name: "cephrisk_osd_bluestore_meta_bytes", ...})
//		return t
//	}
type Table struct {
	rows []*Row
}

// Add appends a row and returns its handle, by which samples are emitted.
func (t *Table) Add(r Row) *Row {
	row := &r
	t.rows = append(t.rows, row)
	return row
}

// Rows returns the rows in the order in which they were added.
func (t *Table) Rows() []*Row { return t.rows }
