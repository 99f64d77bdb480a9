package actors

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
)

const (
	// lingerTime is how long a task's actor stays after the end, for clients that
	// follow its steps. After that polls are answered from the disk.
	lingerTime = time.Minute
	// rewriteAfter is how long after a failed attempt the end of a task is written
	// again.
	rewriteAfter = 5 * time.Second
)

// task is one asynchronous task. It sends the task to a worker as any client does, and
// answers polls. It writes the task to disk before it begins and before its client gets
// an answer, and again at its end.
type task struct {
	node  *nodeParts
	x     *api.Execute
	files uint64     // the number of its cleanup
	from  *fromQueue // nil: it was not queued
	again bool       // it is the queue's again

	cancelled bool // its end is that, whatever it comes to

	followed bool // a client follows its steps
	lingers  bool // its end is on disk, see [task.linger]

	client          *actor.PID // waits for Started
	run             *actor.PID // waits for startAck
	rec             records.Task
	stored          uint64          // the revision of what is on disk of it
	out             *engine.Outcome // how it ended
	written         bool            // it is on disk
	endOnDisk       bool            // its end is, too
	endBeingWritten bool            // or is being written
	endTried        bool            // or was to be, and could not
	retryTimer      *time.Timer

	steps stepLog
	waits map[*taskWait]struct{}
}

type (
	taskWritten struct {
		revision uint64
		err      error
	}
	// endWritten tells whether the end is on disk. Found is set when it was there
	// before: another node has given the task up.
	endWritten struct {
		found *api.Polled
		err   error
	}
	// endStored tells that the end is on disk, and what follows it is not yet.
	endStored     struct{}
	writeEndAgain struct{}
	waited        struct{ wait *taskWait }
	expire        struct{}
)

func newTask(n *nodeParts, m *startTask, client *actor.PID) *actor.Props {
	return n.props(func() actor.Actor {
		return &task{node: n, x: m.Execute, files: m.Files, from: m.queued, client: client, waits: map[*taskWait]struct{}{}}
	})
}

func (t *task) Receive(ctx actor.Context) {
	defer recoverIn(ctx, t.node, t)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		ctx.RequestWithCustomSender(t.node.admission, &executeWithAck{Execute: t.x}, ctx.Self())
	case *actor.Stopping:
		t.stop(ctx)
	case *startRequest:
		if t.rec.ID != "" { // it has ended already
			ctx.Respond(&startAck{})
			return
		}
		t.run = ctx.Sender()
		t.claimed(ctx, m.Executed)
	case *taskWritten:
		t.stored = m.revision
		t.onWritten(ctx, m.err)
	case *stepEnded:
		t.steps.add(m.Step)
		t.wake(ctx)
	case *api.Executed:
		t.onEnd(ctx, m)
	case *cancelTask:
		t.cancelled = true
		ctx.Respond(&cancelTaskHeard{m.Task})
	case *writeEndAgain:
		t.writeEnd(ctx)
	case *endStored:
		t.seen(ctx)
	case *endWritten:
		if m.found != nil {
			t.rec.Status, t.out = m.found.Status, m.found.Executed.Outcome
		}
		if t.from != nil && errors.Is(m.err, persistence.ErrConflict) {
			t.backInQueue(ctx) // it is the task's no more: others have decided, or its account is gone
			t.finished(ctx)
			ctx.Send(ctx.Parent(), &taskExpired{Task: t.x.TaskID})
			return
		}
		t.onEndWritten(ctx, m.err)
	case *api.Poll:
		t.await(ctx, &taskWait{client: ctx.Sender(), message: m, answer: func() any { return t.polled() }}, m.Wait)
	case *api.Follow:
		t.followed = true
		w := &taskWait{client: ctx.Sender(), message: m, steps: true, after: m.After}
		w.answer = func() any {
			p := t.polled()
			return &api.Followed{Status: p.Status, Refusal: p.Refusal, Steps: t.steps.after(w.after)}
		}
		t.await(ctx, w, m.Wait)
	case *waited:
		t.release(ctx, m.wait)
	case *expire:
		t.expire(ctx)
	}
}

