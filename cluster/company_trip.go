package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors"
	"troupe/engine"
)

const (
	// margin is how much longer than its own times a task may take at another
	// node, with its files on their way, before nobody believes in its answer.
	margin = 30 * time.Second
	// farewell is how long the answer to a cancellation may take.
	farewell = 10 * time.Second
	// givenUpMost bounds what is kept for a node that is down.
	givenUpMost = 1000
)

// trip is a request of one of this node's clients, wherever it is.
type trip struct {
	account string
	cancel  context.CancelCauseFunc

	mu    sync.Mutex
	cause actors.Cause // it was cancelled by somebody else than its client
	turn  uint64       // of what was sent to another node; zero: it was taken back
	begun bool         // where it was sent, or nobody can say that it has not
}

// trips are those that go on.
type trips struct {
	mu     sync.Mutex
	now    map[string]*trip // by task
	gaveUp map[string][]any // by node

	turns atomic.Uint64
}

func (t *trips) begin(id string, one *trip) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[string]*trip{}
	}
	t.now[id] = one
}

func (t *trips) end(id string, one *trip) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now[id] == one {
		delete(t.now, id)
	}
}

// cancelled ends a trip of an account. It reports whether there is one.
func (t *trips) cancelled(m *actors.Cancel) bool {
	t.mu.Lock()
	one := t.now[m.TaskID]
	t.mu.Unlock()
	if one == nil || one.account != m.Account.ID {
		return false
	}
	one.stop(m.Cause)
	return true
}

// interrupt ends a trip because the node stops.
func (t *trips) interrupt(id string) {
	t.mu.Lock()
	one := t.now[id]
	t.mu.Unlock()
	if one != nil {
		one.stop(actors.CauseDrain)
	}
}

func (t *trip) stop(cause actors.Cause) {
	t.mu.Lock()
	t.cause = cause
	t.mu.Unlock()
	t.cancel(cause.Err())
}

// ids are the tasks that are on their way.
func (t *trips) ids() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.now {
		all = append(all, id)
	}
	return all
}

// Finish waits until no client of this node waits for another one, and interrupts
// what still runs elsewhere when the grace or ctx is over.
func (c *Company) Finish(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if c.trips.quiet(ctx) {
		return
	}
	for _, id := range c.trips.ids() {
		c.trips.interrupt(id)
	}
	last, enough := context.WithTimeout(context.Background(), farewell)
	defer enough()
	c.trips.quiet(last)
}

// quiet reports whether no trip is left before ctx ends.
func (t *trips) quiet(ctx context.Context) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(t.ids()) > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// giveUp remembers what a node that went down is to be told should it be back: that
// nobody waits for a task, or that an account was removed.
func (t *trips) giveUp(node string, m any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gaveUp == nil {
		t.gaveUp = map[string][]any{}
	}
	known := slices.ContainsFunc(t.gaveUp[node], func(x any) bool { return sameWord(x, m) })
	if !known && len(t.gaveUp[node]) < givenUpMost {
		t.gaveUp[node] = append(t.gaveUp[node], m)
	}
}

// sameWord reports whether two messages are about the same task, or the same account.
func sameWord(a, b any) bool {
	switch a := a.(type) {
	case *actors.Cancel:
		b, ok := b.(*actors.Cancel)
		return ok && a.TaskID == b.TaskID
	case *actors.RemoveAccount:
		b, ok := b.(*actors.RemoveAccount)
		return ok && a.Account == b.Account
	}
	return false
}

func (t *trips) givenUp(node string) []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.gaveUp[node]
	delete(t.gaveUp, node)
	return all
}

// way is what differs between the requests that play a task at once and those
// that start one.
type way[T any] struct {
	here    func(ctx context.Context, m *actors.Execute) (*T, error)
	refused func(m *actors.Execute, no *actors.Refusal) *T
	refusal func(*T) *actors.Refusal
	lost    func(m *actors.Execute, node string) *T
	freed   func(*T) bool // the worker that has answered is free again
}

