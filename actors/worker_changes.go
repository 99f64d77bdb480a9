package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/actors/schedule"
)

// workerChanges adds workers to the pool and takes them away, and lets single ones
// take no more tasks.
type workerChanges struct {
	pool   *pool
	adding map[string]api.WorkerSpec // by name: workers whose records are being written
}

// inWorkerChanges makes the pool answer a verb by a method of its worker changes.
func inWorkerChanges[M any](f func(*workerChanges, actor.Context, *M)) func(*pool, actor.Context, *M) {
	return func(p *pool, ctx actor.Context, m *M) { f(&p.workers, ctx, m) }
}

type (
	// workerWritten tells whether a worker's record is on disk.
	workerWritten struct {
		spec  api.WorkerSpec
		asker *actor.PID
		err   error
	}
	// removalGraceOver tells that the grace of a worker's removal is over.
	removalGraceOver struct{ slot *schedule.Slot }
	// workerErased tells whether a worker's record was removed.
	workerErased struct {
		slot *schedule.Slot
		err  error
	}
)

var _ = handle(poolVerbs, inWorkerChanges((*workerChanges).onAdd))

func (c *workerChanges) onAdd(ctx actor.Context, m *api.AddWorker) {
	if fault := c.mayAdd(m); fault != "" {
		ctx.Respond(&api.WorkerChanged{Fault: fault})
		return
	}
	spec := api.WorkerSpec{ID: newWorkerID(), Name: m.Name, Owner: m.Owner, Added: true}
	c.adding[spec.Name] = spec
	root, self, kept := ctx.ActorSystem().Root, ctx.Self(), &workerWritten{spec: spec, asker: ctx.Sender()}
	n := c.pool.node
	rec := records.Worker{ID: spec.ID, Name: spec.Name, Owner: spec.Owner, Node: n.cfg.Node, Added: time.Now().UTC()}
	n.onDisk(func(c context.Context) error { return n.records.PutWorker(c, rec) }, func(err error) {
		kept.err = err
		root.Send(self, kept)
	})
}

func (c *workerChanges) mayAdd(m *api.AddWorker) string {
	if err := CheckWorkerName(m.Name); err != nil {
		return err.Error()
	}
	_, coming := c.adding[m.Name]
	switch {
	case c.pool.drain.begun:
		return stopping
	case c.pool.removed.all[m.Owner]:
		return ownerGone
	case coming || c.pool.scheduler.Named(m.Name) != nil:
		return nameTaken(m.Name)
	case len(c.pool.scheduler.All)+len(c.adding) >= MaxWorkers:
		return tooMany
	}
	return ""
}

// addsFor reports whether a worker of the account is being written.
func (c *workerChanges) addsFor(account string) bool {
	for _, spec := range c.adding {
		if spec.Owner == account {
			return true
		}
	}
	return false
}

// onWritten starts a worker whose record is on disk.
func (c *workerChanges) onWritten(ctx actor.Context, m *workerWritten) {
	delete(c.adding, m.spec.Name)
	if m.err != nil {
		c.pool.node.log.Error().Err(m.err).Str("worker", m.spec.Name).Msg("worker not added")
		ctx.Send(m.asker, api.Changed(api.WorkerInfo{}, fmt.Errorf("the worker could not be written down: %w", m.err)))
		return
	}
	if c.pool.drain.begun { // it begins with the next start
		ctx.Send(m.asker, &api.WorkerChanged{Worker: api.WorkerInfo{
			ID: m.spec.ID, Name: m.spec.Name, Owner: m.spec.Owner, State: api.Offline, Since: time.Now(), Added: true,
		}})
		return
	}
	s := c.pool.scheduler.Add(m.spec, c.pool.node.workerPID(m.spec.ID), time.Now())
	if c.pool.removed.all[m.spec.Owner] { // meanwhile: its actors need not even begin
		s.Status.Drained = true
		c.dismiss(ctx, s, 0)
		c.finishRemoval(ctx, s)
		ctx.Send(m.asker, &api.WorkerChanged{Fault: ownerGone})
		return
	}
	ctx.Send(c.pool.node.admission, &workerAdded{s.Spec.ID, s.Spec.Owner})
	ctx.Send(c.pool.node.root, &startWorker{s.Spec})
	c.pool.node.feed.WorkerChanged(snapshotOf(s))
	ctx.Send(m.asker, &api.WorkerChanged{Worker: s.Info()})
	c.pool.serveAll(ctx) // with one more, an account may hold more of the shared ones
}

var _ = handle(poolVerbs, inWorkerChanges((*workerChanges).onDrain))

func (c *workerChanges) onDrain(ctx actor.Context, m *api.DrainWorker) {
	s := c.find(ctx, m.Worker)
	if s == nil {
		return
	}
	if !s.Draining {
		if s.Reported {
			ctx.Send(s.PID, &workerDrain{})
		}
		s.Draining = true
		c.pool.changed(s)
	}
	ctx.Respond(&api.WorkerChanged{Worker: s.Info()})
}

var _ = handle(poolVerbs, inWorkerChanges((*workerChanges).onResume))

func (c *workerChanges) onResume(ctx actor.Context, m *api.ResumeWorker) {
	s := c.find(ctx, m.Worker)
	if s == nil {
		return
	}
	if c.pool.drain.begun {
		ctx.Respond(&api.WorkerChanged{Fault: stopping})
		return
	}
	if s.Draining {
		if s.Reported {
			ctx.Send(s.PID, &workerResume{})
		}
		s.Draining = false
		c.pool.changed(s)
	}
	ctx.Respond(&api.WorkerChanged{Worker: s.Info()})
}

