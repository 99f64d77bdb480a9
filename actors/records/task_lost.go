package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/persistence"
)

// lostTask is the outcome of a task whose node is lost.
func lostTask() *engine.Outcome { return &engine.Outcome{End: engine.EndLost} }

// GiveUpTask records that a task is lost, unless its end is on disk.
func (r *Store) GiveUpTask(ctx context.Context, id, account string) (*api.Polled, error) {
	return r.failTask(ctx, id, account, lostTask())
}

// InterruptTask records that a task has ended with its node's process, unless its end is
// on disk.
func (r *Store) InterruptTask(ctx context.Context, id, account string) (*api.Polled, error) {
	return r.failTask(ctx, id, account, Interrupted())
}

func (r *Store) failTask(ctx context.Context, id, account string, out *engine.Outcome) (*api.Polled, error) {
	for {
		t, revision, err := r.taskAt(ctx, id)
		if err != nil {
			return nil, err
		}
		if t.Account != account {
			return nil, persistence.ErrNotFound
		}
		if t.Status != api.TaskPending {
			return r.ended(ctx, t)
		}
		if t.Queue != nil { // the node that orders the queue decides: it may begin again
			return &api.Polled{Status: api.TaskPending, Executed: t.Executed(nil)}, nil
		}
		t.Status, t.Ended, t.Lost = api.TaskFailed, time.Now(), out.End == engine.EndLost
		// The record first: should its node be back and end the task meanwhile,
		// its outcome must not be replaced.
		_, err = r.PutTask(ctx, t, &revision)
		if errors.Is(err, persistence.ErrConflict) {
			continue // it has ended meanwhile
		}
		if err == nil {
			err = putJSON(ctx, r.Plain, OutcomePrefix+id, t.Account, t.Expires(), out)
		}
		if err == nil {
			r.keepRun(ctx, t, nil, out)
			err = r.tell(ctx, t, nil, out, outcome.Code(out), false)
		}
		if err != nil {
			return nil, err
		}
		return &api.Polled{Status: t.Status, Executed: t.Executed(out)}, nil
	}
}

// taskAt reads a task's record with its revision.
func (r *Store) taskAt(ctx context.Context, id string) (t Task, revision uint64, err error) {
	if len(id) > maxTaskID {
		return t, 0, persistence.ErrNotFound
	}
	rec, err := r.Store.Get(ctx, TaskPrefix+id)
	if err != nil {
		return t, 0, err
	}
	if err := json.Unmarshal(rec.Value, &t); err != nil {
		return t, 0, fmt.Errorf("read task %s: %w", id, err)
	}
	return t, rec.Revision, nil
}

// bare is in the contexts of [WithoutOutcomes].
type bare struct{}

// WithoutOutcomes is ctx for reading how far tasks are: outcomes stay on the disk.
func WithoutOutcomes(ctx context.Context) context.Context {
	return context.WithValue(ctx, bare{}, true)
}

func withoutOutcomes(ctx context.Context) bool { return ctx.Value(bare{}) != nil }

// ended reads how a task has ended.
func (r *Store) ended(ctx context.Context, t Task) (*api.Polled, error) {
	if t.Lost {
		return &api.Polled{Status: t.Status, Executed: t.Executed(lostTask())}, nil
	}
	if withoutOutcomes(ctx) {
		return &api.Polled{Status: t.Status, Executed: t.Executed(nil)}, nil
	}
	out := new(engine.Outcome)
	err := ReadJSON(ctx, r.Plain, OutcomePrefix+t.ID, out)
	if t.Status == api.TaskFailed && (errors.Is(err, persistence.ErrNotFound) || err == nil && out.End == engine.EndCompleted) {
		out, err = lostTask(), nil // the outcome was not written yet, or the node wrote one at the same time
	}
	if err != nil {
		return nil, fmt.Errorf("read the outcome of %s: %w", t.ID, err)
	}
	return &api.Polled{Status: t.Status, Executed: t.Executed(out)}, nil
}

// FinishTask writes how a task ended, unless its record has an end already: then
// it returns that one. Of several nodes, ended is called when the end is stored, but not its
// notices.
func (r *Store) FinishTask(ctx context.Context, t Task, stored uint64, out *engine.Outcome, code engine.Code, ended func()) (found *api.Polled, err error) {
	if r.Node == "" { // there are no other nodes
		return nil, r.EndTask(ctx, t, nil, out, code)
	}
	now, revision, err := r.taskAt(ctx, t.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, r.endTask(ctx, t, nil, out, code, ended)
	case err != nil:
		return nil, err
	case revision != stored && now.Status != api.TaskPending: // perhaps by an earlier try of this one
		if err := r.tellAgain(ctx, now, false); err != nil {
			return nil, err
		}
		return r.ended(ctx, now)
	}
	err = r.endTask(ctx, t, &stored, out, code, ended)
	if errors.Is(err, persistence.ErrConflict) {
		if now, _, err = r.taskAt(ctx, t.ID); err == nil && now.Status != api.TaskPending {
			if found, err = r.ended(ctx, now); err == nil && found.Executed.Outcome != nil {
				r.keepRun(ctx, now, nil, found.Executed.Outcome) // over that of the end that was not written
			}
			return found, err
		}
	}
	return nil, err
}
