package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/persistence"
)

// The queue of several nodes. Each change of a task is one write over a certain revision
// of its record: of those that two nodes try, the store takes one.

// HolderKey is where the node is written down that orders the queue.
const HolderKey = "queue/holder"

// Holder is the node that orders the queue.
type Holder struct {
	Node  string `json:"node"`
	Boot  string `json:"boot"`  // of its process
	Epoch uint64 `json:"epoch"` // grows with each change
}

// Holder reads which node orders the queue. Revision 0: none has yet.
func (u Queue) Holder(ctx context.Context) (h Holder, revision uint64, err error) {
	rec, err := u.r.Store.Get(ctx, HolderKey)
	if errors.Is(err, persistence.ErrNotFound) {
		return h, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(rec.Value, &h)
	}
	if err != nil {
		return h, 0, fmt.Errorf("read which node orders the queue: %w", err)
	}
	return h, rec.Revision, nil
}

// Hold makes a node the one that orders the queue.
func (u Queue) Hold(ctx context.Context, h Holder, over uint64) error {
	b, err := json.Marshal(h)
	if err == nil {
		_, err = persistence.PutOwn(ctx, u.r.Store, persistence.Write{Key: HolderKey, Value: b, If: &over, Durable: true})
	}
	if err != nil {
		return fmt.Errorf("take the order of the queue: %w", err)
	}
	return nil
}

// Claimed calls f for all tasks of the queue that nodes have begun, by their records.
func (u Queue) Claimed(ctx context.Context, f func(Task)) error {
	return EachJSON(ctx, u.r, TaskPrefix, func(t Task) {
		if t.Queue != nil && t.Status == api.TaskPending && !t.Queue.Waiting {
			f(t)
		}
	})
}

// Claim writes down that a task begins, over the revision of [Claim.Revision].
func (u Queue) Claim(ctx context.Context, t Task, over uint64) (revision uint64, err error) {
	return u.r.putTask(ctx, t, &over, true)
}

// Unclaim undoes a [Queue.Claim], whether it has succeeded or not: the task has not begun.
func (u Queue) Unclaim(ctx context.Context, t Task) error {
	for {
		err := u.unclaim(ctx, t)
		if !errors.Is(err, persistence.ErrConflict) { // else somebody has decided, or sealed it again
			return err
		}
	}
}

func (u Queue) unclaim(ctx context.Context, t Task) error {
	now, revision, err := u.r.taskAt(ctx, t.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !now.heldAs(&t):
		return nil
	}
	if t.Queue.Attempts <= 1 && now.Queue.Cancel == "" {
		err = u.r.Store.Delete(ctx, TaskPrefix+t.ID, &revision, true)
	} else {
		waits := *t.Queue
		waits.Attempts, waits.Waiting, waits.Boot = waits.Attempts-1, true, ""
		waits.Turn, waits.Cancel = 0, now.Queue.Cancel
		t.Queue = &waits
		_, err = u.r.putTask(ctx, t, &revision, true)
	}
	return err
}

// heldAs reports whether a node has a task by the same claim as is in another record of it.
func (t *Task) heldAs(was *Task) bool {
	q, of := t.Queue, was.Queue
	return t.runsQueued() && t.Node == was.Node && q.Boot == of.Boot && q.Turn == of.Turn && q.Attempts == of.Attempts && q.Key == of.Key
}

// End writes how a task of the queue has ended, over the record that says who has it. The write
// of that record is the end. What follows it is made up for by whoever finds the record in the
// queue: see [Queue.Finish]. Found is the end that another node has written first, or that the
// task was cancelled before. A conflict says that the task is no longer the caller's.
func (u Queue) End(ctx context.Context, e *Ending) (found *api.Polled, err error) {
	now, at, found, err := u.before(ctx, e)
	if found != nil || err != nil {
		return found, err
	}
	t, out := e.task(&now)
	u.r.keepRun(ctx, t, e.Queued, out)
	b, err := json.Marshal(out)
	if err == nil {
		err = u.r.Plain.Put(ctx, persistence.Item{Key: OutcomePrefix + t.ID, Account: t.Account, Value: b, Expires: t.Expires()})
	}
	if err != nil {
		return nil, fmt.Errorf("write the end of %s: %w", t.ID, err)
	}
	if _, err = u.r.putTask(ctx, t, &at, true); errors.Is(err, persistence.ErrConflict) {
		switch _, since, found, err := u.before(ctx, e); {
		case found != nil || err != nil:
			return found, err
		case since != at: // it was cancelled meanwhile, or sealed again
			return u.End(ctx, e)
		}
		return nil, persistence.ErrConflict
	}
	if err != nil {
		return nil, err
	}
	cancelled := out != e.Outcome
	if e.Stored != nil && !cancelled { // else the caller hears of this end first
		e.Stored()
	}
	if err := u.Finish(ctx, t, e.Queued); err != nil || !cancelled {
		return nil, err
	}
	return &api.Polled{Status: t.Status, Executed: t.Executed(out)}, nil
}

