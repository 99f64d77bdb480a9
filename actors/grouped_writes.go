package actors

import (
	"context"
	"errors"
	"sync"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/persistence"
)

// groupedWrites writes the claims and ends of many tasks of the queue in one request to the
// store. One of their own for each would cost a goroutine, a timer and its turns on the
// processor. What comes while so many requests are under way is in the next one: the slower
// the store, the larger they are.
//
// An end is on its way before the claim for which its worker was free. So after a kill, hardly
// more tasks than there are workers are without an end.
type groupedWrites struct {
	node    *nodeParts
	mu      sync.Mutex
	first   []groupedWrite // wait: claims, for which workers wait as well
	waiting []groupedWrite // wait after them
	running int
}

// Bounds of the requests under way, and of the tasks in each.
const (
	maxRequests = 16
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
	if w.alone == nil {
		g.first = append(g.first, w)
	} else {
		g.waiting = append(g.waiting, w)
	}
	if g.running < maxRequests {
		g.running++
		g.node.background.Go(g.run)
	}
}

// next takes the next group. It is empty where there is none: the caller ends.
func (g *groupedWrites) next() (group []groupedWrite) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, from := range []*[]groupedWrite{&g.first, &g.waiting} {
		n := min(len(*from), maxGroupLen-len(group))
		group = append(group, (*from)[:n]...)
		if *from = (*from)[n:]; len(*from) == 0 {
			*from = nil
		}
	}
	if len(group) == 0 {
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
			if w.alone != nil {
				then := w.then
				w.then = func(err error) {
					if errors.Is(err, persistence.ErrConflict) { // it was cancelled meanwhile, or sealed again
						g.node.onDisk(w.alone, then)
						return
					}
					then(err)
				}
			}
			together, all = append(together, w), append(all, prepared)
		}
	}
	if len(all) == 0 {
		return
	}
	done := 0
	if err := protect(func() error {
		g.node.records.WriteEach(ctx, all, func(i int, err error) {
			done = i + 1
			together[i].then(err)
		})
		return nil
	}); err != nil {
		for _, w := range together[done:] {
			w.then(err)
		}
	}
}
