package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

func (p *pool) onAdmitted(ctx actor.Context, adm *admittedRequest) {
	j := newJob(adm, time.Now(), newSessionID)
	switch {
	case p.jobs[j.task()] != nil:
		p.refuse(ctx, j, api.Refuse(engine.CodeInternal, "two tasks have the same id"))
		return
	case p.draining && !p.leaves(j):
		p.refuse(ctx, j, api.Refuse(engine.CodeDraining, ""))
		return
	case j.cause != "":
		p.refuse(ctx, j, cancelledFor(j.cause))
		return
	}
	j.remote = j.remote || p.draining
	p.jobs[j.task()] = j
	p.returned(j)
	p.try(ctx, j)
}

// try gives a job to a worker, or lets it wait, or refuses it.
func (p *pool) try(ctx actor.Context, j *job) {
	s, no := p.route(j)
	if no == nil {
		p.send(ctx, s, j)
		return
	}
	if o := p.away(j, no); o != nil {
		p.sendAway(ctx, j, o)
		return
	}
	if waitable(no.Code) && time.Now().Before(j.until) {
		p.enqueue(ctx, j, s)
		return
	}
	p.refuse(ctx, j, no)
}

// route finds the worker for a job, or says why there is none now. With a
// refusal the seat is the worker to wait for; none means any.
func (p *pool) route(j *job) (*workerSlot, *api.Refusal) {
	t := j.request.Execute.Task
	if j.claim.Intent != fsm.Plain && !p.node.leases.Serving() {
		return nil, leaseLost()
	}
	var s *workerSlot
	switch {
	case j.request.Execute.Target() != "":
		s = p.roster.slots[t.WorkerID]
		if s == nil || s.removal != nil || s.spec.Owner != "" && s.spec.Owner != j.account() {
			return nil, api.Refuse(engine.CodeForeignWorker, api.Quoted(t.WorkerID))
		}
	case j.claim.Intent == fsm.Resume || j.claim.Intent == fsm.Close:
		if s = p.roster.sessions[j.claim.ID]; s == nil || s.removal != nil || s.status.Holder != j.account() {
			return nil, api.Refuse(engine.CodeSessionMismatch, "there is no session "+api.Quoted(j.claim.ID)+" of this account")
		}
	case j.claim.Intent == fsm.Override:
		s = p.roster.reserved(j.account())
	}
	j.named = s != nil
	switch {
	case s != nil && j.remote:
		return nil, api.Refuse(engine.CodeDraining, "")
	case s == nil:
		return p.routeFree(j)
	}
	if !s.heard {
		return s, api.Refuse(engine.CodeWorkerOffline, s.found(engine.CodeWorkerOffline, j.claim))
	}
	if !p.mayLodge(s, j) {
		return s, api.Refuse(engine.CodeWorkerBusy, "its browser serves another account")
	}
	if s.job != nil || s.setAside != nil { // the worker would say the same
		code := engine.CodeWorkerBusy
		if j.claim.ID != "" && j.claim.ID != s.status.Session {
			code = engine.CodeSessionMismatch
		}
		return s, api.Refuse(code, s.found(code, j.claim))
	}
	if !p.mayTake(s, j) {
		return nil, p.sessionLimit(j)
	}
	return s, nil
}

func (p *pool) routeFree(j *job) (*workerSlot, *api.Refusal) {
	shared := true
	if j.opens() {
		var some bool
		if some, shared = p.mayOpen(j); !some || !shared && p.roster.owned[j.account()] == 0 {
			return nil, p.sessionLimit(j)
		}
	}
	if j.remote {
		return nil, api.Refuse(engine.CodeNoWorkerAvailable, "this node takes no more tasks, and no other one has a free worker")
	}
	if s := p.roster.free(j.account(), shared, func(s *workerSlot) bool { return p.mayLodge(s, j) }); s != nil {
		return s, nil
	}
	return nil, api.Refuse(engine.CodeNoWorkerAvailable, p.roster.noneFree(shared))
}

func (p *pool) mayOpen(j *job) (some, shared bool) {
	limits := j.request.Limits
	limits.Reserved -= p.peers.held(j.account())
	return p.roster.mayOpen(j.account(), limits, p.node.cfg.Session.SharePerMil)
}

// mayTake reports whether the session that the job may open is within the
// account's limits on this worker. Taking over a session opens none.
func (p *pool) mayTake(s *workerSlot, j *job) bool {
	if !j.opens() || s.holder != "" {
		return true
	}
	some, shared := p.mayOpen(j)
	return some && (shared || s.spec.Owner != "")
}

