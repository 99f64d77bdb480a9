package schedule

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/fsm"
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
	Wait    *Waiter     // its place in the queue, kept while a worker has it
	Timer   *time.Timer // the end of its patience, while it waits
	Cause   api.Cause   // it was cancelled
}

// NewJob makes a job of a request. fresh makes the id of the session that the
// request opens, if it does.
func NewJob(adm *Request, now time.Time, fresh func() string) *Job {
	t := adm.Execute.Task
	j := &Job{Request: adm, Until: patience(adm.Execute, now), Cause: adm.Cause, Remote: adm.Execute.RemoteOnly}
	j.Claim = fsm.Claim{
		Task: adm.Execute.TaskID, Account: adm.Execute.Account.ID, Intent: fsm.IntentOf(t),
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

// Waiting reports whether the job is in the queue.
func (j *Job) Waiting() bool { return j.Timer != nil }
