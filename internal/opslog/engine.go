package opslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps the checkpoint. Save returns once it is durable, and either
// replaces the old one whole or leaves it.
type Store interface {
	Load() ([]byte, error) // nil: none
	Save([]byte) error
}

// Config is what an Engine runs with.
type Config struct {
	Globs   []string // of ops log files
	Counter CounterConfig
	View    View
	Store   Store
	Log     *slog.Logger
	Now     func() time.Time
	// Tick is how often the files are looked at, Checkpoint how often the books
	// are saved while there is news. Defaults: 1 s, 5 s.
	Tick, Checkpoint time.Duration
}

const (
	// recentIDs is how many transaction ids of streamed records are remembered:
	// shippers send a batch again when its acknowledgement was lost.
	recentIDs = 1 << 16
	// stepBudget is how long the files are read before streams and the
	// checkpoint have their turn.
	stepBudget = 500 * time.Millisecond
	// groupCommit is how long a sender that waits for a checkpoint waits for
	// company.
	groupCommit = 100 * time.Millisecond
	// forgetEvery is how often the open uploads are searched for old ones.
	forgetEvery = time.Minute
	// gatewayMemory is how long the counts of a gateway without a log stay.
	gatewayMemory = 90 * 24 * time.Hour
)

// A Snapshot is what the last durable checkpoint holds. It is never changed.
type Snapshot struct {
	At time.Time
	// Counts is nil until the logs that were there at the very first start have
	// been read: their requests are history, not load.
	Counts      *Counts
	Follow      FollowStats
	Files       map[string]FileStatus // by daemon
	Streams     StreamStats
	Connections int // senders there are right now
}

// checkpoint is the one record that is saved.
type checkpoint struct {
	Books    *books      `json:"books"`
	Follow   FollowState `json:"follow"`
	Streams  StreamStats `json:"streams"`
	Seen     []byte      `json:"seen"` // transaction ids of streamed records
	CaughtUp bool        `json:"caught_up"`
}

// An Engine reads files and streams, keeps the books, saves them and publishes
// what was saved. All of that happens in one goroutine.
type Engine struct {
	cfg      Config
	counter  *Counter
	follower *Follower
	seen     *ring
	streams  StreamStats
	caughtUp bool

	input     chan chunk
	done      chan struct{} // closed when Run has ended
	published atomic.Pointer[Snapshot]
	dirty     bool
	saved     time.Time // of the last checkpoint
	forgot    time.Time
	waiting   []chan<- error

	slots       limiter
	senderLimit time.Duration
	refused     atomic.Uint64 // becomes StreamStats.Refused
	connections atomic.Int64

	mu      sync.Mutex
	readErr error // of the last look at the files
	saveErr error
}

// NewEngine goes on from the stored checkpoint.
func NewEngine(cfg Config) (*Engine, error) {
	if cfg.Tick <= 0 {
		cfg.Tick = time.Second
	}
	if cfg.Checkpoint <= 0 {
		cfg.Checkpoint = 5 * time.Second
	}
	e := &Engine{cfg: cfg, counter: NewCounter(cfg.Counter), seen: newRing(recentIDs), input: make(chan chunk), done: make(chan struct{}), slots: make(limiter, maxStreams), senderLimit: senderLimit}
	data, err := cfg.Store.Load()
	if err != nil {
		return nil, err
	}
	var cp checkpoint
	if data != nil {
		if err := e.restore(data, &cp); err != nil {
			// State is never a reason not to start.
			cfg.Log.Error("the books of uploads cannot be read, counting anew from the beginning of the logs", "err", err)
			e.counter, e.seen, e.streams, e.caughtUp, cp = NewCounter(cfg.Counter), newRing(recentIDs), StreamStats{}, false, checkpoint{}
		}
	}
	e.follower = NewFollower(cfg.Globs, cp.Follow, cfg.Log)
	if e.caughtUp {
		e.publish(cfg.Now())
	}
	return e, nil
}

func (e *Engine) restore(data []byte, cp *checkpoint) error {
	if err := json.Unmarshal(data, cp); err != nil {
		return err
	}
	if cp.Books == nil {
		return errors.New("no books")
	}
	ids, err := unpackIDs(cp.Seen)
	if err != nil {
		return err
	}
	for _, i := range ids {
		e.seen.add(i)
	}
	e.streams, e.caughtUp = cp.Streams, cp.CaughtUp
	e.refused.Store(cp.Streams.Refused)
	return e.counter.restore(cp.Books)
}

// Snapshot returns what the last durable checkpoint holds; nil before the first.
// The error says why it is older than it should be, or not whole.
func (e *Engine) Snapshot() (s *Snapshot, readErr, saveErr error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.published.Load(), e.readErr, e.saveErr
}

