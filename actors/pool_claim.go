package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/schedule"
	"troupe/engine"
)

func (p *pool) onAdmitted(ctx actor.Context, adm *schedule.Request) {
	j := schedule.NewJob(adm, time.Now(), newSessionID)
	switch {
	case p.jobs[j.Task()] != nil:
		p.refuse(ctx, j, api.Refuse(engine.CodeInternal, "two tasks have the same id"))
		return
	case p.draining && !p.mayStillForward(j):
		p.refuse(ctx, j, api.Refuse(engine.CodeDraining, ""))
		return
	case j.Cause != "":
		p.refuse(ctx, j, cancelledFor(j.Cause))
		return
	}
	j.Remote = j.Remote || p.draining
	p.jobs[j.Task()] = j
	p.restorePlace(j)
	p.try(ctx, j)
}

// try gives a job to a worker, or lets it wait, or refuses it.
func (p *pool) try(ctx actor.Context, j *schedule.Job) {
	s, no := p.route(j)
	if no == nil {
		p.send(ctx, s, j)
		return
	}
	if o := p.peerFor(j, no); o != nil {
		p.forward(ctx, j, o)
		return
	}
	if waitable(no.Code) && time.Now().Before(j.Until) {
		p.enqueue(ctx, j, s)
		return
	}
	p.refuse(ctx, j, no)
}

// route selects the worker for a job, or says why there is none now. With a
// refusal, the returned slot is the worker to wait for; nil means any worker.
func (p *pool) route(j *schedule.Job) (*schedule.Slot, *api.Refusal) {
	t := j.Request.Execute.Task
	if j.Claim.Intent != fsm.Plain && !p.node.leases.Serving() {
		return nil, leaseLost()
	}
	var s *schedule.Slot
	switch {
	case j.Request.Execute.Target() != "":
		s = p.roster.Slots[t.WorkerID]
		if s == nil || s.Removal != nil || s.Spec.Owner != "" && s.Spec.Owner != j.Account() {
			return nil, api.Refuse(engine.CodeForeignWorker, api.Quoted(t.WorkerID))
		}
	case j.Claim.Intent == fsm.Resume || j.Claim.Intent == fsm.Close:
		if s = p.roster.Sessions[j.Claim.ID]; s == nil || s.Removal != nil || s.Status.Holder != j.Account() {
			return nil, api.Refuse(engine.CodeSessionMismatch, "there is no session "+api.Quoted(j.Claim.ID)+" of this account")
		}
	case j.Claim.Intent == fsm.Override:
		s = p.roster.Overridable(j.Account())
	}
	j.Named = s != nil
	switch {
	case s != nil && j.Remote:
		return nil, api.Refuse(engine.CodeDraining, "")
	case s == nil:
		return p.routeFree(j)
	}
	if !s.Reported {
		return s, api.Refuse(engine.CodeWorkerOffline, s.WhyRefused(engine.CodeWorkerOffline, j.Claim))
	}
	if !p.mayShareBrowser(s, j) {
		return s, api.Refuse(engine.CodeWorkerBusy, "its browser serves another account")
	}
	if s.Job != nil || s.ReservedFor != nil { // the worker would say the same
		code := engine.CodeWorkerBusy
		if j.Claim.ID != "" && j.Claim.ID != s.Status.Session {
			code = engine.CodeSessionMismatch
		}
		return s, api.Refuse(code, s.WhyRefused(code, j.Claim))
	}
	if !p.mayTake(s, j) {
		return nil, p.sessionLimit(j)
	}
	return s, nil
}

func (p *pool) routeFree(j *schedule.Job) (*schedule.Slot, *api.Refusal) {
	shared := true
	if j.OpensSession() {
		var some bool
		if some, shared = p.mayOpenSession(j); !some || !shared && p.roster.Owned[j.Account()] == 0 {
			return nil, p.sessionLimit(j)
		}
	}
	if j.Remote {
		return nil, api.Refuse(engine.CodeNoWorkerAvailable, "this node takes no more tasks, and no other one has a free worker")
	}
	if s := p.roster.Select(j.Account(), shared, func(s *schedule.Slot) bool { return p.mayShareBrowser(s, j) }); s != nil {
		return s, nil
	}
	return nil, api.Refuse(engine.CodeNoWorkerAvailable, p.roster.WhyNoneFree(shared))
}

func (p *pool) mayOpenSession(j *schedule.Job) (some, shared bool) {
	limits := j.Request.Limits
	limits.Reserved -= p.peers.Held(j.Account())
	return p.roster.MayOpenSession(j.Account(), limits, p.node.cfg.Session.SharePerMil)
}

// mayTake reports whether the session that the job may open is within the
// account's limits on this worker. Taking over a session opens none.
func (p *pool) mayTake(s *schedule.Slot, j *schedule.Job) bool {
	if !j.OpensSession() || s.Holder != "" {
		return true
	}
	some, shared := p.mayOpenSession(j)
	return some && (shared || s.Spec.Owner != "")
}

