// Package exposition renders large tables of samples in the formats that
// Prometheus reads, straight from the columns of a snapshot. It is for the few
// families that have a series for each of hundreds of thousands of things;
// everything else is better off with the registry.
//
// A family is rendered while it is sent, or compressed once per poll. Of a
// compressed form only those pieces are made anew in which a label or value has
// changed since the poll before; see Family.Warm.
//
// It knows bytes only. Output equals that of
// github.com/prometheus/common/expfmt, which its tests compare it with.
package exposition

import (
	"bytes"
	"fmt"
	"hash/maphash"
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
	prints []uint64 // of the labels in each piece of the rows to render

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
	if t.checkAscending() {
		return nil
	}
	return t.checkExactly()
}

// checkAscending reports whether the rows are in ascending order and all of them
// can be rendered. Of a row it looks at what differs from the row before.
func (t *table) checkAscending() bool {
	t.prints = make([]uint64, 0, pieces(t.n))
	last := bytes.Repeat([]byte{separator}, len(t.labels)) // comes before all rows
	var keys, others []byte
	for from := 0; from < t.n; from += pieceRows {
		keys, others = others[:0], keys // last may be in others
		for i := from; i < min(from+pieceRows, t.n); i++ {
			at := len(keys)
			for j := range t.labels {
				keys = append(t.labels[j].Append(keys, i), separator)
			}
			key := keys[at:]
			same := common(last, key)
			if !plainAs(last[same:], key[same:]) || !lessFrom(same, last, key) {
				return false
			}
			last = key
		}
		t.prints = append(t.prints, maphash.Bytes(seed, keys))
	}
	return true
}

func (t *table) checkExactly() *Refused {
	var r *Refused
	seen := make(map[string]struct{}, t.n)
	keep := make([]uint32, 0, t.n)
	t.prints = t.prints[:0]
	var key, keys []byte
	for i := range t.n {
		var ok bool
		key, ok = t.key(key[:0], i)
		_, twice := seen[string(key)]
		if ok && !twice {
			seen[string(key)] = struct{}{}
			keep = append(keep, uint32(i))
			if keys = append(keys, key...); len(keep)%pieceRows == 0 {
				t.prints = append(t.prints, maphash.Bytes(seed, keys))
				keys = keys[:0]
			}
			continue
		}
		if r == nil {
			r = &Refused{Row: i, Key: fmt.Sprintf("%q", bytes.Split(key[:len(key)-1], []byte{separator})), Why: "a second row with the same labels"}
			if !ok {
				r.Why = "a label value that would need escaping"
			}
		}
		r.Rows++
	}
	if len(keys) > 0 {
		t.prints = append(t.prints, maphash.Bytes(seed, keys))
	}
	if r != nil {
		t.keep = keep
	}
	return r
}

// separator stands behind each label value in a key; plain values do not have it.
const separator = 0

// key appends the label values of a row, and returns whether they can be
// rendered.
func (t *table) key(b []byte, i int) ([]byte, bool) {
	ok := true
	for j := range t.labels {
		at := len(b)
		b = t.labels[j].Append(b, i)
		for _, c := range b[at:] {
			ok = ok && plain(c)
		}
		b = append(b, separator)
	}
	return b, ok
}

// plain reports whether a label value can have c as it is.
func plain(c byte) bool { return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\' }

// plainAs reports whether what is left of a key is plain, given what is left of
// one that is, behind the bytes that they share: then both have as many
// separators.
func plainAs(other, key []byte) bool {
	n := 0
	for _, c := range other {
		if c == separator {
			n--
		}
	}
	for _, c := range key {
		if c == separator {
			n++
		} else if !plain(c) {
			return false
		}
	}
	return n == 0
}

// common returns how many bytes a and b have in common at their beginning.
func common(a, b []byte) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// lessFrom reports whether a comes before b, which have their first i bytes in
// common and no more. The order is by words, runs of letters and digits: a
// shorter word comes first, then by bytes. So 1.ff precedes 1.100, and 9.0
// precedes 10.0.
func lessFrom(i int, a, b []byte) bool {
	// The word of the first difference starts at the same place in both.
	wa, wb := wordEnd(a, i), wordEnd(b, i)
	switch {
	case wa != wb:
		return wa < wb
	case i == len(a) || i == len(b):
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
