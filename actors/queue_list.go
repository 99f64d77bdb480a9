package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

var (
	_ = handleInNode((*Node).listQueue)
	_ = handleInNode((*Node).sendAgain)
)

func (n *Node) listQueue(ctx context.Context, m *api.ListQueue) (*api.QueueListed, error) {
	if n.parts.queue == nil {
		return &api.QueueListed{Refusal: api.Refuse(engine.CodeQueueUnavailable, "")}, nil
	}
	queue, r := n.parts.records.Queue(), &api.QueueListed{}
	if m.List == api.ListWaiting {
		all, places, lost, next, err := queue.ListWaiting(ctx, m.Account.ID, m.After, m.Most)
		if err != nil {
			return nil, fmt.Errorf("list the queue: %w", err)
		}
		for i, q := range all {
			label, metadata := q.Said()
			r.Tasks = append(r.Tasks, api.QueuedTask{
				Label: label, Metadata: metadata,
				ID: q.ID, Status: api.TaskPending, Queued: q.Asked, Starts: places[i].At(), Priority: places[i].Priority, Attempts: q.Attempts,
			})
		}
		r.Next, r.Unreadable = next, lost
		return r, nil
	}
	var all []records.Ended
	var err error
	if m.List == api.ListDead {
		all, r.Unreadable, r.Next, err = queue.ListDead(ctx, m.Account.ID, m.After, m.Most)
	} else {
		all, r.Next, err = queue.List(ctx, m.Account.ID, m.After, m.Most)
	}
	if err != nil {
		return nil, fmt.Errorf("list the ended tasks of the queue: %w", err)
	}
	for _, e := range all {
		r.Tasks = append(r.Tasks, api.QueuedTask{ID: e.ID, Status: e.Status, Code: e.Code, Ended: e.Ended, Attempts: e.Attempts})
	}
	return r, nil
}

// sendAgain queues a failed task as a new one. It is in the list of failed ones until
// the new one is on the disk; two requests at once cannot both send it.
func (n *Node) sendAgain(ctx context.Context, m *api.SendAgain) (*api.Started, error) {
	refused := func(no *api.Refusal) (*api.Started, error) {
		return &api.Started{TaskID: m.TaskID, Refusal: no}, nil
	}
	if n.parts.queue == nil {
		return refused(api.Refuse(engine.CodeQueueUnavailable, ""))
	}
	if _, busy := n.parts.sending.LoadOrStore(m.TaskID, true); busy {
		return refused(api.Refuse(engine.CodeTaskNotFound, "it is being sent again"))
	}
	defer n.parts.sending.Delete(m.TaskID)
	d, key, err := n.parts.records.Queue().Dead(ctx, m.Account.ID, m.TaskID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return refused(api.Refuse(engine.CodeTaskNotFound, api.Quoted(m.TaskID)+" is none that can be sent again"))
	case err != nil:
		return nil, fmt.Errorf("send a task again: %w", err)
	case d.Queued.Uploads != "" || len(d.Queued.Blobs) > 0:
		return refused(api.Refuse(engine.CodeTaskNotFound, "its files were deleted at its end, so send the request again"))
	}
	task, err := d.Queued.Parse()
	if err != nil {
		return nil, err
	}
	if !engine.SitesWithin(task.Bound(), m.Sites) {
		return refused(api.OutsideOf("the task"))
	}
	opts := *task.Queue
	opts.StartAfter, opts.Key = engine.Moment{}, ""
	if !opts.ExpiresAfter.At.IsZero() { // that time is the first request's
		opts.ExpiresAfter = engine.Moment{}
	}
	task.Queue = &opts
	by := m.By
	by.Again = m.TaskID
	x, err := n.Start(ctx, &api.Execute{Account: m.Account, Task: task, Asked: time.Now(), Trace: d.Queued.Trace, By: by}, nil)
	if err != nil || x.Refusal != nil {
		return x, err
	}
	if err := n.parts.records.Queue().Delete(ctx, key, true); err != nil {
		n.parts.log.Error().Err(err).Str("task", m.TaskID).Msg("a task that was sent again stays in the list of failed ones")
	}
	return x, nil
}
