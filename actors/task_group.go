package actors

import "sync"

// crew counts what runs beside the mailboxes. Unlike a sync.WaitGroup it may be
// waited for while more is sent off: an actor may still be writing its last
// record when the node begins to wait for its end.
type taskGroup struct {
	goroutines goroutinePool
	mu         sync.Mutex
	idle       sync.Cond
	n          int
}

// Go runs f beside the mailboxes.
func (c *taskGroup) Go(f func()) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	c.goroutines.do(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.n--; c.n == 0 && c.idle.L != nil {
				c.idle.Broadcast()
			}
		}()
		f()
	})
}

// Wait returns when nothing runs.
func (c *taskGroup) Wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle.L = &c.mu
	for c.n > 0 {
		c.idle.Wait()
	}
}
