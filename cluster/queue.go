package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
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
	switch x := x.(type) {
	case *api.Started:
		return x.Refusal != nil && (x.Refusal.ForwardTo != nil || x.Refusal.Code == engine.CodeDraining)
	case interface{ Refused() *api.Refusal }:
		no := x.Refused()
		return no != nil && no.ForwardTo != nil
	}
	return false
}

// HoldQueue lets no queued task begin at this node, until it is called again.
func (c *Router) HoldQueue(on bool) { c.local.HoldQueue(on) }

// doAtQueue goes to the node that orders the queue. While none does, it waits for one, where
// the message may be sent again.
func (c *Router) doAtQueue(ctx context.Context, v *api.Verb, m any) (any, error) {
	if get, ok := m.(*api.GetBatch); ok && get.Wait > 0 {
		return c.awaitBatch(ctx, v, get)
	}
	if node := c.local.QueueNode(); v.Again == nil {
		if node != "" && node != c.cfg.Node && !c.peers.isUp(node) {
			return v.Failed(m, api.NobodyOrders()), nil
		}
		return c.doAt(ctx, v, m, node)
	}
	return c.doAtQueueBy(ctx, v, m, time.Now().Add(api.QueuePatience))
}

func (c *Router) doAtQueueBy(ctx context.Context, v *api.Verb, m any, end time.Time) (any, error) {
	for {
		x, err := c.doAtQueueOnce(ctx, v, m)
		again := v.Again(m) && (lost(err) || errors.Is(err, context.DeadlineExceeded))
		switch {
		case err == nil && !elsewhereQueued(x):
			return x, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, errLeaving):
			return nil, err
		case err != nil && !unstarted(err) && !again:
			return nil, err
		case time.Now().After(end):
			return v.Failed(m, api.NobodyOrders()), nil
		}
		select {
		case <-time.After(retryQueue):
		case <-ctx.Done():
		}
	}
}

func (c *Router) doAtQueueOnce(ctx context.Context, v *api.Verb, m any) (any, error) {
	node := c.local.QueueNode()
	switch {
	case node == "" && c.local.HasQueue():
		return nil, fmt.Errorf("ask about the queue: no node orders it: %w", link.ErrUndelivered)
	case node == "" || node == c.cfg.Node:
		return c.local.Do(ctx, m)
	}
	alive, up := c.peers.aliveContext(node)
	if alive != nil && errors.Is(context.Cause(alive), errLeaving) {
		return nil, errLeaving
	}
	if !up {
		return nil, fmt.Errorf("ask %s about the queue: %w", node, link.ErrUndelivered)
	}
	asking, cancel := within(ctx, alive, replyTimeout+v.Takes(m))
	defer cancel(nil)
	return c.remote.askVerb(asking, v, node, m)
}

// awaitBatch waits for the end of a batch, also if another node orders the queue meanwhile.
// When this node leaves, the client gets the present state.
func (c *Router) awaitBatch(ctx context.Context, v *api.Verb, m *api.GetBatch) (any, error) {
	c.waits.Add(1)
	defer c.waits.Add(-1)
	stays, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.leaving, func() { cancel(errLeaving) })()
	now, end := *m, time.Now().Add(m.Wait)
	for {
		now.Wait = max(time.Until(end), 0)
		x, err := c.doAtQueueBy(stays, v, &now, time.Now().Add(api.QueuePatience))
		if now.Wait > 0 && ctx.Err() == nil && errors.Is(context.Cause(stays), errLeaving) {
			now.Wait = 0
			return c.doAtQueueBy(ctx, v, &now, time.Now())
		}
		if got, ok := x.(*api.Batched); err == nil && ok && got.Batch != nil && got.Batch.Ended.IsZero() && now.Wait > 0 && time.Now().Before(end) {
			select { // the node that was asked orders the queue no more
			case <-time.After(retryQueue):
			case <-stays.Done():
			}
			continue
		}
		return x, err
	}
}

// AskQueue has a verb carried out where the queue is ordered: see [actors.Peers].
func (c *Router) AskQueue(ctx context.Context, m any) (any, error) {
	if c.local == nil {
		return nil, errLeaving
	}
	return c.Do(ctx, m)
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

// StartQueued has a task of a schedule queued: see [actors.Peers].
func (c *Router) StartQueued(ctx context.Context, m *api.Execute) (*api.Started, error) {
	if c.local == nil {
		return nil, errLeaving
	}
	return c.Start(ctx, m, nil)
}

// CancelQueued cancels a task of a schedule: see [actors.Peers].
func (c *Router) CancelQueued(ctx context.Context, m *api.Cancel) error {
	if c.local == nil {
		return errLeaving
	}
	_, err := api.Ask(ctx, c, m)
	return err
}

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
