package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// pool gives tasks to workers. All waiting is here: a worker has one task or
// none, and whatever it cannot take comes back and goes to the next.
type pool struct {
	node   *nodeParts
	roster *roster
	queue  *queue
	jobs   map[string]*job // by task

	patrol   *time.Timer // looks after the queue while anybody waits
	suspect  bool        // the last look found a free worker beside one who waits for it
	draining bool
	drain    poolDrain
}

type (
	// impatient says that a job has waited as long as it may.
	impatient struct{ job *job }
	// look tells pool to look after its queue.
	look struct{}
)

func (p *pool) Receive(ctx actor.Context) {
	defer recoverIn(ctx, p.node)
	switch m := ctx.Message().(type) {
	case *actor.Stopping:
		p.stop(ctx)
	case *admitted:
		p.onAdmitted(ctx, m)
	case *note:
		p.onNote(ctx, *m)
	case *declined:
		p.onDeclined(ctx, m)
	case *impatient:
		if m.job.waiting() && p.jobs[m.job.task()] == m.job {
			p.giveUp(ctx, m.job)
		}
	case *Cancel:
		reply(ctx, &Cancelled{Found: p.cancel(ctx, m)})
	case *ListWorkers:
		ctx.Respond(&Workers{Workers: p.list(m.Account.ID)})
	case *Drain:
		p.onDrain(ctx, m)
	case *graceOver:
		p.interrupt(ctx)
	case *look:
		p.look(ctx)
	default:
		return
	}
	p.publish()
}

func (p *pool) onNote(ctx actor.Context, n note) {
	s := p.hear(ctx, n)
	if s == nil {
		return
	}
	p.serve(ctx, s)
	p.checkDrained(ctx)
}

// hear takes over what a worker says of itself.
func (p *pool) hear(ctx actor.Context, n note) *seat {
	old := n
	if s := p.roster.seats[n.Worker]; s != nil {
		old = s.note
	}
	s, over := p.roster.apply(n, time.Now())
	if s != nil && !s.heard {
		if s.heard = true; p.draining { // it was not there to be told
			ctx.Send(s.pid, &workerDrain{})
		}
	}
	if over != nil {
		delete(p.jobs, over.task())
	}
	if s != nil && (old.State != n.State || old.Task != n.Task || old.Session != n.Session) {
		p.node.changed(s.info())
	}
	return s
}

func (s *seat) info() WorkerInfo {
	return WorkerInfo{
		ID: s.spec.ID, Name: s.spec.Name, State: s.note.State, Since: s.since,
		Owner: s.spec.Owner, Session: s.note.Session, TaskID: s.note.Task,
	}
}

// list tells an account of the workers it may use.
func (p *pool) list(account string) []WorkerInfo {
	var all []WorkerInfo
	for _, s := range p.roster.all {
		if s.spec.Owner != "" && s.spec.Owner != account {
			continue
		}
		info := s.info()
		if s.note.Holder != account {
			info.Session = ""
		}
		if s.note.Account != account {
			info.TaskID = ""
		}
		all = append(all, info)
	}
	return all
}

// publish lets others read the pool's numbers without asking it.
func (p *pool) publish() {
	s := Status{
		Draining: p.draining,
		Workers:  len(p.roster.all),
		Online:   p.roster.states[Online],
		Reserved: p.roster.states[Reserved],
		Busy:     p.roster.states[Busy],
		Offline:  p.roster.states[Offline],
		Waiting:  p.queue.len(),
	}
	if *p.node.status.Load() != s {
		p.node.status.Store(&s)
	}
}
