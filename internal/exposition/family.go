package exposition

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
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

	sizeOnce sync.Once
	size     int // of the metrics in protobuf

	packed [formats][encodings]packed
}

// packed is one compressed form.
type packed struct {
	asked atomic.Bool  // by a scrape
	made  atomic.Int64 // length of data once it is there
	warm  int          // for how many polls more it is prepared unasked
	once  sync.Once
	data  []byte
	size  int64 // of what it unpacks to
	crc   uint32
	err   error
}

func newFamily(t *table, c Column) *Family {
	f := &Family{table: t, column: c, samples: countSamples(t, c.Value)}
	lead := c.Name + "{"
	for _, l := range t.labels {
		f.before = append(f.before, lead+l.Name+`="`)
		lead = `",`
	}
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

// keepWarm is for how many polls a compressed form that nobody asks for any
// more is still prepared.
const keepWarm = 5

// Warm prepares the compressed forms that scrapes asked of earlier, the
// family's version of the poll before, so that they find them ready. It must be
// called before the family is handed out.
func (f *Family) Warm(earlier *Family) {
	for format := range formats {
		for e := Gzip; e < encodings; e++ {
			before := &earlier.packed[format][e]
			warm := before.warm - 1
			if before.asked.Load() {
				warm = keepWarm
			}
			if warm > 0 {
				f.packed[format][e].warm = warm
				f.pack(format, e, int(before.made.Load()))
			}
		}
	}
}

// ask is pack for a scrape.
func (f *Family) ask(format Format, e Encoding) *packed {
	f.packed[format][e].asked.Store(true)
	return f.pack(format, e, f.samples*bytesPerSample)
}

// bytesPerSample is about what a sample takes in a compressed form.
const bytesPerSample = 8

var errUnfinished = errors.New("compressed form was never finished")

// pack returns a compressed form, which it makes at the first call. likely is
// its size, as far as that can be known.
func (f *Family) pack(format Format, e Encoding, likely int) *packed {
	p := &f.packed[format][e]
	p.once.Do(func() {
		p.err = errUnfinished // stays where a function of the table panics
		var out bytes.Buffer
		out.Grow(likely + likely/32 + bytes.MinRead)
		if e == Gzip {
			p.err = f.deflate(&out, format, p)
		} else {
			p.err = f.zstd(&out, format)
		}
		if p.data = out.Bytes(); cap(p.data)-len(p.data) > len(p.data)/16 {
			p.data = bytes.Clone(p.data) // without the spare room
		}
		p.made.Store(int64(len(p.data)))
	})
	return p
}

// deflateChunk is how much goes into one piece of deflate blocks: at most what
// the compressor takes at a time, 32 KiB.
const deflateChunk = 24 << 10

// deflate writes the family as whole deflate blocks that end at a byte, none of
// which is the last and none of which refers to anything before the family. Such
// pieces can be joined to one stream in any order.
func (f *Family) deflate(w io.Writer, format Format, p *packed) error {
	d := &deflater{w: w}
	_, err := f.render(d, format, make([]byte, 0, deflateChunk+spare))
	p.size, p.crc = d.size, d.crc
	return err
}

// deflater compresses every piece that is written to it by itself, and counts
// and sums up what it was given.
type deflater struct {
	w    io.Writer
	size int64
	crc  uint32
}

func (d *deflater) Write(b []byte) (int, error) {
	d.size += int64(len(b))
	d.crc = crc32.Update(d.crc, crc32.IEEETable, b)
	return len(b), flate.StatelessDeflate(d.w, b, false, nil)
}

// zstdChunk is how much goes into one zstd frame: small enough for the caches,
// large enough that a frame's tables do not matter.
const zstdChunk = 64 << 10

// zstd writes the family as zstd frames, which can be joined.
func (f *Family) zstd(w *bytes.Buffer, format Format) error {
	zw, err := newZstd()
	if err != nil {
		return err
	}
	if _, err := f.render(zstdFrames{zw, w}, format, make([]byte, 0, zstdChunk+spare)); err != nil {
		return err
	}
	return zw.Close()
}

// newZstd returns an encoder for EncodeAll that starts no goroutines. Without
// entropy coding it takes a fifth less CPU; what it writes is still a tenth of
// the text.
func newZstd() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(zstdChunk), zstd.WithEncoderCRC(false), zstd.WithNoEntropyCompression(true))
}

// zstdFrames makes a frame of every piece that is written to it.
type zstdFrames struct {
	enc *zstd.Encoder
	out *bytes.Buffer
}

func (z zstdFrames) Write(b []byte) (int, error) {
	z.out.Write(z.enc.EncodeAll(b, z.out.AvailableBuffer()))
	return len(b), nil
}
