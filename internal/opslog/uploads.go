package opslog

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// id identifies a multipart upload: a hash of bucket and uploadId. The id is 32
// random characters of RGW's own making, so the key adds nothing, and leaving
// it out makes the identity independent of how a client writes its URLs. The
// chance that two of a million uploads share 64 bits is 3 in 100 million.
type id uint64

// keyHash identifies an object: a hash of bucket and key. It ties an initiation,
// whose record has no uploadId, to the first request that has one.
type keyHash uint64

func hashOf(bucket []byte, name string) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(bucket)
	_, _ = d.Write([]byte{0})
	_, _ = d.WriteString(name)
	return d.Sum64()
}

// An upload is a multipart upload that has not been settled.
type upload struct {
	key       keyHash
	init      int64 // start of the initiation, Unix ns; 0: not seen
	first     int64 // start of the first request seen, Unix ns
	last      int64 // end of the latest request seen, Unix ns
	suspect   bool  // records may have been lost while it was open
	parts     []part
	completed int64 // end of the completion or abortion, Unix ns; 0: open
	aborted   bool
	due       int64 // from when it waits to be settled, Unix ns
	daemon    string
	bucket    string // of the tallies, while completed
	user      string
}

type part struct {
	number int32
	size   int64 // -1: unknown
	end    int64 // of the request, Unix ns
}

// setPart records a part; one sent again replaces itself, in whatever order the
// two are met.
func (u *upload) setPart(p part) (added bool) {
	i, found := slices.BinarySearchFunc(u.parts, p.number, func(have part, n int32) int { return int(have.number - n) })
	if !found {
		u.parts = slices.Insert(u.parts, i, p)
		return true
	}
	if u.parts[i].end <= p.end {
		u.parts[i] = p
	}
	return false
}

// size is the sum of the parts, or false where it is not known.
func (u *upload) size() (int64, bool) {
	if u.init == 0 || u.suspect || len(u.parts) == 0 {
		return 0, false
	}
	var sum int64
	for _, p := range u.parts {
		if p.size < 0 {
			return 0, false
		}
		sum += p.size
	}
	return sum, true
}

// since is when it began, as far as is known.
func (u *upload) since() int64 {
	if u.init != 0 {
		return u.init
	}
	return u.first
}

// A ring remembers the latest ids of a kind.
type ring struct {
	limit int
	order []id // oldest at next, once full
	next  int
	has   map[id]struct{}
	// evicted counts the ids forgotten.
	evicted uint64
}

func newRing(limit int) *ring { return &ring{limit: limit, has: make(map[id]struct{})} }

func (r *ring) contains(i id) bool {
	_, ok := r.has[i]
	return ok
}

// add remembers i and returns false if it was known.
func (r *ring) add(i id) bool {
	if r.contains(i) {
		return false
	}
	r.has[i] = struct{}{}
	if len(r.order) < r.limit {
		r.order = append(r.order, i)
		return true
	}
	delete(r.has, r.order[r.next])
	r.evicted++
	r.order[r.next] = i
	r.next = (r.next + 1) % r.limit
	return true
}

// oldestFirst returns the ids in the order in which they came.
func (r *ring) oldestFirst() []id {
	return append(append(make([]id, 0, len(r.order)), r.order[r.next:]...), r.order[:r.next]...)
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
