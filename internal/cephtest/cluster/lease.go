package cluster

import (
	"slices"
	"sync"
)

// leases hands out shared and exclusive leases in the order of asking, so
// that a test that wants the cluster alone is not starved by those that
// share it.
type leases struct {
	mu      sync.Mutex
	queue   []*lease
	held    []*lease
	changed func(users int) // called under mu with holders plus waiters
}

type lease struct {
	who       string
	exclusive bool
	granted   chan struct{} // closed when granted
}

// ask queues a lease and grants what can be granted.
func (l *leases) ask(who string, exclusive bool) *lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &lease{who: who, exclusive: exclusive, granted: make(chan struct{})}
	l.queue = append(l.queue, one)
	l.grant()
	return one
}

// end gives a lease back, granted or not.
func (l *leases) end(one *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := func(other *lease) bool { return other == one }
	l.queue = slices.DeleteFunc(l.queue, is)
	l.held = slices.DeleteFunc(l.held, is)
	l.grant()
}

// grant moves the head of the queue to the holders for as long as the
// holders allow it. The caller holds mu.
func (l *leases) grant() {
	for len(l.queue) > 0 {
		next := l.queue[0]
		if len(l.held) > 0 && (next.exclusive || l.held[0].exclusive) {
			break
		}
		l.queue, l.held = l.queue[1:], append(l.held, next)
		close(next.granted)
	}
	if l.changed != nil {
		l.changed(len(l.held) + len(l.queue))
	}
}

// holders names who holds a lease.
func (l *leases) holders() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := []string{}
	for _, one := range l.held {
		name := one.who
		if one.exclusive {
			name += " (exclusive)"
		}
		names = append(names, name)
	}
	return names
}
