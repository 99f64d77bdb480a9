package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

const (
	// maxSessionMoves bounds how often a session is looked for that moves meanwhile.
	maxSessionMoves = 4
	// restoreTimeout bounds the answer of a node that is to restore a session, which
	// waits for the end of a lease.
	restoreTimeout = 30 * time.Second
	// retryRestore is what passes until a worker for a session is looked for again.
	retryRestore = 250 * time.Millisecond
	// leavingPatience is how long a request waits for the end of the node that has its
	// session: as long as for the end of a lost node's lease.
	leavingPatience = 12 * time.Second
)

// leaves reports whether a request was refused because the node that has its session is
// about to stop. Another node can have the session soon.
func leaves(m *api.Execute, no *api.Refusal) bool {
	return no != nil && no.Code == engine.CodeDraining && sessionOf(m.Task) != ""
}

// pause waits, and reports whether the request goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// followSession retries a request that was refused because its session is on another
// node: its node does not answer, or another node has restored it. Lost names the node
// that does not answer, if any. If the session's record names no other node, the
// refusal stays the answer.
func followSession[T any](ctx context.Context, c *Router, one *inflightRequest, lost string, m *api.Execute, w requestKind[T], was *T) (*T, error) {
	no := w.refusal(was)
	if no == nil || sessionOf(m.Task) == "" || !mayHaveMoved(no.Code) && lost == "" {
		return was, nil
	}
	moved := *m
	moved.SessionMoved = true
	if lost != "" {
		x, err := askHome(ctx, c, one, lost, m, &moved, w)
		switch {
		case err != nil || x != nil && (w.refusal(x) == nil || !mayHaveMoved(w.refusal(x).Code)):
			return x, err
		case x != nil:
			lost, was = "", x
		}
	}
	for range maxSessionMoves {
		node, no, err := c.restored(ctx, m, lost)
		switch {
		case err != nil && one.why() != "":
			return w.refused(m, one.unstartedRefusal()), nil
		case err != nil:
			return nil, err
		case no != nil && no.Code == engine.CodeSessionMismatch && lost == "":
			return was, nil
		case no != nil:
			return w.refused(m, no), nil
		case node == c.cfg.Node:
			x, err := w.here(ctx, &moved)
			if err != nil && one.why() != "" {
				return w.refused(m, one.unstartedRefusal()), nil
			}
			return x, err
		}
		x, err := forward(ctx, c, one, node, &moved, w)
		if x := refuseUnstarted(one, node, m, w, err); x != nil {
			return x, nil
		}
		switch {
		case errors.Is(err, errUnknown):
			return followKey(ctx, c, node, &moved, w)
		case !undelivered(err):
			return x, err
		}
		lost = node
	}
	return w.refused(m, nodeDown(lost)), nil
}

// askHome sends a request to the node that has its session and is thought to be down.
// Nil: it does not answer.
func askHome[T any](ctx context.Context, c *Router, one *inflightRequest, home string, m, moved *api.Execute, w requestKind[T]) (*T, error) {
	before := c.peers.boot(home)
	if !c.answers(ctx, home) {
		return nil, nil
	}
	if m.Task.WorkerID == "" && c.peers.boot(home) != before { // its browser may be starting
		m = moved
	}
	x, err := forward(ctx, c, one, home, m, w)
	if no := refuseUnstarted(one, home, m, w, err); no != nil {
		return no, nil
	}
	switch {
	case undelivered(err):
		return nil, nil
	case errors.Is(err, errUnknown):
		return followKey(ctx, c, home, m, w)
	}
	return x, err
}

// homeTimeout bounds the answer of a node that has a session and is thought to be down.
const homeTimeout = time.Second

// answers asks a node that is thought to be down, and reports whether it is there. That
// a node is down is a suspicion, and wrong where this one has stood still, or where that
// one was started again.
func (c *Router) answers(ctx context.Context, node string) bool {
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	boot, err := c.ping(ctx, node)
	if err != nil || boot == "" {
		return false
	}
	c.peers.answers(node, boot)
	return c.peers.isUp(node)
}

// mayHaveMoved reports whether a refusal may mean that a session has moved.
func mayHaveMoved(code engine.Code) bool {
	return code == engine.CodeSessionMismatch || code == engine.CodeForeignWorker
}

// restored names the node that has a session by its record. Should that node be
// down, the session is restored first: here, or where there is a free worker.
func (c *Router) restored(ctx context.Context, m *api.Execute, lost string) (string, *api.Refusal, error) {
	q := api.Restore{Session: sessionOf(m.Task), Account: m.Account, Worker: m.Task.WorkerID, Lost: lost, RemoteOnly: m.RemoteOnly || c.edge.Drains()}
	until := time.Now().Add(min(m.Task.QueueTimeout, engine.MaxQueueTimeout))
	for tries := 0; ; {
		x, err := c.restoreSomewhere(ctx, &q)
		if err != nil {
			return "", nil, err
		}
		switch no := x.Refusal; {
		case no != nil && (!worthRetrying(no.Code) || no.Code == engine.CodeWorkerOffline || !time.Now().Before(until)):
			return "", no, nil
		case no != nil: // it waits for a worker, as others do
			select {
			case <-time.After(retryRestore):
			case <-ctx.Done():
				return "", nil, context.Cause(ctx)
			}
			continue
		case x.Node == c.cfg.Node:
			return x.Node, nil, nil
		}
		if c.peers.isUp(x.Node) || c.answers(ctx, x.Node) {
			return x.Node, nil, nil
		}
		if q.Lost = x.Node; tries == maxSessionMoves {
			return "", nodeDown(x.Node), nil
		}
		tries++
	}
}

// restoreSomewhere asks this node, and where that has no worker, the others: those
// with most free ones first.
func (c *Router) restoreSomewhere(ctx context.Context, q *api.Restore) (*api.Restored, error) {
	x, err := api.Ask(ctx, c.local, q)
	if err != nil || x.Refusal == nil || !worthRetrying(x.Refusal.Code) || x.Refusal.Code == engine.CodeWorkerOffline {
		return x, err
	}
	free := map[string]int{}
	nodes := c.peers.upNodes(func(p *peer) bool {
		o := p.inventory.Capacity()
		free[p.name] = o.Free + o.Own[q.Account.ID]
		return free[p.name] > 0
	})
	slices.SortStableFunc(nodes, func(a, b string) int { return free[b] - free[a] })
	for _, node := range nodes {
		alive, up := c.peers.aliveContext(node)
		if !up {
			continue
		}
		bound, cancel := within(ctx, alive, restoreTimeout)
		y, err := link.AskFor[api.Restored](bound, c.transport, node, q)
		cancel(nil)
		if err == nil && y.Refusal == nil {
			return y, nil
		}
	}
	return x, nil
}
