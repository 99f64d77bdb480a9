package cluster

import (
	"context"
	"errors"
	"fmt"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

// A task that is played for another node's client begins when that node says so.
// So it knows, should this one be lost, which of the tasks that it has sent there
// cannot have begun: they are played elsewhere, and here they never begin, whenever
// this node wakes up. Who goes on with a session, or starts what answers later, or
// has a key, does not ask: those leave something behind before they begin.

// errUnasked: whether a task may begin was not to be found out.
var errUnasked = errors.New("the task has not begun: its node did not say whether it may")

// asks reports whether a task is not to begin at another node before this one says
// so.
func asks(m *api.Execute) bool {
	s := m.Task.Session
	return m.Idempotency.Key == "" && !m.Task.Async && (s == nil || s.ID == "" && !s.Override)
}

// send notes that the request is sent to another node. It returns the turn that the
// node's StartQuery must name; zero means that the task starts without a query.
func (t *inflightRequest) send(c *Router, m *api.Execute) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn, t.begun = 0, true; asks(m) {
		t.turn, t.begun = c.inflight.turns.Add(1), false
	}
	return t.turn
}

// withdraw takes a task back that has not begun where it was sent: it will not any
// more. It reports whether that was so.
func (t *inflightRequest) withdraw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun {
		return false
	}
	t.turn = 0
	return true
}

// begins lets a task begin where it was sent, if it was not taken back.
func (t *inflightRequests) begins(m *link.StartQuery) bool {
	t.mu.Lock()
	one := t.now[m.TaskID]
	t.mu.Unlock()
	if one == nil {
		return false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if m.Turn == 0 || m.Turn != one.turn {
		return false
	}
	one.begun = true
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
	alive, up := g.remote.peers.aliveness(o.Origin)
	if !up {
		return errUnasked
	}
	ctx, cancel := within(ctx, alive, wordMost)
	defer cancel(nil)
	x, err := link.AskFor[link.StartReply](ctx, g.remote.transport, o.Origin, &link.StartQuery{TaskID: o.TaskID, Turn: o.Turn})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errUnasked, err)
	case !x.OK:
		return engine.ErrClientGone
	}
	return nil
}