// before finds the end of a task that has one. Else it returns the record over which its end
// may be written, and the revision of that; zero: there is none.
func (u Queue) before(ctx context.Context, e *Ending) (now Task, at uint64, found *api.Polled, err error) {
	now, at, err = u.r.taskAt(ctx, e.Task.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound) && e.Waits:
		return now, 0, nil, nil
	case errors.Is(err, persistence.ErrNotFound): // its account was removed, or it was given back
		return now, 0, nil, persistence.ErrConflict
	case err != nil:
		return now, 0, nil, err
	case now.Status == api.TaskPending && e.over(&now):
		return now, at, nil, nil
	case now.Status == api.TaskPending:
		return now, 0, nil, persistence.ErrConflict
	}
	if err := u.Finish(ctx, now, nil); err != nil {
		return now, 0, nil, err
	}
	found, err = u.r.ended(ctx, now)
	return now, 0, found, err
}

// Finish does what follows the end of a task: it lists the task, writes its notices, and
// removes its record from the queue. To do it again does no harm.
func (u Queue) Finish(ctx context.Context, t Task, q *Queued) error {
	if q == nil {
		var err error
		if q, err = u.Read(ctx, t.Queue.Key); errors.Is(err, persistence.ErrNotFound) {
			return nil // it is done
		} else if err != nil && !errors.Is(err, persistence.ErrSealed) {
			return err
		}
	}
	if t.Queue.Listed != "" {
		entry := t.entry()
		if q != nil && entry.dead() {
			b, err := json.Marshal(Dead{entry, *q})
			if err == nil {
				err = u.r.Sealed.Put(ctx, persistence.Item{Key: DeadPrefix + t.Account + "/" + t.Queue.Listed, Account: t.Account, Value: b, Expires: t.Expires()})
			}
			if err != nil {
				return fmt.Errorf("list the task %s: %w", t.ID, err)
			}
		}
		b, err := json.Marshal(entry)
		if err == nil {
			w := persistence.Write{Key: EndedPrefix + t.Account + "/" + t.Queue.Listed, Value: b, Expires: t.Expires()}
			if _, err = u.r.Store.Put(ctx, w); err == nil {
				err = u.r.Plain.Counted(t.Account, w).Done(ctx, nil)
			}
		}
		if err != nil {
			return fmt.Errorf("list the task %s: %w", t.ID, err)
		}
	}
	if err := u.r.tell(ctx, t, q, nil, t.Queue.Code, false); err != nil {
		return err
	}
	if q != nil {
		if err := errors.Join(u.deleteFiles(ctx, q), u.r.Schedules().EndRun(ctx, q.Schedule, t.Ended, runStatus(outcome.Counted(t.Status, t.Queue.Code)), t.Queue.Code)); err != nil {
			return err
		}
	}
	return u.Delete(ctx, t.Queue.Key, false)
}

func (u Queue) deleteFiles(ctx context.Context, q *Queued) error {
	for _, id := range q.Blobs {
		if err := u.r.Files.Delete(ctx, id); err != nil {
			return fmt.Errorf("remove the files of %s: %w", q.ID, err)
		}
	}
	return nil
}

// Again has a task wait at another place that the caller has, and that begins again. A conflict
// says that it is no longer the caller's, or was cancelled.
func (u Queue) Again(ctx context.Context, t Task, q Queued, to string) error {
	from := t.Queue.Key
	b, _, err := u.Encode(q)
	if err != nil {
		return err
	}
	now, at, err := u.r.taskAt(ctx, t.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return persistence.ErrConflict
	case err != nil:
		return err
	case now.Queue != nil && now.Queue.Waiting && now.Queue.Key == to: // an earlier try has succeeded
		return u.Delete(ctx, from, false)
	case !now.heldAs(&t) || now.Queue.Cancel != "":
		return persistence.ErrConflict
	}
	waits := *t.Queue
	waits.Key, waits.Waiting, waits.Boot, waits.Turn = to, true, "", 0
	t.Queue, t.Status, t.Ended, t.Notify = &waits, api.TaskPending, time.Time{}, now.Notify
	if err := u.Add(ctx, t.Account, to, b, persistence.Unknown, false); err != nil {
		return err
	}
	if _, err := u.r.putTask(ctx, t, &at, true); errors.Is(err, persistence.ErrConflict) {
		now, _, err := u.r.taskAt(ctx, t.ID)
		if err != nil && !errors.Is(err, persistence.ErrNotFound) {
			return err
		}
		if err != nil || now.Queue == nil || now.Queue.Key != to { // else an earlier try has succeeded
			return errors.Join(persistence.ErrConflict, u.Delete(ctx, to, false))
		}
	} else if err != nil {
		return err
	}
	return u.Delete(ctx, from, false)
}

// Status answers a question about a task of the queue by its record. Waits: it has none,
// or says that the task waits.
func (u Queue) Status(ctx context.Context, account, id string) (p *api.Polled, until time.Time, waits bool, err error) {
	t, err := u.r.task(ctx, id, account)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, until, true, nil
	case err != nil:
		return nil, until, false, err
	case t.Status == api.TaskPending && t.Queue != nil && t.Queue.Waiting:
		return nil, until, true, nil
	case t.Status == api.TaskPending:
		return &api.Polled{Status: api.TaskPending, Node: t.Node, Executed: t.Executed(nil)}, until, false, nil
	}
	p, err = u.r.ended(ctx, t)
	return p, t.Expires(), false, err
}

// At reads the record of a task, with its revision.
func (u Queue) At(ctx context.Context, id string) (Task, uint64, error) { return u.r.taskAt(ctx, id) }

// Size is how many bytes a record of the queue has.
func (u Queue) Size(q *Queued) int64 {
	_, size, _ := u.Encode(*q)
	return size
}
