package records

import (
	"context"
	"errors"
	"fmt"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/persistence"
)

// The notices of several nodes. Two nodes may try to write the end of a task, and the store
// takes one: so notices are written after the record that says that the task has ended.
// Whoever finds that record without its notices makes up for them.

// tell writes the notices of a task that has ended by its record. Those that are there
// already stay as they are.
func (r *Store) tell(ctx context.Context, t Task, q *Queued, out *engine.Outcome, code engine.Code, late bool) error {
	list, err := r.noticesOf(ctx, t, q, out, code, late)
	if err == nil {
		list, err = r.Notices().putNew(ctx, list)
	}
	if err != nil {
		return fmt.Errorf("write the notices of %s: %w", t.ID, err)
	}
	r.Tell(list)
	return nil
}

// tellAgain makes up for the notices of a task without a queue that has ended.
func (r *Store) tellAgain(ctx context.Context, t Task, late bool) error {
	p, err := r.ended(ctx, t)
	if errors.Is(err, persistence.ErrNotFound) { // its time is over
		return nil
	}
	if err != nil {
		return err
	}
	return r.tell(ctx, t, nil, p.Executed.Outcome, outcome.Code(p.Executed.Outcome), late)
}

// TellOfNode makes up for the notices of asynchronous tasks that have ended at a node. With
// lost, tasks that it still runs by their records, and that have receivers, are given up:
// they are not to wait for somebody to ask about them. Tasks of the queue are the business
// of the node that orders it.
func (r *Store) TellOfNode(ctx context.Context, node string, lost bool) error {
	var own []Task
	if err := EachJSON(ctx, r, TaskPrefix, func(t Task) {
		if t.Node == node && t.Queue == nil && (lost || t.Status != api.TaskPending) {
			own = append(own, t)
		}
	}); err != nil {
		return err
	}
	accounts := map[string]bool{} // whether they have endpoints
	for _, t := range own {
		named, known := accounts[t.Account]
		if !known {
			all, err := r.Notices().Endpoints(ctx, t.Account)
			if err != nil {
				return err
			}
			named = len(all) > 0
			accounts[t.Account] = named
		}
		if !named && t.Notify == nil {
			continue
		}
		var err error
		if t.Status == api.TaskPending {
			_, err = r.GiveUpTask(ctx, t.ID, t.Account)
		} else {
			err = r.tellAgain(ctx, t, true)
		}
		if err != nil && !errors.Is(err, persistence.ErrNotFound) {
			return fmt.Errorf("tell of the tasks of %s: %w", node, err)
		}
	}
	return nil
}
