package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/schedule"
	"troupe/engine"
)

// shareSpan is how long what synchronous tasks have wanted counts at least.
const shareSpan = 10 * time.Second

// owedWait is how long a request waits at most for a worker that the queue has above its
// share. Queued tasks without a timeout of their own have ended by then.
const owedWait = engine.DefaultTimeout

// shareTurn tells that a span is over.
type shareTurn struct{}

// workerShare knows how pool's workers are shared between tasks of the queue and
// others. The rules are those of [backlog.Demand].
type workerShare struct {
	wanted     bool // tasks wait in the queue
	told       int  // what the queue knows of its room
	jobs       int  // tasks of the queue that pool has
	running    int  // those that a worker has
	others     int  // other tasks that a worker has
	lately     backlog.Lately
	lastQueued bool
	timer      *time.Timer
}

// came takes in a job that is new in pool.
func (w *workerShare) came(p *pool, j *schedule.Job) {
	if j.Request.Execute.FromQueue {
		w.jobs++
	} else if w.wanted {
		w.lately.Add(w.synchronous(p) + 1)
	}
}

func (w *workerShare) assigned(j *schedule.Job) {
	if j.Request.Execute.FromQueue {
		w.running++
	} else {
		w.others++
	}
}

func (w *workerShare) released(j *schedule.Job) {
	if j.Request.Execute.FromQueue {
		w.running--
	} else {
		w.others--
	}
}

// ended takes in that pool has a job no more.
func (w *workerShare) ended(j *schedule.Job, ran bool) {
	if ran {
		w.released(j)
	}
	if j.Request.Execute.FromQueue {
		w.jobs--
	}
}

// synchronous is how many workers other tasks have, and wait for.
func (w *workerShare) synchronous(p *pool) int {
	return w.others + p.scheduler.Queue.Len() - (w.jobs - w.running)
}

func (w *workerShare) demand(p *pool) backlog.Demand {
	return backlog.Demand{
		Workers: p.scheduler.States[api.Online] + p.scheduler.States[api.Busy], Queued: w.running,
		Synchronous: w.lately.Most(), LastQueued: w.lastQueued,
	}
}

// mayWait reports whether a job that found no worker may wait for one: as long as it asked
// to, or else for a worker that the queue has above its share. The queue uses all while
// nobody else wants one, so the first request finds none, and would be refused though it
// is the next to get one. It waits no longer than its client waits for its task.
func (w *workerShare) mayWait(p *pool, j *schedule.Job, code engine.Code) bool {
	now := time.Now()
	if now.Before(j.Until) {
		return waitable(code)
	}
	x := j.Request.Execute
	if code != engine.CodeNoWorkerAvailable || j.Owed > 0 || x.FromQueue || x.Forwarded || j.Named || j.Remote || x.Task.QueueTimeout > 0 {
		return false
	}
	if !w.demand(p).Owes(w.synchronous(p) - w.others) {
		return false
	}
	j.Owed = min(j.Request.Timeout, owedWait)
	j.Until = now.Add(j.Owed)
	return true
}

// next takes the job that a free worker serves next.
func (w *workerShare) next(p *pool, s *schedule.Slot) *schedule.Job {
	if w.jobs == w.running {
		return p.scheduler.NextFor(s)
	}
	queued := func(j *schedule.Job) bool { return j.Request.Execute.FromQueue }
	other := func(j *schedule.Job) bool { return !j.Request.Execute.FromQueue }
	both := p.scheduler.Queue.Len() > w.jobs-w.running
	first, second := other, queued
	if w.demand(p).QueueFirst() {
		first, second = queued, other
	}
	j := p.scheduler.NextOf(s, first)
	if j == nil {
		j = p.scheduler.NextOf(s, second)
	}
	if j != nil && both {
		w.lastQueued = queued(j)
	}
	return j
}

// tell tells the queue how many workers it may have, when that changes.
func (w *workerShare) tell(ctx actor.Context, p *pool) {
	if p.node.queue == nil || !w.wanted {
		return
	}
	w.lately.Add(w.synchronous(p))
	may := w.demand(p).QueueMay()
	if p.drain.begun {
		may = 0
	}
	if may != w.told {
		w.told = may
		ctx.Send(p.node.queue, &queueRoom{may})
	}
}

// onWanted begins and ends the watch over what others want.
func (w *workerShare) onWanted(ctx actor.Context, p *pool, wanted bool) {
	if w.wanted = wanted; wanted {
		w.lately = backlog.Lately{}
		w.startTimer(ctx)
	}
}

func (w *workerShare) onTurn(ctx actor.Context, p *pool) {
	w.timer = nil
	w.lately.Turn()
	if w.wanted {
		w.startTimer(ctx)
	}
}

func (w *workerShare) startTimer(ctx actor.Context) {
	if w.timer == nil {
		w.timer = sendLater(ctx, shareSpan, ctx.Self(), &shareTurn{})
	}
}
