package exposition

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Format is a form in which families are rendered.
type Format uint8

// The formats, as in the media types text/plain (0.0.4 and 1.0.0),
// application/openmetrics-text (all of 1) and
// application/vnd.google.protobuf; encoding=delimited. Names are taken to need
// no escaping.
const (
	Text Format = iota
	OpenMetrics
	Protobuf
	formats
)

// Trailer is what has to stand after the last family.
func (f Format) Trailer() string {
	if f == OpenMetrics {
		return "# EOF\n"
	}
	return ""
}

const (
	// chunk is the size of a buffer to render into, and spare the room that is
	// left in it for one more piece.
	chunk, spare = 64 << 10, 24 << 10
)

// render writes the family in parts that fill the buffer, and returns the
// buffer, which has grown if there was need.
func (f *Family) render(w io.Writer, format Format, buf []byte) ([]byte, error) {
	size := 0
	if format == Protobuf {
		size = f.metricsSize()
	}
	b := f.appendHead(buf[:0], format, size)
	var values [pieceRows]float64
	for from := 0; from < f.table.rows(); from += pieceRows {
		b = f.appendRows(b, format, from, f.values(values[:0], from))
		if len(b) >= cap(buf)-spare {
			if _, err := w.Write(b); err != nil {
				return b, err
			}
			b = b[:0]
		}
	}
	_, err := w.Write(b)
	return b, err
}

// values appends the values of the piece that begins with the row from.
func (f *Family) values(v []float64, from int) []float64 {
	for k := from; k < min(from+pieceRows, f.table.rows()); k++ {
		v = append(v, f.column.Value(f.table.row(k)))
	}
	return v
}

// appendRows writes the samples with these values in the row from and those that
// follow.
func (f *Family) appendRows(b []byte, format Format, from int, values []float64) []byte {
	for k, v := range values {
		switch {
		case math.IsNaN(v):
		case format == Protobuf:
			b = f.appendMetric(b, f.table.row(from+k), v)
		default:
			b = f.appendLine(b, f.table.row(from+k), v, format)
		}
	}
	return b
}

// appendHead writes what precedes the samples, which take size bytes: that
// matters in protobuf only.
func (f *Family) appendHead(b []byte, format Format, size int) []byte {
	if format == Protobuf {
		return f.appendMessageHead(b, size)
	}
	help := helpText
	if format == OpenMetrics {
		help = helpOpenMetrics
	}
	b = append(append(append(b, "# HELP "...), f.column.Name...), ' ')
	b = append(append(b, help.Replace(f.column.Help)...), '\n')
	return append(append(append(b, "# TYPE "...), f.column.Name...), " gauge\n"...)
}

