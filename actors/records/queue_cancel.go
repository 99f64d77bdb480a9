package records

import (
	"context"
	"errors"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// Cancel writes down that a task is to end which a node has, and returns its record as it is
// then. Whoever decides next about the task obeys that: its end is that it was cancelled,
// whatever it came to, and it begins no more. A task that has ended, or waits again, is
// returned as it is.
func (u Queue) Cancel(ctx context.Context, account, id string, cause api.Cause) (Task, error) {
	for {
		t, revision, err := u.r.taskAt(ctx, id)
		if err == nil && t.Account != account {
			err = persistence.ErrNotFound
		}
		if err != nil || !t.runsQueued() || t.Queue.Cancel != "" {
			return t, err
		}
		q := *t.Queue
		q.Cancel = cause
		t.Queue = &q
		if _, err = u.r.putTask(ctx, t, &revision, true); !errors.Is(err, persistence.ErrConflict) {
			return t, err
		}
	}
}

// runsQueued reports whether a node has a task of the queue, by its record.
func (t *Task) runsQueued() bool {
	return t.Status == api.TaskPending && t.Queue != nil && !t.Queue.Waiting
}

// Ends reports whether a node has a task that is to end.
func (t *Task) Ends() bool { return t.runsQueued() && t.Queue.Cancel != "" }

// Cancelled reports whether a task was cancelled while a node had it, or has ended so.
func (t *Task) Cancelled() bool {
	return t.Queue != nil && (t.Queue.Cancel != "" || t.Queue.Code == engine.CodeCancelled)
}
