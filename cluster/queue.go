package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// One node orders the queue of all. Requests for it go there, whichever node has received
// them: see docs/decisions/0022-a-queue-of-records.md.

// retryQueue is the pause before another look at which node orders the queue.
const retryQueue = 100 * time.Millisecond

// askQueueNode has a task queued. While no node orders the queue, it waits for one.
func askQueueNode[T any](ctx context.Context, c *Router, one *inflightRequest, m *api.Execute, w requestKind[T]) (*T, error) {
	for end := time.Now().Add(api.QueuePatience); ; {
		var x *T
		var err error
		node := c.local.QueueNode()
		switch node {
		case "":
			if !c.local.HasQueue() {
				return w.here(ctx, m)
			}
			err = fmt.Errorf("queue a task: no node orders the queue: %w", errUnknown)
		case c.cfg.Node:
			x, err = w.here(ctx, m)
		default:
			x, err = forward(ctx, c, one, node, m, w)
		}
		switch {
		case err == nil && !elsewhereQueued(x):
			return x, nil
		case one.why() != "":
			return w.refused(m, one.unstartedRefusal()), nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, errLeaving):
			return w.refused(m, drainingRefusal), nil
		case err != nil && !unstarted(err) && !errors.Is(err, errUnknown): // with a key, another try does no harm
			return nil, err
		case time.Now().After(end):
			return w.refused(m, api.NobodyOrders()), nil
		}
		select {
		case <-time.After(retryQueue):
		case <-ctx.Done():
		}
	}
}

// elsewhereQueued reports whether an answer says that nothing is written, and another node
// may order the queue.
func elsewhereQueued(x any) bool {
	s, ok := x.(*api.Started)
	return ok && s.Refusal != nil && (s.Refusal.ForwardTo != nil || s.Refusal.Code == engine.CodeDraining)
}

// HoldQueue lets no queued task begin at this node, until it is called again.
func (c *Router) HoldQueue(on bool) { c.local.HoldQueue(on) }

// doAtQueue goes to the node that orders the queue.
func (c *Router) doAtQueue(ctx context.Context, v *api.Verb, m any) (any, error) {
	node := c.local.QueueNode()
	if node != "" && node != c.cfg.Node && !c.peers.isUp(node) {
		if v.Failed != nil {
			return v.Failed(m, api.NobodyOrders()), nil
		}
		return nil, unreachable(node)
	}
	return c.doAt(ctx, v, m, node)
}

// Ask has a verb carried out by another node: see [actors.Peers].
func (c *Router) Ask(ctx context.Context, node string, m any) (any, error) {
	alive, up := c.peers.aliveContext(node)
	if !up {
		return nil, unreachable(node)
	}
	ctx, cancel := within(ctx, alive, api.WriteTimeout)
	defer cancel(nil)
	v := api.VerbOf(m)
	if v == nil {
		return nil, fmt.Errorf("ask %s: there is no answer to %T", node, m)
	}
	return c.remote.askVerb(ctx, v, node, m)
}

// Up reports whether a node seems to be there.
func (c *Router) Up(node string) bool { return node == c.cfg.Node || c.peers.isUp(node) }

// Place finds the node that has the worker or the session which a task of the queue names.
// Where a session's node is lost, the session is restored.
func (c *Router) Place(ctx context.Context, m *api.Execute) (string, *api.Refusal, error) {
	if c.local == nil {
		return "", nil, errLeaving
	}
	node, session := c.destination(m), sessionOf(m.Task)
	if session != "" && m.Task.WorkerID == "" && !(node == "" && c.own.has(session, m.Account.ID)) && !(node != "" && c.peers.isUp(node)) {
		at, no, err := c.restored(ctx, m, node)
		if no != nil || err != nil {
			return "", no, err
		}
		node = at
	}
	if node == "" {
		node = c.cfg.Node
	}
	return node, nil, nil
}
