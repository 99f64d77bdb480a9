package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/engine"
)

// enqueue lets a job wait: for the worker it named, or for any.
func (p *pool) enqueue(ctx actor.Context, j *schedule.Job, s *schedule.Slot) {
	if j.Movable() && p.node.queueHeld.Load() { // see returnQueued
		p.refuse(ctx, j, api.Refuse(engine.CodeNoWorkerAvailable, ""))
		return
	}
	most := p.node.cfg.Queue.PerAccount
	if j.Wait == nil && !j.Request.Execute.FromQueue && p.scheduler.Queue.Count(j.Account()) >= most {
		p.refuse(ctx, j, api.Refuse(engine.CodeTooManyWaiting, fmt.Sprintf("%d of this account already do", most)))
		return
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	p.scheduler.Enqueue(j, s, time.AfterFunc(time.Until(j.Until), func() { root.Send(self, &waitOver{job: j}) }))
	p.startWatchdog(ctx)
}

// returnQueued gives jobs back to the queue that wait here, while none of the queue is to
// begin: other nodes may have workers for them, and whoever drains this node waits for them.
func (p *pool) returnQueued(ctx actor.Context) {
	if p.node.queueHeld.Load() {
		p.drain.refuseWith(ctx, (*schedule.Job).Movable, api.Refuse(engine.CodeNoWorkerAvailable, ""))
	}
}

// giveUp refuses a job that has waited long enough, unless a worker turns out to
// be free after all.
func (p *pool) giveUp(ctx actor.Context, j *schedule.Job) {
	place := p.scheduler.Queue.Position(j.Task())
	p.scheduler.Dequeue(j)
	s, no := p.route(j)
	if no == nil {
		p.send(ctx, s, j)
		return
	}
	no.Position = place
	no.Text += fmt.Sprintf("; waited %d ms, place %d in the queue", max(j.Request.Execute.Task.QueueTimeout, j.Owed).Milliseconds(), place)
	p.refuse(ctx, j, no)
}

// reroute routes the jobs again that wait for a certain worker.
func (p *pool) reroute(ctx actor.Context, s *schedule.Slot) {
	for _, j := range p.scheduler.WaitingFor(s) {
		p.scheduler.Dequeue(j)
		p.try(ctx, j)
	}
}

// serve gives a worker to jobs that wait for it, until it is taken.
func (p *pool) serve(ctx actor.Context, s *schedule.Slot) {
	for !p.drain.begun {
		j := p.share.next(p, s)
		if j == nil {
			return
		}
		p.send(ctx, s, j)
	}
}

// serveAll gives each free worker to jobs that wait for it.
func (p *pool) serveAll(ctx actor.Context) {
	for _, s := range p.scheduler.All {
		p.serve(ctx, s)
	}
}

// startWatchdog has the queue checked while jobs wait.
func (p *pool) startWatchdog(ctx actor.Context) {
	if p.watchdog != nil {
		return
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	p.watchdog = time.AfterFunc(p.node.cfg.Queue.Watchdog, func() { root.Send(self, &queueCheck{}) })
}

// checkQueue checks that no job waits for a free worker. Such a job found twice
// in a row is a bug: checkQueue logs it and serves the job.
func (p *pool) checkQueue(ctx actor.Context) {
	p.watchdog = nil
	if p.scheduler.Queue.Len() == 0 {
		p.suspect = false
		return
	}
	p.startWatchdog(ctx)
	idle := p.scheduler.Idle()
	if p.suspect && len(idle) > 0 && !p.drain.begun {
		p.node.log.Error().Int("waiting", p.scheduler.Queue.Len()).Int("idle", len(idle)).Msg("workers were idle while requests waited for them")
		for _, s := range idle {
			p.serve(ctx, s)
		}
		idle = nil
	}
	p.suspect = len(idle) > 0
}
