package opslog

import (
	"bytes"
	"time"
)

// Limits of a Counter. Zero values mean the defaults.
type Limits struct {
	Uploads  int // open multipart uploads; default 100,000
	Parts    int // parts of open uploads, of all together; default 2,000,000
	Finished int // completed and aborted uploads remembered; default 262,144
	Labels   int // bucket and user tallies each; default 100
}

// CounterConfig says what a Counter keeps.
type CounterConfig struct {
	Limits Limits
	// Settle is how long after its completion an upload waits for records of
	// its parts from other gateways' logs.
	Settle time.Duration
	// AbandonedAfter is the age from which an open upload counts as abandoned,
	// ForgetAfter the one at which it is dropped: what a lifecycle rule aborts
	// never reaches the log.
	AbandonedAfter, ForgetAfter time.Duration
	Buckets, Users              bool // keep tallies
}

func (c CounterConfig) withDefaults() CounterConfig {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.Limits.Uploads, 100_000)
	def(&c.Limits.Parts, 2_000_000)
	def(&c.Limits.Finished, 1<<18)
	def(&c.Limits.Labels, 100)
	return c
}

// A Counter keeps the books of uploads: records in, counts out. Records of one
// gateway come in the order of its log; those of several gateways may overtake
// each other by less than Settle. It has no clock: time is what the records say
// and what Settle is told.
type Counter struct {
	cfg      CounterConfig
	gateways map[string]*Gateway
	size     [NumKinds]*Histogram
	duration [NumKinds]*Histogram
	buckets  tallies
	users    tallies

	uploads   map[id]*upload
	inits     map[keyHash][]int64 // starts of initiations without a known uploadId
	unclaimed map[keyHash][]id    // open uploads whose initiation was not seen
	settling  []id                // completed, in order of completion
	finished  *ring
	numInits  int
	numParts  int

	// Arrival is when the records now being applied came in, where they may be
	// older than what other sources have delivered (streams); zero for files,
	// which are merged by time.
	Arrival time.Time

	forgotten uint64 // open uploads dropped for age
	evicted   uint64 // open uploads dropped for a limit
	view      viewEvidence
}

// The classic bounds: sizes from 4 KiB to 1 TiB by factors of four (a part is at
// least 5 MiB, an object at most 5 TiB), durations from 5 ms to a day.
func sizeBounds() []float64 {
	var b []float64
	for v := float64(4 << 10); v <= 1<<40; v *= 4 {
		b = append(b, v)
	}
	return b
}

func durationBounds() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400}
}

// NewCounter returns empty books.
func NewCounter(cfg CounterConfig) *Counter {
	cfg = cfg.withDefaults()
	c := &Counter{
		cfg:       cfg,
		gateways:  map[string]*Gateway{},
		uploads:   map[id]*upload{},
		inits:     map[keyHash][]int64{},
		unclaimed: map[keyHash][]id{},
		finished:  newRing(cfg.Limits.Finished),
	}
	for k := range NumKinds {
		c.size[k] = NewHistogram(sizeBounds())
		c.duration[k] = NewHistogram(durationBounds())
	}
	c.buckets = newTallies(cfg.Buckets, cfg.Limits.Labels)
	c.users = newTallies(cfg.Users, cfg.Limits.Labels)
	return c
}

func newTallies(on bool, limit int) tallies {
	if !on {
		limit = 0
	}
	return tallies{limit: limit, byName: map[string]*Tally{}, other: &Tally{}}
}

// Gateway returns the counts of a gateway, which exist at 0 from then on.
func (c *Counter) Gateway(daemon string) *Gateway {
	g := c.gateways[daemon]
	if g == nil {
		g = &Gateway{}
		c.gateways[daemon] = g
	}
	return g
}

// Apply takes one record of the ops log into the books.
func (c *Counter) Apply(daemon string, r *Record) {
	if r.Start.IsZero() { // not seen in practice; now is as good as can be had
		r.Start = time.Unix(0, c.view.Latest).UTC()
	}
	g := c.Gateway(daemon)
	g.Records++
	g.LastRecord = max(g.LastRecord, nanos(r.End()))
	c.view.saw(nanos(r.Start))
	switch string(r.Operation) {
	case "put_obj":
		// RGW's own put counter moves once a put is past authorisation.
		if r.Status != 401 && r.Status != 403 {
			g.PutsReaching++
		}
		if bytes.IndexByte(r.URI, '?') >= 0 {
			if t := ParseTarget(r.URI, r.Bucket); t.UploadID != "" {
				c.part(g, r, t)
				return
			}
		}
		c.whole(g, r, Put)
	case "copy_obj":
		c.whole(g, r, Copy)
	case "post_obj":
		c.whole(g, r, Post)
	case "init_multipart":
		c.initiate(g, r)
	case "complete_multipart":
		c.complete(daemon, g, r)
	case "abort_multipart":
		c.abort(g, r)
	}
}

func success(status int) bool { return status >= 200 && status < 300 }

// whole takes an upload that is one request.
func (c *Counter) whole(g *Gateway, r *Record, kind Kind) {
	// A POST form may ask to be redirected after success; RGW answers 303 then
	// and uses that status for nothing else.
	if !success(r.Status) && !(kind == Post && r.Status == 303) {
		g.Failed[kind][classOf(r.Status)]++
		return
	}
	g.Completed[kind]++
	size := int64(-1)
	if kind.HasBytes() && r.ObjectSize >= 0 {
		size = r.ObjectSize
		g.Bytes[kind] += uint64(size)
		c.size[kind].Observe(float64(size))
	}
	if r.Duration >= 0 {
		c.duration[kind].Observe(r.Duration.Seconds())
	}
	c.tally(r.Bucket, r.User, kind, size)
}

func (c *Counter) tally(bucket, user []byte, kind Kind, size int64) {
	for _, t := range []*Tally{c.buckets.of(bucket), c.users.of(user)} {
		if t == nil {
			continue
		}
		t.Completed[kind]++
		t.Bytes += uint64(max(size, 0))
	}
}
