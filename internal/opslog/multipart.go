package opslog

import (
	"time"

	"github.com/ceph-risk/ceph_risk_exporter/internal/label"
)

// part takes UploadPart and UploadPartCopy, which the log does not tell apart.
func (c *Counter) part(g *Gateway, r *Record, t Target) {
	if !success(r.Status) {
		g.PartsFailed[classOf(r.Status)]++
		return
	}
	g.Parts++
	g.PartBytes += uint64(max(r.ObjectSize, 0))
	i := id(hashOf(r.Bucket, t.UploadID))
	if c.finished.contains(i) && c.uploads[i] == nil {
		return // a straggler of an upload that is over
	}
	u := c.upload(i, r, t)
	if u.setPart(part{int32(t.Part), r.ObjectSize, nanos(r.End())}) {
		c.numParts++
	}
	c.keepLimits(i)
}

func (c *Counter) initiate(g *Gateway, r *Record) {
	if !success(r.Status) {
		return
	}
	g.Initiated++
	key := keyHash(hashOf(r.Bucket, keyName(r, ParseTarget(r.URI, r.Bucket))))
	start := nanos(r.Start)
	// A part may overtake its initiation where both are in different logs.
	for n, i := range c.unclaimed[key] {
		u := c.uploads[i]
		if u == nil || u.first < start-clockSkew {
			continue
		}
		u.init = start
		c.unclaimed[key] = append(c.unclaimed[key][:n], c.unclaimed[key][n+1:]...)
		if len(c.unclaimed[key]) == 0 {
			delete(c.unclaimed, key)
		}
		return
	}
	if c.numInits+len(c.uploads) >= c.cfg.Limits.Uploads {
		c.evicted++
		return
	}
	c.inits[key] = append(c.inits[key], start)
	c.numInits++
}

func keyName(r *Record, t Target) string {
	if len(r.Object) > 0 {
		return string(r.Object)
	}
	return t.Key
}

// upload finds the open upload a request belongs to, or opens it.
func (c *Counter) upload(i id, r *Record, t Target) *upload {
	start, end := nanos(r.Start), nanos(r.End())
	u := c.uploads[i]
	if u == nil {
		key := keyHash(hashOf(r.Bucket, keyName(r, t)))
		u = &upload{key: key, first: start, init: c.claim(key, start)}
		c.uploads[i] = u
		if u.init == 0 {
			c.unclaimed[key] = append(c.unclaimed[key], i)
		}
	}
	u.last = max(u.last, end)
	return u
}

// clockSkew is what the clocks of gateways may differ by, in ns.
const clockSkew = int64(time.Second)

// claim takes the latest initiation of that key that began before start. Of
// several uploads of one key at once it may take the other's; the sum of their
// durations stays right.
func (c *Counter) claim(key keyHash, start int64) int64 {
	starts := c.inits[key]
	best := -1
	for n, s := range starts {
		if s <= start+clockSkew && (best < 0 || s > starts[best]) {
			best = n
		}
	}
	if best < 0 {
		return 0
	}
	s := starts[best]
	c.numInits--
	if len(starts) == 1 {
		delete(c.inits, key)
	} else {
		c.inits[key] = append(starts[:best], starts[best+1:]...)
	}
	return s
}

// complete counts a completion once, however often it is reported: RGW answers
// a repeated complete of a completed upload with 200 and logs it again.
func (c *Counter) complete(daemon string, g *Gateway, r *Record) {
	if !success(r.Status) {
		g.Failed[Multipart][classOf(r.Status)]++
		return
	}
	t := ParseTarget(r.URI, r.Bucket)
	i := id(hashOf(r.Bucket, t.UploadID))
	if t.UploadID == "" || !c.finished.add(i) {
		g.Repeated++
		return
	}
	g.Completed[Multipart]++
	u := c.over(i, r, t)
	u.daemon = daemon
	u.bucket, u.user = label.Clean(string(r.Bucket)), label.Clean(string(r.User))
	for _, t := range []*Tally{c.buckets.of(r.Bucket), c.users.of(r.User)} {
		if t != nil {
			t.Completed[Multipart]++
		}
	}
}

func (c *Counter) abort(g *Gateway, r *Record) {
	if !success(r.Status) {
		return
	}
	t := ParseTarget(r.URI, r.Bucket)
	i := id(hashOf(r.Bucket, t.UploadID))
	if t.UploadID == "" || !c.finished.add(i) {
		return
	}
	g.Aborted++
	c.over(i, r, t).aborted = true
}

