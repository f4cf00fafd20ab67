// Package exposition renders large tables of samples in the formats that
// Prometheus reads, straight from the columns of a snapshot. It is for the few
// families that have a series for each of hundreds of thousands of things;
// everything else is better off with the registry.
//
// It knows bytes only. Output equals that of
// github.com/prometheus/common/expfmt, which its tests compare it with.
package exposition

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// A Label is a label of a table, with its value in each row.
type Label struct {
	Name string
	// Append appends the value in row i to b and returns it. The value must
	// consist of printable ASCII other than quote and backslash.
	Append func(b []byte, i int) []byte
}

// A Column is one family of gauges: one sample per row of its table.
type Column struct {
	Name string
	Help string
	// Value returns the sample in row i; NaN is no sample. It must always
	// return the same.
	Value func(i int) float64
}

// Refused says that rows were left out, and why.
type Refused struct {
	Rows int    // how many
	Row  int    // the first of them
	Key  string // its label values
	Why  string
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%d rows refused, the first is row %d, %s: %s", r.Rows, r.Row, r.Key, r.Why)
}

// table is what the families of one NewFamilies share.
type table struct {
	labels []Label  // in name order
	n      int      // rows
	keep   []uint32 // indices of the rows to render; nil: all of them

	sizeOnce sync.Once
	size     int // see fullSize
}

// rows returns how many rows are rendered.
func (t *table) rows() int {
	if t.keep != nil {
		return len(t.keep)
	}
	return t.n
}

// row returns the index of the k-th row that is rendered.
func (t *table) row(k int) int {
	if t.keep != nil {
		return int(t.keep[k])
	}
	return k
}

// NewFamilies returns one family per column with n rows that all have these
// labels, of which there must be at least one. Families without a sample are
// left out. Rows whose label values cannot be rendered or that an earlier row
// has already are left out too and reported, a *Refused, beside the families.
//
// The functions are called again whenever the families are rendered, possibly
// by several goroutines at once.
func NewFamilies(n int, labels []Label, columns []Column) ([]*Family, error) {
	t := &table{n: n, labels: slices.Clone(labels)}
	slices.SortFunc(t.labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	refused := t.check()
	var families []*Family
	for i := range columns {
		f := newFamily(t, columns[i])
		if f.samples > 0 {
			families = append(families, f)
		}
	}
	if refused != nil {
		return families, refused
	}
	return families, nil
}

// check leaves out rows that would make the output invalid. Rows in ascending
// natural order, which is how a snapshot has them, are told apart at a glance;
// any other order takes a set of all keys.
func (t *table) check() *Refused {
	var key, last []byte
	for i := range t.n {
		var ok bool
		key, ok = t.key(key[:0], i)
		if !ok || i > 0 && !naturalLess(last, key) {
			return t.checkExactly()
		}
		key, last = last, key
	}
	return nil
}

func (t *table) checkExactly() *Refused {
	var r *Refused
	seen := make(map[string]struct{}, t.n)
	keep := make([]uint32, 0, t.n)
	var key []byte
	for i := range t.n {
		var ok bool
		key, ok = t.key(key[:0], i)
		_, twice := seen[string(key)]
		if ok && !twice {
			seen[string(key)] = struct{}{}
			keep = append(keep, uint32(i))
			continue
		}
		if r == nil {
			r = &Refused{Row: i, Key: fmt.Sprintf("%q", bytes.Split(key, []byte{separator})), Why: "a second row with the same labels"}
			if !ok {
				r.Why = "a label value that would need escaping"
			}
		}
		r.Rows++
	}
	if r != nil {
		t.keep = keep
	}
	return r
}

// separator stands between label values in a key; plain values do not have it.
const separator = 0xff

// key returns the label values of a row, and whether they can be rendered.
func (t *table) key(b []byte, i int) ([]byte, bool) {
	ok := true
	for j := range t.labels {
		if j > 0 {
			b = append(b, separator)
		}
		at := len(b)
		b = t.labels[j].Append(b, i)
		ok = ok && plain(b[at:])
	}
	return b, ok
}

// plain reports whether all of b can stand in a label value as it is.
func plain(b []byte) bool {
	for _, c := range b {
		if c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// naturalLess orders keys by their words, runs of letters and digits: a shorter
// word comes first, then by bytes. So 1.ff precedes 1.100, and 9.0 precedes 10.0.
func naturalLess(a, b []byte) bool {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	// The word of the first difference starts at the same place in both.
	wa, wb := wordEnd(a, i), wordEnd(b, i)
	switch {
	case wa != wb:
		return wa < wb
	case i == n:
		return len(a) < len(b)
	}
	return a[i] < b[i]
}

// wordEnd returns where the word that goes on at i ends.
func wordEnd(b []byte, i int) int {
	for i < len(b) && (b[i]-'0' < 10 || b[i]|0x20-'a' < 26) {
		i++
	}
	return i
}

// countSamples counts the rows that have a value.
func countSamples(t *table, value func(int) float64) int {
	n := 0
	for k := range t.rows() {
		if !math.IsNaN(value(t.row(k))) {
			n++
		}
	}
	return n
}
