package exposition

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// Writer writes bodies: what somebody else has rendered, followed by families.
// It holds buffers for reuse and may be used by several goroutines.
type Writer struct {
	scratch sync.Pool // *scratch
}

// scratch is what one body needs while it is written.
type scratch struct {
	buf   []byte // of render
	head  bytes.Buffer
	zstd  *zstd.Encoder
	ends  []byte // of zstd: head and trailer
	parts [][]byte
}

// A Body is a response body, head and families, ready to be written.
type Body struct {
	w        *Writer
	s        *scratch
	format   Format
	encoding Encoding
	head     []byte
	families []*Family
}

// NewBody prepares the body that consists of head, which must be in the same
// format and without the format's trailer, and the families. Close must be
// called after use.
func (w *Writer) NewBody(format Format, e Encoding, head []byte, families []*Family) (*Body, error) {
	s, _ := w.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{buf: make([]byte, 0, chunk)}
	}
	s.head.Reset()
	s.parts = s.parts[:0]
	b := &Body{w: w, s: s, format: format, encoding: e, head: head, families: families}
	var err error
	switch e {
	case Gzip:
		err = b.gzip()
	case Zstd:
		err = b.zstd()
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close gives back the body's buffers.
func (b *Body) Close() {
	clear(b.s.parts) // they belong to a poll whose memory must not be kept
	b.w.scratch.Put(b.s)
	b.s = nil
}

// Size returns the length of the body in bytes, or -1 where it is not known
// before it is written.
func (b *Body) Size() int64 {
	if b.encoding == Identity {
		return -1
	}
	var n int64
	for _, p := range b.s.parts {
		n += int64(len(p))
	}
	return n
}

// WriteTo writes the body.
func (b *Body) WriteTo(w io.Writer) (int64, error) {
	c := &written{w: w}
	if b.encoding != Identity {
		for _, p := range b.s.parts {
			if _, err := c.Write(p); err != nil {
				return c.n, err
			}
		}
		return c.n, nil
	}
	if _, err := c.Write(b.head); err != nil {
		return c.n, err
	}
	for _, f := range b.families {
		buf, err := f.render(c, b.format, b.s.buf)
		b.s.buf = buf[:0]
		if err != nil {
			return c.n, err
		}
	}
	_, err := io.WriteString(c, b.format.Trailer())
	return c.n, err
}

type written struct {
	w io.Writer
	n int64
}

func (c *written) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// gzipHeader: deflate, no name, no time, unknown system.
var gzipHeader = [...]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// gzip makes one gzip member from the head, which is compressed now, and the
// families, which are ready: deflate blocks can be joined, and the checksum of
// the whole follows from those of the parts. Several members would be as valid,
// but not every client reads more than the first.
func (b *Body) gzip() error {
	s := b.s
	s.head.Write(gzipHeader[:])
	if err := flate.StatelessDeflate(&s.head, b.head, false, nil); err != nil {
		return err
	}
	crc, size := crc32.ChecksumIEEE(b.head), int64(len(b.head))
	opening := s.head.Len()
	for _, f := range b.families {
		p := f.ask(b.format, Gzip)
		if p.err != nil {
			return p.err
		}
		crc, size = combineCRC(crc, p.crc, p.size), size+p.size
	}
	trailer := b.format.Trailer()
	crc = combineCRC(crc, crc32.ChecksumIEEE([]byte(trailer)), int64(len(trailer)))
	size += int64(len(trailer))

	// The last block holds the trailer, uncompressed.
	n := uint16(len(trailer))
	s.head.Write(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte{1}, n), ^n))
	s.head.WriteString(trailer)
	var sums [8]byte
	binary.LittleEndian.PutUint32(sums[:], crc)
	binary.LittleEndian.PutUint32(sums[4:], uint32(size))
	s.head.Write(sums[:])

	s.parts = append(s.parts, s.head.Bytes()[:opening])
	for _, f := range b.families {
		p := &f.packed[b.format][Gzip]
		s.parts = append(s.parts, p.head, p.data)
	}
	s.parts = append(s.parts, s.head.Bytes()[opening:])
	return nil
}

// zstd joins frames: the head's, the families', the trailer's.
func (b *Body) zstd() error {
	s := b.s
	if s.zstd == nil {
		zw, err := newZstd()
		if err != nil {
			return err
		}
		s.zstd = zw
	}
	s.ends = s.zstd.EncodeAll(b.head, s.ends[:0])
	opening := len(s.ends)
	if t := b.format.Trailer(); t != "" {
		s.ends = s.zstd.EncodeAll([]byte(t), s.ends)
	}
	s.parts = append(s.parts, s.ends[:opening])
	for _, f := range b.families {
		p := f.ask(b.format, Zstd)
		if p.err != nil {
			return p.err
		}
		s.parts = append(s.parts, p.head, p.data)
	}
	s.parts = append(s.parts, s.ends[opening:])
	return nil
}
