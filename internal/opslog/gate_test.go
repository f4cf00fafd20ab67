package opslog

import "sync"

// gate is a store that can be made to fail while an engine runs.
type gate struct {
	mu   sync.Mutex
	data []byte
	err  error
}

func (g *gate) set(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *gate) Load() ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.data, nil
}

func (g *gate) Save(data []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.data = append([]byte(nil), data...)
	}
	return g.err
}
