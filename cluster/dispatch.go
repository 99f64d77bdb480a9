package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

const (
	// forwardMargin is how much longer than its own times a task may take at another
	// node, with its files on their way, before nobody believes in its answer.
	forwardMargin = 30 * time.Second
	// cancelTimeout is how long the answer to a cancellation may take.
	cancelTimeout = 10 * time.Second
)

// requestKind is what differs between requests that wait for a task and those that
// start one.
type requestKind[T any] struct {
	here    func(ctx context.Context, m *api.Execute) (*T, error)
	refused func(m *api.Execute, no *api.Refusal) *T
	refusal func(*T) *api.Refusal
	lost    func(m *api.Execute, node string) *T
	freed   func(*T) bool // the worker that has answered is free again
	kept    func(*api.KeyAnswer) *T
	carried *link.Carried // the client that plays the task; nil: none does
}

// Execute plays a task where there is a worker for it: see [actors.Node.Execute].
func (c *Router) Execute(ctx context.Context, m *api.Execute) (*api.Executed, error) {
	play := func() (*api.Executed, error) { return dispatch(ctx, c, m, c.executes()) }
	if m.Idempotency.Key == "" {
		return play()
	}
	return c.joined.answered(ctx, m, play)
}

func (c *Router) executes() requestKind[api.Executed] {
	return requestKind[api.Executed]{
		here: c.local.Execute,
		refused: func(m *api.Execute, no *api.Refusal) *api.Executed {
			return &api.Executed{TaskID: m.TaskID, Refusal: no}
		},
		refusal: func(x *api.Executed) *api.Refusal { return x.Refusal },
		freed:   func(x *api.Executed) bool { return x.SessionID == "" && x.Outcome.End != engine.EndLost },
		lost: func(m *api.Execute, _ string) *api.Executed {
			return &api.Executed{TaskID: m.TaskID, WorkerID: m.Task.WorkerID, Outcome: &engine.Outcome{End: engine.EndLost}}
		},
		kept: func(a *api.KeyAnswer) *api.Executed { return a.Executed },
	}
}

// Start starts an asynchronous task where there is a worker for it: see
// [actors.Node.Start]. A node that starts it has fetched its files by then.
func (c *Router) Start(ctx context.Context, m *api.Execute, free func()) (*api.Started, error) {
	return c.lend(m, free, func(here startHere) (*api.Started, error) { return dispatch(ctx, c, m, c.starts(here)) })
}

// startHere starts a task on this node.
type startHere = func(context.Context, *api.Execute) (*api.Started, error)

// lend starts a task whose files are handedOver to it where it starts on this node. Where it
// starts elsewhere they are freed.
func (c *Router) lend(m *api.Execute, free func(), start func(here startHere) (*api.Started, error)) (*api.Started, error) {
	handedOver := false
	x, err := start(func(ctx context.Context, m *api.Execute) (*api.Started, error) {
		x, err := c.local.Start(ctx, m, free)
		handedOver = err == nil && x.Refusal == nil
		return x, err
	})
	mine := err == nil && x.Refusal == nil && (x.TaskID == m.TaskID || m.Task.Queue != nil && strings.HasPrefix(x.TaskID, m.TaskID))
	if free != nil && mine && !handedOver {
		free()
	}
	return x, err
}

func (c *Router) starts(here startHere) requestKind[api.Started] {
	return requestKind[api.Started]{
		here: here,
		refused: func(m *api.Execute, no *api.Refusal) *api.Started {
			return &api.Started{TaskID: m.TaskID, Refusal: no}
		},
		refusal: func(x *api.Started) *api.Refusal { return x.Refusal },
		freed:   func(*api.Started) bool { return false },
		lost: func(m *api.Execute, node string) *api.Started {
			if m.Task.Queue != nil {
				no := unreachable(node)
				no.Text = "The node " + node + " was lost while it queued the task: it may be in the queue"
				return &api.Started{TaskID: m.TaskID, Refusal: no}
			}
			return &api.Started{TaskID: m.TaskID, Refusal: &api.Refusal{
				Code: engine.CodeWorkerLost, Text: "The node " + node + " was lost while it started the task: it may have been started"}}
		},
		kept: func(a *api.KeyAnswer) *api.Started { return a.Started },
	}
}