// find finds the worker that a request names, or answers that it cannot be
// changed.
func (c *workerChanges) find(ctx actor.Context, name string) *schedule.Slot {
	s := c.pool.scheduler.Named(name)
	switch {
	case s == nil:
		ctx.Respond(&api.WorkerChanged{Fault: noWorker(name)})
	case s.Removal != nil:
		ctx.Respond(&api.WorkerChanged{Fault: fmt.Sprintf("the worker %q is being removed", s.Spec.Name)})
	default:
		return s
	}
	return nil
}

var _ = handle(poolVerbs, inWorkerChanges((*workerChanges).onRemove))

func (c *workerChanges) onRemove(ctx actor.Context, m *api.RemoveWorker) {
	s := c.pool.scheduler.Named(m.Worker)
	switch {
	case s == nil:
		ctx.Respond(&api.WorkerChanged{Fault: noWorker(m.Worker)})
		return
	case !s.Spec.Added:
		ctx.Respond(&api.WorkerChanged{Fault: fmt.Sprintf(
			"the worker %q comes with the service: drain it, or start the service with fewer workers", s.Spec.Name)})
		return
	}
	c.dismiss(ctx, s, m.Grace)
	s.Removal.Asked = append(s.Removal.Asked, ctx.Sender())
	c.finishRemoval(ctx, s)
}

// dismiss begins the removal of a worker. A second call with less grace shortens
// it. From now on requests are answered as if there were no such worker.
func (c *workerChanges) dismiss(ctx actor.Context, s *schedule.Slot, grace time.Duration) {
	first := s.Removal == nil
	if first {
		c.pool.scheduler.StartRemoval(s)
		ctx.Send(c.pool.node.admission, &workerRemoved{s.Spec.ID})
		if s.Reported {
			ctx.Send(s.PID, &workerRetire{})
		}
		c.pool.changed(s)
		c.pool.reroute(ctx, s)
	}
	l := s.Removal
	if until := time.Now().Add(grace); first || until.Before(l.Until) {
		l.Until = until
		if l.Timer != nil {
			l.Timer.Stop()
		}
		root, self := ctx.ActorSystem().Root, ctx.Self()
		l.Timer = time.AfterFunc(grace, func() { root.Send(self, &removalGraceOver{s}) })
	}
}

// onGraceOver interrupts what still runs on a worker that is being
// removed.
func (c *workerChanges) onGraceOver(ctx actor.Context, s *schedule.Slot) {
	if s.Removal != nil && s.Job != nil {
		ctx.Send(s.PID, &workerInterrupt{})
	}
}

// finishRemoval removes the record of a worker that is being removed and does
// nothing any more.
func (c *workerChanges) finishRemoval(ctx actor.Context, s *schedule.Slot) {
	l := s.Removal
	if l == nil || l.Erasing || s.Job != nil || !s.Status.Drained || s.Status.Session != "" {
		return
	}
	l.Erasing = true
	l.Timer.Stop()
	root, self, n := ctx.ActorSystem().Root, ctx.Self(), c.pool.node
	n.onDisk(func(c context.Context) error { return n.records.EraseWorker(c, s.Spec.ID) }, func(err error) {
		root.Send(self, &workerErased{s, err})
	})
}

func (c *workerChanges) onErased(ctx actor.Context, m *workerErased) {
	s, l := m.slot, m.slot.Removal
	answer := &api.WorkerChanged{Worker: s.Info()}
	if m.err != nil {
		c.pool.node.log.Error().Err(m.err).Str("worker", s.Spec.ID).Msg("worker not removed: its record could not be")
		answer = api.Changed(api.WorkerInfo{}, fmt.Errorf("the worker's record could not be removed, and so the worker stays, drained: %w", m.err))
	}
	if m.err != nil && !c.pool.removed.all[s.Spec.Owner] {
		c.pool.scheduler.CancelRemoval(s)
		ctx.Send(c.pool.node.admission, &workerAdded{s.Spec.ID, s.Spec.Owner})
	} else {
		c.pool.scheduler.Remove(s)
		c.pool.node.feed.WorkerRemoved(s.Spec.ID)
		ctx.Send(c.pool.node.root, &stopWorker{s.Spec.ID})
		c.pool.drain.check(ctx)
	}
	for _, asker := range l.Asked {
		ctx.Send(asker, answer)
	}
}

// finishAdding completes the addition of a worker that has a slot already.
func (c *workerChanges) finishAdding(ctx actor.Context, m *workerWritten) {
	delete(c.adding, m.spec.Name)
	s := c.pool.scheduler.Slots[m.spec.ID]
	if s == nil || s.Removal != nil {
		ctx.Send(m.asker, &api.WorkerChanged{Fault: api.FailedInside})
		return
	}
	ctx.Send(c.pool.node.admission, &workerAdded{s.Spec.ID, s.Spec.Owner})
	ctx.Send(c.pool.node.root, &startWorker{s.Spec})
	c.pool.node.feed.WorkerChanged(snapshotOf(s))
	ctx.Send(m.asker, &api.WorkerChanged{Worker: s.Info()})
}

// retryRemoval repeats the steps after the removal of a worker's record. Clients that
// wait for the removal get its failure.
func (c *workerChanges) retryRemoval(ctx actor.Context, m *workerErased) {
	l := m.slot.Removal
	if l == nil {
		return
	}
	for _, asker := range l.Asked {
		ctx.Send(asker, &api.WorkerChanged{Fault: api.FailedInside})
	}
	l.Asked = nil
	if c.pool.scheduler.Slots[m.slot.Spec.ID] == m.slot {
		sendLater(ctx, again, ctx.Self(), m)
	}
}
