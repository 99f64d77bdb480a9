package actors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// holdings are the sessions of the node's workers.
type holdings struct {
	mu  sync.Mutex
	all map[*actor.PID]bool
}

func (h *holdings) add(s *actor.PID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[*actor.PID]bool{}
	}
	h.all[s] = true
}

func (h *holdings) remove(s *actor.PID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, s)
}

func (h *holdings) list() []*actor.PID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.all))
}

// lapsed ends what runs for the node's sessions.
func (n *nodeParts) lapsed() {
	for _, s := range n.held.list() {
		n.system.Root.Send(s, &sessionLapse{})
	}
}

// confirmSessions finds out which sessions are still the node's in a new term of
// its lease, and lets go of the others.
func (n *nodeParts) confirmSessions(ctx context.Context, term uint64) error {
	return together(n.held.list(), func(s *actor.PID) error {
		c, err := ask[sessionConfirmed](ctx, n.system, s, &sessionConfirm{Term: term})
		if err == nil && c.Err != "" {
			err = errors.New(c.Err)
		}
		return err
	})
}
