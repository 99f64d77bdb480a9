package actors

import (
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/fsm"
	"troupe/engine"
)

// confess makes sure that a request whose handling panics is answered: the
// library drops the message. The panic itself goes on to the supervisor.
func (w *worker) answerPanic(ctx actor.Context) {
	r := recover()
	if r == nil {
		return
	}
	w.log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).Msg("worker panicked")
	switch m := ctx.Message().(type) {
	case *claim: // pool believes no earlier note
		w.survives.seq = max(w.survives.seq, m.Seq)
		if w.claim != m || !w.survives.cond.HasClaim() {
			ctx.Send(w.node.pool, &declined{Status: w.status(), Task: m.Execute.TaskID, Code: engine.CodeInternal})
		}
	case *actor.Restarting: // from here on the library would lose the actor
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

// guarded keeps a panic from the library, which would bring a stopping actor
// back to life.
func (w *worker) guarded(f func()) {
	defer func() {
		if r := recover(); r != nil {
			w.log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).Msg("worker panicked while it ended")
		}
	}()
	f()
}

// abandon ends what the worker had in hand when it panicked, as if its browser
// had died. The next incarnation goes on from the memory, with the session.
func (w *worker) abandon(ctx actor.Context) {
	w.syncSession()
	for _, e := range []fsm.Event{fsm.EvGone{}, fsm.EvOverdue{}, fsm.EvFailed{}} {
		w.guarded(func() { w.apply(ctx, e) })
	}
	w.browser.close()
}

// agree makes the condition say of the session what its actor is: an effect may
// have been carried out of which the condition does not know, or the other way
// round.
func (w *worker) syncSession() {
	held, c := w.survives.session, &w.survives.cond
	if c.Session != held.id {
		c.Session, c.Holder = held.id, held.holder
	}
}

// resume goes on after a panic. Pool says again what was said to an incarnation
// that may not have listened, and the session what its time is.
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
