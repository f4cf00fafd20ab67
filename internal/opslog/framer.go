package opslog

// Limits of the framer.
const (
	// DefaultMaxRecord bounds one record. The longest in practice are
	// multi_object_delete records, some hundred kB with a thousand keys.
	DefaultMaxRecord = 4 << 20
	// maxDepth bounds nesting; records of every release need 4. It also bounds
	// how often a byte can be looked at again after a broken record.
	maxDepth = 16
)

// A Framer finds the JSON objects in a stream of bytes. Objects may stand back
// to back, as in the ops log file of every release, or be separated by white
// space, commas and brackets, as on the ops log socket. Whatever is not part of
// a well-formed object is junk: it is counted and skipped up to the next
// object that is, so a torn record costs itself and nothing after it.
//
// The scan is resumable: a byte of a record that arrives in pieces is looked at
// once. A Framer is not safe for concurrent use.
type Framer struct {
	// MaxRecord is the longest record in bytes that is kept; longer ones are
	// skipped and counted. 0 means DefaultMaxRecord.
	MaxRecord int

	buf   []byte
	base  int64 // stream offset of buf[0]
	start int   // first byte not yet done with: the record's, or the gap's
	pos   int   // next byte to look at
	done  bool  // no more bytes will come

	state    scanState
	inJunk   bool   // the last thing met was junk
	skipping bool   // inside a record that is longer than MaxRecord
	depth    int    // open objects and arrays
	arrays   uint32 // bit n: level n is an array
	token    int    // start of the string, number or literal being read
	escaped  bool   // the string being read has an escape
	hex      int    // hex digits still to come after \u
	isKey    bool   // the string being read is a member name
	field    field  // which member of the top level is being read
	spans    [numFields]span

	stats FrameStats
}

// FrameStats counts what a Framer met.
type FrameStats struct {
	JunkBytes uint64 // bytes that belong to no well-formed object
	JunkRuns  uint64 // uninterrupted runs of them
	Oversized uint64 // objects longer than MaxRecord
}

type span struct {
	start, end int // in buf; end 0: absent
	escaped    bool
}

type scanState uint8

const (
	between    scanState = iota // outside any object
	keyOrEnd                    // after {
	keyOnly                     // after a comma in an object
	colon                       // after a member name
	value                       // after a colon, or a comma in an array
	valueOrEnd                  // after [
	commaOrEnd                  // after a value
	inString
	afterEscape
	inHex
	inNumber
	inLiteral
)

// Space returns room for at least n more bytes. What the reader puts there is
// announced with Wrote. It invalidates the last record.
func (f *Framer) Space(n int) []byte {
	if cap(f.buf)-len(f.buf) < n {
		f.compact(n)
	}
	return f.buf[len(f.buf):cap(f.buf)]
}

// Wrote says that n bytes were put into the slice that Space returned.
func (f *Framer) Wrote(n int) { f.buf = f.buf[:len(f.buf)+n] }

// Write appends a copy of p. It never fails.
func (f *Framer) Write(p []byte) (int, error) {
	f.Wrote(copy(f.Space(len(p)), p))
	return len(p), nil
}

// Finish says that no byte will follow: an incomplete record becomes junk, and
// whole ones inside it are found by the next calls of Next.
func (f *Framer) Finish() { f.done = true }

// Reset starts over at the given offset of another stream and keeps the
// buffer and the statistics.
func (f *Framer) Reset(offset int64) {
	f.buf = f.buf[:0]
	f.base = offset
	f.start, f.pos = 0, 0
	f.done = false
	f.state = between
	f.skipping, f.inJunk = false, false
}

// Offset is how far the stream has been dealt with: the first byte of the
// incomplete record at its end, or the end itself. Reading again from here
// loses nothing and repeats nothing.
func (f *Framer) Offset() int64 { return f.base + int64(f.start) }

// End is the offset after the last byte that was handed in.
func (f *Framer) End() int64 { return f.base + int64(len(f.buf)) }

// Stats returns the counts so far.
func (f *Framer) Stats() FrameStats { return f.stats }

// compact makes room for n bytes behind those still needed.
func (f *Framer) compact(n int) {
	keep := f.buf[f.start:]
	if cap(f.buf)-len(keep) < n || len(keep) > cap(f.buf)/2 {
		bigger := make([]byte, len(keep), max(2*len(keep), len(keep)+n))
		copy(bigger, keep)
		f.buf = bigger
	} else {
		f.buf = f.buf[:copy(f.buf[:cap(f.buf)], keep)]
	}
	moved := f.start
	f.base += int64(moved)
	f.start = 0
	f.pos -= moved
	f.token -= moved
	for i := range f.spans {
		if f.spans[i].end != 0 {
			f.spans[i].start -= moved
			f.spans[i].end -= moved
		}
	}
}

// Next finds the next object and decodes it into rec. The byte slices of rec
// stay valid until the next call of any method. It returns false when the
// bytes at hand hold no further complete object.
func (f *Framer) Next(rec *Record) bool {
	for {
		switch f.scan() {
		case gotObject:
			f.decode(rec)
			f.start = f.pos
			f.inJunk = false
			return true
		case gotOversized:
			f.stats.Oversized++
			f.start = f.pos
		case gotError:
			f.resync()
		case needMore:
			if f.tooLong() {
				f.skipping = true
			}
			if f.skipping {
				f.drop()
			}
			if f.done && f.inObject() {
				f.resync()
				continue
			}
			return false
		}
	}
}

func (f *Framer) inObject() bool { return f.state != between }

func (f *Framer) tooLong() bool { return f.inObject() && f.pos-f.start > f.maxRecord() }

func (f *Framer) maxRecord() int {
	if f.MaxRecord > 0 {
		return f.MaxRecord
	}
	return DefaultMaxRecord
}

// drop forgets the bytes of an oversized record that were looked at already.
func (f *Framer) drop() {
	f.start = f.pos
	f.token = f.pos
	f.spans = [numFields]span{}
}

// resync gives up the object that begins at start and looks for the next one
// behind its first byte. Inside an oversized record, whose bytes are gone, it
// goes on from where the scan stopped.
func (f *Framer) resync() {
	if f.skipping {
		f.skipping = false
		f.stats.Oversized++
		if f.pos > 0 && f.buf[f.pos-1] == '{' {
			f.pos-- // the byte that was wrong here may begin a record
		}
	} else {
		f.addJunk()
		f.pos = f.start + 1
	}
	f.start = f.pos
	f.state = between
}

// addJunk counts one byte of junk.
func (f *Framer) addJunk() {
	f.stats.JunkBytes++
	if !f.inJunk {
		f.inJunk = true
		f.stats.JunkRuns++
	}
}
