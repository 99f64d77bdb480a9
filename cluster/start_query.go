package cluster

import (
	"context"
	"errors"
	"fmt"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

// A task for another node's client starts when that node allows it. If this node is
// lost, the other node so knows which of its tasks cannot have started here. It runs
// those elsewhere, and they never start here, whenever this node wakes up. Requests that
// continue a session, start an asynchronous task or have a key do not ask: they leave a
// record before they start.

// errStartUnknown: the node did not learn whether a task may start.
var errStartUnknown = errors.New("start the task: its node did not answer whether it may start")

// needsStartQuery reports whether another node must ask this one before it starts a task.
func needsStartQuery(m *api.Execute) bool {
	s := m.Task.Session
	return m.Idempotency.Key == "" && !m.Task.Async && (s == nil || s.ID == "" && !s.Override)
}

// markSent notes that the request is sent to another node. It returns the turn that the
// node's StartQuery must name; zero means that the task starts without a query.
func (t *inflightRequest) markSent(c *Router, m *api.Execute) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.startID, t.started = 0, true; needsStartQuery(m) {
		t.startID, t.started = c.inflight.startIDs.Add(1), false
	}
	return t.startID
}

// withdraw takes back a task that has not started where it was sent, so that it never
// will. It reports whether that worked.
func (t *inflightRequest) withdraw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started {
		return false
	}
	t.startID = 0
	return true
}

// confirmStart lets a task begin where it was sent, if it was not taken back.
func (t *inflightRequests) confirmStart(m *link.StartQuery) bool {
	t.mu.Lock()
	one := t.now[m.TaskID]
	t.mu.Unlock()
	if one == nil {
		return false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if m.StartID == 0 || m.StartID != one.startID {
		return false
	}
	one.started = true
	return true
}

// mayStart asks the origin of a hosted task whether it may start. If it may not, the
// task ends as if its client had disconnected.
func (g *hostedTasks) mayStart(one *hostedTask, o *link.ForwardedExecute) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		err := g.askStart(ctx, one, o)
		if err == nil {
			return nil
		}
		one.withdrawn.Store(true)
		if _, wrong := api.Ask(ctx, g.local, &api.Cancel{TaskID: o.TaskID, Account: o.Account, Cause: api.CauseClient}); wrong == nil {
			select {
			case <-ctx.Done():
			case <-one.ctx.Done():
			}
		}
		return err
	}
}

func (g *hostedTasks) askStart(ctx context.Context, one *hostedTask, o *link.ForwardedExecute) error {
	alive, up := g.remote.peers.aliveContext(o.Origin)
	if !up {
		return errStartUnknown
	}
	ctx, cancel := within(ctx, alive, replyTimeout)
	defer cancel(nil)
	x, err := link.AskFor[link.StartReply](ctx, g.remote.transport, o.Origin, &link.StartQuery{TaskID: o.TaskID, StartID: o.StartID})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errStartUnknown, err)
	case !x.OK:
		return engine.ErrClientGone
	}
	return nil
}
