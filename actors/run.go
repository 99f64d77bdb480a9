package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/view"
	"troupe/engine"
)

// errReplaced ends what still runs on a browser that is being closed.
var errReplaced = errors.New("the browser was replaced")

// run is one play of one task. It goes on beside the worker's mailbox and is
// known by its address: what another run sends came too late.
type run struct {
	claim  *claim
	began  time.Time
	cancel context.CancelCauseFunc
	post   func(any) // to the worker

	mu     sync.Mutex
	over   bool
	saving bool // the task is over, and its session is being saved
	out    *engine.Outcome
	no     *api.Refusal  // why nothing of it was played
	bounds int           // how often they were set
	stuck  time.Duration // after the first of them
	alarm  *time.Timer   // for the first, then for the second
}

type (
	// ended says that a run has really stopped.
	ended struct {
		run *run
		how fsm.Ending
	}
	// late says that it should have.
	late struct {
		run   *run
		stuck bool
	}
)

// stop makes the run's context end.
func (r *run) stop(cause error) {
	if r != nil {
		r.cancel(cause)
	}
}

// bound sets how much longer the run may go on: until its client is answered
// without it, and until its browser is closed under it.
func (r *run) bound(overdue, stuck time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.unbind()
	r.stuck = stuck - overdue
	r.bounds++
	bounds := r.bounds
	r.alarm = time.AfterFunc(overdue, func() { r.passed(bounds, false) })
}

// passed tells the worker that the run has passed a bound, unless the bounds were
// set anew meanwhile.
func (r *run) passed(bounds int, stuck bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.bounds != bounds {
		return
	}
	r.post(&late{run: r, stuck: stuck})
	if !stuck {
		r.alarm = time.AfterFunc(r.stuck, func() { r.passed(bounds, true) })
	}
}

// finish says that nothing of the run goes on any more.
func (r *run) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.unbind()
}

func (r *run) unbind() {
	if r.alarm != nil {
		r.alarm.Stop()
	}
}

// notSaved is what a client is told whose session would not come back as it is.
const notSaved = "the session's state could not be saved: should its browser be restarted, it goes on from an earlier state"

// outcome is what came of the task so far.
func (r *run) outcome() *engine.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.saving {
		r.warn(notSaved)
	}
	return r.out
}

// refuse keeps why the task did not begin. The outcome is for those who only look on.
func (r *run) refuse(no *api.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.no = no
	r.out = &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: no.Code, Text: no.Text}}}
}

// refusal is the answer to a task that did not begin; nil: it did, or ended otherwise.
func (r *run) refusal() *api.Refusal {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.no
}

// played keeps the outcome for the answer.
func (r *run) played(out *engine.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = out
}

// save says that the session is being saved, saved that this is over.
func (r *run) save() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saving = true
}

func (r *run) saved(ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.saving && !ok {
		r.warn(notSaved)
	}
	r.saving = false
}

// warn adds a warning to the outcome. The outcome itself belongs to the engine,
// and may be on its way to a client already.
func (r *run) warn(message string) {
	out := *r.out
	out.Warnings = append(out.Warnings[:len(out.Warnings):len(out.Warnings)], engine.Warning{Message: message})
	r.out, r.saving = &out, false
}

// begin starts the time of a run that had to wait for something else first, and
// may take so long then.
func (r *run) begin(ctx context.Context, most time.Duration, cfg BrowserConfig) {
	r.mu.Lock()
	r.began = time.Now()
	r.mu.Unlock()
	if ctx.Err() == nil {
		r.bound(most+cfg.AnswerMargin, most+cfg.StopMargin)
	}
	if ctx.Err() != nil { // told to stop meanwhile: that bound must hold
		r.bound(cfg.AnswerMargin, cfg.StopMargin)
	}
}

func (r *run) since() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began
}

// begin plays the claim beside the mailbox.
func (w *worker) begin(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	cfg, most := w.node.cfg.Browser, w.claim.most()
	base, cancel := context.WithCancelCause(context.Background())
	r := &run{claim: w.claim, began: time.Now(), cancel: cancel, post: func(m any) { root.Send(self, m) }}
	w.run = r
	r.bound(most+cfg.AnswerMargin, most+cfg.StopMargin)
	p := &play{
		run: r, node: w.node, inst: w.browser.inst, session: w.survives.session.pid, spec: w.spec,
		leaves: w.survives.cond.KeptSession(), closes: w.survives.cond.Claim.Intent == fsm.Close,
	}
	if x := w.claim.Execute; len(x.Task.Steps) > 0 {
		w.node.feed.TaskStarted(&view.TaskNews{
			ID: x.TaskID, Account: x.Account.ID, Worker: w.spec.ID, WorkerName: w.spec.Name, Session: w.survives.cond.Session,
			Async: x.Task.Async, Actions: len(x.Task.Steps), Began: r.began,
		})
		w.browser.used()
		p.restored, w.browser.restored = w.browser.restored, false
	}
	w.node.background.Go(func() {
		defer cancel(nil)
		how := p.play(base)
		r.finish()
		r.post(&ended{run: r, how: how})
	})
}

