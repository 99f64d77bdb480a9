package actors

import (
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
	case p.scheduler.Jobs[j.Task()] != nil:
		p.refuse(ctx, j, api.Refuse(engine.CodeInternal, "two tasks have the same id"))
		return
	case p.drain.begun && !p.drain.mayForward(j):
		p.refuse(ctx, j, api.Refuse(engine.CodeDraining, ""))
		return
	case j.Cause != "":
		p.refuse(ctx, j, cancelledFor(j.Cause))
		return
	}
	j.Remote = j.Remote || p.drain.begun
	p.scheduler.Jobs[j.Task()] = j
	p.share.came(p, j)
	p.scheduler.RestorePlace(j)
	p.try(ctx, j)
}

// try gives a job to a worker, or lets it wait, or refuses it.
func (p *pool) try(ctx actor.Context, j *schedule.Job) {
	s, no := p.route(j)
	if no == nil {
		p.send(ctx, s, j)
		return
	}
	if o := p.scheduler.PeerFor(j, no); o != nil {
		p.forward(ctx, j, o)
		return
	}
	if p.share.mayWait(p, j, no.Code) {
		p.enqueue(ctx, j, s)
		return
	}
	p.refuse(ctx, j, no)
}

// route selects the worker for a job, or says why there is none now: see
// [schedule.Scheduler.Route].
func (p *pool) route(j *schedule.Job) (*schedule.Slot, *api.Refusal) {
	if j.Claim.Intent != fsm.Plain && !p.node.leases.Serving() {
		return nil, leaseLost()
	}
	return p.scheduler.Route(j)
}

// send gives a job to a worker. The worker may still decline it.
func (p *pool) send(ctx actor.Context, s *schedule.Slot, j *schedule.Job) {
	ctx.Send(s.PID, &claim{
		Seq: s.Seq + 1, Claim: j.Claim, Execute: j.Request.Execute, Timeout: j.Request.Timeout, Client: j.Request.Client,
		NeedsAck: j.Request.NeedsAck, Counted: j.Request.Counted,
	})
	p.scheduler.Assign(s, j)
	p.share.assigned(j)
}

// onDeclined takes a job back from a worker that cannot run it, and tries the
// next worker. The client does not notice.
func (p *pool) onDeclined(ctx actor.Context, m *declined) {
	j := p.scheduler.Jobs[m.Task]
	mine := j != nil && j.Slot != nil && j.Slot.Spec.ID == m.Status.Worker
	var s *schedule.Slot
	if mine {
		s = j.Slot
		p.scheduler.Release(j)
		p.share.released(j)
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
		p.workers.finishRemoval(ctx, s)
	}
	p.drain.check(ctx)
}

// back tries another worker for a declined job, lets it wait, or refuses it.
func (p *pool) back(ctx actor.Context, j *schedule.Job, s *schedule.Slot, code engine.Code) {
	j.Tries++
	switch {
	case j.Cause != "":
		p.refuse(ctx, j, cancelledFor(j.Cause))
	case p.drain.begun:
		p.refuse(ctx, j, api.Refuse(engine.CodeDraining, ""))
	case code == engine.CodeInternal:
		p.refuse(ctx, j, api.Refuse(code, ""))
	case !j.Named && j.Tries <= len(p.scheduler.All), s.Removal != nil:
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
	p.scheduler.Dequeue(j)
	if !j.Request.Counted.IsZero() { // before the client has its answer, and may ask for its count
		p.node.usage.GiveBack(j.Account(), j.Request.Counted)
		j.Request.Counted = time.Time{}
	}
	ctx.Send(j.Request.Client, j.Request.Execute.Refused(j.Request.Timeout, no))
	if p.scheduler.Jobs[j.Task()] == j { // last: see afterPanic
		p.share.ended(j, false)
		delete(p.scheduler.Jobs, j.Task())
	}
}

// cancel ends a job wherever it is.
func (p *pool) cancel(ctx actor.Context, m *api.Cancel) bool {
	j := p.scheduler.Jobs[m.TaskID]
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
