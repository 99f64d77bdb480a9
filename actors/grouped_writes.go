package actors

import (
	"context"
	"sync"

	"troupe/actors/api"
	"troupe/actors/records"
)

// groupedWrites writes the claims of many tasks of the queue, or their ends, in one request to
// the store. One of their own for each would cost a goroutine, a timer and its turns on the
// processor. What comes while so many requests are under way is in the next one: the slower
// the store, the larger they are.
type groupedWrites struct {
	node    *nodeParts
	mu      sync.Mutex
	waiting []groupedWrite
	running int
}

// Bounds of the requests under way, and of the tasks in each.
const (
	maxRequests = 2
	maxGroupLen = 64
)

// groupedWrite is one of many. Its writes are prepared outside of the mailbox.
type groupedWrite struct {
	prepare func(context.Context) *records.Writes // its result is nil where alone writes it
	alone   func(context.Context) error           // nil for a claim
	then    func(error)
}

// add writes soon, outside of the mailbox, and then calls then.
func (g *groupedWrites) add(w groupedWrite) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, w)
	if g.running < maxRequests {
		g.running++
		g.node.background.Go(g.run)
	}
}

// next takes the next group. It is empty where there is none: the caller ends.
func (g *groupedWrites) next() (group []groupedWrite) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), maxGroupLen)
	group, g.waiting = g.waiting[:n:n], g.waiting[n:]
	if n == 0 {
		g.waiting = nil
		g.running--
	}
	return group
}

func (g *groupedWrites) run() {
	for group := g.next(); len(group) > 0; group = g.next() {
		g.write(group)
	}
}

func (g *groupedWrites) write(group []groupedWrite) {
	ctx, cancel := context.WithTimeout(context.Background(), api.WriteTimeout)
	defer cancel()
	together := group[:0]
	all := make([]*records.Writes, 0, len(group))
	for _, w := range group {
		var prepared *records.Writes
		err := protect(func() error {
			prepared = w.prepare(ctx)
			return nil
		})
		switch {
		case err != nil:
			w.then(err)
		case prepared == nil:
			g.node.onDisk(w.alone, w.then)
		default:
			together, all = append(together, w), append(all, prepared)
		}
	}
	if len(all) == 0 {
		return
	}
	var errs []error
	if err := protect(func() error {
		errs = g.node.records.WriteEach(ctx, all)
		return nil
	}); err != nil {
		errs = make([]error, len(all))
		for i := range errs {
			errs[i] = err
		}
	}
	for i, w := range together {
		w.then(errs[i])
	}
}
