package batch

import (
	"time"

	"troupe/actors/api"
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
			if why, since := m.heldBack(s); why != "" {
				n.Held++
				n.HeldFor = max(n.HeldFor, now.Sub(since))
			}
		}
	}
	return n
}
