package actors

import "sync"

// goroutinePool reuses goroutines for the turns of mailboxes and for what runs
// outside of them. A request takes a dozen of these turns. New goroutines for
// each would cost a fifth of the processor time, for the growth of their stacks.
type goroutinePool struct {
	mu     sync.Mutex
	idle   []chan func() // the last used last
	closed bool
}

// maxIdle bounds how many idle goroutines are kept.
const maxIdle = 256

// do runs f soon, on another goroutine. It never waits for one.
func (h *goroutinePool) do(f func()) {
	h.mu.Lock()
	n := len(h.idle)
	if n == 0 {
		h.mu.Unlock()
		go h.work(f)
		return
	}
	next := h.idle[n-1]
	h.idle[n-1] = nil
	h.idle = h.idle[:n-1]
	h.mu.Unlock()
	next <- f
}

func (h *goroutinePool) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		f()
		if !h.park(next) {
			return
		}
		f = <-next
	}
}

// park adds a goroutine to the idle ones, if there is room.
func (h *goroutinePool) park(next chan func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.idle) >= maxIdle {
		return false
	}
	h.idle = append(h.idle, next)
	return true
}

// close ends the idle goroutines, and the others when their function returns.
// Functions that come later still run.
func (h *goroutinePool) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, next := range h.idle {
		close(next)
	}
	h.idle = nil
}

// Schedule is part of actor.Dispatcher: it runs a mailbox that has messages.
func (h *goroutinePool) Schedule(f func()) { h.do(f) }

// Throughput is part of actor.Dispatcher: after so many messages a mailbox lets
// others run.
func (h *goroutinePool) Throughput() int { return 300 }
