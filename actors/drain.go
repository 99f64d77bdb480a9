package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/engine"
)

// drain ends what the node does: no new tasks at once, running ones after a
// grace.
type drain struct {
	pool        *pool
	begun       bool
	asked       []*actor.PID
	until       time.Time
	timer       *time.Timer
	interrupted int
	over        bool // the grace is
}

// graceOver says that running tasks have had their time.
type graceOver struct{}

// onDrain stops taking tasks. A second one with less grace shortens it.
func (d *drain) onDrain(ctx actor.Context, m *api.Drain) {
	d.asked = append(d.asked, ctx.Sender())
	if until := time.Now().Add(m.Grace); !d.begun || until.Before(d.until) {
		d.until = until
		if d.timer != nil {
			d.timer.Stop()
		}
		root, self := ctx.ActorSystem().Root, ctx.Self()
		d.timer = time.AfterFunc(m.Grace, func() { root.Send(self, &graceOver{}) })
	}
	if !d.begun {
		d.begun = true
		d.pool.publish() // before others see it
		d.refuseWaiting(ctx, func(j *schedule.Job) bool { j.Remote = d.mayForward(j); return !j.Remote })
		for _, s := range d.pool.scheduler.All {
			if s.Reported { // the others get it with their first report
				ctx.Send(s.PID, &workerDrain{})
			}
		}
	}
	d.check(ctx)
}

// mayForward reports whether a job may still find a worker on another node
// while this node drains: until the grace is over.
func (d *drain) mayForward(j *schedule.Job) bool {
	return !d.over && d.pool.scheduler.Peers.Usable() > 0 && d.pool.scheduler.MayForward(j)
}

// refuseWaiting refuses the waiting jobs that match.
func (d *drain) refuseWaiting(ctx actor.Context, which func(*schedule.Job) bool) {
	d.refuseWith(ctx, which, api.Refuse(engine.CodeDraining, ""))
}

func (d *drain) refuseWith(ctx actor.Context, which func(*schedule.Job) bool, no *api.Refusal) {
	for _, j := range d.pool.scheduler.Jobs {
		if j.Waiting() && which(j) {
			d.pool.refuse(ctx, j, no)
		}
	}
}

// interrupt ends what still runs.
func (d *drain) interrupt(ctx actor.Context) {
	if d.over {
		return
	}
	d.over = true
	d.refuseWaiting(ctx, func(*schedule.Job) bool { return true })
	for _, s := range d.pool.scheduler.All {
		if s.Job != nil {
			d.interrupted++
			ctx.Send(s.PID, &workerInterrupt{})
		}
	}
}

// check answers the callers of the drain when nothing runs any more.
func (d *drain) check(ctx actor.Context) {
	if !d.begun || len(d.asked) == 0 {
		return
	}
	for _, s := range d.pool.scheduler.All {
		if s.Job != nil || !s.Status.Drained {
			return
		}
	}
	if d.pool.scheduler.Queue.Len() == 0 {
		d.timer.Stop()
	}
	for _, pid := range d.asked {
		ctx.Send(pid, &api.Drained{Interrupted: d.interrupted})
	}
	d.asked = nil
}
