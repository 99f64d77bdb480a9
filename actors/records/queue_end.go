package records

import (
	"context"
	"encoding/json"
	"fmt"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/persistence"
)

// Ending is how a task of the queue has ended.
type Ending struct {
	Task    Task    // as whoever ends it has it
	Queued  *Queued // nil: its record cannot be read
	Outcome *engine.Outcome
	Code    engine.Code
	Listed  uint64 // its place in the list of ended tasks
	// Waits tells that no node has it: it has not begun, and waits at Task.Queue.Key.
	Waits bool
	// Stored is called when the end is on the disk, and what follows takes longer; nil: nothing is.
	Stored func()
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

// over reports whether the end may be written over a record.
func (e *Ending) over(now *Task) bool {
	if e.Waits {
		return now.Queue != nil && now.Queue.Waiting && now.Queue.Key == e.Task.Queue.Key
	}
	return now.heldAs(&e.Task)
}

// task is the record of the ended task, and its outcome, over the record that is there. A
// cancellation that this one has is obeyed.
func (e *Ending) task(now *Task) (Task, *engine.Outcome) {
	t, out, q := e.Task, e.Outcome, *e.Task.Queue
	q.Waiting, q.Listed, q.Code = false, fmt.Sprintf("%014x/%s", e.Listed, t.ID), e.Code
	q.Batch = e.Queued != nil && e.Queued.Batch != nil
	t.Queue = &q
	if now.Notify != nil { // it may have been sealed again
		t.Notify = now.Notify
	}
	if now.Cancelled() {
		q.Cancel = now.Queue.Cancel
		if out.End != engine.EndCancelled {
			out = outcome.Cancelled(out)
			t.Status, t.Lost, q.Code = outcome.Polled(out.End), false, outcome.Code(out)
		}
	}
	return t, out
}

// entry is what the list of ended tasks has of a task.
func (t *Task) entry() Ended {
	return Ended{t.ID, outcome.Counted(t.Status, t.Queue.Code), t.Queue.Code, t.Ended, t.Queue.Attempts}
}

// dead reports whether a task with such an end can be sent again.
func (e *Ended) dead() bool { return e.Status == api.TaskFailed && e.Code != engine.CodeCancelled }

// PrepareEnd is [Queue.End] for [Store.WriteEach]: the same changes in the same order, in one
// request. Nil: the end takes more than that, or has to look at what is there. If it fails, End
// finds out what has become of it.
func (u Queue) PrepareEnd(ctx context.Context, e *Ending) *Writes {
	q := e.Queued
	if !persistence.Groups(u.r.Store) || !e.First || q == nil || q.Schedule != nil || len(q.Blobs) > 0 || !q.small || len(q.Task) > maxTogether || e.encode() != nil || len(e.encoded) > maxTogether {
		return nil
	}
	now, at, found, err := u.before(ctx, e)
	if err != nil || found != nil || at == 0 || now.Cancelled() {
		return nil
	}
	t, _ := e.task(&now)
	if notices, err := u.r.noticesOf(ctx, t, q, e.Outcome, e.Code, false); err != nil || len(notices) > 0 {
		return nil
	}
	w, entry := &Writes{what: "write the end of the task " + t.ID}, t.entry()
	if u.r.Runs.Keeps() {
		for _, it := range u.r.Runs.Items(ctx, u.r.runOf(t, q, e.Outcome)) {
			w.bytes(ctx, u.r.Sealed, it)
			w.run = t.Account
		}
	}
	w.bytes(ctx, u.r.Plain, persistence.Item{Key: OutcomePrefix + t.ID, Account: t.Account, Value: e.encoded, Expires: t.Expires(), Known: persistence.Absent})
	w.counted(u.r.Plain, t.Account, TaskPrefix+t.ID, t.storedUntil(), t, persistence.Unknown, true)
	if w.err == nil {
		w.all[len(w.all)-1].If = &at
	}
	if entry.dead() {
		w.value(ctx, u.r.Sealed, persistence.Item{
			Key: DeadPrefix + t.Account + "/" + t.Queue.Listed, Account: t.Account, Expires: t.Expires(), Known: persistence.Absent,
		}, Dead{entry, *q})
	}
	w.counted(u.r.Plain, t.Account, EndedPrefix+t.Account+"/"+t.Queue.Listed, t.Expires(), entry, persistence.Absent, false)
	w.all = append(w.all, persistence.Change{Write: persistence.Write{Key: t.Queue.Key, Known: persistence.Present}, Delete: true})
	return w
}

// PrepareClaim is [Queue.Claim] for [Store.WriteEach], on a node without others. Known is what is
// known of an earlier record. Announced: it need not be synced, see [Ahead].
func (u Queue) PrepareClaim(t Task, known persistence.Known, announced bool) *Writes {
	w := &Writes{what: "keep task " + t.ID}
	w.record(TaskPrefix+t.ID, t.storedUntil(), t, known, !announced)
	return w
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