var (
	helpText        = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	helpOpenMetrics = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// appendLine writes one sample as text.
func (f *Family) appendLine(b []byte, i int, v float64, format Format) []byte {
	for j := range f.table.labels {
		b = append(b, f.before[j]...)
		b = f.table.labels[j].Append(b, i)
	}
	b = append(b, `"} `...)
	b = appendValue(b, v, format)
	return append(b, '\n')
}

// appendValue writes a value as expfmt does: the shortest form that reads back
// as the same number, and no sign before zero. OpenMetrics wants a fraction or an
// exponent.
func appendValue(b []byte, v float64, format Format) []byte {
	n := int64(v)
	if float64(n) != v || n <= -1e15 || n >= 1e15 {
		at := len(b)
		b = appendFloat(b, v)
		if format == OpenMetrics && !hasAny(b[at:]) {
			b = append(b, ".0"...)
		}
		return b
	}
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	// Digits from the right, two at a time.
	var d [32]byte
	const end = 24
	at, u := end, uint64(n)
	for u >= 100 {
		at -= 2
		pair := u % 100 * 2
		d[at], d[at+1] = digitPairs[pair], digitPairs[pair+1]
		u /= 100
	}
	if u >= 10 {
		at -= 2
		d[at], d[at+1] = digitPairs[u*2], digitPairs[u*2+1]
	} else {
		at--
		d[at] = byte('0' + u)
	}
	if n < 1e6 {
		if format == OpenMetrics {
			d[end], d[end+1] = '.', '0'
			return append(b, d[at:end+2]...)
		}
		return append(b, d[at:end]...)
	}
	// 1234567 is written 1.234567e+06.
	exp, last := end-at-1, end-1
	for d[last] == '0' {
		last--
	}
	if last > at {
		d[at-1], d[at] = d[at], '.'
		at--
	}
	d[last+1], d[last+2], d[last+3], d[last+4] = 'e', '+', byte('0'+exp/10), byte('0'+exp%10)
	return append(b, d[at:last+5]...)
}

const digitPairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

func appendFloat(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// hasAny reports whether the number is marked as one that is no integer.
func hasAny(b []byte) bool {
	for _, c := range b {
		if c == '.' || c == 'e' || c == 'I' {
			return true
		}
	}
	return false
}

// The tags of the messages in io/prometheus/client/metrics.proto.
const (
	tagName   = 1<<3 | 2 // MetricFamily.name, LabelPair.name
	tagHelp   = 2<<3 | 2 // MetricFamily.help, LabelPair.value, Metric.gauge
	tagType   = 3 << 3   // MetricFamily.type
	tagMetric = 4<<3 | 2 // MetricFamily.metric
	tagLabel  = 1<<3 | 2 // Metric.label
	tagGauge  = 2<<3 | 2 // Metric.gauge
	tagValue  = 1<<3 | 1 // Gauge.value
	typeGauge = 1

	gaugeSize = 2 + 9 // the field Metric.gauge
)

// appendMessageHead writes the length of the family's message, whose metrics take
// size bytes, and the fields that precede them.
func (f *Family) appendMessageHead(b []byte, size int) []byte {
	size += fieldSize(len(f.column.Name)) + fieldSize(len(f.column.Help)) + 2
	b = binary.AppendUvarint(b, uint64(size))
	b = appendField(b, tagName, f.column.Name)
	b = appendField(b, tagHelp, f.column.Help)
	return append(b, tagType, typeGauge)
}

// metricsSize is the size of all metrics in the message, which has to be known
// before the first is written.
func (f *Family) metricsSize() int {
	f.sizeOnce.Do(func() {
		if f.samples == f.table.rows() {
			f.size = f.table.fullSize()
			return
		}
		f.size = f.table.metricsSize(func(i int) bool { return !math.IsNaN(f.column.Value(i)) })
	})
	return f.size
}

// fullSize is the size of the metrics of a family with a sample in every row.
func (t *table) fullSize() int {
	t.sizeOnce.Do(func() { t.size = t.metricsSize(func(int) bool { return true }) })
	return t.size
}

func (t *table) metricsSize(with func(i int) bool) int {
	total := 0
	var scratch []byte
	for k := range t.rows() {
		i := t.row(k)
		if !with(i) {
			continue
		}
		size := gaugeSize
		for j := range t.labels {
			scratch = t.labels[j].Append(scratch[:0], i)
			size += fieldSize(fieldSize(len(t.labels[j].Name)) + fieldSize(len(scratch)))
		}
		total += fieldSize(size)
	}
	return total
}

// appendMetric writes one sample as a message. Lengths that come before what
// they count are one byte wherever they are below 128, which labels of bulk
// rows are; the place is made wider where they are not.
func (f *Family) appendMetric(b []byte, i int, v float64) []byte {
	b = append(b, tagMetric, 0)
	metric := len(b)
	for j := range f.table.labels {
		l := &f.table.labels[j]
		b = append(b, tagLabel, 0)
		label := len(b)
		b = appendField(b, tagName, l.Name)
		b = append(b, tagHelp, 0)
		value := len(b)
		b = closeField(l.Append(b, i), value)
		b = closeField(b, label)
	}
	b = append(b, tagGauge, 9, tagValue)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	return closeField(b, metric)
}

// closeField writes the length of what was appended since start into the byte
// before start, and makes room where it takes more.
func closeField(b []byte, start int) []byte {
	n := len(b) - start
	if n < 0x80 {
		b[start-1] = byte(n)
		return b
	}
	var v [binary.MaxVarintLen64]byte
	w := binary.PutUvarint(v[:], uint64(n))
	b = append(b, v[:w-1]...) // any bytes: they are overwritten
	copy(b[start+w-1:], b[start:start+n])
	copy(b[start-1:], v[:w])
	return b
}

func appendField(b []byte, tag byte, s string) []byte {
	b = binary.AppendUvarint(append(b, tag), uint64(len(s)))
	return append(b, s...)
}

// fieldSize is the size of a field that holds n bytes, with a tag of one byte.
func fieldSize(n int) int { return 1 + (bits.Len(uint(n|1))+6)/7 + n }
