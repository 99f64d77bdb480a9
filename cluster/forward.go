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

// forward sends a request to a node and waits for the answer. After an error that is
// unstarted, the task has not started and never will. After any other failure of the
// node, a request without a key is answered as lost and is never sent again. One with
// a key gets errUnknown: the record of its key says what was begun.
func forward[T any](ctx context.Context, c *Router, one *inflightRequest, node string, m *api.Execute, w requestKind[T]) (*T, error) {
	o, release := c.pack(m)
	defer release()
	o.Carried = w.carried
	for tries := 1; ; tries++ {
		x, err := forwardOnce(ctx, c, one, node, o, m, w)
		if !errors.Is(err, errUnreceived) || tries == maxTries || ctx.Err() != nil {
			return x, err
		}
	}
}

// errUnknown: nobody knows how far a task with a key got.
var errUnknown = errors.New("the node has not answered")

func forwardOnce[T any](ctx context.Context, c *Router, one *inflightRequest, node string, o *link.ForwardedExecute, m *api.Execute, w requestKind[T]) (*T, error) {
	alive, up := c.peers.aliveContext(node)
	switch {
	case alive != nil && errors.Is(context.Cause(alive), errLeaving):
		return nil, errLeaving
	case !up:
		return nil, fmt.Errorf("forward a task to %s: %w", node, link.ErrUndelivered)
	}
	o.StartID, o.Try, o.To, o.Sent = one.markSent(c, m), c.inflight.tries.Add(1), c.peers.boot(node), time.Now()
	most := m.Task.Timeout + min(m.Task.QueueTimeout, engine.MaxQueueTimeout) + forwardMargin
	asking, cancel := withinAnswer(context.WithoutCancel(ctx), alive, most, o)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { c.cancelForwarded(ctx, one, node, m, cancel) })()
	c.locations.put(m.TaskID, node)
	x, err := askOrder[T](asking, c, node, o, cancel)
	if !unstarted(err) {
		c.counters.forwarded.Add(1)
	}
	switch {
	case err == nil || unstarted(err):
		return x, err
	case notBegun(err, m.TaskID, elapsed(o.Sent)):
		return nil, fmt.Errorf("forward a task to %s: it has left and had not begun it: %w", node, link.ErrUndelivered)
	case m.Idempotency.Key != "":
		return nil, fmt.Errorf("forward a task to %s: %w: %w", node, errUnknown, err)
	case ctx.Err() != nil && !lost(err) && one.why() != "" && one.withdraw():
		return nil, fmt.Errorf("forward a task to %s: it was cancelled before it began: %w", node, link.ErrUndelivered)
	case ctx.Err() != nil && !lost(err) && one.why() == "": // nobody waits for it
		return nil, context.Cause(ctx)
	}
	gone := &api.Cancel{TaskID: m.TaskID, Account: m.Account, Cause: api.CauseClient}
	c.inflight.addNotice(node, gone)
	c.transport.Tell(node, gone)
	if lost(err) && one.withdraw() {
		return nil, fmt.Errorf("forward a task to %s: it had not begun there: %w", node, link.ErrUndelivered)
	}
	c.counters.lost.Add(1)
	c.cfg.Log.Error().Err(err).Str("task", m.TaskID).Str("node", node).Msg("task lost with another node")
	return w.lost(m, node), nil
}

// cancelForwarded passes on that a request was cancelled. Its answer comes soon then,
// and says what became of the task. A task with a key goes on without its client, and
// without this node.
func (c *Router) cancelForwarded(ctx context.Context, one *inflightRequest, node string, m *api.Execute, enough context.CancelCauseFunc) {
	cause := one.why()
	switch keyed := m.Idempotency.Key != ""; {
	case keyed && cause == "":
		return
	case keyed && cause == api.CauseDrain:
		enough(context.Cause(ctx))
		return
	case cause == "":
		cause = api.CauseClient
	}
	c.transport.Tell(node, &api.Cancel{TaskID: m.TaskID, Account: m.Account, Cause: cause})
	time.AfterFunc(cancelTimeout, func() { enough(context.Cause(ctx)) })
}

// answerGrace is how long after a node's last message its answer to a task is waited for: the
// two do not come in order.
const answerGrace = time.Second

// elapsed is how long ago a task was sent. One clock stands still while the machine sleeps, the
// other can be set back.
func elapsed(sent time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(sent), now.Round(0).Sub(sent.Round(0)))
}

// withinAnswer is within for the answer to a task. A node that has left in good order has
// answered what it had begun.
func withinAnswer(ctx, alive context.Context, most time.Duration, o *link.ForwardedExecute) (context.Context, context.CancelCauseFunc) {
	staying, left := context.WithCancelCause(context.WithoutCancel(alive)) // who attends to the node is in its values
	unwatch := context.AfterFunc(alive, func() {
		cause := context.Cause(alive)
		if hasLeft(cause) && !notBegun(cause, o.TaskID, elapsed(o.Sent)) {
			time.AfterFunc(answerGrace, func() { left(cause) })
			return
		}
		left(cause)
	})
	asking, cancel := within(ctx, staying, most)
	return asking, func(cause error) { unwatch(); cancel(cause); left(nil) }
}

// askOrder sends a task and waits for its answer, or until the node says that the task
// has not arrived.
func askOrder[T any](ctx context.Context, c *Router, node string, o *link.ForwardedExecute, enough context.CancelCauseFunc) (*T, error) {
	again := make(chan any, 1) // the answer, which the node gives again
	s := &sentOrder{c: c, node: node, order: o, over: func(answer any, err error) {
		if err == nil {
			again <- answer
		}
		enough(err)
	}}
	watching, stop := context.WithCancel(ctx)
	go s.watch(watching)
	x, err := link.AskHeard[T](ctx, c.transport, node, o, stop) // nobody asks for an answer that is being fetched
	stop()
	if err == nil {
		return x, nil
	}
	var got any
	select {
	case got = <-again:
	default:
		if unstarted(err) || ctx.Err() != nil {
			return nil, err
		}
		var wrong error // the answer came, and could not be fetched
		if got, wrong = s.fetchAgain(ctx); wrong != nil {
			return nil, err
		}
	}
	if x, ok := got.(*T); ok {
		return x, nil
	}
	return nil, fmt.Errorf("forward a task to %s: its answer is a %T", node, got)
}
