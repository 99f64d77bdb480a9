package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"troupe/cluster/link"
)

// Nodes of a small cluster ping each other all the time. A worker node pings another one,
// and is pinged by it, as often only while something depends on that: a request that is
// on its way, or a task for it. So pings grow with the tasks and not with the nodes.

const (
	// pingRest is how often a node that keeps the store pings a worker node that it
	// has nothing to do with. One that does not answer is pinged as any node then.
	pingRest = 2 * time.Second
	// pingNever is when a worker node looks again whether it has to ping.
	pingNever = time.Minute
)

// care counts what depends on a node that it is up.
type care struct {
	waits atomic.Int32
	wake  chan struct{} // something has begun to depend on it
}

type careKey struct{}

// attend notes that something depends on the node of a context that ends when the node
// goes down, until release.
func attend(alive context.Context) (release func()) {
	c, ok := alive.Value(careKey{}).(*care)
	if !ok {
		return func() {}
	}
	if c.waits.Add(1) == 1 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	var released atomic.Bool
	return func() {
		if released.CompareAndSwap(false, true) {
			c.waits.Add(-1)
		}
	}
}

// attendTo is attend for a node by its name.
func (p *presence) attendTo(node string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.peers[node]; one != nil && one.alive != nil {
		return attend(one.alive)
	}
	return func() {}
}

// pingEvery is how long after a ping the next one is due.
func (p *presence) pingEvery(one *peer, misses int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	worker := one.inventory.Role == link.RoleWorker
	switch {
	case !p.workerNode && !worker, misses > 0 && one.up, one.care.waits.Load() > 0:
		return pingEvery
	case !p.workerNode:
		return pingRest
	}
	return pingNever
}
