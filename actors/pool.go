package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/actors/view"
	"troupe/engine"
)

// pool gives tasks to workers. All waiting is here: a worker has one task or
// none, and whatever it cannot take comes back and goes to the next.
type pool struct {
	node      *nodeParts
	scheduler *schedule.Scheduler
	drain     drain
	workers   workerChanges
	removed   removedAccounts
	share     workerShare

	watchdog *time.Timer // looks after the queue while anybody waits
	suspect  bool        // the last check found a free worker and a job that waits for it
}

func newPool(n *nodeParts, r *schedule.Roster) *pool {
	for _, s := range r.All {
		n.feed.WorkerChanged(snapshotOf(s))
	}
	p := &pool{node: n, scheduler: schedule.NewScheduler(r, n.cfg.Session.SharePerMil)}
	p.scheduler.PreferLast = n.cfg.Isolation == engine.IsolateAccount
	p.drain = drain{pool: p}
	p.workers = workerChanges{pool: p, adding: map[string]api.WorkerSpec{}}
	p.removed = removedAccounts{pool: p, all: map[string]bool{}, open: map[string]*accountRemoval{}}
	return p
}

type (
	// waitOver tells that a job has waited as long as it may.
	waitOver struct{ job *schedule.Job }
	// queueCheck tells pool to check its queue.
	queueCheck struct{}
)

func (p *pool) Receive(ctx actor.Context) {
	defer recoverIn(ctx, p.node, p)
	switch m := ctx.Message().(type) {
	case *actor.Stopping:
		p.stop(ctx)
	case *schedule.Request:
		p.onAdmitted(ctx, m)
	case *schedule.WorkerStatus:
		p.onWorkerStatus(ctx, *m)
	case *declined:
		p.onDeclined(ctx, m)
	case *waitOver:
		if m.job.Waiting() && p.scheduler.Jobs[m.job.Task()] == m.job {
			p.giveUp(ctx, m.job)
		}
	case *api.Cancel:
		reply(ctx, &api.Cancelled{Found: p.cancel(ctx, m)})
	case *workerWritten:
		p.workers.onWritten(ctx, m)
	case *removalGraceOver:
		p.workers.onGraceOver(ctx, m.slot)
	case *workerErased:
		p.workers.onErased(ctx, m)
	case *api.RemoveAccount:
		p.removed.onRemove(ctx, m)
	case *api.PeerCapacity:
		p.onOffer(ctx, m)
	case *peerFreed:
		p.onPeerFreed(ctx, m)
	case *reserveForSession:
		p.onReserveForSession(ctx, m)
	case *endReservation:
		p.onEndReservation(ctx, m)
	case *api.Drain:
		p.drain.onDrain(ctx, m)
	case *graceOver:
		p.drain.interrupt(ctx)
	case *workerRestarted:
		if s := p.scheduler.Slots[m.Worker]; s != nil && s.Reported {
			if !p.drain.begun && !s.Draining && s.Removal == nil {
				ctx.Send(s.PID, &workerResume{})
			}
			p.tellMissed(ctx, s)
		}
	case *queueCheck:
		p.checkQueue(ctx)
	case *queueWanted:
		p.share.onWanted(ctx, p, m.Wanted)
	case *queueHold:
		p.returnQueued(ctx)
	case *shareTurn:
		p.share.onTurn(ctx, p)
	default:
		if !poolVerbs.answer(p, ctx, m) {
			return
		}
	}
	if p.scheduler.ServeAll {
		p.scheduler.ServeAll = false
		p.serveAll(ctx)
	}
	p.removed.check(ctx)
	p.publish()
	p.share.tell(ctx, p)
}

func (p *pool) onWorkerStatus(ctx actor.Context, n schedule.WorkerStatus) {
	holder := ""
	if s := p.scheduler.Slots[n.Worker]; s != nil {
		holder = s.Holder
	}
	s := p.applyStatus(ctx, n)
	switch {
	case s == nil:
		return
	case holder != "" && s.Holder != holder: // that account may reserve another one
		p.serveAll(ctx)
	default:
		p.serve(ctx, s)
	}
	p.workers.finishRemoval(ctx, s)
	p.drain.check(ctx)
}

