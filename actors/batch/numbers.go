package batch

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Numbers are the batches that have not ended, in numbers.
func (m *Batches) Numbers() (n api.BatchNumbers) {
	if m == nil {
		return n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for _, s := range m.all {
		switch s.b.State {
		case api.BatchPaused:
			n.Paused++
		case api.BatchRunning:
			n.Running++
			if s.held != "" {
				n.Held++
				n.HeldFor = max(n.HeldFor, now.Sub(s.heldSince))
			}
		}
	}
	return n
}

// holdBack notes why no more items begin now; empty: they do. The mutex is held.
func (s *state) holdBack(why engine.Code) {
	if s.held == "" && why != "" {
		s.heldSince = time.Now()
	}
	s.held = why
}
