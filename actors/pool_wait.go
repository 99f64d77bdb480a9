package actors

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

// enqueue lets a job wait: for the worker it named, or for any.
func (p *pool) enqueue(ctx actor.Context, j *job, s *workerSlot) {
	most := p.node.cfg.Queue.PerAccount
	if j.wait == nil && p.queue.of(j.account()) >= most {
		p.refuse(ctx, j, api.Refuse(engine.CodeTooManyWaiting, fmt.Sprintf("%d of this account already do", most)))
		return
	}
	if j.wait == nil {
		j.wait = &waiter{Task: j.task(), Account: j.account()}
	}
	if j.wait.Target = ""; s != nil {
		j.wait.Target = s.spec.ID
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	p.queue.add(j.wait)
	j.timer = time.AfterFunc(time.Until(j.until), func() { root.Send(self, &waitOver{job: j}) })
	p.watch(ctx)
}

// leave takes a job out of the queue, if it stands in it.
func (p *pool) leave(j *job) {
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
		p.queue.remove(j.task())
		p.roster.opened = p.roster.opened || len(p.roster.browsers) > 0
	}
}

// giveUp refuses a job that has waited long enough, with what it waited for.
// What is in its way may have changed meanwhile, so pool looks again.
func (p *pool) giveUp(ctx actor.Context, j *job) {
	place := p.queue.position(j.task())
	p.leave(j)
	s, no := p.route(j)
	if no == nil {
		p.send(ctx, s, j)
		return
	}
	no.Position = place
	no.Text += fmt.Sprintf("; waited %d ms, place %d in the queue", j.request.Execute.Task.QueueTimeout.Milliseconds(), place)
	p.refuse(ctx, j, no)
}

// reroute looks again what is to become of those who wait for a certain worker.
func (p *pool) reroute(ctx actor.Context, s *workerSlot) {
	var all []*job
	for _, j := range p.jobs {
		if j.waiting() && j.wait.Target == s.spec.ID {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.wait.arrival, b.wait.arrival) })
	for _, j := range all {
		p.leave(j)
		p.try(ctx, j)
	}
}

// serve gives a worker to those who wait for it, until it is taken.
func (p *pool) serve(ctx actor.Context, s *workerSlot) {
	for !p.draining && s.job == nil && s.setAside == nil && p.queue.len() > 0 {
		w := p.queue.next(targets(s), func(w *waiter) bool { return p.fits(s, w) })
		if w == nil {
			return
		}
		j := p.jobs[w.Task]
		j.timer.Stop()
		j.timer = nil
		p.send(ctx, s, j)
	}
}

func targets(s *workerSlot) []string { return []string{s.spec.ID, ""} }

// fits reports whether a worker, as it is now, is what a job waits for. A wrong
// session is for the worker to refuse: waiting longer would not help.
func (p *pool) fits(s *workerSlot, w *waiter) bool {
	j := p.jobs[w.Task]
	if j.remote || !p.mayTake(s, j) || !p.mayLodge(s, j) {
		return false
	}
	switch s.status.State {
	case api.Online:
		return s.status.Claimable && (w.Target != "" || s.spec.Owner == "" || s.spec.Owner == w.Account)
	case api.Reserved:
		if w.Target == "" {
			return false
		}
		return j.claim.ID != "" || j.claim.Intent == fsm.Override && w.Account == s.status.Holder
	default:
		return false
	}
}

// watch makes sure that somebody looks after the queue while anybody waits.
func (p *pool) watch(ctx actor.Context) {
	if p.patrol != nil {
		return
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	p.patrol = time.AfterFunc(p.node.cfg.Queue.Watchdog, func() { root.Send(self, &queueCheck{}) })
}

// look checks that nobody waits for what is free. It never should find
// anything: if it does twice in a row, that is an error of ours, and it helps.
func (p *pool) look(ctx actor.Context) {
	p.patrol = nil
	if p.queue.len() == 0 {
		p.suspect = false
		return
	}
	p.watch(ctx)
	var idle []*workerSlot
	for _, s := range p.roster.all {
		if s.job == nil && s.setAside == nil && p.queue.peek(targets(s), func(w *waiter) bool { return p.fits(s, w) }) != nil {
			idle = append(idle, s)
		}
	}
	if p.suspect && len(idle) > 0 && !p.draining {
		p.node.log.Error().Int("waiting", p.queue.len()).Int("idle", len(idle)).Msg("workers were idle while requests waited for them")
		for _, s := range idle {
			p.serve(ctx, s)
		}
		idle = nil
	}
	p.suspect = len(idle) > 0
}