// Execute plays a task where there is a worker for it: see [actors.Node.Execute].
func (c *Company) Execute(ctx context.Context, m *actors.Execute) (*actors.Executed, error) {
	return travel(ctx, c, m, way[actors.Executed]{
		here: c.local.Execute,
		refused: func(m *actors.Execute, no *actors.Refusal) *actors.Executed {
			return &actors.Executed{TaskID: m.TaskID, Refusal: no}
		},
		refusal: func(x *actors.Executed) *actors.Refusal { return x.Refusal },
		freed:   func(x *actors.Executed) bool { return x.SessionID == "" && x.Outcome.End != engine.EndLost },
		lost: func(m *actors.Execute, _ string) *actors.Executed {
			return &actors.Executed{TaskID: m.TaskID, WorkerID: m.Task.WorkerID, Outcome: &engine.Outcome{End: engine.EndLost}}
		},
	})
}

// Start starts an asynchronous task where there is a worker for it: see
// [actors.Node.Start].
func (c *Company) Start(ctx context.Context, m *actors.Execute) (*actors.Started, error) {
	return travel(ctx, c, m, way[actors.Started]{
		here: c.local.Start,
		refused: func(m *actors.Execute, no *actors.Refusal) *actors.Started {
			return &actors.Started{TaskID: m.TaskID, Refusal: no}
		},
		refusal: func(x *actors.Started) *actors.Refusal { return x.Refusal },
		freed:   func(*actors.Started) bool { return false },
		lost: func(m *actors.Execute, node string) *actors.Started {
			return &actors.Started{TaskID: m.TaskID, Refusal: &actors.Refusal{
				Code: engine.CodeWorkerLost, Text: "The node " + node + " was lost while it started the task: it may have been started"}}
		},
	})
}

