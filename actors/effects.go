package actors

import (
	"encoding/json"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/records"
	"troupe/actors/runs"
	"troupe/engine"
)

// nothing is the result of a request that had nothing to play.
var nothing = json.RawMessage(`{"success":true}`)

// carryOut does what step has decided. The event is the one it decided on.
func (w *worker) carryOut(ctx actor.Context, e fsm.Event, eff fsm.Effect) {
	switch eff := eff.(type) {
	case fsm.RefuseClaim:
		w.sendBack(ctx, e.(fsm.ClaimReceived).Task, eff.Code)
	case fsm.ReturnClaim:
		w.sendBack(ctx, w.claim.Execute.TaskID, eff.Code)
	case fsm.SendAnswer:
		w.answer(ctx, eff)
	case fsm.StartRun:
		w.begin(ctx)
	case fsm.StopRun:
		w.run.stop(eff.Cause.Err())
		w.run.bound(w.node.cfg.Browser.AnswerMargin, w.node.cfg.Browser.StopMargin)
	case fsm.BoundRun:
		w.run.bound(w.node.cfg.Browser.AnswerMargin, w.node.cfg.Browser.StopMargin)
	case fsm.CloseBrowser:
		w.run.stop(errReplaced)
		w.reset = nil
		w.browser.close()
	case fsm.LaunchBrowser:
		w.launch(ctx)
	case fsm.RequestLaunch:
		ctx.Send(ctx.Parent(), &browserDown{Early: w.browser.early(w.node.cfg.Browser.Restarts.Stable)})
	case fsm.ResetBrowser:
		w.clean(ctx)
	case fsm.ReceiveSession:
		w.spawnSession(ctx, *w.adopts)
	case fsm.OpenSession:
		w.openSession(ctx, eff.Session)
	case fsm.RenameSession:
		ctx.Send(w.survives.session.pid, &sessionRename{ID: eff.To, Timeout: w.openTimeout(), Label: w.claim.Execute.Task.Session.Label})
		w.survives.session.id = eff.To
	case fsm.RestartSessionTimer:
		ctx.Send(w.survives.session.pid, &sessionResetTimer{Timeout: w.sessionTimeout()})
	case fsm.EndSession:
		w.forgetSession(ctx)
	case fsm.SaveSession:
		w.suspend(ctx)
	}
}

// sendBack returns a claim to pool, which finds another worker for it or tells
// its client.
func (w *worker) sendBack(ctx actor.Context, task string, code engine.Code) {
	w.reported = w.status()
	ctx.Send(w.node.pool, &declined{Status: w.reported, Task: task, Code: code})
}

// answer sends the client what came of its task.
func (w *worker) answer(ctx actor.Context, eff fsm.SendAnswer) {
	x := w.claim.Execute
	var out *engine.Outcome
	switch {
	case w.run == nil:
		out = &engine.Outcome{End: eff.End}
	default:
		// A run that is over but for the saving of its session has an outcome
		// that is worth more than what the worker could say.
		if out = w.run.outcome(); out == nil {
			out = &engine.Outcome{End: eff.End, Duration: time.Since(w.run.since())}
		}
	}
	answer := &api.Executed{
		TaskID:     x.TaskID,
		WorkerID:   w.spec.ID,
		WorkerName: w.spec.Name,
		SessionID:  eff.Session,
		Timeout:    w.claim.Timeout,
		Outcome:    out,
	}
	w.node.feed.TaskOver(answer) // first: a client with the answer must find the task ended
	if no := w.run.refusal(); no != nil {
		if !w.claim.Counted.IsZero() { // before the client has its answer, as for those that no worker has
			w.node.usage.GiveBack(x.Account.ID, w.claim.Counted)
		}
		answer = x.Refused(w.claim.Timeout, no)
	}
	w.remember(x, answer)
	ctx.Send(w.claim.Client, answer)
}

// remember keeps the run of a synchronous task. That of any other is kept with its end.
func (w *worker) remember(x *api.Execute, answer *api.Executed) {
	if h := w.node.records.Runs; h.Keeps() && answer.Outcome != nil && x.Task.Counts() && !x.Task.Async && !x.FromQueue {
		r := runs.Of(x, w.node.cfg.Node)
		if w.run != nil {
			r.Began = w.run.since()
		}
		r.On(answer)
		r.Ends(answer.Outcome, time.Now())
		h.Add(r)
	}
}

func (w *worker) sessionTimeout() time.Duration {
	if w.claim == nil || w.claim.Execute.Task.Session == nil {
		return 0
	}
	return w.claim.Execute.Task.Session.Timeout
}

// openTimeout is the timeout of a session that the claim opens.
func (w *worker) openTimeout() time.Duration {
	timeout := w.sessionTimeout()
	def(&timeout, engine.DefaultSessionTimeout)
	return timeout
}

func (w *worker) openSession(ctx actor.Context, id string) {
	now := time.Now()
	rec := records.Session{
		ID: id, Account: w.claim.Execute.Account.ID, Worker: w.spec.ID, Node: w.node.cfg.Node, Timeout: w.openTimeout(), Started: now,
		Label: w.claim.Execute.Task.Session.Label,
	}
	if w.spec.Owner == "" {
		rec.Until = now.Add(w.node.cfg.Session.MaxAge)
	}
	rec.Deadline = rec.DeadlineFrom(now)
	w.spawnSession(ctx, recoveredSession{rec: rec, state: records.SessionState{Cache: engine.NewCache()}, term: w.node.leases.Term()})
}

func (w *worker) spawnSession(ctx actor.Context, k recoveredSession) {
	pid, err := ctx.ActorSystem().Root.SpawnNamed(newSession(w.node, ctx.Self(), k), "session/"+k.rec.ID)
	if err != nil {
		w.log.Error().Err(err).Str("session", k.rec.ID).Msg("session could not be spawned")
	}
	w.survives.recovered, w.survives.session = nil, heldSession{pid, k.rec.ID, k.rec.Account}
}

// forgetSession ends the session for good.
func (w *worker) forgetSession(ctx actor.Context) {
	if s := w.survives.session.pid; s != nil {
		ctx.Send(s, &sessionForget{})
		ctx.Poison(s)
		w.survives.session = heldSession{}
		if w.browser != nil { // its data of the session is no longer needed
			w.browser.restored = false
		}
	}
}

// leaveSession ends the actor of the session. What is on disk stays: the session
// goes on where its worker comes back.
func (w *worker) leaveSession(ctx actor.Context) {
	if s := w.survives.session.pid; s != nil {
		ctx.Stop(s)
		w.survives.session = heldSession{}
	}
}
