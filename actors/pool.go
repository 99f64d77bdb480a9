package actors

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/actors/view"

	"github.com/asynkron/protoactor-go/actor"
)

// pool gives tasks to workers. All waiting is here: a worker has one task or
// none, and whatever it cannot take comes back and goes to the next.
type pool struct {
	node   *nodeParts
	roster *schedule.Roster
	queue  *schedule.Queue
	jobs   map[string]*schedule.Job // by task

	patrol   *time.Timer // looks after the queue while anybody waits
	suspect  bool        // the last look found a free worker beside one who waits for it
	peers    schedule.PeerCapacity
	draining bool
	drain    poolDrain

	adding   map[string]api.WorkerSpec  // by name: workers whose records are being written
	gone     map[string]bool            // accounts that were removed
	removals map[string]*accountRemoval // those that something is left of
}

func newPool(n *nodeParts, r *schedule.Roster) *pool {
	for _, s := range r.All {
		n.feed.Worker(newsOf(s))
	}
	return &pool{
		node: n, roster: r, queue: schedule.NewQueue(), jobs: map[string]*schedule.Job{}, peers: schedule.PeerCapacity{},
		adding: map[string]api.WorkerSpec{}, gone: map[string]bool{}, removals: map[string]*accountRemoval{},
	}
}

type (
	// impatient says that a job has waited as long as it may.
	waitOver struct{ job *schedule.Job }
	// look tells pool to look after its queue.
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
		p.onNote(ctx, *m)
	case *declined:
		p.onDeclined(ctx, m)
	case *waitOver:
		if m.job.Waiting() && p.jobs[m.job.Task()] == m.job {
			p.giveUp(ctx, m.job)
		}
	case *api.Cancel:
		reply(ctx, &api.Cancelled{Found: p.cancel(ctx, m)})
	case *workerKept:
		p.onWorkerKept(ctx, m)
	case *timeToLeave:
		p.onTimeToLeave(ctx, m.seat)
	case *workerForgotten:
		p.onWorkerForgotten(ctx, m)
	case *api.RemoveAccount:
		p.onRemoveAccount(ctx, m)
	case *api.Offer:
		p.onOffer(ctx, m)
	case *freed:
		p.onFreed(ctx, m)
	case *putAside:
		p.onPutAside(ctx, m)
	case *adoption:
		p.onAdopt(ctx, m)
	case *api.Drain:
		p.onDrain(ctx, m)
	case *graceOver:
		p.interrupt(ctx)
	case *workerRestarted:
		if s := p.roster.Slots[m.Worker]; s != nil && s.Heard {
			if !p.draining && !s.Draining && s.Removal == nil {
				ctx.Send(s.Pid, &workerResume{})
			}
			p.tellMissed(ctx, s)
		}
	case *queueCheck:
		p.look(ctx)
	default:
		if !poolVerbs.answer(p, ctx, m) {
			return
		}
	}
	if p.roster.Opened {
		p.roster.Opened = false
		p.serveAll(ctx)
	}
	p.checkRemovals(ctx)
	p.publish()
}

func (p *pool) onNote(ctx actor.Context, n schedule.WorkerStatus) {
	holder := ""
	if s := p.roster.Slots[n.Worker]; s != nil {
		holder = s.Holder
	}
	s := p.hear(ctx, n)
	switch {
	case s == nil:
		return
	case holder != "" && s.Holder != holder: // that account may reserve another one
		p.serveAll(ctx)
	default:
		p.serve(ctx, s)
	}
	p.checkLeaving(ctx, s)
	p.checkDrained(ctx)
}

// hear takes over what a worker says of itself.
func (p *pool) hear(ctx actor.Context, n schedule.WorkerStatus) *schedule.Slot {
	old := n
	if s := p.roster.Slots[n.Worker]; s != nil {
		old = s.Status
	}
	s, over := p.roster.Apply(n, time.Now())
	if s != nil && !s.Heard {
		s.Heard = true
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

// changed tells of a worker that is not as it was.
func (p *pool) changed(s *schedule.Slot) {
	p.node.changed(s.Info())
	p.node.feed.Worker(newsOf(s))
}

func newsOf(s *schedule.Slot) view.WorkerNews {
	return view.WorkerNews{WorkerInfo: s.Info(), Holder: s.Status.Holder, User: s.Status.Account}
}

// tellMissed tells a worker that speaks for the first time what it was not there
// to be told.
func (p *pool) tellMissed(ctx actor.Context, s *schedule.Slot) {
	if p.gone[s.Status.Holder] {
		ctx.Send(s.Pid, &workerDisown{s.Status.Holder})
	}
	switch {
	case s.Removal != nil:
		ctx.Send(s.Pid, &workerDismiss{})
	case p.draining || s.Draining:
		ctx.Send(s.Pid, &workerDrain{})
	}
}

var (
	_ = handle(poolVerbs, (*pool).onSurveyWorkers)
	_ = handle(poolVerbs, (*pool).onListWorkers)
)

func (p *pool) onSurveyWorkers(ctx actor.Context, _ *api.SurveyWorkers) {
	all := make([]api.WorkerInfo, len(p.roster.All))
	for i, s := range p.roster.All {
		all[i], _ = newsOf(s).SeenBy("", true)
	}
	ctx.Respond(&api.Workers{Workers: all})
}

func (p *pool) onListWorkers(ctx actor.Context, m *api.ListWorkers) {
	var all []api.WorkerInfo
	for _, s := range p.roster.All {
		if info, may := newsOf(s).SeenBy(m.Account.ID, false); may {
			all = append(all, info)
		}
	}
	ctx.Respond(&api.Workers{Workers: all})
}

// publish lets others read the pool's numbers without asking it.
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
