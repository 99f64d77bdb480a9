package cluster

import (
	"context"
	"errors"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// A request with a key goes to the node that its key names, so that repetitions meet
// there. That node finds a worker for it as for any other request: its own, or one of
// another node. The node that plays the task writes the key down before the task
// begins, and only one can: whatever nodes believe of each other, the record says
// what was begun, and how it ended. So nobody guesses, and a request with a key that
// got no answer is asked for again.

// keyOwner plays requests at the node that their key names.
type keyOwner interface {
	executeKeyed(ctx context.Context, m *api.Execute) (*api.Executed, error)
	startKeyed(ctx context.Context, m *api.Execute, free func()) (*api.Started, error)
}

// hasKeyOwner reports whether a request goes to the node that its key names: not to
// that of a worker or a session.
func hasKeyOwner(m *api.Execute) bool {
	s := m.Task.Session
	return m.Idempotency.Key != "" && m.Task.WorkerID == "" && (s == nil || s.ID == "" && !s.Override)
}

// askKeyOwner sends a request to the node that its key names. Where that gives no
// answer, the next one is asked: both can have the request, and one of them can begin
// it.
func askKeyOwner[T any](ctx context.Context, c *Router, one *inflightRequest, m *api.Execute, w requestKind[T]) (*T, error) {
	silent := map[string]bool{}
	for {
		node := c.keyOwner(m.Account.ID, m.Idempotency.Key, silent)
		switch {
		case node == "" && m.RemoteOnly: // what it is answered with would be kept here
			return w.refused(m, drainingRefusal), nil
		case node == "":
			return playKeyed(ctx, c, one, m, w)
		}
		x, err := forward(ctx, c, one, node, m, w)
		switch {
		case err == nil && (w.refusal(x) == nil || w.refusal(x).Code != engine.CodeDraining):
			return x, nil
		case err != nil && endsKeyed(one, err):
			return w.refused(m, one.unansweredRefusal(node, err)), nil
		}
		silent[node] = true
	}
}

// endsKeyed reports whether a request with a key is not sent on.
func endsKeyed(one *inflightRequest, err error) bool {
	return one.why() != "" || errors.Is(err, errLeaving)
}

// unansweredRefusal is the answer to a request with a key that was ended between two
// nodes.
func (t *inflightRequest) unansweredRefusal(node string, err error) *api.Refusal {
	switch {
	case t.why() == api.CauseDrain || errors.Is(err, errLeaving):
		return drainingRefusal
	case unstarted(err):
		return t.unstartedRefusal()
	}
	return unreachable(node)
}

// playKeyed plays a request that belongs here: on a worker of this node, or of another
// one.
func playKeyed[T any](ctx context.Context, c *Router, one *inflightRequest, m *api.Execute, w requestKind[T]) (*T, error) {
	try := *m
	try.Forwardable = hasKeyOwner(m)
	for {
		x, err := w.here(ctx, &try)
		switch {
		case err != nil && one.why() != "":
			return w.refused(m, one.unstartedRefusal()), nil
		case err != nil || w.refusal(x) == nil || w.refusal(x).ForwardTo == nil:
			return x, err
		}
		at := w.refusal(x).ForwardTo
		if w.refusal(x).Code == engine.CodeWorkerLost {
			if y := tellOfKey(ctx, c, one, at.Node, m, w); y != nil {
				return y, nil
			}
			continue
		}
		sent := *m
		sent.Forwarded = true
		y, err := forward(ctx, c, one, at.Node, &sent, w)
		switch {
		case err == nil && (w.refusal(y) == nil || !worthRetrying(w.refusal(y).Code)):
			if w.refusal(y) == nil && w.freed(y) {
				c.local.PeerFreed(at.Node)
			}
			return y, nil
		case err != nil && endsKeyed(one, err):
			return w.refused(m, one.unansweredRefusal(at.Node, err)), nil
		case errors.Is(err, errUnknown): // it may have begun there
			if _, no := c.giveUpKey(ctx, m, at.Node); no != nil {
				return w.refused(m, no), nil
			}
		}
		try.Place = at.Place
		try.Place.Refused = at.Node
	}
}

// tellOfKey asks the node that has begun a request with a key for its answer. Nil: that
// node is down, and the record says now how the request has ended.
func tellOfKey[T any](ctx context.Context, c *Router, one *inflightRequest, node string, m *api.Execute, w requestKind[T]) *T {
	x, err := forward(ctx, c, one, node, m, w)
	switch {
	case err == nil:
		return x
	case endsKeyed(one, err):
		return w.refused(m, one.unansweredRefusal(node, err))
	case undelivered(err): // nobody is there, which is known in a moment
		c.awaitDown(ctx, node)
	}
	if c.peers.isUp(node) { // it is there, and has no answer now
		return w.refused(m, unreachable(node))
	}
	if _, no := c.giveUpKey(ctx, m, node); no != nil {
		return w.refused(m, no)
	}
	return nil
}

// awaitDown waits a moment until a node counts as down.
func (c *Router) awaitDown(ctx context.Context, node string) {
	alive, up := c.peers.aliveContext(node)
	if !up {
		return
	}
	timer := time.NewTimer(replyTimeout)
	defer timer.Stop()
	select {
	case <-alive.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// giveUpKey records that what a node has begun of a request is lost, should that node
// be down, and returns what the record says then; nil: nothing was begun. The refusal
// is why that could not be found out. Should the node be back, it drops the task.
func (c *Router) giveUpKey(ctx context.Context, m *api.Execute, node string) (*api.KeyAnswer, *api.Refusal) {
	if c.peers.isUp(node) {
		return nil, nil
	}
	a, err := c.local.GiveUpKey(ctx, m, node)
	switch {
	case err != nil:
		c.cfg.Log.Error().Err(err).Str("task", m.TaskID).Str("node", node).Msg("it is unknown what was begun of a request with a key")
		return nil, api.RefusalFor(err)
	case a != nil && a.Lost:
		c.counters.lost.Add(1)
		c.inflight.addNotice(node, &api.Cancel{TaskID: a.TaskID, Account: m.Account, Cause: api.CauseClient})
	}
	return a, nil
}

// followKey answers a request with a key that is for one worker or session, and that
// their node has left without an answer.
func followKey[T any](ctx context.Context, c *Router, node string, m *api.Execute, w requestKind[T]) (*T, error) {
	if c.peers.isUp(node) {
		return w.refused(m, unreachable(node)), nil
	}
	a, no := c.giveUpKey(ctx, m, node)
	switch {
	case no != nil:
		return w.refused(m, no), nil
	case a == nil: // nothing has begun
		return w.refused(m, nodeDown(node)), nil
	case a.Executed != nil && a.Executed.Outcome == nil: // it goes on at yet another node
		return w.refused(m, unreachable(node)), nil
	}
	if x := w.kept(a); x != nil && a.Is(m) {
		return x, nil
	}
	return w.refused(m, api.Refuse(engine.CodeIdempotencyMismatch, "")), nil
}

// executeKeyed plays a request of another node's client, whose key belongs here.
func (c *Router) executeKeyed(ctx context.Context, m *api.Execute) (*api.Executed, error) {
	ctx, one, end := c.hostKeyed(ctx, m)
	defer end()
	return playKeyed(ctx, c, one, m, c.executes())
}

// startKeyed starts one.
func (c *Router) startKeyed(ctx context.Context, m *api.Execute, free func()) (*api.Started, error) {
	ctx, one, end := c.hostKeyed(ctx, m)
	defer end()
	return c.lend(m, free, func(here startHere) (*api.Started, error) {
		return playKeyed(ctx, c, one, m, c.starts(here))
	})
}

// hostKeyed makes of a hosted request one that can be sent on. It goes on without its
// client, unless it is cancelled or the node stops.
func (c *Router) hostKeyed(hosted context.Context, m *api.Execute) (context.Context, *inflightRequest, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(hosted))
	one := &inflightRequest{account: m.Account.ID, cancel: cancel}
	c.inflight.begin(m.TaskID, one)
	unwatch := context.AfterFunc(hosted, func() {
		switch cause := context.Cause(hosted); {
		case errors.Is(cause, engine.ErrClientGone):
		case errors.Is(cause, engine.ErrDraining):
			one.stop(api.CauseDrain)
		default:
			one.stop(api.CauseAsked)
		}
	})
	return ctx, one, func() {
		unwatch()
		c.inflight.end(m.TaskID, one)
		cancel(nil)
	}
}
