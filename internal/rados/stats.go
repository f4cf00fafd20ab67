package rados

// Stats are a client's numbers since it was made. All but those of the last
// line are counters: they never fall.
type Stats struct {
	// MonCalls and MgrCalls count the commands sent, Connects the attempts to
	// connect.
	MonCalls, MgrCalls, Connects uint64
	// Abandoned counts calls and attempts to connect that were given up,
	// Returned those among them that came back later.
	Abandoned, Returned uint64
	// Rejected counts calls that were refused because of the bound.
	Rejected uint64
	// Bytes counts the bytes of all answers that were taken.
	Bytes uint64
	// Inside is how many calls are inside librados now, Stuck how many of
	// these nobody waits for, Limit their bound.
	Inside, Stuck, Limit int
}

// Stats returns the numbers as of now.
func (c *Client) Stats() Stats { return c.w.stats() }

func (w *watchdog) stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.count
	s.Inside = w.inside[toMon] + w.inside[toMgr]
	s.Stuck = w.stuck[toMon] + w.stuck[toMgr]
	s.Limit = w.total
	return s
}

// owed tells whether a call that waits for to was given up and is still inside
// librados.
func (w *watchdog) owed(to target) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stuck[to] > 0
}