// applyStatus stores what a worker reports, and returns its slot; nil if the
// report is out of date.
func (p *pool) applyStatus(ctx actor.Context, n schedule.WorkerStatus) *schedule.Slot {
	old := n
	if s := p.scheduler.Slots[n.Worker]; s != nil {
		old = s.Status
	}
	s, over := p.scheduler.Apply(n, time.Now())
	if s != nil && !s.Reported {
		s.Reported = true
		p.tellMissed(ctx, s)
	}
	if over != nil {
		p.share.ended(over, true)
		delete(p.scheduler.Jobs, over.Task())
	}
	if s != nil && (old.State != n.State || old.Task != n.Task || old.Session != n.Session) {
		p.changed(s)
	}
	return s
}

// changed publishes the new state of a worker.
func (p *pool) changed(s *schedule.Slot) {
	p.node.changed(s.Info())
	p.node.feed.WorkerChanged(snapshotOf(s))
}

func snapshotOf(s *schedule.Slot) view.WorkerSnapshot {
	return view.WorkerSnapshot{WorkerInfo: s.Info(), Holder: s.Status.Holder, User: s.Status.Account}
}

// tellMissed sends a worker that reports for the first time the orders that came
// before.
func (p *pool) tellMissed(ctx actor.Context, s *schedule.Slot) {
	if p.removed.all[s.Status.Holder] {
		ctx.Send(s.PID, &workerEndAccount{s.Status.Holder})
	}
	switch {
	case s.Removal != nil:
		ctx.Send(s.PID, &workerRetire{})
	case p.drain.begun || s.Draining:
		ctx.Send(s.PID, &workerDrain{})
	}
}

// stop answers all that wait: the library drops what is in the mailbox of a
// stopped actor.
func (p *pool) stop(ctx actor.Context) {
	p.drain.refuseWaiting(ctx, func(*schedule.Job) bool { return true })
	if p.watchdog != nil {
		p.watchdog.Stop()
	}
	if p.drain.timer != nil {
		p.drain.timer.Stop()
	}
	if p.share.timer != nil {
		p.share.timer.Stop()
	}
	for _, s := range p.scheduler.All {
		if s.Removal != nil {
			s.Removal.Timer.Stop()
		}
	}
}

var (
	_ = handle(poolVerbs, (*pool).onSurveyWorkers)
	_ = handle(poolVerbs, (*pool).onListWorkers)
)

func (p *pool) onSurveyWorkers(ctx actor.Context, _ *api.SurveyWorkers) {
	all := make([]api.WorkerInfo, len(p.scheduler.All))
	for i, s := range p.scheduler.All {
		all[i], _ = snapshotOf(s).VisibleTo("", true)
	}
	ctx.Respond(&api.Workers{Workers: all})
}

func (p *pool) onListWorkers(ctx actor.Context, m *api.ListWorkers) {
	var all []api.WorkerInfo
	held := p.node.sessions.held()
	for _, s := range p.scheduler.All {
		if info, may := snapshotOf(s).VisibleTo(m.Account.ID, false); may {
			if info.Session != "" {
				info.Held = held[info.Session]
			}
			all = append(all, info)
		}
	}
	ctx.Respond(&api.Workers{Workers: all, Sessions: p.scheduler.SessionsHere(m.Account.ID)})
}

// publish makes pool's numbers readable without a message to it.
func (p *pool) publish() {
	s := api.Status{
		Draining: p.drain.begun,
		Workers:  len(p.scheduler.All),
		Online:   p.scheduler.States[api.Online],
		Reserved: p.scheduler.States[api.Reserved],
		Busy:     p.scheduler.States[api.Busy],
		Offline:  p.scheduler.States[api.Offline],
		Waiting:  p.scheduler.Queue.Len(),
		Sessions: len(p.scheduler.Sessions),
	}
	if *p.node.status.Load() != s {
		p.node.status.Store(&s)
	}
}
