package actors

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/persistence"
)

// queueWait is a question about a task that has no actor: a poll, or a client that
// follows its steps.
type queueWait struct {
	client  *actor.PID
	message any // *api.Poll or *api.Follow
	until   time.Time
	timer   *time.Timer
}

// queueReads are questions about a task whose records are being read.
type queueReads struct {
	count   int
	changes int // how often the task's turn has come, or it has ended, since the first one began
}

type (
	// placeRead tells what the records say of a task. Entry is set while it waits.
	placeRead struct {
		wait   *queueWait
		after  int // the changes before it began, in [queueReads]
		polled *api.Polled
		key    string
		entry  *records.Queued
		err    error
	}
	queueWaited struct{ wait *queueWait }
)

// about is whose task the question is about, and how long it may wait.
func (w *queueWait) about() (task, account string, wait time.Duration) {
	switch m := w.message.(type) {
	case *api.Poll:
		return m.TaskID, m.Account.ID, m.Wait
	case *api.Follow:
		return m.TaskID, m.Account.ID, m.Wait
	}
	return "", "", 0
}

func (w *queueWait) answer(u *queue, p *api.Polled) {
	if _, follows := w.message.(*api.Follow); follows {
		u.send(w.client, &api.Followed{Status: p.Status, Refusal: p.Refusal, Node: p.Node})
		return
	}
	u.send(w.client, p)
}

// onQuestion answers a question about a task without an actor.
func (u *queue) onQuestion(w *queueWait) {
	task, account, most := w.about()
	if w.until.IsZero() {
		w.until = time.Now().Add(most)
	}
	if t := u.live[task]; u.nodes != nil && t != nil && t.begun && t.place.Account == account {
		if u.nodes.answer(u, w, t) {
			return
		}
	} else if t != nil && t.begun && !t.released && t.place.Account == account { // its actor has it by now
		u.pass(u.node.tasks, w.message, w.client)
		return
	}
	r := u.reading[task]
	if r == nil {
		r = &queueReads{}
		u.reading[task] = r
	}
	r.count++
	read, bare := &placeRead{wait: w, after: r.changes}, asksForNoOutcome(w.message)
	u.node.onDisk(func(c context.Context) (err error) {
		if bare {
			c = records.WithoutOutcomes(c)
		}
		read.key, read.entry, err = u.node.records.Queue().Find(c, account, task)
		if err == nil && read.entry.Account == account {
			return nil
		}
		if read.entry = nil; err != nil && !errors.Is(err, persistence.ErrNotFound) {
			return err
		}
		var until time.Time
		if u.nodes != nil {
			read.polled, err = u.nodes.status(c, u, account, task)
			return err
		}
		if read.polled, until, err = u.node.records.Poll(c, task, account); !until.IsZero() {
			u.node.statusCache.Remember(task, account, read.polled, until)
		}
		return err
	}, func(err error) {
		read.err = err
		u.self(read)
	})
}

// touched says that what is being read about a task may be out of date.
func (u *queue) touched(task string) {
	if r := u.reading[task]; r != nil {
		r.changes++
	}
}

func (u *queue) onPlaceRead(m *placeRead) {
	task, _, _ := m.wait.about()
	changed := false
	if r := u.reading[task]; r != nil {
		changed = r.changes != m.after
		if r.count--; r.count == 0 {
			delete(u.reading, task)
		}
	}
	now := time.Now()
	t := u.live[task]
	switch {
	case m.err != nil:
		u.node.log.Error().Err(m.err).Str("task", task).Msg("task not read")
		m.wait.answer(u, &api.Polled{Refusal: api.RefusalFor(m.err)})
	case u.nodes != nil && t != nil && m.polled != nil && m.polled.Refusal == nil && (m.polled.Status != api.TaskPending || !now.Before(m.wait.until)):
		m.wait.answer(u, m.polled)
	case m.entry == nil && t != nil, t != nil && t.begun: // its actor is about to have it, or its end to be written
		if t.begun && !t.released && u.nodes == nil {
			u.onQuestion(m.wait)
			return
		}
		u.park(m.wait, task)
	case m.entry == nil && u.ending[task]: // it is being written
		u.park(m.wait, task)
	case m.entry == nil && changed:
		u.onQuestion(m.wait)
	case m.entry == nil:
		m.wait.answer(u, m.polled)
	case now.Before(m.wait.until) && changed && t == nil:
		u.onQuestion(m.wait)
	case now.Before(m.wait.until), u.ending[task]:
		u.park(m.wait, task)
	default:
		m.wait.answer(u, u.waitingAnswer(m, now))
	}
}

// waitingAnswer is the answer about a task that waits.
func (u *queue) waitingAnswer(m *placeRead, now time.Time) *api.Polled {
	at := &api.QueuePlace{Position: 1, Attempts: m.entry.Attempts}
	if p, _, ok := backlog.ParseKey(m.key); ok && u.live[m.entry.ID] == nil {
		at.Position, at.Estimate = u.book.Position(p, m.entry.Number, now)
	}
	return &api.Polled{Status: api.TaskPending, Queued: at, Executed: &api.Executed{TaskID: m.entry.ID}}
}

// maxSettle bounds how long a poll that does not wait is kept while its task is
// between the queue and a worker, or between its end and the record of it.
const maxSettle = 5 * time.Second

// park keeps a question until something has become of its task.
func (u *queue) park(w *queueWait, task string) {
	wait := time.Until(w.until)
	if wait <= 0 {
		wait = maxSettle
		w.until = time.Now().Add(wait)
	}
	w.timer = u.later(wait, &queueWaited{w})
	u.waits[task] = append(u.waits[task], w)
}

// wake lets the questions about a task be answered again.
func (u *queue) wake(task string) {
	all := u.waits[task]
	delete(u.waits, task)
	for _, w := range all {
		w.timer.Stop()
		u.onQuestion(w)
	}
}

// onWaited answers a question whose time is over with what is known now.
func (u *queue) onWaited(w *queueWait) {
	task, _, _ := w.about()
	for i, o := range u.waits[task] {
		if o != w {
			continue
		}
		u.waits[task] = append(u.waits[task][:i:i], u.waits[task][i+1:]...)
		if len(u.waits[task]) == 0 {
			delete(u.waits, task)
		}
		w.until = time.Now()
		if t := u.live[task]; t != nil && !t.begun || t != nil && t.released {
			w.answer(u, &api.Polled{Status: api.TaskPending, Queued: &api.QueuePlace{Position: 1}, Executed: &api.Executed{TaskID: task}})
			return
		}
		u.onQuestion(w)
		return
	}
}
