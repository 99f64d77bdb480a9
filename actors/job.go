package actors

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/fsm"
)

// job is a request on its way through pool: it waits for a worker, or a worker
// has it.
type job struct {
	adm   *admitted
	order fsm.Claim
	until time.Time   // it waits no longer
	aimed bool        // only one worker will do
	away  bool        // none of this node's will do
	tries int         // workers that sent it back
	seat  *seat       // the worker that has it
	wait  *waiter     // its place in the queue, kept while a worker has it
	timer *time.Timer // the end of its patience, while it waits
	cause api.Cause   // it was cancelled
}

func newJob(adm *admitted, now time.Time) *job {
	t := adm.Execute.Task
	j := &job{adm: adm, until: patience(adm.Execute, now), cause: adm.Cause, away: adm.Execute.Away}
	j.order = fsm.Claim{
		Task: adm.Execute.TaskID, Account: adm.Execute.Account.ID, Intent: fsm.IntentOf(t),
	}
	switch j.order.Intent {
	case fsm.Resume, fsm.Close:
		j.order.ID = t.Session.ID
	case fsm.Open, fsm.Override:
		j.order.Fresh = newSessionID()
	}
	return j
}

func (j *job) task() string    { return j.order.Task }
func (j *job) account() string { return j.order.Account }

// opens reports whether the job may reserve one more worker.
func (j *job) opens() bool { return j.order.Fresh != "" }

// waiting reports whether the job stands in the queue.
func (j *job) waiting() bool { return j.timer != nil }