// play is what the goroutine of a run needs.
type play struct {
	run      *run
	node     *nodeParts
	spec     api.WorkerSpec
	inst     engine.Instance
	session  *actor.PID
	leaves   string // the session that holds the worker afterwards
	closes   bool   // the session ends with the task
	restored bool   // the browser is not the one that the session had last
}

func (p *play) play(base context.Context) fsm.Ending {
	x := p.run.claim.Execute
	if x.BeginCheck != 0 {
		begin, there := p.node.beginChecks.get(x.BeginCheck)
		if !there { // nobody waits for the task any more
			return p.notStarted(base, errNobody)
		}
		if err := begin(base); err != nil {
			return p.notStarted(base, err)
		}
	}
	st := engine.TaskEnv{Account: x.Account.ID, Plan: x.Account.Plan, TaskID: x.TaskID, Asked: x.Asked, Trace: x.Trace, SaveFile: p.node.cfg.SaveFile,
		Measure: func(s engine.StepReport) { p.node.feed.StepEnded(x.TaskID, s) }}
	if of := p.node.cfg.Secrets; of != nil {
		var err error
		if st.Secrets, err = of(base, x.Account.ID); err != nil { // without them nothing could be masked
			return p.notStarted(base, fmt.Errorf("read the account's secrets: %w", err))
		}
	}
	if p.session != nil {
		cache, err := p.beginSession(base)
		if err != nil {
			return p.notStarted(base, err)
		}
		st.Cache = cache
	}
	if p.run.claim.NeedsAck {
		if err := p.announce(base, &st); err != nil {
			return p.notStarted(base, err)
		}
	}
	ctx, cancel := context.WithDeadline(base, p.run.since().Add(p.run.claim.Timeout))
	defer cancel()
	out, how := &engine.Outcome{End: engine.EndCompleted, Data: nothing}, fsm.OK
	if len(x.Task.Steps) > 0 {
		out, how = p.protected(ctx, st)
	}
	if p.restored && !out.Restored {
		copied := *out
		copied.Restored, out = true, &copied
	}
	p.run.played(out)
	if p.session != nil {
		p.endSession(base, how)
	}
	return how
}

// announce tells the client that its task is about to begin, and waits for its
// word: what is not on disk by then must not be played.
func (p *play) announce(base context.Context, st *engine.TaskEnv) error {
	c := p.run.claim
	ctx, cancel := context.WithTimeout(base, api.WriteTimeout+overrun)
	defer cancel()
	word, err := ask[startAck](ctx, p.node.system, c.Client, &startRequest{&api.Executed{
		TaskID: c.Execute.TaskID, WorkerID: p.spec.ID, WorkerName: p.spec.Name, SessionID: p.leaves, Timeout: c.Timeout,
	}})
	switch {
	case err != nil:
		return fmt.Errorf("announce a task: %w", err)
	case word.Refusal != nil:
		return fmt.Errorf("announce a task: %w", word.Refusal)
	case !word.OK:
		return errors.New("announce a task: it may not begin")
	}
	if root := p.node.system.Root; c.Execute.Task.Async {
		st.OnStep = func(s engine.StepReport) { root.Send(c.Client, &stepEnded{forFollowers(s)}) }
	}
	p.run.begin(base, c.most(), p.node.cfg.Browser)
	return nil
}

// notStarted ends a task that did not begin.
func (p *play) notStarted(base context.Context, err error) fsm.Ending {
	no := api.RefusalFor(err)
	switch {
	case base.Err() != nil: // because somebody wanted its end
		p.run.played(&engine.Outcome{End: engine.EndOf(base)})
		return fsm.OK
	case no.Code == engine.CodeInternal:
		p.run.played(p.internal(err))
		return fsm.OK
	}
	p.node.log.Error().Err(err).Str("task", p.run.claim.Execute.TaskID).Msg("task not begun")
	p.run.refuse(no)
	return fsm.NotStarted
}

// protected plays the task. A panic ends the task and not the process; who
// knows what it left in the browser.
func (p *play) protected(ctx context.Context, st engine.TaskEnv) (out *engine.Outcome, how fsm.Ending) {
	defer func() {
		if r := recover(); r != nil {
			out, how = p.internal(fmt.Errorf("play: panic: %v\n%s", r, debug.Stack())), fsm.Broken
		}
	}()
	out = p.inst.Play(ctx, p.run.claim.Execute.Task, st)
	switch {
	case out == nil:
		return p.internal(errors.New("play: the engine gave no outcome")), fsm.Broken
	case out.End == engine.EndCrashed:
		return out, fsm.Crashed
	default:
		return out, fsm.OK
	}
}

// internal is the outcome of a task that failed by our fault. What exactly went
// wrong is for the log, not for the client.
func (p *play) internal(err error) *engine.Outcome {
	p.node.log.Error().Err(err).Str("task", p.run.claim.Execute.TaskID).Msg("task failed inside the service")
	return failedInside()
}
