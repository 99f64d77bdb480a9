package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/engine"
)

// tasks is the parent of the asynchronous tasks that run or have just ended, and
// answers for the others from the disk.
type tasks struct {
	node   *nodeParts
	live   map[string]*liveTask
	writes int          // tasks of which something is still to be written
	asked  []*actor.PID // wait until there is none
}

type liveTask struct {
	pid     *actor.PID
	account string
	settled bool
}

func (ts *tasks) Receive(ctx actor.Context) {
	defer recoverIn(ctx, ts.node)
	switch m := ctx.Message().(type) {
	case *startTask:
		ts.start(ctx, m.Execute)
	case *Poll:
		ts.ask(ctx, m.TaskID, m.Account, func(p *Polled) any { return p })
	case *Follow:
		ts.ask(ctx, m.TaskID, m.Account, func(p *Polled) any { return &Followed{Status: p.Status, Refusal: p.Refusal} })
	case *taskSettled:
		if t := ts.live[m.Task]; t != nil && !t.settled {
			t.settled = true
			ts.writes--
			ts.check(ctx)
		}
	case *taskRetires:
		if t := ts.live[m.Task]; t != nil {
			delete(ts.live, m.Task)
			ctx.Poison(t.pid) // it answers first what was sent to it before
		}
	case *settle:
		ts.asked = append(ts.asked, ctx.Sender())
		ts.check(ctx)
	}
}

func (ts *tasks) start(ctx actor.Context, x *Execute) {
	if ts.live[x.TaskID] != nil {
		ctx.Respond(&Started{TaskID: x.TaskID, Refusal: refuse(engine.CodeInternal, "two tasks have the same id")})
		return
	}
	pid, err := ctx.SpawnNamed(newTask(ts.node, x, ctx.Sender()), "task/"+x.TaskID)
	if err != nil {
		ts.node.log.Error().Err(err).Str("task", x.TaskID).Msg("task could not be spawned")
		ctx.Respond(&Started{TaskID: x.TaskID, Refusal: refuse(engine.CodeInternal, "")})
		return
	}
	ts.live[x.TaskID] = &liveTask{pid: pid, account: x.Account.ID}
	ts.writes++
}

// ask passes a question on to the task, or answers it from the disk.
func (ts *tasks) ask(ctx actor.Context, id string, a Account, shape func(*Polled) any) {
	who := ctx.Sender()
	switch t := ts.live[id]; {
	case t == nil:
		root := ctx.ActorSystem().Root
		var p *Polled
		ts.node.beside(func(c context.Context) (err error) {
			p, err = ts.node.records.poll(c, id, a.ID)
			return err
		}, func(err error) {
			if err != nil {
				ts.node.log.Error().Err(err).Str("task", id).Msg("task not read")
				p = &Polled{Refusal: refuse(engine.CodeInternal, "")}
			}
			root.Send(who, shape(p))
		})
	case t.account != a.ID:
		ctx.Send(who, shape(&Polled{Refusal: refuse(engine.CodeTaskNotFound, quoted(id))}))
	default:
		ctx.RequestWithCustomSender(t.pid, ctx.Message(), who)
	}
}

// check answers whoever waits until everything is written.
func (ts *tasks) check(ctx actor.Context) {
	if ts.writes > 0 {
		return
	}
	for _, who := range ts.asked {
		ctx.Send(who, &settled{})
	}
	ts.asked = nil
}
