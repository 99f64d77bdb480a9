package actors

import "sync"

// hands are goroutines that are used again: mailboxes take their turns on them,
// and what goes on beside the mailboxes does. A request passes through a dozen of
// these turns; goroutines that are new each time would spend a fifth of the
// processor on growing their stacks.
type goroutinePool struct {
	mu     sync.Mutex
	idle   []chan func() // the last used last
	closed bool
}

// handsMost bounds how many goroutines wait for something to do.
const idleMost = 256

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

// rest puts a goroutine with those that may be used again, if it is wanted.
func (h *goroutinePool) park(next chan func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.idle) >= idleMost {
		return false
	}
	h.idle = append(h.idle, next)
	return true
}

// close ends the goroutines that have nothing to do, and the others when they
// have done it. What comes later is still run.
func (h *goroutinePool) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, next := range h.idle {
		close(next)
	}
	h.idle = nil
}

// Schedule is part of actor.Dispatcher: a mailbox has something to read.
func (h *goroutinePool) Schedule(f func()) { h.do(f) }

// Throughput is part of actor.Dispatcher: after so many messages a mailbox lets
// others run.
func (h *goroutinePool) Throughput() int { return 300 }
