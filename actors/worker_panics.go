package actors

import (
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/fsm"
	"troupe/engine"
)

// answerPanic answers the request whose handling panicked, because the library
// drops its message. The panic itself goes on to the supervisor.
func (w *worker) answerPanic(ctx actor.Context) {
	r := recover()
	if r == nil {
		return
	}
	w.log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).Msg("worker panicked")
	switch m := ctx.Message().(type) {
	case *claim: // pool ignores earlier statuses
		w.survives.seq = max(w.survives.seq, m.Seq)
		if w.claim != m || !w.survives.cond.HasClaim() {
			ctx.Send(w.node.pool, &declined{Status: w.status(), Task: m.Execute.TaskID, Code: engine.CodeInternal})
		}
	case *actor.Restarting: // a panic here would end the actor for good
		w.guarded(func() { w.abandon(ctx) })
		return
	case *actor.Stopping:
		w.guarded(func() { w.stop(ctx) })
		return
	case *workerAdopt: // the next incarnation goes on with it
		w.survives.seq = max(w.survives.seq, m.Seq)
		if w.survives.session.pid == nil {
			w.survives.recovered = &m.session
		}
	}
	panic(r)
}

// guarded recovers a panic of f: the library would restart an actor that panics
// while it stops.
func (w *worker) guarded(f func()) {
	defer func() {
		if r := recover(); r != nil {
			w.log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).Msg("worker panicked while it ended")
		}
	}()
	f()
}

// abandon ends the worker's task after a panic, as if its browser had died. The
// restarted worker goes on from survivingState, with the session.
func (w *worker) abandon(ctx actor.Context) {
	w.syncSession()
	for _, e := range []fsm.Event{fsm.BrowserLost{}, fsm.RunOverdue{}, fsm.LaunchFailed{}} {
		w.guarded(func() { w.apply(ctx, e) })
	}
	w.browser.close()
}

// syncSession sets the session in the condition to the one whose actor runs: the
// panic may have come between an effect and its condition.
func (w *worker) syncSession() {
	held, c := w.survives.session, &w.survives.cond
	if c.Session != held.id {
		c.Session, c.Holder = held.id, held.holder
	}
}

// resumeAfterPanic continues after a panic. Pool and the session repeat messages that the
// worker may have lost.
func (w *worker) resumeAfterPanic(ctx actor.Context) {
	w.syncSession()
	c := w.survives.cond
	w.survives.cond = fsm.Condition{Browser: fsm.Down, Draining: c.Draining, Session: c.Session, Holder: c.Holder}
	if k := w.survives.recovered; k != nil && w.survives.session.pid == nil {
		w.survives.cond.Session, w.survives.cond.Holder = k.rec.ID, k.rec.Account
		w.spawnSession(ctx, *k)
	} else if w.survives.session.pid != nil {
		ctx.Send(w.survives.session.pid, &sessionRepeat{})
	}
	w.reportStatus(ctx)
	ctx.Send(w.node.pool, &workerRestarted{Worker: w.spec.ID})
	ctx.Send(ctx.Parent(), &browserDown{Early: true})
}