// Run works until ctx is done, and saves a last time then. A panic ends it with
// an error; an engine made anew goes on from the checkpoint.
func (e *Engine) Run(ctx context.Context) (err error) {
	defer e.follower.Close()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("ops log: panic: %v\n%s", p, debug.Stack())
		}
		e.release(errors.Join(errStopped, err))
		close(e.done)
	}()
	tick := time.NewTicker(e.cfg.Tick)
	defer tick.Stop()
	commit := time.NewTimer(groupCommit)
	defer commit.Stop()
	again := make(chan struct{}, 1) // has one while a step left something unread
	for {
		select {
		case <-ctx.Done():
			e.Step()
			return e.Save()
		case c := <-e.input:
			e.take(c)
			if c.ack != nil {
				commit.Reset(groupCommit)
			}
		case <-commit.C:
			if len(e.waiting) > 0 {
				_ = e.Save() // kept for Snapshot and told to who waits
			}
		case <-again:
			e.turn(again)
		case <-tick.C:
			e.turn(again)
		}
	}
}

// turn is a step and what is due after it.
func (e *Engine) turn(again chan<- struct{}) {
	if !e.Step() {
		select {
		case again <- struct{}{}:
		default:
		}
	}
	now := e.cfg.Now()
	if now.Sub(e.saved) < e.cfg.Checkpoint {
		return
	}
	if e.dirty {
		_ = e.Save() // kept for Snapshot
	} else {
		e.saved = now
		e.publish(now) // the same books, older uploads
	}
}

var errStopped = errors.New("the reader of the ops log has stopped")

// Step looks at the files and reads what they have, for stepBudget at most. It
// reports whether they were read to their ends.
func (e *Engine) Step() bool {
	now := e.cfg.Now()
	gaps := e.follower.stats
	err := e.follower.Refresh(now)
	e.mu.Lock()
	e.readErr = err
	e.mu.Unlock()
	if e.follower.stats.Truncated+e.follower.stats.Vanished > gaps.Truncated+gaps.Vanished {
		e.counter.Gap()
		e.dirty = true
	}
	for _, f := range e.follower.files {
		e.counter.Gateway(f.daemon)
	}
	end, atEnd := e.readFiles(now)
	if atEnd && !e.caughtUp {
		e.caughtUp, e.dirty = true, true
	}
	if !end.IsZero() {
		e.housekeep(now, end)
	}
	return atEnd
}

// housekeep settles and forgets uploads. All logs were read up to end.
func (e *Engine) housekeep(now, end time.Time) {
	if len(e.counter.settling) > 0 {
		e.counter.Settle(end)
		e.dirty = true
	}
	if now.Sub(e.forgot) >= forgetEvery {
		e.forgot = now
		e.counter.Forget(end)
		e.forgetGateways(end)
		e.dirty = true
	}
}

// forgetGateways drops the counts of gateways that are long gone: an
// orchestrator names each deployment anew.
func (e *Engine) forgetGateways(now time.Time) {
	limit := now.Add(-gatewayMemory).UnixNano()
	for name, g := range e.counter.gateways {
		if g.LastRecord < limit && !e.follower.follows(name) {
			delete(e.counter.gateways, name)
			e.follower.forgetDaemon(name)
		}
	}
}

// readFiles applies records. It returns the instant up to which all logs were
// read: now where they were read to their ends, else the end of the last record.
func (e *Engine) readFiles(now time.Time) (upTo time.Time, atEnd bool) {
	e.counter.Arrival = time.Time{}
	before := e.follower.bytes
	more := true
	for n := 1; ; n++ {
		daemon, rec, ok := e.follower.Next(more)
		if !ok {
			break
		}
		upTo = rec.End()
		if rec.IsRequest() {
			e.counter.Apply(daemon, rec)
		} else {
			e.counter.Gateway(daemon).Foreign++
		}
		e.dirty = true
		if n%1024 == 0 && e.cfg.Now().Sub(now) > stepBudget {
			more = false
		}
	}
	e.dirty = e.dirty || e.follower.bytes != before
	if e.follower.AtEnd() {
		return now, true
	}
	return upTo, false
}

// Save makes the books durable and publishes them. After an error what was
// published before stays, since a restart would go back to it.
func (e *Engine) Save() error {
	now := e.cfg.Now()
	e.saved = now
	e.streams.Refused = e.refused.Load()
	data, err := json.Marshal(checkpoint{
		Books: e.counter.books(), Follow: e.follower.State(), Streams: e.streams,
		Seen: packIDs(e.seen.oldestFirst()), CaughtUp: e.caughtUp,
	})
	if err == nil {
		err = e.cfg.Store.Save(data)
	}
	e.mu.Lock()
	e.saveErr = err
	e.mu.Unlock()
	if err == nil {
		e.dirty = false
		e.publish(now)
	}
	e.release(err)
	return err
}

func (e *Engine) release(err error) {
	for _, w := range e.waiting {
		w <- err // has room for it
	}
	e.waiting = nil
}

func (e *Engine) publish(now time.Time) {
	s := &Snapshot{
		At: now, Follow: e.follower.stats, Files: e.follower.Status(), Streams: e.streams,
		Connections: int(e.connections.Load()),
	}
	if e.caughtUp {
		s.Counts = e.counter.Counts(now, e.cfg.View)
	}
	e.published.Store(s)
}
