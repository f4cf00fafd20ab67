package exposition

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// packed is one compressed form.
//
// It consists of pieces that do not refer to each other and that have a fixed
// number of rows: where one ends does not depend on what the rows show. So a
// piece whose rows show the same as in the poll before is the same piece, and is
// copied. That is most of them in families whose values seldom change.
type packed struct {
	asked atomic.Bool // by a scrape
	warm  int         // for how many polls more it is prepared unasked
	once  sync.Once
	made  atomic.Bool // what follows is there, and is not written any more

	head   []byte // of the family
	data   []byte // its rows
	pieces []piece
	size   int64  // of what head and data unpack to
	crc    uint32 // of the same, for gzip
	err    error
}

// pieceRows is how many rows a piece has. Rendered, they should be less than the
// 32 KiB that the compressor of gzip takes at a time. Longer pieces compress
// better, shorter ones are more often the same.
const pieceRows = 256

// pieces returns how many pieces that many rows make.
func pieces(rows int) int { return (rows + pieceRows - 1) / pieceRows }

// piece is pieceRows rows of a compressed form, or less at its end.
type piece struct {
	print uint64 // of what the rows show
	end   int    // where its compressed bytes end
	size  int64  // of what they unpack to
	crc   uint32 // of the same, for gzip
}

// seed is that of all prints, which are compared within the process only.
var seed = maphash.MakeSeed()

// piecePrint returns what tells the n-th piece from any other in its place: a
// hash of its names, labels and values, that is, of all that is rendered. Two
// pieces that differ have the same one about once in 2^64 times, and as nobody
// outside knows the seed, nobody can make it happen.
func (f *Family) piecePrint(buf []byte, n int, values []float64) (uint64, []byte) {
	buf = binary.LittleEndian.AppendUint64(buf[:0], f.print)
	buf = binary.LittleEndian.AppendUint64(buf, f.table.prints[n])
	for _, v := range values {
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v))
	}
	return maphash.Bytes(seed, buf), buf
}

// keepWarm is for how many polls a compressed form that nobody asks for any
// more is still prepared.
const keepWarm = 5

// Warm prepares the compressed forms that scrapes asked of earlier, the
// family's version of the poll before, so that they find them ready; what is the
// same in both is copied. It must be called before the family is handed out.
func (f *Family) Warm(earlier *Family) {
	for format := range formats {
		for e := Gzip; e < encodings; e++ {
			before := &earlier.packed[format][e]
			warm := before.warm - 1
			if before.asked.Load() {
				warm = keepWarm
			}
			if warm <= 0 {
				continue
			}
			f.packed[format][e].warm = warm
			if !before.made.Load() { // a scrape is at it
				before = nil
			}
			f.pack(format, e, before)
		}
	}
}

// ask is pack for a scrape.
func (f *Family) ask(format Format, e Encoding) *packed {
	f.packed[format][e].asked.Store(true)
	return f.pack(format, e, nil)
}

var errUnfinished = errors.New("compressed form was never finished")

// pack returns a compressed form, which it makes at the first call, with the help
// of that of the poll before if there is one.
func (f *Family) pack(format Format, e Encoding, before *packed) *packed {
	p := &f.packed[format][e]
	p.once.Do(func() {
		p.err = errUnfinished // stays where a function of the table panics
		if before == nil {
			before = &packed{}
		}
		if p.err = f.compress(p, format, e, before); p.err == nil {
			p.made.Store(true)
		}
	})
	return p
}

// bytesPerSample is about what a sample takes in a compressed form.
const bytesPerSample = 8

// compress makes p.
func (f *Family) compress(p *packed, format Format, e Encoding, before *packed) error {
	add, err := e.compressor()
	if err != nil {
		return err
	}
	likely := len(before.data)
	if likely == 0 {
		likely = f.samples * bytesPerSample
	}
	var out bytes.Buffer
	out.Grow(likely + likely/32 + bytes.MinRead)
	p.pieces = make([]piece, len(f.table.prints))
	var values [pieceRows]float64
	var rendered, scratch []byte
	for n := range p.pieces {
		now, from := &p.pieces[n], n*pieceRows
		v := f.values(values[:0], from)
		now.print, scratch = f.piecePrint(scratch, n, v)
		if n < len(before.pieces) && before.pieces[n].print == now.print {
			*now = before.pieces[n]
			out.Write(before.piece(n))
		} else {
			rendered = f.appendRows(rendered[:0], format, from, v)
			now.size = int64(len(rendered))
			if e == Gzip {
				now.crc = crc32.ChecksumIEEE(rendered)
			}
			if err := add(&out, rendered); err != nil {
				return err
			}
		}
		now.end = out.Len()
		p.size += now.size
	}
	p.data = trimmed(out)

	// The head is last, as it may have to say how large the rest is.
	head := f.appendHead(nil, format, int(p.size))
	out = bytes.Buffer{}
	if err := add(&out, head); err != nil {
		return err
	}
	p.head = trimmed(out)
	p.size += int64(len(head))
	if e == Gzip {
		p.crc = crc32.ChecksumIEEE(head)
		for i := range p.pieces {
			p.crc = combineCRC(p.crc, p.pieces[i].crc, p.pieces[i].size)
		}
	}
	return nil
}

// piece returns the n-th piece of the rows.
func (p *packed) piece(n int) []byte {
	begin := 0
	if n > 0 {
		begin = p.pieces[n-1].end
	}
	return p.data[begin:p.pieces[n].end]
}

// trimmed returns what is in b, without much spare room.
func trimmed(b bytes.Buffer) []byte {
	if d := b.Bytes(); cap(d)-len(d) <= len(d)/16 {
		return d
	}
	return bytes.Clone(b.Bytes())
}

// compressor returns what appends a piece to the compressed form.
func (e Encoding) compressor() (func(out *bytes.Buffer, piece []byte) error, error) {
	if e == Gzip {
		return deflate, nil
	}
	zw, err := newZstd()
	return func(out *bytes.Buffer, piece []byte) error {
		out.Write(zw.EncodeAll(piece, out.AvailableBuffer()))
		return nil
	}, err
}

// deflate makes whole deflate blocks that end at a byte, none of which is the
// last and none of which refers to anything before the piece. Such pieces can be
// joined to one stream in any order.
func deflate(out *bytes.Buffer, piece []byte) error {
	return flate.StatelessDeflate(out, piece, false, nil)
}

// newZstd returns an encoder for EncodeAll, which makes a frame of what it is
// given; frames can be joined. It starts no goroutines. Without entropy coding it
// takes a fifth less CPU; what it writes is still a tenth of the text.
func newZstd() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(64<<10), zstd.WithEncoderCRC(false), zstd.WithNoEntropyCompression(true))
}
