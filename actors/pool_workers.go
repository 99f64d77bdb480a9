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

type (
	// workerWritten tells whether a worker's record is on disk.
	workerWritten struct {
		spec api.WorkerSpec
		who  *actor.PID
		err  error
	}
	// removalGraceOver tells that the grace of a worker's removal is over.
	removalGraceOver struct{ slot *schedule.Slot }
	// workerErased tells whether a worker's record was removed.
	workerErased struct {
		slot *schedule.Slot
		err  error
	}
)

var _ = handle(poolVerbs, (*pool).onAddWorker)

func (p *pool) onAddWorker(ctx actor.Context, m *api.AddWorker) {
	if fault := p.mayAdd(m); fault != "" {
		ctx.Respond(&api.WorkerChanged{Fault: fault})
		return
	}
	spec := api.WorkerSpec{ID: newWorkerID(), Name: m.Name, Owner: m.Owner, Added: true}
	p.adding[spec.Name] = spec
	root, self, kept := ctx.ActorSystem().Root, ctx.Self(), &workerWritten{spec: spec, who: ctx.Sender()}
	n := p.node
	rec := records.Worker{ID: spec.ID, Name: spec.Name, Owner: spec.Owner, Node: n.cfg.Node, Added: time.Now().UTC()}
	n.onDisk(func(c context.Context) error { return n.records.PutWorker(c, rec) }, func(err error) {
		kept.err = err
		root.Send(self, kept)
	})
}

func (p *pool) mayAdd(m *api.AddWorker) string {
	if err := CheckWorkerName(m.Name); err != nil {
		return err.Error()
	}
	_, coming := p.adding[m.Name]
	switch {
	case p.draining:
		return stopping
	case p.gone[m.Owner]:
		return ownerGone
	case coming || p.roster.Named(m.Name) != nil:
		return nameTaken(m.Name)
	case len(p.roster.All)+len(p.adding) >= MaxWorkers:
		return tooMany
	}
	return ""
}

// onWorkerWritten starts a worker whose record is on disk.
func (p *pool) onWorkerWritten(ctx actor.Context, m *workerWritten) {
	delete(p.adding, m.spec.Name)
	if m.err != nil {
		p.node.log.Error().Err(m.err).Str("worker", m.spec.Name).Msg("worker not added")
		ctx.Send(m.who, api.Changed(api.WorkerInfo{}, fmt.Errorf("the worker could not be written down: %w", m.err)))
		return
	}
	if p.draining { // it begins with the next start
		ctx.Send(m.who, &api.WorkerChanged{Worker: api.WorkerInfo{
			ID: m.spec.ID, Name: m.spec.Name, Owner: m.spec.Owner, State: api.Offline, Since: time.Now(), Added: true,
		}})
		return
	}
	s := p.roster.Add(m.spec, p.node.workerPID(m.spec.ID), time.Now())
	if p.gone[m.spec.Owner] { // meanwhile: its actors need not even begin
		s.Status.Drained = true
		p.dismiss(ctx, s, 0)
		p.finishRemoval(ctx, s)
		ctx.Send(m.who, &api.WorkerChanged{Fault: ownerGone})
		return
	}
	ctx.Send(p.node.admission, &workerAdded{s.Spec.ID, s.Spec.Owner})
	ctx.Send(p.node.root, &startWorker{s.Spec})
	p.node.feed.WorkerChanged(newsOf(s))
	ctx.Send(m.who, &api.WorkerChanged{Worker: s.Info()})
	p.serveAll(ctx) // with one more, an account may hold more of the shared ones
}

// serveAll gives each free worker to jobs that wait for it.
func (p *pool) serveAll(ctx actor.Context) {
	for _, s := range p.roster.All {
		p.serve(ctx, s)
	}
}

var _ = handle(poolVerbs, (*pool).onDrainWorker)

func (p *pool) onDrainWorker(ctx actor.Context, m *api.DrainWorker) {
	s := p.findWorker(ctx, m.Worker)
	if s == nil {
		return
	}
	if !s.Draining {
		if s.Reported {
			ctx.Send(s.PID, &workerDrain{})
		}
		s.Draining = true
		p.changed(s)
	}
	ctx.Respond(&api.WorkerChanged{Worker: s.Info()})
}

var _ = handle(poolVerbs, (*pool).onResumeWorker)

