package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/actors/view"
)

// pool gives tasks to workers. All waiting is here: a worker has one task or
// none, and whatever it cannot take comes back and goes to the next.
type pool struct {
	node   *nodeParts
	roster *schedule.Roster
	queue  *schedule.Queue
	jobs   map[string]*schedule.Job // by task

	watchdog *time.Timer // looks after the queue while anybody waits
	suspect  bool        // the last check found a free worker and a job that waits for it
	peers    schedule.PeerCapacity
	draining bool
	drain    poolDrain

	adding   map[string]api.WorkerSpec  // by name: workers whose records are being written
	gone     map[string]bool            // accounts that were removed
	removals map[string]*accountRemoval // those that something is left of
}

func newPool(n *nodeParts, r *schedule.Roster) *pool {
	for _, s := range r.All {
		n.feed.WorkerChanged(newsOf(s))
	}
	return &pool{
		node: n, roster: r, queue: schedule.NewQueue(), jobs: map[string]*schedule.Job{}, peers: schedule.PeerCapacity{},
		adding: map[string]api.WorkerSpec{}, gone: map[string]bool{}, removals: map[string]*accountRemoval{},
	}
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
		if m.job.Waiting() && p.jobs[m.job.Task()] == m.job {
			p.giveUp(ctx, m.job)
		}
	case *api.Cancel:
		reply(ctx, &api.Cancelled{Found: p.cancel(ctx, m)})
	case *workerWritten:
		p.onWorkerWritten(ctx, m)
	case *removalGraceOver:
		p.onRemovalGraceOver(ctx, m.slot)
	case *workerErased:
		p.onWorkerErased(ctx, m)
	case *api.RemoveAccount:
		p.onRemoveAccount(ctx, m)
	case *api.Offer:
		p.onOffer(ctx, m)
	case *peerFreed:
		p.onPeerFreed(ctx, m)
	case *reserveForSession:
		p.onReserveForSession(ctx, m)
	case *endReservation:
		p.onEndReservation(ctx, m)
	case *api.Drain:
		p.onDrain(ctx, m)
	case *graceOver:
		p.interrupt(ctx)
	case *workerRestarted:
		if s := p.roster.Slots[m.Worker]; s != nil && s.Reported {
			if !p.draining && !s.Draining && s.Removal == nil {
				ctx.Send(s.PID, &workerResume{})
			}
			p.tellMissed(ctx, s)
		}
	case *queueCheck:
		p.checkQueue(ctx)
	default:
		if !poolVerbs.answer(p, ctx, m) {
			return
		}
	}
	if p.roster.ServeAll {
		p.roster.ServeAll = false
		p.serveAll(ctx)
	}
	p.checkAccountRemovals(ctx)
	p.publish()
}

func (p *pool) onWorkerStatus(ctx actor.Context, n schedule.WorkerStatus) {
	holder := ""
	if s := p.roster.Slots[n.Worker]; s != nil {
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
	p.finishRemoval(ctx, s)
	p.checkDrained(ctx)
}

// applyStatus stores what a worker reports, and returns its slot; nil if the
// report is out of date.
func (p *pool) applyStatus(ctx actor.Context, n schedule.WorkerStatus) *schedule.Slot {
	old := n
	if s := p.roster.Slots[n.Worker]; s != nil {
		old = s.Status
	}
	s, over := p.roster.Apply(n, time.Now())
	if s != nil && !s.Reported {
		s.Reported = true
		p.tellMissed(ctx, s)
	}
	if over != nil {
		delete(p.jobs, over.Task())
	}
	if s != nil && (old.State != n.State || old.Task != n.Task || old.Session != n.Session) {
		p.changed(s)
	}
	return s
}

// changed publishes the new state of a worker.
func (p *pool) changed(s *schedule.Slot) {
	p.node.changed(s.Info())
	p.node.feed.WorkerChanged(newsOf(s))
}

func newsOf(s *schedule.Slot) view.WorkerNews {
	return view.WorkerNews{WorkerInfo: s.Info(), Holder: s.Status.Holder, User: s.Status.Account}
}

// tellMissed sends a worker that reports for the first time the orders that came
// before.
func (p *pool) tellMissed(ctx actor.Context, s *schedule.Slot) {
	if p.gone[s.Status.Holder] {
		ctx.Send(s.PID, &workerDisown{s.Status.Holder})
	}
	switch {
	case s.Removal != nil:
		ctx.Send(s.PID, &workerDismiss{})
	case p.draining || s.Draining:
		ctx.Send(s.PID, &workerDrain{})
	}
}

var (
	_ = handle(poolVerbs, (*pool).onSurveyWorkers)
	_ = handle(poolVerbs, (*pool).onListWorkers)
)

func (p *pool) onSurveyWorkers(ctx actor.Context, _ *api.SurveyWorkers) {
	all := make([]api.WorkerInfo, len(p.roster.All))
	for i, s := range p.roster.All {
		all[i], _ = newsOf(s).VisibleTo("", true)
	}
	ctx.Respond(&api.Workers{Workers: all})
}

func (p *pool) onListWorkers(ctx actor.Context, m *api.ListWorkers) {
	var all []api.WorkerInfo
	for _, s := range p.roster.All {
		if info, may := newsOf(s).VisibleTo(m.Account.ID, false); may {
			all = append(all, info)
		}
	}
	ctx.Respond(&api.Workers{Workers: all})
}

// publish makes pool's numbers readable without a message to it.
func (p *pool) publish() {
	s := api.Status{
		Draining: p.draining,
		Workers:  len(p.roster.All),
		Online:   p.roster.States[api.Online],
		Reserved: p.roster.States[api.Reserved],
		Busy:     p.roster.States[api.Busy],
		Offline:  p.roster.States[api.Offline],
		Waiting:  p.queue.Len(),
		Sessions: len(p.roster.Sessions),
	}
	if *p.node.status.Load() != s {
		p.node.status.Store(&s)
	}
}
