// Package lately remembers how long something takes on this machine at the moment. Bounds
// that are fixed make a busy machine busier: what is only slow is given up, and done again.
package lately

import (
	"sync"
	"time"
)

// holds is how long what was measured says how busy the machine is.
const holds = 30 * time.Second

// Mean is how long something took the last few times. The zero value has nothing.
type Mean struct {
	mu   sync.Mutex
	took time.Duration
	at   time.Time
}

// Add takes in how long it took once more. That counts a quarter, and what was before the
// rest.
func (m *Mean) Add(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Sub(m.at) < holds {
		took = (3*m.took + took) / 4
	}
	m.took, m.at = took, now
}

// Value is the mean; zero: nothing was measured in the last half minute.
func (m *Mean) Value() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) >= holds {
		return 0
	}
	return m.took
}