// mayShareBrowser reports whether a job may go to a worker that shares its
// browser. A browser that serves one account takes no more of its tasks while
// another account waits that needs it more: that account could wait forever
// otherwise. An account with a session in the browser keeps it.
func (p *pool) mayShareBrowser(s *schedule.Slot, j *schedule.Job) bool {
	l := s.Shared
	if l == nil || l.Account == "" || l.HasSession && l.Account == j.Account() {
		return true
	}
	return l.Account == j.Account() && !p.browserContested(l)
}

// browserContested reports whether another account waits that should get the
// browser.
func (p *pool) browserContested(l *schedule.SharedBrowser) bool {
	deserves := func(account string) bool { return p.roster.MayTakeBrowser(account, l.Account) }
	other := func(account string) bool { return account != l.Account }
	return p.queue.Waiting("", deserves) ||
		slices.ContainsFunc(l.Slots, func(s *schedule.Slot) bool { return p.queue.Waiting(s.Spec.ID, other) })
}

func (p *pool) sessionLimit(j *schedule.Job) *api.Refusal {
	perMil := p.node.cfg.Session.SharePerMil
	return api.Refuse(engine.CodeSessionLimit, fmt.Sprintf("sessions of this account hold %d of the workers; plan %s allows %d, and at most %s of the shared ones, which is %d here",
		len(p.roster.Held[j.Account()])+p.peers.Held(j.Account()), j.Request.Execute.Account.Plan, j.Request.Limits.Reserved, sharePercent(perMil), p.roster.SharedLimit(perMil)))
}

func sharePercent(perMil int) string {
	if perMil == 500 {
		return "half"
	}
	return fmt.Sprintf("%g%%", float64(perMil)/10)
}

// send gives a job to a worker. The worker may still decline it.
func (p *pool) send(ctx actor.Context, s *schedule.Slot, j *schedule.Job) {
	ctx.Send(s.PID, &claim{
		Seq: s.Seq + 1, Claim: j.Claim, Execute: j.Request.Execute, Timeout: j.Request.Timeout, Client: j.Request.Client,
		NeedsAck: j.Request.NeedsAck,
	})
	p.roster.Assign(s, j)
}

// onDeclined takes a job back from a worker that cannot run it, and tries the
// next worker. The client does not notice.
func (p *pool) onDeclined(ctx actor.Context, m *declined) {
	j := p.jobs[m.Task]
	mine := j != nil && j.Slot != nil && j.Slot.Spec.ID == m.Status.Worker
	var s *schedule.Slot
	if mine {
		s = j.Slot
		p.roster.Release(j)
	}
	p.applyStatus(ctx, m.Status)
	if mine {
		p.back(ctx, j, s, m.Code)
	}
	// Not if the job waits for the same worker again: if pool and worker ever
	// disagreed, it would go back and forth without end. The worker's next status
	// serves it.
	if mine && !j.Waiting() {
		p.serve(ctx, s)
	}
	if s != nil {
		p.finishRemoval(ctx, s)
	}
	p.checkDrained(ctx)
}

// back tries another worker for a declined job, lets it wait, or refuses it.
func (p *pool) back(ctx actor.Context, j *schedule.Job, s *schedule.Slot, code engine.Code) {
	j.Tries++
	switch {
	case j.Cause != "":
		p.refuse(ctx, j, cancelledFor(j.Cause))
	case p.draining:
		p.refuse(ctx, j, api.Refuse(engine.CodeDraining, ""))
	case code == engine.CodeInternal:
		p.refuse(ctx, j, api.Refuse(code, ""))
	case !j.Named && j.Tries <= len(p.roster.All), s.Removal != nil:
		p.try(ctx, j)
	case waitable(code) && time.Now().Before(j.Until):
		if !j.Named {
			s = nil
		}
		p.enqueue(ctx, j, s)
	default:
		p.refuse(ctx, j, api.Refuse(code, s.WhyRefused(code, j.Claim)))
	}
}

// refuse ends a job that no worker has.
func (p *pool) refuse(ctx actor.Context, j *schedule.Job, no *api.Refusal) {
	p.dequeue(j)
	ctx.Send(j.Request.Client, j.Request.Execute.Refused(j.Request.Timeout, no))
	if p.jobs[j.Task()] == j { // last: see afterPanic
		delete(p.jobs, j.Task())
	}
	if !j.Request.Counted.IsZero() {
		p.node.usage.GiveBack(j.Account(), j.Request.Counted)
	}
}

// cancel ends a job wherever it is.
func (p *pool) cancel(ctx actor.Context, m *api.Cancel) bool {
	j := p.jobs[m.TaskID]
	if j == nil || j.Account() != m.Account.ID {
		return false
	}
	j.Cause = m.Cause
	if j.Slot != nil {
		ctx.Send(j.Slot.PID, &workerCancel{Task: j.Task(), Cause: m.Cause})
	} else {
		p.refuse(ctx, j, cancelledFor(m.Cause))
	}
	return true
}
