package actors

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

type (
	// turnRead brings the record of a task whose turn it is.
	turnRead struct {
		task   string
		key    string
		claim  *records.Claim
		parsed *engine.Task // nil: it is over, or cannot be read
		bad    error        // why it cannot
		used   bool         // another task has its profile
		err    error
		wrote  string // the account of which something was written; empty: nothing was

		announced bool // see [records.Ahead]
	}
	// queuedPlayed tells that a task of the queue plays no more: its worker is free
	// for the next.
	queuedPlayed struct{ Task string }
	// queuedOver tells that its end is written.
	queuedOver struct{ Task string }
	// queuedAgain tells that it begins again after a while.
	queuedAgain struct {
		Task  records.Task
		After time.Duration
		q     records.Queued // of several nodes: its record in the queue
	}
	// queuedMoved tells that it waits again on the disk.
	queuedMoved struct {
		task    records.Task
		q       records.Queued
		place   backlog.Place
		counted int64
		bytes   int64
		err     error
	}
	// waitingEnded tells that the end of a task is written that did not begin.
	waitingEnded struct {
		end *endWaiting
		err error
	}
)

// endWaiting is the end of a task that no worker has: it did not begin, or not again.
type endWaiting struct {
	q      *records.Queued
	key    string
	task   string
	out    *engine.Outcome
	code   engine.Code
	rec    records.Task // of one that has begun before
	waits  bool         // it has not begun
	listed uint64
	client *actor.PID // waits for the cancellation; nil: nobody does
}

// fromQueue is what the actor of a task needs to know where the task comes from the
// queue.
type fromQueue struct {
	key   string
	q     records.Queued
	queue *engine.Queue

	known     persistence.Known // of the record of the task
	announced bool              // the task may begin before its claim is synced

	turn *api.QueueTurn // of several nodes
	over uint64         // of its record, before it begins
}

// sent reports whether a node that orders the queue for others has sent it.
func (f *fromQueue) sent() bool { return f != nil && f.turn != nil }

// onTurn starts a task whose turn it is, unless it is over before.
func (u *queue) onTurn(m *turnRead) {
	if m.wrote != "" {
		u.written(m.wrote)
	}
	t := u.live[m.task]
	if t == nil {
		return
	}
	key := t.place.Key(m.task)
	drop := func() {
		u.release(m.task)
		delete(u.live, m.task)
		u.overFor(m.task, t)
		u.cancelAgain(m.task, t)
		u.wake(m.task)
	}
	switch {
	case errors.Is(m.err, persistence.ErrNotFound):
		drop()
		return
	case errors.Is(m.err, persistence.ErrSealed):
		u.node.log.Error().Err(m.err).Str("task", m.task).Msg("queued task not read: the key is another one")
		u.lost[m.task] = true
		drop()
		return
	case m.err != nil:
		u.node.log.Error().Err(m.err).Str("task", m.task).Msg("queued task not read")
		u.putBack(m.task, u.after(again))
		return
	case m.claim.Runs() || m.claim.Stale:
		u.onStale(m.task, t, m.claim)
		return
	}
	t.q = m.claim.Queued
	if m.claim.Task != nil && m.claim.Task.Cancelled() { // before a turn of it was undone
		t.cause = m.claim.Task.Queue.Cancel
	}
	task, err := m.parsed, m.bad
	end := func(out *engine.Outcome, code engine.Code) {
		u.endWaiting(&endWaiting{q: t.q, key: key, task: m.task, out: out, code: code})
	}
	switch {
	case u.gone[t.place.Account]:
		drop()
	case t.cause != "":
		end(cancelledOutcome(), engine.CodeCancelled)
	case m.claim.Task == nil && u.node.feeder().Holds(t.q.Batch, t.q.Plan):
		u.giveBack(m.task, t)
	case !t.q.Expires.IsZero() && !u.node.cfg.Clock.Now().Before(t.q.Expires):
		end(failedOutcome(engine.CodeExpired, "The task expired before it began"), engine.CodeExpired)
	case err != nil: // an earlier version has taken it
		end(failedOutcome(engine.CodeInvalidRequest, err.Error()), engine.CodeInvalidRequest)
	case u.profileUsed(t, m):
		u.awaitProfile(m.task, t)
	default:
		u.book.Began(t.place, t.q.Number)
		if u.nodes != nil {
			u.nodes.send(u, m.task, t, task)
			return
		}
		u.pass(u.node.tasks, &startTask{
			Execute: &api.Execute{TaskID: m.task, Account: api.Account{ID: t.q.Account, Plan: t.q.Plan}, Task: task, Asked: t.place.At(), Trace: t.q.Trace, FromQueue: true, Schedule: t.q.Schedule},
			queued:  &fromQueue{key: key, q: *t.q, queue: task.Queue, known: m.claim.Known(), announced: t.announced},
		}, u.node.queue)
	}
}

