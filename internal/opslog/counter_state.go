package opslog

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"time"
)

// books is a Counter as it is stored. Tables are packed: at a million uploads a
// day they are most of the record, and it is written every few seconds.
type books struct {
	Gateways   map[string]*Gateway  `json:"gateways"`
	Sizes      [NumKinds]*Histogram `json:"sizes"`
	Durations  [NumKinds]*Histogram `json:"durations"`
	Buckets    map[string]*Tally    `json:"buckets,omitempty"`
	OtherBucks *Tally               `json:"buckets_other,omitempty"`
	Users      map[string]*Tally    `json:"users,omitempty"`
	OtherUsers *Tally               `json:"users_other,omitempty"`
	View       viewEvidence         `json:"view"`
	Forgotten  uint64               `json:"forgotten"`
	Evicted    uint64               `json:"evicted"`
	Overrun    uint64               `json:"overrun"` // finished uploads forgotten for the limit
	Finished   []byte               `json:"finished"`
	Uploads    []byte               `json:"uploads"`
	Inits      []byte               `json:"inits"`
}

// books shares the Counter's own tables: encode it before the next Apply.
func (c *Counter) books() *books {
	b := &books{
		Gateways: c.gateways, Sizes: c.size, Durations: c.duration, View: c.view,
		Forgotten: c.forgotten, Evicted: c.evicted, Overrun: c.finished.evicted,
		Finished: packIDs(c.finished.oldestFirst()),
		Uploads:  c.packUploads(),
		Inits:    c.packInits(),
	}
	if c.cfg.Buckets {
		b.Buckets, b.OtherBucks = c.buckets.byName, c.buckets.other
	}
	if c.cfg.Users {
		b.Users, b.OtherUsers = c.users.byName, c.users.other
	}
	return b
}

// restore takes over stored books. On an error the Counter must not be used.
func (c *Counter) restore(b *books) error {
	for name, g := range b.Gateways {
		if g != nil {
			c.gateways[name] = g
		}
	}
	for k := range NumKinds {
		if b.Sizes[k].fits(sizeBounds()) {
			c.size[k] = b.Sizes[k].clone()
		}
		if b.Durations[k].fits(durationBounds()) {
			c.duration[k] = b.Durations[k].clone()
		}
	}
	c.buckets.restore(b.Buckets, b.OtherBucks)
	c.users.restore(b.Users, b.OtherUsers)
	c.view, c.forgotten, c.evicted = b.View, b.Forgotten, b.Evicted
	ids, err := unpackIDs(b.Finished)
	if err != nil {
		return err
	}
	for _, i := range ids {
		c.finished.add(i)
	}
	c.finished.evicted = b.Overrun
	if err := c.unpackUploads(b.Uploads); err != nil {
		return err
	}
	return c.unpackInits(b.Inits)
}

func (t *tallies) restore(byName map[string]*Tally, other *Tally) {
	if t.limit == 0 {
		return
	}
	if other != nil {
		t.other = other
	}
	// A limit that was lowered keeps what there is: a counter must not fall.
	for name, tally := range byName {
		if tally != nil {
			t.byName[name] = tally
		}
	}
}

func packIDs(ids []id) []byte {
	b := make([]byte, 0, 8*len(ids))
	for _, i := range ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}

func unpackIDs(b []byte) ([]id, error) {
	if len(b)%8 != 0 {
		return nil, errTruncated
	}
	ids := make([]id, 0, len(b)/8)
	for ; len(b) > 0; b = b[8:] {
		ids = append(ids, id(binary.LittleEndian.Uint64(b)))
	}
	return ids, nil
}

var errTruncated = errors.New("table of uploads ends early")

// packUploads writes the settling ones first, in their order.
func (c *Counter) packUploads() []byte {
	var b []byte
	settling := make(map[id]bool, len(c.settling))
	for _, i := range c.settling {
		if u := c.uploads[i]; u != nil {
			settling[i] = true
			b = u.pack(b, i)
		}
	}
	for i, u := range c.uploads {
		if !settling[i] {
			b = u.pack(b, i)
		}
	}
	return b
}

func (u *upload) pack(b []byte, i id) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(i))
	b = binary.LittleEndian.AppendUint64(b, uint64(u.key))
	for _, v := range []int64{u.init, u.first, u.last, u.completed, u.due} {
		b = binary.AppendVarint(b, v)
	}
	var flags uint64
	if u.suspect {
		flags |= 1
	}
	if u.aborted {
		flags |= 2
	}
	b = binary.AppendUvarint(b, flags)
	for _, s := range []string{u.daemon, u.bucket, u.user} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = binary.AppendUvarint(b, uint64(len(u.parts)))
	for _, p := range u.parts {
		b = binary.AppendVarint(b, int64(p.number))
		b = binary.AppendVarint(b, p.size)
		b = binary.AppendVarint(b, p.end-u.first)
	}
	return b
}

