package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// Start starts an asynchronous task. It returns when a worker has the task and
// the task is on disk. When ctx ends before that, the task is cancelled, unless
// it carries a key.
//
// If the task has started, free is called once, when the task or the node has
// ended: it removes the task's files. After an error, a refusal, or the
// identifier of an earlier task with the same key, free is not called. It may be
// nil.
//
// A task with [engine.Task.Queue] waits on the disk instead, under another identifier
// that begins with that of the request: Start returns when it is there.
func (n *Node) Start(ctx context.Context, m *api.Execute, free func()) (*api.Started, error) {
	m = withID(m)
	if m.Task.Queue != nil {
		if n.parts.queue == nil {
			return &api.Started{TaskID: m.TaskID, Refusal: api.Refuse(engine.CodeQueueUnavailable, "")}, nil
		}
		if _, placed := backlog.PlaceOf(m.Account.ID, m.TaskID); m.Schedule == nil || !placed { // that of a schedule was named with its claim
			m = n.withQueueID(m)
		}
	}
	defer n.counted(m)
	var files uint64
	if free != nil {
		files = n.parts.fileCleanups.add(free)
	}
	x, err := n.start(ctx, m, files)
	if err != nil || x.Refusal != nil || x.TaskID != m.TaskID {
		n.parts.fileCleanups.take(files)
	}
	return x, err
}

func (n *Node) start(ctx context.Context, m *api.Execute, files uint64) (*api.Started, error) {
	lost := func(no *api.Refusal) *api.Started { return &api.Started{TaskID: m.TaskID, Refusal: no} }
	if no := n.parts.mayNotify(ctx, m); no != nil {
		return lost(no), nil
	}
	if m.Idempotency.Key != "" {
		return request(context.WithoutCancel(ctx), n, n.parts.keys, m, &keyed{Execute: m, Start: true, Files: files}, lost)
	}
	if m.Task.Queue != nil { // it is written soon, or not at all
		return request(context.WithoutCancel(ctx), n, n.parts.queue, m, &enqueue{m, files}, lost)
	}
	return request(ctx, n, n.parts.tasks, m, &startTask{Execute: m, Files: files}, lost)
}

var _ = handleInNode((*Node).poll)

// poll reads the status cache first, which needs no actor.
func (n *Node) poll(ctx context.Context, m *api.Poll) (*api.Polled, error) {
	p := n.parts.statusCache.Get(m)
	if p == nil {
		var err error
		if p, err = askNode[api.Polled](ctx, n, n.parts.tasks, m); err != nil {
			return nil, err
		}
	}
	if m.Bare {
		p = p.WithoutOutcome()
	}
	return p, nil
}

// withID gives a request that has none an identifier.
func withID(m *api.Execute) *api.Execute {
	if m.TaskID != "" {
		return m
	}
	x := *m
	x.TaskID = NewTaskID(time.Now())
	return &x
}

// request sends a request and waits for its one answer. When ctx ends first, the
// task is cancelled wherever it is, and the answer, which comes soon, says so. A
// request that comes when the node is about to end is refused.
func request[T any](ctx context.Context, n *Node, to *actor.PID, x *api.Execute, m any, lost func(*api.Refusal) *T) (*T, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	q := put(n.parts.system, to, m)
	defer q.forget()
	gone := ctx.Done()
	for {
		select {
		case got := <-q.asker.answer:
			if a, err := take[T](got); err == nil {
				return a, nil
			}
			return lost(api.Refuse("draining", "")), nil
		case <-gone:
			gone = nil // and now the answer to the cancellation
			n.parts.system.Root.Send(n.parts.admission, &api.Cancel{TaskID: x.TaskID, Account: x.Account, Cause: causeOf(ctx, x)})
		case <-n.ended:
			select {
			case got := <-q.asker.answer:
				if a, err := take[T](got); err == nil {
					return a, nil
				}
			default:
			}
			return lost(api.Refuse("draining", "")), nil
		}
	}
}

// causeOf is why a request ends whose ctx has. What is in the queue stays there when the
// service stops.
func causeOf(ctx context.Context, x *api.Execute) api.Cause {
	if x.Task.Queue == nil && errors.Is(context.Cause(ctx), engine.ErrDraining) {
		return api.CauseDrain
	}
	return api.CauseClient
}

// PollLost returns how a task has ended whose node is down: its end on disk, or
// that it is lost. A lost task has failed for good, whatever its node does when
// it is back.
func (n *Node) PollLost(ctx context.Context, m *api.Poll) (*api.Polled, error) {
	if m.Bare {
		ctx = records.WithoutOutcomes(ctx)
	}
	p, err := n.parts.records.GiveUpTask(ctx, m.TaskID, m.Account.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return &api.Polled{Refusal: api.Refuse(engine.CodeTaskNotFound, api.Quoted(m.TaskID))}, nil
	case err != nil:
		return nil, fmt.Errorf("give up a task: %w", err)
	}
	return p, nil
}

// GiveUpKey finds out what a node that is down has begun of a request with a key, and
// records that this is lost unless it has ended. Nil: nothing was begun.
func (n *Node) GiveUpKey(ctx context.Context, m *api.Execute, node string) (*api.KeyAnswer, error) {
	bound, cancel := context.WithTimeout(ctx, api.WriteTimeout)
	defer cancel()
	k, lost, err := n.parts.records.GiveUpKey(bound, m.Account.ID, m.Idempotency.Key, node)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("give up a request with a key: %w", n.parts.explainLate(bound, err))
	}
	return &api.KeyAnswer{TaskID: k.TaskID, Digest: k.Digest, Executed: k.Executed, Started: k.Started, Lost: lost}, nil
}
