package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"troupe/actors/api"
	"troupe/persistence"
)

// taskGroup counts the functions that run outside of mailboxes. Unlike with a
// sync.WaitGroup, functions may be added while another goroutine waits: an actor
// may still write its last record when the node begins to wait for its end.
type taskGroup struct {
	goroutines goroutinePool
	mu         sync.Mutex
	idle       sync.Cond
	n          int
}

// Go runs f outside of the mailboxes.
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

// onDisk reads or changes what is on disk, outside of the mailbox, and then calls
// then.
func (n *nodeParts) onDisk(f func(context.Context) error, then func(error)) {
	n.background.Go(func() { n.onDiskNow(f, then) })
}

// onDiskNow is onDisk for a caller that is outside of a mailbox already. The time
// that it may take begins now.
func (n *nodeParts) onDiskNow(f func(context.Context) error, then func(error)) {
	ctx, cancel := context.WithTimeout(context.Background(), api.WriteTimeout)
	defer cancel()
	err := n.explainLate(ctx, protect(func() error { return f(ctx) }))
	if then != nil {
		then(err)
	} else if err != nil {
		n.log.Error().Err(err).Msg("record not changed")
	}
}

// explainLate says why the store gave no answer in time. The store waits for a majority
// of the nodes for a while, in each of its operations. Where several follow each other,
// as when a leader is elected in between, the time of all of them can end first.
func (n *nodeParts) explainLate(ctx context.Context, err error) error {
	if err != nil && n.records.Node != "" && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", persistence.ErrNoQuorum, err)
	}
	return err
}
