package schedule

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

// Job is a request in pool: it waits for a worker, or a worker has it.
type Job struct {
	Request *Request
	Claim   fsm.Claim
	Until   time.Time   // it waits no longer
	Named   bool        // only one worker will do
	Remote  bool        // none of this node's will do
	Tries   int         // workers that sent it back
	Slot    *Slot       // the worker that has it
	Wait    *Waiter     // its place in the queue; it stays while a worker has it
	Timer   *time.Timer // the end of its wait, while it waits
	Cause   api.Cause   // it was cancelled

	// Owed is how long it may wait though it did not ask to: the queue has a worker above
	// its share.
	Owed time.Duration
}

// NewJob makes a job of a request. fresh makes the id of the session that the
// request opens, if it does.
func NewJob(req *Request, now time.Time, fresh func() string) *Job {
	t := req.Execute.Task
	j := &Job{Request: req, Until: waitUntil(req.Execute, now), Cause: req.Cause, Remote: req.Execute.RemoteOnly}
	j.Claim = fsm.Claim{
		Task: req.Execute.TaskID, Account: req.Execute.Account.ID, Intent: fsm.IntentOf(t),
	}
	switch j.Claim.Intent {
	case fsm.Resume, fsm.Close:
		j.Claim.ID = t.Session.ID
	case fsm.Open, fsm.Override:
		j.Claim.Fresh = fresh()
	}
	return j
}

// Task is the task's identifier.
func (j *Job) Task() string { return j.Claim.Task }

// Account is the identifier of the task's account.
func (j *Job) Account() string { return j.Claim.Account }

// OpensSession reports whether the job may reserve one more worker.
func (j *Job) OpensSession() bool { return j.Claim.Fresh != "" }

// Movable reports whether the job comes from the queue, which may let it begin later, or on
// another node.
func (j *Job) Movable() bool { return j.Request.Execute.FromQueue && !pinned(j.Request.Execute) }

// pinned reports whether a task names its worker, or a session that has one.
func pinned(x *api.Execute) bool {
	return x.Target() != "" || x.Task.Session != nil && x.Task.Session.ID != ""
}

// Waiting reports whether the job is in the queue.
func (j *Job) Waiting() bool { return j.Timer != nil }

func (j *Job) stopWaiting() {
	j.Timer.Stop()
	j.Timer = nil
}

// Request is a request that admission has let through. Pool answers its client.
type Request struct {
	Execute *api.Execute
	Limits  engine.Limits
	Timeout time.Duration // as the plan allows it
	Counted time.Time     // when the daily count was taken; zero: it was not
	Client  *actor.PID
	// NeedsAck tells that the client is asked before the task begins.
	NeedsAck bool
	Cause    api.Cause // it was cancelled before it came so far
}

// forwardedWait is how long a forwarded job waits here: for a worker that has
// just ended its last task. For anything longer it waits on its own node.
const forwardedWait = 100 * time.Millisecond

// movedWait is how long a job waits for the browser that its session is restored
// into.
const movedWait = 20 * time.Second

// waitUntil is until when a new job waits.
func waitUntil(x *api.Execute, now time.Time) time.Time {
	if x.SessionMoved { // its worker gets a browser
		return now.Add(max(movedWait, min(x.Task.QueueTimeout, engine.MaxQueueTimeout)))
	}
	if x.FromQueue {
		if pinned(x) {
			return now // others of the queue need not wait for one worker with it
		}
		return now.Add(engine.MaxQueueTimeout)
	}
	if x.Forwarded {
		return now.Add(forwardedWait)
	}
	return now.Add(min(x.Task.QueueTimeout, engine.MaxQueueTimeout))
}