func (p *pool) onResumeWorker(ctx actor.Context, m *api.ResumeWorker) {
	s := p.findWorker(ctx, m.Worker)
	if s == nil {
		return
	}
	if p.draining {
		ctx.Respond(&api.WorkerChanged{Fault: stopping})
		return
	}
	if s.Draining {
		if s.Reported {
			ctx.Send(s.PID, &workerResume{})
		}
		s.Draining = false
		p.changed(s)
	}
	ctx.Respond(&api.WorkerChanged{Worker: s.Info()})
}

// findWorker finds the worker that a request names, or answers that it cannot be
// changed.
func (p *pool) findWorker(ctx actor.Context, who string) *schedule.Slot {
	s := p.roster.Named(who)
	switch {
	case s == nil:
		ctx.Respond(&api.WorkerChanged{Fault: noWorker(who)})
	case s.Removal != nil:
		ctx.Respond(&api.WorkerChanged{Fault: fmt.Sprintf("the worker %q is being removed", s.Spec.Name)})
	default:
		return s
	}
	return nil
}

var _ = handle(poolVerbs, (*pool).onRemoveWorker)

func (p *pool) onRemoveWorker(ctx actor.Context, m *api.RemoveWorker) {
	s := p.roster.Named(m.Worker)
	switch {
	case s == nil:
		ctx.Respond(&api.WorkerChanged{Fault: noWorker(m.Worker)})
		return
	case !s.Spec.Added:
		ctx.Respond(&api.WorkerChanged{Fault: fmt.Sprintf(
			"the worker %q comes with the service: drain it, or start the service with fewer workers", s.Spec.Name)})
		return
	}
	p.dismiss(ctx, s, m.Grace)
	s.Removal.Asked = append(s.Removal.Asked, ctx.Sender())
	p.finishRemoval(ctx, s)
}

// dismiss begins the removal of a worker. A second call with less grace shortens
// it. From now on requests are answered as if there were no such worker.
func (p *pool) dismiss(ctx actor.Context, s *schedule.Slot, grace time.Duration) {
	first := s.Removal == nil
	if first {
		p.roster.StartRemoval(s)
		ctx.Send(p.node.admission, &workerRemoved{s.Spec.ID})
		if s.Reported {
			ctx.Send(s.PID, &workerDismiss{})
		}
		p.changed(s)
		p.reroute(ctx, s)
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

// onRemovalGraceOver interrupts what still runs on a worker that is being
// removed.
func (p *pool) onRemovalGraceOver(ctx actor.Context, s *schedule.Slot) {
	if s.Removal != nil && s.Job != nil {
		ctx.Send(s.PID, &workerInterrupt{})
	}
}

// finishRemoval removes the record of a worker that is being removed and does
// nothing any more.
func (p *pool) finishRemoval(ctx actor.Context, s *schedule.Slot) {
	l := s.Removal
	if l == nil || l.Erasing || s.Job != nil || !s.Status.Drained || s.Status.Session != "" {
		return
	}
	l.Erasing = true
	l.Timer.Stop()
	root, self, n := ctx.ActorSystem().Root, ctx.Self(), p.node
	n.onDisk(func(c context.Context) error { return n.records.EraseWorker(c, s.Spec.ID) }, func(err error) {
		root.Send(self, &workerErased{s, err})
	})
}

func (p *pool) onWorkerErased(ctx actor.Context, m *workerErased) {
	s, l := m.slot, m.slot.Removal
	answer := &api.WorkerChanged{Worker: s.Info()}
	if m.err != nil {
		p.node.log.Error().Err(m.err).Str("worker", s.Spec.ID).Msg("worker not removed: its record could not be")
		answer = api.Changed(api.WorkerInfo{}, fmt.Errorf("the worker's record could not be removed, and so the worker stays, drained: %w", m.err))
	}
	if m.err != nil && !p.gone[s.Spec.Owner] {
		p.roster.CancelRemoval(s)
		ctx.Send(p.node.admission, &workerAdded{s.Spec.ID, s.Spec.Owner})
	} else {
		p.roster.Remove(s)
		p.node.feed.WorkerRemoved(s.Spec.ID)
		ctx.Send(p.node.root, &stopWorker{s.Spec.ID})
		p.checkDrained(ctx)
	}
	for _, who := range l.Asked {
		ctx.Send(who, answer)
	}
}
