package actors

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/engine"
)

// A panic in the handling of a message is a bug, and must cost no more than that
// message. The library would drop the message and restart the actor without its
// state. So actors recover from panics themselves, and answer those who wait. The
// worker is the exception: the state of its browser is unknown after a panic, so
// its supervisor restarts it with a new browser. See worker_panics.go.

// failure is the answer to a message whose handling panicked, where its own kind
// of answer cannot say so.
type failure struct{ Text string }

func (f *failure) Error() string { return f.Text }

// again is the pause before work is repeated that panicked and must not be left
// undone.
const again = time.Second

// panicHandler is an actor that can end the work of a message whose handling has
// panicked: those who wait are answered, and no half-done work is left.
// afterPanic reports whether the sender has an answer, or needs none.
type panicHandler interface {
	afterPanic(ctx actor.Context, message any, no *api.Refusal) bool
}

// recoverIn keeps an actor alive through a panic, with the state that it has. It
// is to be deferred.
func recoverIn(ctx actor.Context, n *nodeParts, a panicHandler) {
	r := recover()
	if r == nil {
		return
	}
	n.panicked(ctx, r)
	no, answered := api.Refuse(engine.CodeInternal, ""), false
	err := protect(func() error {
		answered = a.afterPanic(ctx, ctx.Message(), no)
		return nil
	})
	if err != nil {
		n.log.Error().Err(err).Str("actor", ctx.Self().Id).Msg("a message that panicked was not made up for")
	}
	if !answered {
		answerFailed(ctx, no)
	}
}

func (n *nodeParts) panicked(ctx actor.Context, r any) {
	n.log.Error().Str("actor", ctx.Self().Id).Str("message", fmt.Sprintf("%T", ctx.Message())).
		Interface("panic", r).Bytes("stack", debug.Stack()).Msg("actor panicked")
}

// answerFailed answers the sender of a message, if there is one, in the form that
// it understands.
func answerFailed(ctx actor.Context, no *api.Refusal) {
	if ctx.Sender() == nil {
		return
	}
	switch m := ctx.Message().(type) {
	case *executeWithAck:
		ctx.Respond(m.Execute.Refused(0, no))
	case *keyed:
		ctx.Respond(m.refused(no))
	case *enqueue:
		ctx.Respond(&api.Started{TaskID: m.Execute.TaskID, Refusal: no})
	case *startTask:
		ctx.Respond(&api.Started{TaskID: m.Execute.TaskID, Refusal: no})
	case *startRequest:
		ctx.Respond(&startAck{})
	case *reserveForSession:
		ctx.Respond(&reservedForSession{Refusal: no})
	default:
		if v := api.VerbOf(m); v != nil && v.Failed != nil {
			ctx.Respond(v.Failed(m, no))
			return
		}
		ctx.Respond(&failure{api.FailedInside})
	}
}

// sendLater sends an actor a message after a while.
func sendLater(ctx actor.Context, d time.Duration, to *actor.PID, m any) *time.Timer {
	root := ctx.ActorSystem().Root
	return time.AfterFunc(d, func() { root.Send(to, m) })
}

func (a *admission) afterPanic(ctx actor.Context, message any, no *api.Refusal) bool {
	switch m := message.(type) {
	case *counted:
		x := m.adm.Execute
		delete(a.counting, x.TaskID)
		if m.err == nil && m.ok {
			a.node.usage.GiveBack(x.Account.ID, m.adm.Counted)
		}
		ctx.Send(m.adm.Client, x.Refused(m.adm.Timeout, no))
		waiting := a.removing[x.Account.ID]
		delete(a.removing, x.Account.ID)
		for _, asker := range waiting {
			a.removeCounted(ctx, &api.RemoveAccount{Account: x.Account.ID}, asker)
		}
	case *workerAdded:
		a.owners[m.Worker] = m.Owner
	case *workerRemoved:
		delete(a.owners, m.Worker)
	}
	return false
}

func (k *keys) afterPanic(ctx actor.Context, message any, no *api.Refusal) bool {
	switch m := message.(type) {
	case *keyed:
		if r := k.live[m.id()]; r != nil && r.Execute == m.Execute { // else it goes on
			k.end(ctx, r, r.refused(no))
			return true
		}
	case *keyRead:
		k.end(ctx, m.req, m.req.refused(no))
	case *api.BeginCall:
		r := k.live[[2]string{m.Account.ID, m.Idempotency.Key}]
		if r != nil && r.Call && len(r.waiting) == 1 && r.waiting[0] == ctx.Sender() { // else it goes on
			k.end(ctx, r, r.refused(no))
			return true
		}
	case *callBegun:
		k.end(ctx, m.req, m.req.refused(no))
	case *callEnded:
		ctx.Send(m.caller, &api.CallEnded{})
		k.end(ctx, m.req, m.req.refused(no))
	case *api.EndCall: // what it did stays; its answer is lost
		if r := k.live[[2]string{m.Account.ID, m.Key}]; r != nil && r.Call && r.rec.TaskID == m.Run && !r.writing {
			k.end(ctx, r, r.refused(no))
		}
	case *startRequest:
		if r := k.tasks[m.Executed.TaskID]; r != nil {
			r.writing = false
		}
	case *keyWritten:
		m.req.writing = false
		ctx.Send(m.run, &startAck{})
		if x := m.req.answer; x != nil {
			k.end(ctx, m.req, x)
		}
	case *api.Executed:
		if r := k.tasks[m.TaskID]; r != nil {
			k.end(ctx, r, m)
		}
	case *answerWritten:
		k.end(ctx, m.req, m.req.rec.Executed)
	case *api.Started:
		if r := k.tasks[m.TaskID]; r != nil {
			if m.KeyTaken { // another node's counts, and what it says is not known
				m = &api.Started{TaskID: m.TaskID, Refusal: no}
			}
			k.end(ctx, r, m)
		}
	}
	return false
}

func (ts *tasks) afterPanic(ctx actor.Context, message any, _ *api.Refusal) bool {
	switch m := message.(type) {
	case *taskFinished:
		if t := ts.live[m.Task]; t != nil {
			t.finished = true
		}
		ts.check(ctx)
	case *taskRefused:
		if m.Client != nil {
			ctx.Send(m.Client, m.Started)
		}
		if t := ts.live[m.Task]; t != nil {
			ts.stopTask(ctx, m.Task, t)
		}
		ts.check(ctx)
	case *taskExpired:
		if t := ts.live[m.Task]; t != nil {
			ts.stopTask(ctx, m.Task, t)
		}
	}
	return false
}

// afterPanic starts the browser that was to be started, perhaps later than
// planned.
func (k *supervisor) afterPanic(ctx actor.Context, message any, _ *api.Refusal) bool {
	switch message.(type) {
	case *actor.Started:
		if k.child == nil {
			k.spawn(ctx)
		}
	case *browserDown:
		if k.timer != nil {
			k.timer.Stop()
		}
		k.timer = sendLater(ctx, k.restarts.Slow, k.child, &launch{})
	}
	return false
}

func (t *root) afterPanic(ctx actor.Context, message any, _ *api.Refusal) bool {
	switch m := message.(type) {
	case *actor.Started:
		t.up <- &failure{api.FailedInside}
	case *startWorker: // whether it was done or not: twice does no harm
		_ = t.startWorker(ctx, m.spec)
	case *stopWorker:
		t.stopWorker(ctx, m)
	}
	return false
}
