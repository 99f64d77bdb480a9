package actors

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/engine"
)

// tasks is the parent of the asynchronous tasks that run or have just ended, and
// answers for the others from the disk.
type tasks struct {
	node    *nodeParts
	live    map[string]*liveTask
	flushes []flushWaiter // wait until nothing is to be written
	named   int           // actors of tasks so far: one that comes back may find its last one ending
}

type liveTask struct {
	pid      *actor.PID
	account  string
	finished bool
}

func (ts *tasks) Receive(ctx actor.Context) {
	defer recoverIn(ctx, ts.node, ts)
	switch m := ctx.Message().(type) {
	case *startTask:
		ts.start(ctx, m)
	case *taskFinished:
		if t := ts.live[m.Task]; t != nil && !t.finished {
			t.finished = true
			ts.check(ctx)
		}
	case *taskRefused:
		if t := ts.live[m.Task]; t != nil {
			ts.stopTask(ctx, m.Task, t)
		}
		if m.Client != nil {
			ctx.Send(m.Client, m.Started)
		}
		ts.check(ctx)
	case *taskExpired:
		if t := ts.live[m.Task]; t != nil {
			ts.stopTask(ctx, m.Task, t)
		}
	case *cancelTask:
		if t := ts.live[m.Task]; t != nil {
			ctx.Forward(t.pid)
		} else {
			ctx.Respond(&cancelTaskHeard{m.Task})
		}
	case *flush:
		ts.flushes = append(ts.flushes, flushWaiter{ctx.Sender(), m.Account})
		ts.check(ctx)
	default:
		tasksVerbs.answer(ts, ctx, m)
	}
}

var (
	_ = handle(tasksVerbs, (*tasks).onPoll)
	_ = handle(tasksVerbs, (*tasks).onFollow)
)

func (ts *tasks) onPoll(ctx actor.Context, m *api.Poll) {
	ts.ask(ctx, m.TaskID, m.Account, func(p *api.Polled) any { return p })
}

func (ts *tasks) onFollow(ctx actor.Context, m *api.Follow) {
	ts.ask(ctx, m.TaskID, m.Account, func(p *api.Polled) any {
		return &api.Followed{Status: p.Status, Refusal: p.Refusal, Node: p.Node}
	})
}

// stopTask ends the actor of a task. It answers first what was sent to it before.
func (ts *tasks) stopTask(ctx actor.Context, id string, t *liveTask) {
	delete(ts.live, id)
	ctx.Poison(t.pid)
}

func (ts *tasks) start(ctx actor.Context, m *startTask) {
	x := m.Execute
	if ts.live[x.TaskID] != nil {
		ctx.Respond(&api.Started{TaskID: x.TaskID, Refusal: api.Refuse(engine.CodeInternal, "two tasks have the same id")})
		return
	}
	ts.named++
	pid, err := ctx.SpawnNamed(newTask(ts.node, m, ctx.Sender()), "task/"+x.TaskID+"/"+strconv.Itoa(ts.named))
	if err != nil {
		ts.node.log.Error().Err(err).Str("task", x.TaskID).Msg("task could not be spawned")
		ctx.Respond(&api.Started{TaskID: x.TaskID, Refusal: api.Refuse(engine.CodeInternal, "")})
		return
	}
	ts.live[x.TaskID] = &liveTask{pid: pid, account: x.Account.ID}
}

// asksForNoOutcome reports whether a question is answered without the outcome of its task.
func asksForNoOutcome(message any) bool {
	poll, polls := message.(*api.Poll)
	return !polls || poll.Bare
}

// ask passes a question on to the task, or answers it from the disk.
func (ts *tasks) ask(ctx actor.Context, id string, a api.Account, shape func(*api.Polled) any) {
	client := ctx.Sender()
	_, queued := backlog.PlaceOf(a.ID, id)
	switch t := ts.live[id]; {
	case t == nil && queued && ts.node.queue != nil:
		ctx.RequestWithCustomSender(ts.node.queue, ctx.Message(), client)
	case t == nil:
		root := ctx.ActorSystem().Root
		var p *api.Polled
		bare := asksForNoOutcome(ctx.Message())
		ts.node.onDisk(func(c context.Context) (err error) {
			if bare {
				c = records.WithoutOutcomes(c)
			}
			var until time.Time
			if p, until, err = ts.node.records.Poll(c, id, a.ID); !until.IsZero() {
				ts.node.statusCache.Remember(id, a.ID, p, until)
			}
			return err
		}, func(err error) {
			if err != nil {
				ts.node.log.Error().Err(err).Str("task", id).Msg("task not read")
				p = &api.Polled{Refusal: api.RefusalFor(err)}
			}
			root.Send(client, shape(p))
		})
	case t.account != a.ID:
		ctx.Send(client, shape(&api.Polled{Refusal: api.Refuse(engine.CodeTaskNotFound, api.Quoted(id))}))
	default:
		ctx.RequestWithCustomSender(t.pid, ctx.Message(), client)
	}
}

// check answers flushes when everything is written. It also ends the actors of an
// account's tasks, if the flush is of one account.
func (ts *tasks) check(ctx actor.Context) {
	ts.flushes = slices.DeleteFunc(ts.flushes, func(s flushWaiter) bool {
		for _, t := range ts.live {
			if !t.finished && (s.account == "" || s.account == t.account) {
				return false
			}
		}
		for id, t := range ts.live {
			if s.account == t.account {
				ts.stopTask(ctx, id, t)
			}
		}
		ctx.Send(s.sender, &flushed{})
		return true
	})
}
