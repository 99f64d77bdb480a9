package actors

import (
	"encoding/json"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/schedule"
	"troupe/engine"
)

// Between pool and worker.

// claim gives a task to a worker. The worker answers the client, or sends the
// claim back to pool as [declined].
type claim struct {
	Seq      uint64 // numbers the claims of one worker
	Claim    fsm.Claim
	Execute  *api.Execute
	Timeout  time.Duration
	Client   *actor.PID
	NeedsAck bool
	Counted  time.Time // see [schedule.Request]
}

// most is how long the claim's task may take: its time, and what it needs then
// to keep what shows how it went.
func (c *claim) most() time.Duration { return c.Timeout + c.Execute.Task.Aftermath() }

// declined sends a claim back, with the worker's status.
type declined struct {
	Status schedule.WorkerStatus
	Task   string
	Code   engine.Code
}

// workerCancel ends a task; workerDrain and workerInterrupt stop a worker when
// it can and at once, and workerResume takes the drain back. workerRetire is a
// drain for good. workerEndAccount ends what a removed account has there.
type (
	workerCancel struct {
		Task  string
		Cause api.Cause
	}
	workerDrain      struct{}
	workerResume     struct{}
	workerInterrupt  struct{}
	workerRetire     struct{}
	workerEndAccount struct{ Account string }
)

// workerReport asks a worker to report its status, also when it has not changed.
type workerReport struct{}

// workerRestarted tells that a worker has panicked: messages to it may be lost.
type workerRestarted struct{ Worker string }

// Between a worker and its supervisor.

// browserDown tells that there is no browser any more. Early: it had not proved
// itself yet.
type browserDown struct{ Early bool }

// launch allows the start of a browser.
type launch struct{}

// Between a worker and the session that holds it.

// sessionBegin stops the timer while a task runs. Reply: [sessionBegun], with
// Wait when the session is on disk.
type sessionBegin struct {
	Timeout time.Duration // as the request says; zero: it does not
	Label   string        // as the request says; empty: it does not
	Task    time.Duration // how long the task may take
	Wait    bool
}

// sessionBegun lets the task begin. The cache that it shares with the session's
// other tasks is in the node's [sessionSet].
type sessionBegun struct {
	Refusal *api.Refusal // it cannot begin: it is not on disk, or may not be the node's any more
}

// sessionKeep keeps what a request has left. Reply: [sessionKept], when it is
// on disk or cannot be.
type (
	sessionKeep struct {
		State   json.RawMessage
		Saved   bool          // there is a State; else the last one stays
		Still   bool          // the timer runs on
		Timeout time.Duration // as the request says; zero: it does not
		Unused  time.Duration // how long before its end the task has used the session last
	}
	sessionKept struct{ Err string }
)

// sessionErase removes the session from the disk. Reply: [sessionErased].
// sessionForget does so without a reply.
type (
	sessionErase  struct{}
	sessionErased struct{ Err string }
	sessionForget struct{}
)

// sessionRecall asks for the state that was kept. Reply: [sessionRecalled].
type (
	sessionRecall   struct{}
	sessionRecalled struct{ State json.RawMessage }
)

// sessionConfirm makes sure that the session is still the node's, in a term of its
// lease. Reply: [sessionConfirmed], also where it is not: then its worker learns
// that.
type (
	sessionConfirm   struct{ Term uint64 }
	sessionConfirmed struct {
		Term uint64
		Err  string
	}
)

// sessionLeaseLost tells that the node's lease has lapsed, superseded that the
// record on disk is another node's.
type (
	sessionLeaseLost struct{}
	superseded       struct{}
)

// workerLeaseLost tells the worker to end what runs for a session, sessionTaken
// that the session is another node's.
type (
	workerLeaseLost struct{ Session string }
	sessionTaken    struct{ Session string }
)

// workerAdopt gives a worker a session that another one had.
type workerAdopt struct {
	Seq     uint64
	session recoveredSession
}

// sessionResetTimer starts the timer anew.
type sessionResetTimer struct{ Timeout time.Duration }

// sessionRename hands the session to another client of the account: a new
// identifier, an empty cache, the same browser.
type sessionRename struct {
	ID      string
	Timeout time.Duration
	Label   string
}

// sessionRepeat asks the session to tell its worker again if its time is up: the
// worker may have missed it.
type sessionRepeat struct{}

// sessionOver reports that the time of a session has run out.
type sessionOver struct{ Session string }

// workerAdded and workerRemoved tell admission which account may name a worker.
type (
	workerAdded   struct{ Worker, Owner string }
	workerRemoved struct{ Worker string }
)

// startWorker starts the actors of a worker, stopWorker ends them.
type (
	startWorker struct{ spec api.WorkerSpec }
	stopWorker  struct{ worker string }
)
