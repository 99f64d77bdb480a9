package actors

import (
	"context"
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// A task is cancelled where it is: while it waits, its end is written at once; while a node
// has it, its record says that it is to end before that node hears of it. So whoever decides
// next obeys, also after the loss of a message, of a node or of this process: see
// [records.Queue.Cancel]. Clients hear that it is cancelled when that is on the disk.

// cancelling is how the cancellation of a task stands whose turn has come.
type cancelling struct {
	cause   api.Cause    // empty: it was not cancelled
	keeping bool         // its record is being changed
	kept    bool         // and was: it is to end, whatever it comes to
	again   *queuedAgain // came meanwhile
}

// cancelRunning is a cancellation of a task that the queue has given to a worker.
type cancelRunning struct{ Cancel *api.Cancel }

// cancelFound brings the record of a task that is to be cancelled while it waits.
type cancelFound struct {
	cancel *api.Cancel
	client *actor.PID
	key    string
	entry  *records.Queued
	size   int64 // of the record, where that cannot be opened
	err    error
	again  bool // it was looked for a second time
	kept   bool // a node has it, and its record says that it is to end
}

// cancelKept tells that the record of a task says that it is to end.
type cancelKept struct {
	task string
	t    *queuedTask
	rec  records.Task
	err  error
}

// onCancel ends a task wherever it is.
func (u *queue) onCancel(m *api.Cancel, client *actor.PID) {
	t := u.live[m.TaskID]
	switch {
	case t != nil && t.place.Account != m.Account.ID:
		u.cancelled(client, false)
	case t != nil:
		u.awaitCancel(m.TaskID, client)
		if t.cause == "" {
			t.cause = m.Cause
		}
		u.obey(m.TaskID, t)
	case u.ending[m.TaskID]:
		u.awaitCancel(m.TaskID, client)
	default:
		u.findToCancel(&cancelFound{cancel: m, client: client})
	}
}

func (u *queue) awaitCancel(task string, client *actor.PID) {
	if client != nil {
		u.cancelWaits[task] = append(u.cancelWaits[task], client)
	}
}

// obey has a task end that was cancelled, as far as that can be done now. What is under way
// goes on from there: its turn is read, or begins, its record is changed, or its end written.
func (u *queue) obey(task string, t *queuedTask) {
	switch {
	case t.cause == "" || t.keeping || t.moving || t.leaving:
	case t.kept:
		u.endRun(task, t)
	case t.begun || t.at.allowed:
		u.keepCancel(task, t)
	} // else its node is not let begin it, and it comes back
}

// keepCancel has the record of a task say that it is to end. The actor of the task hears of it
// first: an attempt that ends from then on is the last. Of several nodes, that which has the
// task finds it in the record.
func (u *queue) keepCancel(task string, t *queuedTask) {
	t.keeping = true
	if u.nodes == nil {
		u.pass(u.node.tasks, &cancelTask{task}, u.pid)
		return
	}
	u.writeCancel(task, t)
}

type (
	// cancelTask tells the actor of a task that the task was cancelled. Its answer is
	// cancelTaskHeard, also where there is no such actor any more.
	cancelTask      struct{ Task string }
	cancelTaskHeard struct{ Task string }
)

func (u *queue) onCancelTaskHeard(m *cancelTaskHeard) {
	if t := u.live[m.Task]; t != nil && t.keeping {
		u.writeCancel(m.Task, t)
	}
}

func (u *queue) writeCancel(task string, t *queuedTask) {
	account, cause, kept := t.place.Account, t.cause, &cancelKept{task: task, t: t}
	u.node.onDisk(func(c context.Context) (err error) {
		kept.rec, err = u.node.records.Queue().Cancel(c, account, task, cause)
		return err
	}, func(err error) {
		kept.err = err
		u.self(kept)
	})
}

func (u *queue) onCancelKept(m *cancelKept) {
	t := m.t
	again := t.again
	t.keeping, t.again = false, nil
	if u.live[m.task] != t { // who waits has heard of it
		return
	}
	switch {
	case errors.Is(m.err, persistence.ErrNotFound): // it comes back
	case m.err != nil:
		u.node.log.Error().Err(m.err).Str("task", m.task).Msg("it is not written that a task is to end")
		u.answerCancels(m.task, u.cancelFailed)
		u.endRun(m.task, t)
	case m.rec.Ends():
		t.kept = true
		u.endRun(m.task, t)
	}
	if again != nil {
		u.onAgain(again)
	}
}

// endRun has the node end a task that has it. On a single node its end may be being written
// already: then whoever waits hears of the task what it has come to.
func (u *queue) endRun(task string, t *queuedTask) {
	if u.nodes != nil {
		u.nodes.cancel(u, task, t)
	} else {
		u.send(u.node.admission, &cancelRunning{&api.Cancel{TaskID: task, Account: api.Account{ID: t.place.Account}, Cause: t.cause}})
	}
	if t.kept && (u.nodes != nil || !t.released) {
		u.answerCancels(task, func(client *actor.PID) { u.cancelled(client, true) })
	}
}

// cancelAgain ends a task where it waits now that was cancelled where it was before.
func (u *queue) cancelAgain(task string, t *queuedTask) {
	if t.cause == "" {
		return
	}
	m := &api.Cancel{TaskID: task, Account: api.Account{ID: t.place.Account}, Cause: t.cause}
	u.toCancel[task] = m.Cause // should its turn come before its record is found
	clients := u.cancelWaits[task]
	delete(u.cancelWaits, task)
	if len(clients) == 0 {
		u.onCancel(m, nil)
	}
	for _, client := range clients {
		u.onCancel(m, client)
	}
}

// cancelsOver answers those who have cancelled a task that has ended: it may have come to
// another end before.
func (u *queue) cancelsOver(task string) {
	if len(u.cancelWaits[task]) == 0 {
		return
	}
	clients, found := u.cancelWaits[task], false
	delete(u.cancelWaits, task)
	u.node.onDisk(func(c context.Context) error {
		rec, _, err := u.node.records.Queue().At(c, task)
		found = err == nil && rec.Cancelled()
		if errors.Is(err, persistence.ErrNotFound) {
			err = nil
		}
		return err
	}, func(err error) {
		for _, client := range clients {
			if err != nil {
				u.cancelFailed(client)
			} else {
				u.cancelled(client, found)
			}
		}
	})
}

func (u *queue) answerCancels(task string, answer func(client *actor.PID)) {
	for _, client := range u.cancelWaits[task] {
		answer(client)
	}
	delete(u.cancelWaits, task)
}

func (u *queue) findToCancel(found *cancelFound) {
	account, task := found.cancel.Account.ID, found.cancel.TaskID
	u.cancels[found] = found.client
	u.node.onDisk(func(c context.Context) (err error) {
		found.key, found.entry, err = u.node.records.Queue().Find(c, account, task)
		if errors.Is(err, persistence.ErrSealed) { // all that is known of it is where it waits: that is enough to end it
			found.entry, found.size, err = u.node.records.Queue().Lost(c, account, task, found.key)
		}
		if errors.Is(err, persistence.ErrNotFound) && u.nodes != nil { // a node may have it for a turn that is over
			var rec records.Task
			if rec, err = u.node.records.Queue().Cancel(c, account, task, found.cancel.Cause); err == nil {
				if found.kept = rec.Ends(); !found.kept {
					err = persistence.ErrNotFound
				}
			}
		}
		return err
	}, func(err error) {
		found.err = err
		u.self(found)
	})
}

func (u *queue) cancelled(client *actor.PID, found bool) {
	if client != nil {
		u.send(client, &api.Cancelled{Found: found})
	}
}

// cancelUnknown tells that this node ends, or orders the queue no more: it is not known whether
// the task is cancelled.
func (u *queue) cancelUnknown(client *actor.PID) {
	if client != nil {
		u.send(client, &failure{api.NobodyOrders().Text})
	}
}

// cancelFailed tells that the store has failed: it is not known whether the task is cancelled.
func (u *queue) cancelFailed(client *actor.PID) {
	if client != nil {
		u.send(client, &failure{api.FailedInside})
	}
}

func (u *queue) onCancelFound(m *cancelFound) {
	id := m.cancel.TaskID
	delete(u.cancels, m)
	delete(u.toCancel, id) // it is in none of the states below in which its turn could come
	switch {
	case u.live[id] != nil || u.ending[id]:
		u.onCancel(m.cancel, m.client)
		return
	case m.kept:
		u.cancelled(m.client, true)
		return
	case errors.Is(m.err, persistence.ErrNotFound):
		u.cancelled(m.client, false)
		return
	case m.err != nil:
		u.node.log.Error().Err(m.err).Str("task", id).Msg("queued task not read")
		u.cancelFailed(m.client)
		return
	}
	p, _, _ := backlog.ParseKey(m.key)
	if u.nodes == nil && !u.lost[id] && !u.book.Has(p, id) { // it has ended since its record was read
		if m.again {
			u.cancelled(m.client, false)
			return
		}
		u.findToCancel(&cancelFound{cancel: m.cancel, client: m.client, again: true})
		return
	}
	bytes := m.size
	if bytes == 0 {
		_, bytes, _ = u.node.records.Queue().Encode(*m.entry)
	}
	if !u.lost[id] {
		u.book.Remove(p, id, bytes)
	}
	delete(u.lost, id)
	u.ending[id] = true
	u.endWaiting(&endWaiting{q: m.entry, key: m.key, task: id, out: cancelledOutcome(), code: engine.CodeCancelled, client: m.client})
}
