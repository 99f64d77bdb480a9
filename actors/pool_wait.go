package actors

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/schedule"
	"troupe/engine"
)

// enqueue lets a job wait: for the worker it named, or for any.
func (p *pool) enqueue(ctx actor.Context, j *schedule.Job, s *schedule.Slot) {
	most := p.node.cfg.Queue.PerAccount
	if j.Wait == nil && p.queue.Count(j.Account()) >= most {
		p.refuse(ctx, j, api.Refuse(engine.CodeTooManyWaiting, fmt.Sprintf("%d of this account already do", most)))
		return
	}
	if j.Wait == nil {
		j.Wait = &schedule.Waiter{Task: j.Task(), Account: j.Account()}
	}
	if j.Wait.Target = ""; s != nil {
		j.Wait.Target = s.Spec.ID
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	p.queue.Add(j.Wait)
	j.Timer = time.AfterFunc(time.Until(j.Until), func() { root.Send(self, &waitOver{job: j}) })
	p.startWatchdog(ctx)
}

// dequeue takes a job out of the queue, if it is there.
func (p *pool) dequeue(j *schedule.Job) {
	if j.Timer != nil {
		j.Timer.Stop()
		j.Timer = nil
		p.queue.Remove(j.Task())
		p.roster.ServeAll = p.roster.ServeAll || len(p.roster.Browsers) > 0
	}
}

// giveUp refuses a job that has waited long enough, unless a worker turns out to
// be free after all.
func (p *pool) giveUp(ctx actor.Context, j *schedule.Job) {
	place := p.queue.Position(j.Task())
	p.dequeue(j)
	s, no := p.route(j)
	if no == nil {
		p.send(ctx, s, j)
		return
	}
	no.Position = place
	no.Text += fmt.Sprintf("; waited %d ms, place %d in the queue", j.Request.Execute.Task.QueueTimeout.Milliseconds(), place)
	p.refuse(ctx, j, no)
}

// reroute routes the jobs again that wait for a certain worker.
func (p *pool) reroute(ctx actor.Context, s *schedule.Slot) {
	var all []*schedule.Job
	for _, j := range p.jobs {
		if j.Waiting() && j.Wait.Target == s.Spec.ID {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *schedule.Job) int { return cmp.Compare(a.Wait.Arrival, b.Wait.Arrival) })
	for _, j := range all {
		p.dequeue(j)
		p.try(ctx, j)
	}
}

// serve gives a worker to jobs that wait for it, until it is taken.
func (p *pool) serve(ctx actor.Context, s *schedule.Slot) {
	for !p.draining && s.Job == nil && s.ReservedFor == nil && p.queue.Len() > 0 {
		w := p.queue.Next(targets(s), func(w *schedule.Waiter) bool { return p.fits(s, w) })
		if w == nil {
			return
		}
		j := p.jobs[w.Task]
		j.Timer.Stop()
		j.Timer = nil
		p.send(ctx, s, j)
	}
}

func targets(s *schedule.Slot) []string { return []string{s.Spec.ID, ""} }

// fits reports whether a worker, as it is now, may serve a job. It does not check
// the session: the worker refuses a wrong one, and waiting would not help.
func (p *pool) fits(s *schedule.Slot, w *schedule.Waiter) bool {
	j := p.jobs[w.Task]
	if j.Remote || !p.mayTake(s, j) || !p.mayShareBrowser(s, j) {
		return false
	}
	switch s.Status.State {
	case api.Online:
		return s.Status.Claimable && (w.Target != "" || s.Spec.Owner == "" || s.Spec.Owner == w.Account)
	case api.Reserved:
		if w.Target == "" {
			return false
		}
		return j.Claim.ID != "" || j.Claim.Intent == fsm.Override && w.Account == s.Status.Holder
	default:
		return false
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
	if p.queue.Len() == 0 {
		p.suspect = false
		return
	}
	p.startWatchdog(ctx)
	var idle []*schedule.Slot
	for _, s := range p.roster.All {
		if s.Job == nil && s.ReservedFor == nil && p.queue.Peek(targets(s), func(w *schedule.Waiter) bool { return p.fits(s, w) }) != nil {
			idle = append(idle, s)
		}
	}
	if p.suspect && len(idle) > 0 && !p.draining {
		p.node.log.Error().Int("waiting", p.queue.Len()).Int("idle", len(idle)).Msg("workers were idle while requests waited for them")
		for _, s := range idle {
			p.serve(ctx, s)
		}
		idle = nil
	}
	p.suspect = len(idle) > 0
}
