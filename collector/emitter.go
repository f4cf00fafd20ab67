package collector

import (
	dto "github.com/prometheus/client_model/go"
)

// Emitter receives the samples of one snapshot.
type Emitter struct{}

// Emit adds one sample of a gauge or counter row. Label values are in the order
// of row.Labels. NaN is no sample. A value that could not be read must not be
// emitted at all.
func (e *Emitter) Emit(row *Row, value float64, labels ...string) {}

// EmitBool adds 1 or 0.
func (e *Emitter) EmitBool(row *Row, value bool, labels ...string) {}

// EmitHistogram adds one histogram: cumulative buckets in ascending order,
// without +Inf (it is the count), and native fields where the caller has them.
func (e *Emitter) EmitHistogram(row *Row, h *dto.Histogram, labels ...string) {}

// EmitSummary adds one summary without quantiles: sum and count.
func (e *Emitter) EmitSummary(row *Row, count uint64, sum float64, labels ...string) {}
