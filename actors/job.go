package actors

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/fsm"
)

// job is a request on its way through pool: it waits for a worker, or a worker
// has it.
type job struct {
	request *admittedRequest
	claim   fsm.Claim
	until   time.Time   // it waits no longer
	named   bool        // only one worker will do
	remote  bool        // none of this node's will do
	tries   int         // workers that sent it back
	slot    *workerSlot // the worker that has it
	wait    *waiter     // its place in the queue, kept while a worker has it
	timer   *time.Timer // the end of its patience, while it waits
	cause   api.Cause   // it was cancelled
}

// newJob makes a job of a request. fresh makes the id of a session that it opens.
func newJob(adm *admittedRequest, now time.Time, fresh func() string) *job {
	t := adm.Execute.Task
	j := &job{request: adm, until: patience(adm.Execute, now), cause: adm.Cause, remote: adm.Execute.RemoteOnly}
	j.claim = fsm.Claim{
		Task: adm.Execute.TaskID, Account: adm.Execute.Account.ID, Intent: fsm.IntentOf(t),
	}
	switch j.claim.Intent {
	case fsm.Resume, fsm.Close:
		j.claim.ID = t.Session.ID
	case fsm.Open, fsm.Override:
		j.claim.Fresh = fresh()
	}
	return j
}

func (j *job) task() string    { return j.claim.Task }
func (j *job) account() string { return j.claim.Account }

// opens reports whether the job may reserve one more worker.
func (j *job) opens() bool { return j.claim.Fresh != "" }

// waiting reports whether the job stands in the queue.
func (j *job) waiting() bool { return j.timer != nil }