// failedOutcome is that of a task which did not begin: no action has failed.
func failedOutcome(code engine.Code, text string) *engine.Outcome {
	return &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: code, Text: text, Index: -1}}}
}

func cancelledOutcome() *engine.Outcome { return &engine.Outcome{End: engine.EndCancelled} }

// forGood are the refusals that another try does not change.
var forGood = map[engine.Code]bool{
	engine.CodePlanRequired: true, engine.CodeForeignWorker: true, engine.CodeSessionMismatch: true, engine.CodeUnauthorized: true,
	engine.CodeInternal: true, engine.CodeInvalidRequest: true, engine.CodeProfileNotFound: true,
}

// ofAccount are those that hold for all tasks of the account.
var ofAccount = map[engine.Code]bool{engine.CodeDailyLimit: true, engine.CodeStorageQuota: true}

// onStarted takes what became of a task that was to begin.
func (u *queue) onStarted(m *api.Started) {
	t := u.live[m.TaskID]
	if t == nil {
		return
	}
	switch no := m.Refusal; {
	case no == nil:
		t.begun = true
		u.past(t)
		if !u.book.Paused(t.place.Account, time.Now()) { // not one that was claimed before
			u.node.feeder().Barred(t.place.Account, "")
		}
		u.batchOf(t).Began(m.TaskID)
		u.wake(m.TaskID)
		u.obey(m.TaskID, t)
	case no.Code == engine.CodeCancelled:
		u.endWaiting(&endWaiting{q: t.q, key: t.place.Key(m.TaskID), task: m.TaskID, out: cancelledOutcome(), code: engine.CodeCancelled})
	case forGood[no.Code]:
		u.endWaiting(&endWaiting{q: t.q, key: t.place.Key(m.TaskID), task: m.TaskID, out: failedOutcome(no.Code, no.Text), code: no.Code})
	case no.Code == engine.CodeProfileBusy && t.profile != "": // a request was faster
		u.awaitProfile(m.TaskID, t)
	default:
		until := u.after(max(no.RetryAfter, time.Second))
		if ofAccount[no.Code] {
			u.book.Pause(t.place.Account, until, time.Now())
			u.node.feeder().Barred(t.place.Account, no.Code)
		}
		u.putBack(m.TaskID, until)
	}
}

// endWaiting writes the end of a task that no worker has.
func (u *queue) endWaiting(e *endWaiting) {
	u.release(e.task)
	now := time.Now()
	if e.rec.ID == "" {
		e.waits = true
		e.rec = records.Task{
			ID: e.task, Account: e.q.Account, Node: u.node.cfg.Node, Started: e.q.Asked,
			Queue: &records.TaskQueue{Key: e.key, Attempts: e.q.Attempts, Keep: e.q.Keep},
		}
	}
	e.rec.Status, e.rec.Ended = api.TaskFailed, now
	e.listed = u.node.orders.Order(now, now)
	u.writes[e.q.Account]++
	u.cancels[e] = e.client
	u.writeWaitingEnd(e)
}