func (c *Counter) unpackUploads(b []byte) error {
	r := reader{b: b}
	for len(r.b) > 0 && !r.bad {
		i, u := r.upload()
		if r.bad {
			break
		}
		c.uploads[i] = u
		c.numParts += len(u.parts)
		if u.init == 0 {
			c.unclaimed[u.key] = append(c.unclaimed[u.key], i)
		}
		if u.completed != 0 {
			c.settling = append(c.settling, i)
		}
	}
	return r.err()
}

func (c *Counter) packInits() []byte {
	var b []byte
	for key, starts := range c.inits {
		for _, s := range starts {
			b = binary.LittleEndian.AppendUint64(b, uint64(key))
			b = binary.AppendVarint(b, s)
		}
	}
	return b
}

func (c *Counter) unpackInits(b []byte) error {
	r := reader{b: b}
	for len(r.b) > 0 && !r.bad {
		key := keyHash(r.fixed())
		start := r.varint()
		if r.bad {
			break
		}
		c.inits[key] = append(c.inits[key], start)
		c.numInits++
	}
	return r.err()
}

// reader takes packed values off b. After an error it returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) err() error {
	if r.bad {
		return errTruncated
	}
	return nil
}

func (r *reader) fixed() uint64 {
	if len(r.b) < 8 {
		r.bad = true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) upload() (id, *upload) {
	i := id(r.fixed())
	u := &upload{key: keyHash(r.fixed())}
	for _, v := range []*int64{&u.init, &u.first, &u.last, &u.completed, &u.due} {
		*v = r.varint()
	}
	flags := r.uvarint()
	u.suspect, u.aborted = flags&1 != 0, flags&2 != 0
	u.daemon, u.bucket, u.user = r.text(), r.text(), r.text()
	n := r.uvarint()
	if n > uint64(len(r.b)) { // a part takes three bytes at least
		r.bad = true
		return i, u
	}
	u.parts = make([]part, 0, n)
	for range n {
		number, size, end := r.varint(), r.varint(), r.varint()+u.first
		if number < math.MinInt32 || number > math.MaxInt32 {
			r.bad = true
		}
		u.parts = append(u.parts, part{int32(number), size, end})
	}
	return i, u
}

// Counts is what a Counter has counted: a copy that nothing changes.
type Counts struct {
	Gateways        map[string]Gateway
	Sizes           [NumKinds]*Histogram // Copy has none
	Durations       [NumKinds]*Histogram
	Buckets, Users  map[string]Tally // nil: not kept
	OtherBuckets    Tally
	OtherUsers      Tally
	Open, Abandoned int
	OldestOpen      time.Time // zero: none open
	Forgotten       uint64    // open uploads dropped for their age
	Evicted         uint64    // open uploads dropped for a limit
	Overrun         uint64    // finished uploads no longer remembered, for the limit
	ViewComplete    bool
}

// Counts copies the books. now decides which open uploads are abandoned.
func (c *Counter) Counts(now time.Time, view View) *Counts {
	out := &Counts{
		Gateways:  make(map[string]Gateway, len(c.gateways)),
		Forgotten: c.forgotten, Evicted: c.evicted, Overrun: c.finished.evicted,
		ViewComplete: c.view.complete(view),
	}
	for name, g := range c.gateways {
		out.Gateways[name] = *g
	}
	for k := range NumKinds {
		out.Sizes[k], out.Durations[k] = c.size[k].clone(), c.duration[k].clone()
	}
	if c.cfg.Buckets {
		out.Buckets, out.OtherBuckets = c.buckets.copy(), *c.buckets.other
	}
	if c.cfg.Users {
		out.Users, out.OtherUsers = c.users.copy(), *c.users.other
	}
	c.countOpen(out, now)
	return out
}

func (c *Counter) countOpen(out *Counts, now time.Time) {
	abandoned := now.Add(-c.cfg.AbandonedAfter).UnixNano()
	oldest := int64(math.MaxInt64)
	open := func(since int64) {
		out.Open++
		oldest = min(oldest, since)
		if c.cfg.AbandonedAfter > 0 && since < abandoned {
			out.Abandoned++
		}
	}
	for _, u := range c.uploads {
		if u.completed == 0 {
			open(u.since())
		}
	}
	for _, starts := range c.inits {
		for _, s := range starts {
			open(s)
		}
	}
	if out.Open > 0 {
		out.OldestOpen = time.Unix(0, oldest).UTC()
	}
}

func (t *tallies) copy() map[string]Tally {
	out := make(map[string]Tally, len(t.byName))
	for name, tally := range t.byName {
		out[name] = *tally
	}
	return out
}

// Names returns the gateways' names in order.
func (c *Counts) Names() []string { return slices.Sorted(maps.Keys(c.Gateways)) }
