package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/view"
	"troupe/engine"
)

// begin runs the claim outside of the mailbox.
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
	if x := w.claim.Execute; x.Task.Counts() {
		w.node.feed.TaskStarted(&view.TaskProgress{
			ID: x.TaskID, Account: x.Account.ID, Worker: w.spec.ID, WorkerName: w.spec.Name, Session: w.survives.cond.Session,
			Async: x.Task.Async, Actions: x.Task.Actions(), Began: r.began, Schedule: x.Schedule, Label: x.Task.Label, Metadata: x.Task.Metadata,
		})
		w.browser.used()
	}
	if x := w.claim.Execute; x.Task.Counts() || x.Task.SetsUp() || x.Attach != 0 {
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
	leaves   string        // the session that holds the worker afterwards
	closes   bool          // the session ends with the task
	restored bool          // the browser is not the one that the session had last
	client   engine.Client // that plays the task; nil: its list is played
}

func (p *play) play(base context.Context) fsm.Ending {
	x := p.run.claim.Execute
	if x.BeginCheck != 0 {
		begin, there := p.node.beginChecks.get(x.BeginCheck)
		if !there { // its client has left
			return p.notStarted(base, errNoActor)
		}
		if err := begin(base); err != nil {
			return p.notStarted(base, err)
		}
	}
	if no := p.needsOwnBrowser(); no != nil {
		p.run.refuse(no)
		return fsm.NotStarted
	}
	st := engine.TaskEnv{Account: x.Account.ID, Plan: x.Account.Plan, TaskID: x.TaskID, Asked: x.Asked, Queued: x.FromQueue, Trace: x.Trace, SaveFile: p.node.cfg.SaveFile,
		Measure: func(s engine.StepReport) { p.node.feed.StepEnded(x.TaskID, s) }}
	if of := p.node.cfg.Secrets; of != nil {
		var err error
		if st.Secrets, err = of(base, x.Account.ID); err != nil { // without them nothing could be masked
			return p.notStarted(base, fmt.Errorf("read the account's secrets: %w", err))
		}
	}
	if x.Attach != 0 {
		client, there := p.node.clients.get(x.Attach)
		if !there { // it has left
			return p.notStarted(base, errNoActor)
		}
		st.Client, p.client = client, client
		st.Files = &sessionFiles{p.node.records.SessionFiles, x.Account.ID, x.Task.Session.ID}
	}
	task, err := p.parsed(base)
	if err != nil {
		return p.notStarted(base, err)
	}
	if want := x.Task.Profile; want != nil {
		profile, end, err := p.useProfile(base, want)
		if err != nil {
			return p.notStarted(base, err)
		}
		defer end()
		st.Profile = profile
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
	if len(task.Steps) > 0 || task.SetsUp() || st.Client != nil {
		out, how = p.protected(ctx, task, st)
	}
	if st.Profile != nil && !st.Profile.Loaded && p.session != nil { // else what is not there would be saved
		p.node.sessions.profileOf(p.session).giveUp("it was not put into the browser")
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

// needsOwnBrowser refuses what needs a browser that no other worker uses.
func (p *play) needsOwnBrowser() *api.Refusal {
	x := p.run.claim.Execute
	s := x.Task.Session
	if x.Attach == 0 && (s == nil || !s.Attach) {
		return nil
	}
	in, may := p.inst.(interface{ Shared() bool })
	if !may || !in.Shared() {
		return nil
	}
	return api.Refuse(engine.CodeSessionShared, "open one with attach: true at a service with a browser for each worker, which is one without --workers-per-browser")
}

// parsed is the task as it is played. Its time begins once it is: a large one has waited for
// its turn to be parsed.
func (p *play) parsed(base context.Context) (*engine.Task, error) {
	x := p.run.claim.Execute
	if !x.Task.Unparsed() {
		return x.Task, nil
	}
	task, err := x.Task.Parsed(base)
	if err != nil {
		return nil, fmt.Errorf("parse the task: %w", err)
	}
	p.run.begin(base, p.run.claim.most(), p.node.cfg.Browser)
	return task, nil
}

// announce asks the client whether the task may begin, and waits for the answer:
// what must be on disk before the task runs is written meanwhile.
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

// protected plays the task. A panic ends the task but not the process. Its
// browser is replaced, because its state is unknown.
func (p *play) protected(ctx context.Context, task *engine.Task, st engine.TaskEnv) (out *engine.Outcome, how fsm.Ending) {
	defer func() {
		if r := recover(); r != nil {
			out, how = p.internal(fmt.Errorf("play: panic: %v\n%s", r, debug.Stack())), fsm.Broken
		}
	}()
	out = p.inst.Play(ctx, task, st)
	switch {
	case out == nil:
		return p.internal(errors.New("play: the engine gave no outcome")), fsm.Broken
	case out.End == engine.EndCrashed:
		return out, fsm.Crashed
	default:
		return out, fsm.OK
	}
}

// internal is the outcome of a task that failed by our fault. The cause goes to the log,
// not to the client.
func (p *play) internal(err error) *engine.Outcome {
	p.node.log.Error().Err(err).Str("task", p.run.claim.Execute.TaskID).Msg("task failed inside the service")
	return failedInside()
}
