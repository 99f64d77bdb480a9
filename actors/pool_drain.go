package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/engine"
)

// poolDrain is the state of the node's drain.
type poolDrain struct {
	asked       []*actor.PID
	until       time.Time
	timer       *time.Timer
	interrupted int
	over        bool // the grace is
}

// graceOver says that running tasks have had their time.
type graceOver struct{}

// onDrain stops taking tasks. A second one with less grace shortens it.
func (p *pool) onDrain(ctx actor.Context, m *api.Drain) {
	d := &p.drain
	d.asked = append(d.asked, ctx.Sender())
	if until := time.Now().Add(m.Grace); !p.draining || until.Before(d.until) {
		d.until = until
		if d.timer != nil {
			d.timer.Stop()
		}
		root, self := ctx.ActorSystem().Root, ctx.Self()
		d.timer = time.AfterFunc(m.Grace, func() { root.Send(self, &graceOver{}) })
	}
	if !p.draining {
		p.draining = true
		p.publish() // before anybody hears of it
		p.refuseWaiting(ctx, func(j *schedule.Job) bool { j.Remote = p.mayStillForward(j); return !j.Remote })
		for _, s := range p.roster.All {
			if s.Reported { // the others are told when they first speak
				ctx.Send(s.PID, &workerDrain{})
			}
		}
	}
	p.checkDrained(ctx)
}

// mayStillForward reports whether a job may still find a worker on another node
// while this node drains: until the grace is over.
func (p *pool) mayStillForward(j *schedule.Job) bool {
	return !p.drain.over && p.peers.Usable() > 0 && p.mayForward(j)
}

func (p *pool) refuseWaiting(ctx actor.Context, which func(*schedule.Job) bool) {
	for _, j := range p.jobs {
		if j.Waiting() && which(j) {
			p.refuse(ctx, j, api.Refuse(engine.CodeDraining, ""))
		}
	}
}

// interrupt ends what still runs.
func (p *pool) interrupt(ctx actor.Context) {
	if p.drain.over {
		return
	}
	p.drain.over = true
	p.refuseWaiting(ctx, func(*schedule.Job) bool { return true })
	for _, s := range p.roster.All {
		if s.Job != nil {
			p.drain.interrupted++
			ctx.Send(s.PID, &workerInterrupt{})
		}
	}
}

func (p *pool) checkDrained(ctx actor.Context) {
	if !p.draining || len(p.drain.asked) == 0 {
		return
	}
	for _, s := range p.roster.All {
		if s.Job != nil || !s.Status.Drained {
			return
		}
	}
	if p.queue.Len() == 0 {
		p.drain.timer.Stop()
	}
	for _, pid := range p.drain.asked {
		ctx.Send(pid, &api.Drained{Interrupted: p.drain.interrupted})
	}
	p.drain.asked = nil
}

// stop answers all that wait: the library drops what is in the mailbox of a
// stopped actor.
func (p *pool) stop(ctx actor.Context) {
	p.refuseWaiting(ctx, func(*schedule.Job) bool { return true })
	if p.watchdog != nil {
		p.watchdog.Stop()
	}
	if p.drain.timer != nil {
		p.drain.timer.Stop()
	}
	for _, s := range p.roster.All {
		if s.Removal != nil {
			s.Removal.Timer.Stop()
		}
	}
}