// writeWaitingEnd is repeated until it succeeds, or the node ends.
func (u *queue) writeWaitingEnd(e *endWaiting) {
	end := &records.Ending{Task: e.rec, Queued: e.q, Outcome: e.out, Code: e.code, Listed: e.listed, Waits: e.waits}
	u.node.onDisk(func(c context.Context) error {
		_, err := u.node.records.Queue().End(c, end)
		return err
	}, func(err error) {
		if err == nil {
			u.node.tellEnd(e.rec, e.out)
		}
		u.self(&waitingEnded{e, err})
	})
}

func (u *queue) onWaitingEnded(m *waitingEnded) {
	e := m.end
	if m.err != nil && !u.over {
		u.node.log.Error().Err(m.err).Str("task", e.task).Msg("end of a queued task not written")
		time.AfterFunc(rewriteAfter, func() { u.writeWaitingEnd(e) })
		return
	}
	u.written(e.q.Account)
	u.node.notices.Ended(e.q.Account, e.task)
	p, _, _ := backlog.ParseKey(e.key)
	if u.ending[e.task] {
		delete(u.ending, e.task)
		u.book.Removed(p, e.task)
	}
	delete(u.cancels, e)
	u.cancelled(e.client, true)
	if e.code == engine.CodeCancelled {
		u.answerCancels(e.task, func(client *actor.PID) { u.cancelled(client, true) })
	}
	if u.live[e.task] != nil {
		u.finish(e.task)
		return
	}
	u.touched(e.task)
	u.overFor(e.task, &queuedTask{q: e.q})
	u.cleanUp(e.task, e.q)
	u.wake(e.task)
}

// onAgain puts a task back that begins again.
func (u *queue) onAgain(m *queuedAgain) {
	u.release(m.Task.ID)
	t := u.live[m.Task.ID]
	if t == nil || t.q == nil {
		return
	}
	if t.keeping {
		t.again = m
		return
	}
	if t.cause != "" {
		u.endWaiting(&endWaiting{q: t.q, key: t.place.Key(m.Task.ID), task: m.Task.ID, out: cancelledOutcome(), code: engine.CodeCancelled, rec: m.Task})
		return
	}
	u.batchOf(t).Waits(m.Task.ID)
	q, p := *t.q, t.place
	u.node.waitAgain(&p, &q, m.Task.Queue.Attempts, m.After)
	counted := int64(len(q.Task))
	if u.gone[p.Account] {
		u.finish(m.Task.ID)
		return
	}
	q.Number = u.book.Adding(p, m.Task.ID, counted)
	u.writes[p.Account]++
	t.moving = true
	u.move(&queuedMoved{task: m.Task, q: q, place: p, counted: counted})
}

// move writes the new place of a task. It is counted until that is done, or given up
// when the node ends.
func (u *queue) move(m *queuedMoved) {
	u.node.onDisk(func(c context.Context) (err error) {
		if _, m.bytes, err = u.node.records.Queue().Encode(m.q); err != nil {
			return err
		}
		return u.node.records.Queue().Again(c, m.task, m.q, m.place.Key(m.task.ID))
	}, func(err error) {
		m.err = err
		u.self(m)
	})
}

func (u *queue) onMoved(m *queuedMoved) {
	if m.err != nil && !errors.Is(m.err, persistence.ErrConflict) && !u.over {
		u.node.log.Error().Err(m.err).Str("task", m.task.ID).Msg("queued task not put back")
		time.AfterFunc(rewriteAfter, func() { u.move(m) })
		return
	}
	u.written(m.q.Account)
	t := u.live[m.task.ID]
	delete(u.live, m.task.ID)
	u.touched(m.task.ID)
	if m.err == nil {
		u.book.Added(m.place, m.task.ID, m.bytes, m.counted)
		u.beginsAgain(m.place, m.task.ID)
		u.cancelAgain(m.task.ID, t)
	}
	u.wake(m.task.ID)
}
