package cluster

import (
	"sync"
	"time"
)

// unreadable counts messages that were not understood. A node of a release that is not
// neighbouring sends its inventory many times a second.
type unreadable struct {
	mu         sync.Mutex
	n          int
	lastLogged time.Time
}

// count adds one, and returns how many came since the last log line; zero: that was
// less than a minute ago.
func (u *unreadable) count(now time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.n++
	if !u.lastLogged.IsZero() && now.Sub(u.lastLogged) < time.Minute {
		return 0
	}
	n, u.n, u.lastLogged = u.n, 0, now
	return n
}
