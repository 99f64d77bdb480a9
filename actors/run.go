package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

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

	mu      sync.Mutex
	over    bool
	out     *engine.Outcome
	overdue *time.Timer
	stuck   *time.Timer
}

type (
	// ended says that a run has really stopped.
	ended struct {
		run *run
		how ending
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
	r.overdue = time.AfterFunc(overdue, func() { r.post(&late{run: r}) })
	r.stuck = time.AfterFunc(stuck, func() { r.post(&late{run: r, stuck: true}) })
}

// finish says that nothing of the run goes on any more.
func (r *run) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.unbind()
}

func (r *run) unbind() {
	if r.overdue != nil {
		r.overdue.Stop()
		r.stuck.Stop()
	}
}

func (r *run) outcome() *engine.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out
}

// played keeps the outcome for the answer.
func (r *run) played(out *engine.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = out
}

// begin plays the claim beside the mailbox.
func (w *worker) begin(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	cfg, timeout := w.node.cfg.Browser, w.claim.Timeout
	base, cancel := context.WithCancelCause(context.Background())
	r := &run{claim: w.claim, began: time.Now(), cancel: cancel, post: func(m any) { root.Send(self, m) }}
	w.run = r
	w.browser.used()
	r.bound(timeout+cfg.AnswerMargin, timeout+cfg.StopMargin)
	p := &play{run: r, node: w.node, inst: w.browser.inst, session: w.session, keeps: w.mem.cond.keeps()}
	w.node.goes.Go(func() {
		defer cancel(nil)
		how := p.play(base)
		r.finish()
		r.post(&ended{run: r, how: how})
	})
}

// play is what the goroutine of a run needs.
type play struct {
	run     *run
	node    *nodeParts
	inst    engine.Instance
	session *actor.PID
	keeps   bool
}

func (p *play) play(base context.Context) ending {
	x := p.run.claim.Execute
	st := engine.Stage{Account: x.Account.ID, TaskID: x.TaskID, SaveFile: p.node.cfg.SaveFile}
	if p.session != nil {
		m := &sessionBegin{}
		if x.Task.Session != nil {
			m.Timeout = x.Task.Session.Timeout
		}
		s, err := ask[sessionBegun](base, p.node.system, p.session, m)
		if err != nil {
			p.run.played(p.internal(fmt.Errorf("begin in the session: %w", err)))
			return fine
		}
		st.Cache = s.Cache
	}
	ctx, cancel := context.WithDeadline(base, p.run.began.Add(p.run.claim.Timeout))
	defer cancel()
	out, how := p.protected(ctx, st)
	p.run.played(out)
	if how == fine && p.session != nil && p.keeps {
		p.save(base)
	}
	return how
}

// protected plays the task. A panic ends the task and not the process; who
// knows what it left in the browser.
func (p *play) protected(ctx context.Context, st engine.Stage) (out *engine.Outcome, how ending) {
	defer func() {
		if r := recover(); r != nil {
			out, how = p.internal(fmt.Errorf("play: panic: %v\n%s", r, debug.Stack())), broken
		}
	}()
	out = p.inst.Play(ctx, p.run.claim.Execute.Task, st)
	switch {
	case out == nil:
		return p.internal(errors.New("play: the engine gave no outcome")), broken
	case out.End == engine.EndCrashed:
		return out, crashed
	default:
		return out, fine
	}
}

// save keeps the session's state. One that cannot be read leaves the last one in
// place.
func (p *play) save(base context.Context) {
	bound := p.node.cfg.Session.SaveTimeout
	p.run.bound(bound+p.node.cfg.Browser.AnswerMargin, bound+p.node.cfg.Browser.StopMargin)
	// The task's cancellation is over with the task.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(base), bound)
	defer cancel()
	if err := keepState(ctx, p.node, p.inst, p.session); err != nil {
		p.node.log.Warn().Err(err).Str("task", p.run.claim.Execute.TaskID).Msg("session not saved")
	}
}

// internal is the outcome of a task that failed by our fault. What exactly went
// wrong is for the log, not for the client.
func (p *play) internal(err error) *engine.Outcome {
	p.node.log.Error().Err(err).Str("task", p.run.claim.Execute.TaskID).Msg("task failed inside the service")
	return &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{
		Code: engine.CodeInternal, Text: "The task failed inside the service",
	}}}
}