// expire ends this actor. What there is to say of the task is read from the disk then.
func (t *task) expire(ctx actor.Context) {
	if t.endOnDisk {
		t.node.statusCache.Remember(t.x.TaskID, t.x.Account.ID, t.polled(), t.rec.Expires())
	} else {
		t.node.statusCache.Delete(t.x.TaskID)
	}
	ctx.Send(ctx.Parent(), &taskExpired{Task: t.x.TaskID})
}

// claimed writes the task down when a worker has it.
func (t *task) claimed(ctx actor.Context, x *api.Executed) {
	t.rec = records.Task{
		ID: x.TaskID, Account: t.x.Account.ID, Node: t.node.cfg.Node, Status: api.TaskPending,
		WorkerID: x.WorkerID, WorkerName: x.WorkerName, SessionID: x.SessionID, Timeout: x.Timeout, Started: time.Now(),
	}
	if t.from != nil {
		t.rec.Queue = &records.TaskQueue{Key: t.from.key, Attempts: t.from.q.Attempts + 1, Keep: t.from.q.Keep}
		if t.from.sent() {
			t.rec.Queue.Boot, t.rec.Queue.Turn = t.node.boot, t.from.turn.Turn
		}
	}
	var err error
	if t.rec.Notify, err = t.node.records.SealNotify(t.rec.ID, t.x.Task.Notify); err != nil {
		t.onWritten(ctx, err)
		return
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	rec, key, started, wrote, from := t.rec, t.x.Idempotency, t.started(), &taskWritten{}, t.from
	var begun *runs.Run // where a later process ends the task, its run has the request all the same
	if from == nil && t.node.records.Runs.Keeps() && t.x.Task.Counts() {
		begun = runs.Of(t.x, t.node.cfg.Node)
	}
	if from != nil && !from.sent() {
		t.node.grouped.add(groupedWrite{
			prepare: func(context.Context) *records.Writes {
				return t.node.records.Queue().PrepareClaim(rec, from.known, from.announced)
			},
			then: func(err error) {
				if wrote.err = err; err == nil {
					root.Send(self, wrote)
					return
				}
				t.node.onDisk(func(c context.Context) error { // it may be written all the same
					return t.node.records.Queue().Unclaim(c, rec)
				}, func(undone error) {
					wrote.err = errors.Join(err, undone)
					root.Send(self, wrote)
				})
			},
		})
		return
	}
	t.node.onDisk(func(c context.Context) error {
		if from.sent() {
			var err error
			wrote.revision, err = t.node.claimTurn(c, rec, from)
			return err
		}
		if key.Key == "" && begun == nil {
			var err error
			wrote.revision, err = t.node.records.PutTask(c, rec, nil)
			return err
		}
		both := []func() error{func() (err error) {
			wrote.revision, err = t.node.records.PutTask(c, rec, nil)
			return err
		}}
		if begun != nil {
			both = append(both, func() error { return t.node.records.Runs.Put(c, begun) })
		}
		if key.Key != "" { // repeating the request must not start the task again
			k := records.Key{Digest: key.Digest, TaskID: rec.ID, Made: rec.Started, Started: started}
			begin := func() error { return t.node.records.BeginKey(c, rec.Account, key.Key, k) }
			if rec.Node != "" { // another node may have begun it: then there is no such task
				if err := begin(); err != nil {
					return err
				}
			} else {
				both = append(both, begin)
			}
		}
		return records.InParallel(both, func(f func() error) error { return f() })
	}, func(err error) {
		wrote.err = err
		root.Send(self, wrote)
	})
}

func (t *task) started() *api.Started {
	return &api.Started{
		TaskID: t.rec.ID, WorkerID: t.rec.WorkerID, WorkerName: t.rec.WorkerName, SessionID: t.rec.SessionID, Timeout: t.rec.Timeout,
	}
}

// onWritten lets the task begin and tells its client. A task that is not on disk
// does not run: nobody would know of it after a restart.
func (t *task) onWritten(ctx actor.Context, err error) {
	if t.run != nil {
		ctx.Send(t.run, &startAck{OK: err == nil})
	}
	if err != nil {
		if !errors.Is(err, errTurnOver) {
			t.node.log.Error().Err(err).Str("task", t.x.TaskID).Msg("task not begun: it could not be written down")
		}
		if t.from == nil && t.x.Idempotency.Key != "" && !errors.Is(err, persistence.ErrConflict) {
			t.node.undoKey(t.x, t.rec.ID)
		}
		no := api.RefusalFor(err)
		if t.from.sent() { // it goes on to wait
			no = api.Refuse(engine.CodeNoWorkerAvailable, "")
		}
		t.refused(ctx, &api.Started{TaskID: t.x.TaskID, Refusal: no, KeyTaken: errors.Is(err, persistence.ErrConflict)})
		return
	}
	t.written = true
	t.show()
	t.tell(ctx, t.started())
	if t.out != nil {
		t.writeEnd(ctx)
	}
}

// onEnd takes the answer of the worker, or a refusal.
func (t *task) onEnd(ctx actor.Context, x *api.Executed) {
	switch {
	case t.client == nil && !t.written: // it was refused, and did not begin
		return
	case t.out != nil: // it has ended already
		return
	case x.Refusal != nil:
		t.refused(ctx, &api.Started{TaskID: t.x.TaskID, Refusal: x.Refusal})
		return
	}
	t.out = x.Outcome
	t.played()
	if changed := t.rec.SessionID != x.SessionID; changed {
		if t.rec.SessionID = x.SessionID; t.written {
			t.show()
		}
	}
	switch {
	case t.rec.ID == "": // it ended before it could begin
		t.claimed(ctx, x)
	case t.written:
		t.writeEnd(ctx)
	}
}

func (t *task) refused(ctx actor.Context, no *api.Started) {
	if t.client == nil { // it was told that the task has started
		t.node.cleanUpFiles(t.files)
	}
	ctx.Send(ctx.Parent(), &taskRefused{t.x.TaskID, t.client, no})
	t.client = nil
}

func (t *task) tell(ctx actor.Context, s *api.Started) {
	if t.client != nil {
		ctx.Send(t.client, s)
		t.client = nil
	}
}

func (t *task) finished(ctx actor.Context) {
	t.node.cleanUpFiles(t.files)
	if t.from != nil {
		ctx.Send(t.node.queue, &queuedOver{t.x.TaskID})
	}
	ctx.Send(ctx.Parent(), &taskFinished{Task: t.x.TaskID})
}

func (t *task) expireAfter(ctx actor.Context, d time.Duration) { t.after(ctx, d, &expire{}) }

func (t *task) after(ctx actor.Context, d time.Duration, m any) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	t.retryTimer = time.AfterFunc(d, func() { root.Send(self, m) })
}

// status is what others see: a task has ended when its end is on disk.
func (t *task) status() api.TaskStatus {
	if t.endOnDisk {
		return t.rec.Status
	}
	return api.TaskPending
}

func (t *task) polled() *api.Polled {
	if !t.written {
		return &api.Polled{Refusal: api.Refuse(engine.CodeTaskNotFound, api.Quoted(t.x.TaskID))}
	}
	p := &api.Polled{Status: t.status(), Executed: t.rec.Executed(nil)}
	if t.endOnDisk {
		p.Executed.Outcome = t.out
	}
	return p
}

// show publishes the task's status for reading without a message.
func (t *task) show() { t.node.statusCache.Set(t.x.TaskID, t.x.Account.ID, t.polled()) }