// over takes an upload that has ended off the open ones. It stays in the table
// until it settles, for what other logs have of it.
func (c *Counter) over(i id, r *Record, t Target) *upload {
	u := c.upload(i, r, t)
	u.completed = max(nanos(r.End()), 1)
	u.due = max(u.completed, nanos(c.Arrival))
	c.settling = append(c.settling, i)
	return u
}

// drop removes an upload from the tables.
func (c *Counter) drop(i id) {
	u := c.uploads[i]
	delete(c.uploads, i)
	c.numParts -= len(u.parts)
	if u.init != 0 {
		return
	}
	waiting := c.unclaimed[u.key]
	for n := range waiting {
		if waiting[n] == i {
			waiting = append(waiting[:n], waiting[n+1:]...)
			break
		}
	}
	if len(waiting) == 0 {
		delete(c.unclaimed, u.key)
	} else {
		c.unclaimed[u.key] = waiting
	}
}

// Settle books size and duration of uploads whose completion was known Settle or
// more before now, the instant up to which all logs have been read.
func (c *Counter) Settle(now time.Time) {
	limit := now.Add(-c.cfg.Settle).UnixNano()
	n := 0
	for _, i := range c.settling {
		if u := c.uploads[i]; u != nil && u.due > limit {
			c.settling[n] = i
			n++
		} else if u != nil {
			c.settle(u)
			c.drop(i)
		}
	}
	c.settling = c.settling[:n]
}

func (c *Counter) settle(u *upload) {
	if u.init == 0 || len(u.parts) == 0 && !u.aborted {
		c.view.foreign(u.first)
	}
	if u.aborted {
		return
	}
	g := c.Gateway(u.daemon)
	size, known := u.size()
	if !known {
		g.Unsized++
	} else {
		g.Bytes[Multipart] += uint64(size)
		c.size[Multipart].Observe(float64(size))
		for _, t := range []*Tally{c.buckets.of([]byte(u.bucket)), c.users.of([]byte(u.user))} {
			if t != nil {
				t.Bytes += uint64(size)
			}
		}
	}
	if u.init != 0 {
		c.duration[Multipart].Observe(max(0, time.Duration(u.completed-u.init).Seconds()))
	}
}

// Forget drops what has been open for longer than ForgetAfter. It looks at
// every open upload, so it is for once a minute.
func (c *Counter) Forget(now time.Time) {
	settled := now.Add(-c.cfg.Settle).UnixNano()
	for _, u := range c.uploads {
		if u.init == 0 && u.last < settled {
			c.view.foreign(u.first)
		}
	}
	if c.cfg.ForgetAfter <= 0 {
		return
	}
	limit := now.Add(-c.cfg.ForgetAfter).UnixNano()
	for i, u := range c.uploads {
		if u.completed == 0 && u.since() < limit {
			c.drop(i)
			c.forgotten++
		}
	}
	for key, starts := range c.inits {
		kept := starts[:0]
		for _, s := range starts {
			if s >= limit {
				kept = append(kept, s)
			} else {
				c.numInits--
				c.forgotten++
			}
		}
		if len(kept) == 0 {
			delete(c.inits, key)
		} else {
			c.inits[key] = kept
		}
	}
}

// keepLimits makes room by dropping open uploads, which upload ones seen before
// the one at hand.
func (c *Counter) keepLimits(current id) {
	for len(c.uploads)+c.numInits > c.cfg.Limits.Uploads || c.numParts > c.cfg.Limits.Parts {
		victim, found := c.victim(current)
		if !found {
			return
		}
		c.drop(victim)
		c.evicted++
	}
}

// victim picks the upload without news for longest among a few: a full search
// for each record at the limit would cost more than it is worth.
func (c *Counter) victim(current id) (best id, found bool) {
	looked := 0
	for i, u := range c.uploads {
		if i == current || u.completed != 0 {
			continue
		}
		if !found || u.last < c.uploads[best].last {
			best, found = i, true
		}
		if looked++; looked == 16 {
			break
		}
	}
	return best, found
}

// Gap says that records may have been lost: no open upload's parts can be
// trusted to be all.
func (c *Counter) Gap() {
	for _, u := range c.uploads {
		u.suspect = true
	}
}
