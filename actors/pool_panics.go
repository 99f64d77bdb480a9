package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
)

// afterPanic ends the work that the message was about, or has it checked again.
func (p *pool) afterPanic(ctx actor.Context, message any, no *api.Refusal) bool {
	switch m := message.(type) {
	case *actor.Stopping:
		p.stop(ctx)
	case *schedule.Request:
		if j := p.scheduler.Jobs[m.Execute.TaskID]; j == nil || j.Request != m { // else it waits, or a worker has it
			if !m.Counted.IsZero() {
				p.node.usage.GiveBack(m.Execute.Account.ID, m.Counted)
			}
			ctx.Send(m.Client, m.Execute.Refused(m.Timeout, no))
		}
	case *schedule.WorkerStatus:
		p.askWorker(ctx, m.Worker)
	case *declined:
		if j := p.scheduler.Jobs[m.Task]; j != nil && j.Slot != nil && j.Slot.Spec.ID == m.Status.Worker {
			p.scheduler.Release(j)
			p.share.released(j)
		}
		p.askWorker(ctx, m.Status.Worker)
	case *workerWritten:
		p.workers.finishAdding(ctx, m)
	case *api.Drain:
		for _, s := range p.scheduler.All {
			if p.drain.begun && s.Reported {
				ctx.Send(s.PID, &workerDrain{})
			}
		}
	case *removalGraceOver, *graceOver:
		p.drain.over = false
		sendLater(ctx, again, ctx.Self(), message)
	case *workerErased:
		p.workers.retryRemoval(ctx, m)
	case *endReservation:
		p.cancelReservation(ctx, m, no)
	case *reserveForSession:
		for _, s := range p.scheduler.All {
			if s.ReservedFor != nil && s.ReservedFor.Claim.Fresh == m.Session && len(s.Asking) == 0 {
				s.ReservedFor = nil
				p.scheduler.Reorder(s)
			}
		}
	case *queueWanted:
		p.share.onWanted(ctx, p, m.Wanted)
	case *queueHold:
		p.returnQueued(ctx)
	case *shareTurn:
		p.share.onTurn(ctx, p)
	case *queueCheck:
		if p.watchdog != nil {
			p.watchdog.Stop()
		}
		p.watchdog = nil
		p.startWatchdog(ctx)
	}
	p.refuseStranded(ctx, no)
	return false
}

// refuseStranded refuses jobs that neither wait nor have a worker, and takes back
// removals that were begun only halfway.
func (p *pool) refuseStranded(ctx actor.Context, no *api.Refusal) {
	for _, j := range p.scheduler.Jobs {
		if j.Slot == nil && !j.Waiting() { // no message will continue it
			p.refuse(ctx, j, no)
		}
	}
	for _, s := range p.scheduler.All {
		if s.Removal != nil && s.Removal.Timer == nil { // it may be removed again
			p.scheduler.CancelRemoval(s)
			ctx.Send(p.node.admission, &workerAdded{s.Spec.ID, s.Spec.Owner})
		}
	}
}

// askWorker asks a worker to report its status again: pool has not applied its
// last report, and a worker does not repeat one by itself.
func (p *pool) askWorker(ctx actor.Context, worker string) {
	if s := p.scheduler.Slots[worker]; s != nil {
		sendLater(ctx, again, s.PID, &workerReport{})
	}
}

// cancelReservation makes a worker available again that was reserved for a
// session. The next request for the session finds it on disk.
func (p *pool) cancelReservation(ctx actor.Context, m *endReservation, no *api.Refusal) {
	s := p.scheduler.Slots[m.worker]
	if s == nil {
		return
	}
	for _, asker := range s.Asking {
		ctx.Send(asker, &reservedForSession{Refusal: no})
	}
	s.ReservedFor, s.Asking = nil, nil
	p.scheduler.Reorder(s)
	sendLater(ctx, again, s.PID, &workerReport{})
}
