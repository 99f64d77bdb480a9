package cluster

import (
	"sync"
	"time"
)

// unreadable counts what was not understood. A node that is not of a neighbouring
// release sends its inventory many times a second.
type unreadable struct {
	mu         sync.Mutex
	n          int
	lastLogged time.Time
}

// count adds one, and gives how many there were since that was last said; zero: it
// was said in this minute.
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
