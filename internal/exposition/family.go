package exposition

import (
	"hash/maphash"
	"strings"
	"sync"
)

// Encoding is a content encoding.
type Encoding uint8

// The content encodings.
const (
	Identity Encoding = iota
	Gzip
	Zstd
	encodings
)

// String returns the encoding's name in HTTP.
func (e Encoding) String() string {
	return [...]string{"identity", "gzip", "zstd"}[e]
}

// A Family is one column of a table. It is immutable, and remembers its
// compressed forms once they have been asked for.
type Family struct {
	table   *table
	column  Column
	samples int
	before  []string // what precedes the value of each label in a line of text
	print   uint64   // of the names

	sizeOnce sync.Once
	size     int // of the metrics in protobuf

	packed [formats][encodings]packed
}

func newFamily(t *table, c Column) *Family {
	f := &Family{table: t, column: c, samples: countSamples(t, c.Value)}
	lead := c.Name + "{"
	for _, l := range t.labels {
		f.before = append(f.before, lead+l.Name+`="`)
		lead = `",`
	}
	f.print = maphash.String(seed, strings.Join(f.before, ""))
	return f
}

// Name returns the name of the family.
func (f *Family) Name() string { return f.column.Name }

// Help returns the help text of the family.
func (f *Family) Help() string { return f.column.Help }

// Len returns the number of samples.
func (f *Family) Len() int { return f.samples }

// Each calls fn with the labels and the value of every sample until it returns
// false: label names and values in turn, in name order. It is the slow way, for
// forms that this package does not render.
func (f *Family) Each(fn func(labels []string, value float64) bool) {
	for k := range f.table.rows() {
		i := f.table.row(k)
		v := f.column.Value(i)
		if v != v {
			continue
		}
		pairs := make([]string, 0, 2*len(f.table.labels))
		for j := range f.table.labels {
			pairs = append(pairs, f.table.labels[j].Name, string(f.table.labels[j].Append(nil, i)))
		}
		if !fn(pairs, v) {
			return
		}
	}
}
