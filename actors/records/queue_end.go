package records

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/persistence"
)

// Ending is how a task of the queue has ended.
type Ending struct {
	Task    Task
	Queued  *Queued // nil: its record cannot be read
	Outcome *engine.Outcome
	Code    engine.Code
	Listed  uint64 // its place in the list of ended tasks
	// Begun tells that its record says that it runs. Else it is written down as if it had
	// begun, before its record in the queue goes: one of the two is always there.
	Begun bool
	// Dropped: it is the task of an item that did not begin, and whose batch is cancelled.
	// The batch counts it among the rest.
	Dropped bool
	// First tells that nothing of this end was tried to be written before.
	First bool

	encoded []byte // the outcome
}

// maxTogether bounds the outcomes and tasks, in bytes, that are written together with others.
const maxTogether = 16 << 10

// encode writes the outcome in JSON, once.
func (e *Ending) encode() (err error) {
	if e.encoded == nil {
		if e.encoded, err = json.Marshal(e.Outcome); err != nil {
			return fmt.Errorf("write the end of the task %s: %w", e.Task.ID, err)
		}
	}
	return nil
}

// task is the record of the ended task, and its entry in the list.
func (e *Ending) task() (Task, Ended) {
	t, ended := e.Task, *e.Task.Queue
	ended.Waiting, ended.Listed, ended.Code = false, fmt.Sprintf("%014x/%s", e.Listed, t.ID), e.Code
	t.Queue = &ended
	return t, t.entry()
}

// entry is what the list of ended tasks has of a task.
func (t *Task) entry() Ended {
	return Ended{t.ID, outcome.Counted(t.Status, t.Queue.Code), t.Queue.Code, t.Ended, t.Queue.Attempts}
}

// dead reports whether a task with such an end can be sent again.
func (e *Ended) dead() bool { return e.Status == api.TaskFailed && e.Code != engine.CodeCancelled }

// told reports whether a batch or a schedule is told of the end.
func (e *Ending) told() bool {
	return e.Queued != nil && (e.Queued.Batch != nil || e.Queued.Schedule != nil)
}

// begins adds the outcome.
func (e *Ending) begins(ctx context.Context, r *Store, w *changes, t Task) {
	w.fail(e.encode())
	it := persistence.Item{Key: OutcomePrefix + t.ID, Account: t.Account, Value: e.encoded, Expires: t.Expires()}
	if e.First && e.Begun {
		it.Known = persistence.Absent
	}
	w.bytes(ctx, r.Plain, it)
	if !e.Begun {
		runs := t
		runs.Status, runs.Ended = api.TaskPending, time.Time{}
		w.record(TaskPrefix+t.ID, runs.storedUntil(), runs, persistence.Unknown, false)
	}
}

// ends adds what makes the end complete.
func (e *Ending) ends(ctx context.Context, r *Store, w *changes, t Task, entry Ended) {
	q, known := e.Queued, persistence.Unknown
	if q != nil && entry.dead() {
		w.value(ctx, r.Sealed, persistence.Item{
			Key: DeadPrefix + t.Account + "/" + t.Queue.Listed, Account: t.Account, Expires: t.Expires(), Known: persistence.Absent,
		}, Dead{entry, *q})
	}
	w.counted(r.Plain, t.Account, EndedPrefix+t.Account+"/"+t.Queue.Listed, t.Expires(), entry, persistence.Absent, false)
	if e.First && q != nil && q.small {
		w.all = append(w.all, persistence.Change{Write: persistence.Write{Key: t.Queue.Key, Known: persistence.Present}, Delete: true})
	} else {
		w.removal(ctx, r.Sealed, t.Queue.Key)
	}
	if e.First || !e.Begun {
		known = persistence.Present
	}
	w.counted(r.Plain, t.Account, TaskPrefix+t.ID, t.storedUntil(), t, known, true)
}

// End writes how a task of the queue ended.
func (u Queue) End(ctx context.Context, e *Ending) error {
	t, entry := e.task()
	var w changes
	e.begins(ctx, u.r, &w, t)
	notices, err := u.r.noticesOf(ctx, t, e.Queued, e.Outcome, e.Code, false)
	w.fail(err)
	if len(notices) > 0 || e.told() { // they come after the outcome
		if err := w.apply(ctx, u.r.Store); err != nil {
			return err
		}
		if err := u.endOf(ctx, t, e, notices); err != nil {
			return err
		}
	}
	e.ends(ctx, u.r, &w, t, entry)
	if err := w.apply(ctx, u.r.Store); err != nil {
		return fmt.Errorf("write the end of the task %s: %w", t.ID, err)
	}
	u.r.Tell(notices)
	return nil
}

// PrepareEnd is [Queue.End] for [Store.WriteEach]. Nil: the end takes more than one request
// to the store.
func (u Queue) PrepareEnd(ctx context.Context, e *Ending) *Writes {
	q := e.Queued
	if !e.First || !e.Begun || e.told() || q == nil || !q.small || len(q.Task) > maxTogether || e.encode() != nil || len(e.encoded) > maxTogether {
		return nil
	}
	t, entry := e.task()
	if notices, err := u.r.noticesOf(ctx, t, q, e.Outcome, e.Code, false); err != nil || len(notices) > 0 {
		return nil
	}
	w := &Writes{what: "write the end of the task " + t.ID}
	e.begins(ctx, u.r, &w.changes, t)
	e.ends(ctx, u.r, &w.changes, t, entry)
	return w
}

// PrepareBegin is the record of a task that begins, for [Store.WriteEach]. Known is what is
// known of an earlier one. Announced: it need not be synced, see [Ahead].
func (r *Store) PrepareBegin(t Task, known persistence.Known, announced bool) *Writes {
	w := &Writes{what: "keep task " + t.ID}
	w.record(TaskPrefix+t.ID, t.storedUntil(), t, known, !announced)
	return w
}

// endOf writes the notices of an end, and what batches and schedules know of it.
func (u Queue) endOf(ctx context.Context, t Task, of *Ending, notices []Notice) error {
	if len(notices) > 0 {
		if err := u.r.Notices().Put(ctx, notices); err != nil {
			return err
		}
	}
	q, status := of.Queued, outcome.Counted(t.Status, of.Code)
	if q == nil {
		return nil
	}
	if q.Batch != nil && !of.Dropped {
		e := BatchEnd{Task: t.ID, Status: status, Code: of.Code, Ended: t.Ended, Attempts: t.Queue.Attempts, Round: q.Batch.Round, Order: of.Listed}
		if err := u.r.Batches().End(ctx, *q.Batch, e); err != nil {
			return err
		}
	}
	return u.r.Schedules().EndRun(ctx, q.Schedule, t.Ended, runStatus(status), of.Code)
}

// NeverBegan reports whether a task was cancelled before it began.
func (t *Task) NeverBegan(code engine.Code) bool {
	return code == engine.CodeCancelled && t.Queue != nil && t.Queue.Attempts == 0
}

// runStatus is the status of a run whose task has ended.
func runStatus(s api.TaskStatus) api.RunStatus {
	if s == api.TaskFailed {
		return api.RunFailed
	}
	return api.RunComplete
}