// dispatch sends a request to a node that can run it. A request that names a worker
// or a session goes to the node that has it and waits there. Any other request is
// offered to this node first, and waits here while other nodes are asked.
func dispatch[T any](ctx context.Context, c *Router, m *api.Execute, w requestKind[T]) (*T, error) {
	if no := c.Outside(); no != "" {
		return w.refused(m, api.Refuse(engine.CodeDraining, no)), nil
	}
	if m.TaskID == "" {
		copied := *m
		copied.TaskID = actors.NewTaskID(time.Now())
		m = &copied
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	one := &inflightRequest{account: m.Account.ID, cancel: cancel}
	c.inflight.begin(m.TaskID, one)
	defer c.inflight.end(m.TaskID, one)

	if m.Task.Queue != nil {
		return askQueueNode(ctx, c, one, m, w)
	}
	if hasKeyOwner(m) {
		return askKeyOwner(ctx, c, one, m, w)
	}
	if node := c.destination(m); node != "" {
		return forwardTo(ctx, c, one, node, m, w)
	}
	try := *m
	try.Forwardable = m.Task.WorkerID == "" && sessionOf(m.Task) == ""
	for {
		x, err := w.here(ctx, &try)
		switch {
		case err != nil && one.why() != "":
			return w.refused(m, one.unstartedRefusal()), nil
		case err != nil:
			return x, err
		}
		no := w.refusal(x)
		switch {
		case no == nil:
			return x, nil
		case no.Code == engine.CodeCancelled && one.why() == api.CauseDrain: // it still waited
			return w.refused(m, one.unstartedRefusal()), nil
		case no.Code == engine.CodeSessionMismatch && m.Task.WorkerID == "" && sessionOf(m.Task) != "":
			if node := c.locate(ctx, m); node != "" {
				return forwardTo(ctx, c, one, node, m, w)
			}
			return followSession(ctx, c, one, "", m, w, x)
		case no.ForwardTo == nil:
			return followSession(ctx, c, one, "", m, w, x)
		}
		if m.Idempotency.Key != "" {
			if y := tellOfKey(ctx, c, one, no.ForwardTo.Node, m, w); y != nil {
				return y, nil
			}
			continue
		}
		sent := *m
		sent.Forwarded = true
		y, err := forward(ctx, c, one, no.ForwardTo.Node, &sent, w)
		switch {
		case err == nil && w.refusal(y) == nil:
			if w.freed(y) {
				c.local.PeerFreed(no.ForwardTo.Node)
			}
			return y, nil
		case err == nil && !worthRetrying(w.refusal(y).Code), err != nil && !unstarted(err):
			return y, err
		}
		if one.why() != "" {
			return w.refused(m, one.unstartedRefusal()), nil
		}
		try.Place = no.ForwardTo.Place
		try.Place.Refused = no.ForwardTo.Node
	}
}

// forwardTo sends a request to the node that has its worker or session.
func forwardTo[T any](ctx context.Context, c *Router, one *inflightRequest, node string, m *api.Execute, w requestKind[T]) (*T, error) {
	x, err := forward(ctx, c, one, node, m, w)
	for until := time.Now().Add(leavingPatience); err == nil && leaves(m, w.refusal(x)) && time.Now().Before(until); {
		if !pause(ctx, retryRestore) {
			return x, nil
		}
		x, err = forward(ctx, c, one, node, m, w)
	}
	if x := refuseUnstarted(one, node, m, w, err); x != nil {
		return x, nil
	}
	switch {
	case errors.Is(err, errUnknown):
		return followKey(ctx, c, node, m, w)
	case undelivered(err):
		return followSession(ctx, c, one, node, m, w, w.refused(m, nodeDown(node)))
	case err == nil:
		return followSession(ctx, c, one, "", m, w, x)
	}
	return nil, err
}

// refuseUnstarted answers a request that has not begun where it was sent, and is for no other
// node: it was ended meanwhile, or the node is there and has turned it away. Nil:
// neither.
func refuseUnstarted[T any](one *inflightRequest, node string, m *api.Execute, w requestKind[T], err error) *T {
	switch {
	case !unstarted(err):
		return nil
	case one.why() != "":
		return w.refused(m, one.unstartedRefusal())
	case undelivered(err):
		return nil
	}
	return w.refused(m, nodeRefuses(node))
}

// worthRetrying reports whether a refused request may be accepted by another node: the
// inventory of the one that refused it was out of date.
func worthRetrying(code engine.Code) bool {
	switch code {
	case engine.CodeNoWorkerAvailable, engine.CodeSessionLimit, engine.CodeTooManyWaiting, engine.CodeDraining,
		engine.CodeWorkerBusy, engine.CodeWorkerReserved, engine.CodeWorkerOffline:
		return true
	default:
		return false
	}
}

// nodeDown refuses a request for a worker or a session of a node that is down:
// nothing of it has begun.
func nodeDown(node string) *api.Refusal {
	return &api.Refusal{
		Code: engine.CodeWorkerOffline, RetryAfter: 2 * time.Second,
		Text: fmt.Sprintf("Worker offline: its node %s does not answer", node),
	}
}

// nodeRefuses refuses a request for a worker or a session of a node that is up and
// has not taken it: nothing of it has begun.
func nodeRefuses(node string) *api.Refusal {
	return &api.Refusal{
		Code: engine.CodeWorkerOffline, RetryAfter: 2 * time.Second,
		Text: fmt.Sprintf("Worker offline: its node %s cannot take the task now", node),
	}
}

// pack makes of a request what another node can play. Its files stay here, to be
// fetched until release.
func (c *Router) pack(m *api.Execute) (o *link.ForwardedExecute, release func()) {
	o = &link.ForwardedExecute{Execute: *m, Origin: c.cfg.Node, Boot: c.boot, Sent: time.Now(), Source: m.Task.Source(), Flows: m.Task.Flows(), Sites: m.Task.Bound()}
	for _, f := range m.Task.Files {
		o.Files = append(o.Files, link.File{Name: f.Name, Type: f.Type, Payload: c.transport.OfferFile(f.Path, f.Size)})
	}
	return o, func() {
		for _, f := range o.Files {
			c.transport.Withdraw(f.Payload)
		}
	}
}