// travel brings a request to where it can be played. A request that names a
// worker or a session goes to the node that has it and waits there; any other is
// for this node first, and waits here while others are tried.
func travel[T any](ctx context.Context, c *Company, m *actors.Execute, w way[T]) (*T, error) {
	if m.TaskID == "" {
		copied := *m
		copied.TaskID = actors.NewTaskID(time.Now())
		m = &copied
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	one := &trip{account: m.Account.ID, cancel: cancel}
	c.trips.begin(m.TaskID, one)
	defer c.trips.end(m.TaskID, one)

	if node := c.destination(m); node != "" {
		x, err := carry(ctx, c, one, node, m, w)
		switch {
		case undelivered(err) && one.why() != "":
			return w.refused(m, one.notBegun()), nil
		case undelivered(err):
			return rejoin(ctx, c, one, node, m, w, w.refused(m, nobodyAt(node)))
		case err == nil:
			return rejoin(ctx, c, one, "", m, w, x)
		}
		return x, err
	}
	if m.Away && m.Idempotency.Key != "" { // what it is answered with would be kept here
		return w.refused(m, isDraining), nil
	}
	try := *m
	try.Roams = m.Idempotency.Key == "" && m.Task.WorkerID == "" && sessionOf(m.Task) == ""
	for {
		x, err := w.here(ctx, &try)
		switch {
		case err != nil && one.why() != "":
			return w.refused(m, one.notBegun()), nil
		case err != nil:
			return x, err
		}
		no := w.refusal(x)
		switch {
		case no == nil:
			return x, nil
		case no.Code == engine.CodeCancelled && one.why() == actors.CauseDrain: // it still waited
			return w.refused(m, one.notBegun()), nil
		case no.Code == engine.CodeSessionMismatch && m.Task.WorkerID == "" && sessionOf(m.Task) != "":
			if node := c.locate(ctx, m); node != "" {
				return carry(ctx, c, one, node, m, w)
			}
			return rejoin(ctx, c, one, "", m, w, x)
		case no.Elsewhere == nil:
			return rejoin(ctx, c, one, "", m, w, x)
		}
		guest := *m
		if m.Idempotency.Key != "" { // it was begun there, before its key came to belong here
			x, err := carry(ctx, c, one, no.Elsewhere.Node, m, w)
			if undelivered(err) {
				c.tally.lost.Add(1)
				return w.lost(m, no.Elsewhere.Node), nil
			}
			return x, err
		}
		guest.Guest = true
		y, err := carry(ctx, c, one, no.Elsewhere.Node, &guest, w)
		switch {
		case err == nil && w.refusal(y) == nil:
			if w.freed(y) {
				c.local.Freed(no.Elsewhere.Node)
			}
			return y, nil
		case err == nil && !goesOn(w.refusal(y).Code), err != nil && !undelivered(err):
			return y, err
		}
		if one.why() != "" {
			return w.refused(m, one.notBegun()), nil
		}
		try.Place = no.Elsewhere.Place
		try.Place.Refused = no.Elsewhere.Node
	}
}

func (t *trip) why() actors.Cause {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cause
}

// notBegun is the answer to a task that was ended between two nodes, or while it
// waited.
func (t *trip) notBegun() *actors.Refusal {
	if t.why() == actors.CauseDrain {
		return isDraining
	}
	return &actors.Refusal{Code: engine.CodeCancelled, Text: "The task was cancelled before it began"}
}

// goesOn reports whether a guest that was refused so may have more luck
// elsewhere: what was said of the node was out of date.
func goesOn(code engine.Code) bool {
	switch code {
	case engine.CodeNoWorkerAvailable, engine.CodeSessionLimit, engine.CodeTooManyWaiting, engine.CodeDraining,
		engine.CodeWorkerBusy, engine.CodeWorkerReserved, engine.CodeWorkerOffline:
		return true
	default:
		return false
	}
}

// nobodyAt refuses a request for a worker or a session of a node that is down:
// nothing of it has begun.
func nobodyAt(node string) *actors.Refusal {
	return &actors.Refusal{
		Code: engine.CodeWorkerOffline, RetryAfter: 2 * time.Second,
		Text: fmt.Sprintf("Worker offline: its node %s does not answer", node),
	}
}

// carry takes a request to a node and waits for its answer. The error is
// errUndelivered when certainly nothing of it has begun, nor will; whatever else happens to
// the node, the request is answered as lost, and is never sent again.
func carry[T any](ctx context.Context, c *Company, one *trip, node string, m *actors.Execute, w way[T]) (*T, error) {
	alive, up := c.peers.aliveness(node)
	switch {
	case alive != nil && errors.Is(context.Cause(alive), errLeaving):
		return nil, errLeaving
	case !up:
		return nil, fmt.Errorf("carry a task to %s: %w", node, errUndelivered)
	}
	o, release := c.pack(m)
	defer release()
	o.Turn = one.send(c, m)
	most := m.Task.Timeout + min(m.Task.QueueTimeout, engine.MaxQueueTimeout) + margin
	asking, cancel := within(context.WithoutCancel(ctx), alive, most)
	defer cancel(nil)
	if m.Idempotency.Key == "" {
		// Its answer comes soon then, and says what became of the task.
		defer context.AfterFunc(ctx, func() {
			cause := one.why()
			if cause == "" {
				cause = actors.CauseClient
			}
			c.wires.tell(node, &actors.Cancel{TaskID: m.TaskID, Account: m.Account, Cause: cause})
			time.AfterFunc(farewell, func() { cancel(context.Cause(ctx)) })
		})()
	}
	c.homes.put(m.TaskID, node)
	x, err := askFor[T](asking, c.wires, node, o)
	if !undelivered(err) {
		c.tally.forwarded.Add(1)
	}
	switch {
	case err == nil || undelivered(err):
		return x, err
	case ctx.Err() != nil && !lost(err) && one.why() != "" && one.withdraw():
		return nil, fmt.Errorf("carry a task to %s: it was cancelled before it began: %w", node, errUndelivered)
	case ctx.Err() != nil && !lost(err):
		return nil, context.Cause(ctx)
	}
	gone := &actors.Cancel{TaskID: m.TaskID, Account: m.Account, Cause: actors.CauseClient}
	if m.Idempotency.Key == "" {
		c.trips.giveUp(node, gone)
		c.wires.tell(node, gone)
	}
	if lost(err) && one.withdraw() {
		return nil, fmt.Errorf("carry a task to %s: it had not begun there: %w", node, errUndelivered)
	}
	c.tally.lost.Add(1)
	c.cfg.Log.Error().Err(err).Str("task", m.TaskID).Str("node", node).Msg("task lost with another node")
	return w.lost(m, node), nil
}

// pack makes of a request what another node can play. Its files stay here, to be
// fetched until release.
func (c *Company) pack(m *actors.Execute) (o *order, release func()) {
	o = &order{Execute: *m, Origin: c.cfg.Node, Boot: c.boot, Sent: time.Now(), Source: m.Task.Source()}
	for _, f := range m.Task.Files {
		o.Files = append(o.Files, file{f.Name, f.Type, c.wires.out.put(fileAt(f.Path), f.Size, 0)})
	}
	return o, func() {
		for _, f := range o.Files {
			c.wires.out.remove(f.Parcel.ID)
		}
	}
}
