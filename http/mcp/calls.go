package mcp

import (
	"context"
	"sync"
)

// calls are the calls over HTTP that run in this process. Over HTTP a client cancels by
// a message of its own, which has nothing in common with the call but the identifier
// that the client has chosen.
type calls struct {
	mu  sync.Mutex
	all map[callID]map[*caller]context.CancelFunc
}

// callID is what is known of a call when it is cancelled. Two clients of one account at
// one address may use one identifier.
type callID struct{ account, from, id string }

// add notes a call. The returned function forgets it.
func (c *calls) add(who *caller, cancel context.CancelFunc) (forget func()) {
	if who.id == "" {
		return func() {}
	}
	key := callID{who.account, who.from, who.id}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[callID]map[*caller]context.CancelFunc{}
	}
	if c.all[key] == nil {
		c.all[key] = map[*caller]context.CancelFunc{}
	}
	c.all[key][who] = cancel
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.all[key], who); len(c.all[key]) == 0 {
			delete(c.all, key)
		}
	}
}

// cancel ends the call with the identifier. Where several have it, it ends none: one of
// them would be another client's.
func (c *calls) cancel(account, from, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.all[callID{account, from, id}]
	if len(found) != 1 {
		return
	}
	for who, end := range found {
		who.cancelled.Store(true)
		end()
	}
}