// mayLodge reports whether a job may go to a worker that shares its browser. A
// browser that is kept for an account takes no more of its tasks while another
// account waits that has more need of it, or that one might wait for ever; but
// who has a session there keeps it anyway.
func (p *pool) mayLodge(s *workerSlot, j *job) bool {
	l := s.shared
	if l == nil || l.guest == "" || l.stays && l.guest == j.account() {
		return true
	}
	return l.guest == j.account() && !p.awaited(l)
}

// awaited reports whether somebody waits who should get a browser rather than
// the account that has it.
func (p *pool) awaited(l *sharedBrowser) bool {
	deserves := func(account string) bool { return p.roster.mayTakeBrowser(account, l.guest) }
	other := func(account string) bool { return account != l.guest }
	return p.queue.waiting("", deserves) ||
		slices.ContainsFunc(l.seats, func(s *workerSlot) bool { return p.queue.waiting(s.spec.ID, other) })
}

func (p *pool) sessionLimit(j *job) *api.Refusal {
	perMil := p.node.cfg.Session.SharePerMil
	return api.Refuse(engine.CodeSessionLimit, fmt.Sprintf("sessions of this account hold %d of the workers; plan %s allows %d, and at most %s of the shared ones, which is %d here",
		len(p.roster.held[j.account()])+p.peers.held(j.account()), j.request.Execute.Account.Plan, j.request.Limits.Reserved, share(perMil), p.roster.shareOf(perMil)))
}

func share(perMil int) string {
	if perMil == 500 {
		return "half"
	}
	return fmt.Sprintf("%g%%", float64(perMil)/10)
}

// send gives a job to a worker, which may still send it back.
func (p *pool) send(ctx actor.Context, s *workerSlot, j *job) {
	ctx.Send(s.pid, &claim{
		Seq: s.seq + 1, Order: j.claim, Execute: j.request.Execute, Timeout: j.request.Timeout, Client: j.request.Client,
		Attended: j.request.Attended,
	})
	p.roster.assign(s, j)
}

// onDeclined takes a job back from a worker that is not what it seemed, and
// tries the next one. Its client notices nothing.
func (p *pool) onDeclined(ctx actor.Context, m *declined) {
	j := p.jobs[m.Task]
	mine := j != nil && j.slot != nil && j.slot.spec.ID == m.Note.Worker
	var s *workerSlot
	if mine {
		s = j.slot
		p.roster.release(j)
	}
	p.hear(ctx, m.Note)
	if mine {
		p.back(ctx, j, s, m.Code)
	}
	// Not if it waits for the same worker again: should pool and worker ever
	// disagree, they would argue without end. The worker's next note serves it.
	if mine && !j.waiting() {
		p.serve(ctx, s)
	}
	if s != nil {
		p.checkLeaving(ctx, s)
	}
	p.checkDrained(ctx)
}

func (p *pool) back(ctx actor.Context, j *job, s *workerSlot, code engine.Code) {
	j.tries++
	switch {
	case j.cause != "":
		p.refuse(ctx, j, cancelledFor(j.cause))
	case p.draining:
		p.refuse(ctx, j, api.Refuse(engine.CodeDraining, ""))
	case code == engine.CodeInternal:
		p.refuse(ctx, j, api.Refuse(code, ""))
	case !j.named && j.tries <= len(p.roster.all), s.removal != nil:
		p.try(ctx, j)
	case waitable(code) && time.Now().Before(j.until):
		if !j.named {
			s = nil
		}
		p.enqueue(ctx, j, s)
	default:
		p.refuse(ctx, j, api.Refuse(code, s.found(code, j.claim)))
	}
}

// refuse ends a job that no worker has.
func (p *pool) refuse(ctx actor.Context, j *job, no *api.Refusal) {
	p.leave(j)
	ctx.Send(j.request.Client, j.request.Execute.Refused(j.request.Timeout, no))
	if p.jobs[j.task()] == j { // last: see mend
		delete(p.jobs, j.task())
	}
	if !j.request.Counted.IsZero() {
		p.node.usage.GiveBack(j.account(), j.request.Counted)
	}
}

// cancel ends a job wherever it is.
func (p *pool) cancel(ctx actor.Context, m *api.Cancel) bool {
	j := p.jobs[m.TaskID]
	if j == nil || j.account() != m.Account.ID {
		return false
	}
	j.cause = m.Cause
	if j.slot != nil {
		ctx.Send(j.slot.pid, &workerCancel{Task: j.task(), Cause: m.Cause})
	} else {
		p.refuse(ctx, j, cancelledFor(m.Cause))
	}
	return true
}
