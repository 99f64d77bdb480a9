package schedule

import (
	"container/list"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

// WhyRefused says why the worker has refused a claim.
func (s *Slot) WhyRefused(code engine.Code, o fsm.Claim) string {
	switch code {
	case engine.CodeWorkerBusy:
		return fmt.Sprintf("%s runs another task", s.Spec.Name)
	case engine.CodeSessionAttached:
		return "lists are played when it has left, or with queueTimeout wait for that"
	case engine.CodeWorkerReserved:
		if o.Intent == fsm.Override {
			return fmt.Sprintf("a session of another account holds %s", s.Spec.Name)
		}
		return fmt.Sprintf("a session holds %s", s.Spec.Name)
	case engine.CodeWorkerOffline:
		if s.Draining {
			return fmt.Sprintf("%s was told to take no more tasks", s.Spec.Name)
		}
		return fmt.Sprintf("%s has no browser now", s.Spec.Name)
	case engine.CodeSessionMismatch:
		return fmt.Sprintf("%s is not the session of %s", api.Quoted(o.ID), s.Spec.Name)
	default:
		return ""
	}
}

// Info describes the worker for clients.
func (s *Slot) Info() api.WorkerInfo {
	return api.WorkerInfo{
		ID: s.Spec.ID, Name: s.Spec.Name, State: s.Status.State, Since: s.since,
		Owner: s.Spec.Owner, Session: s.Status.Session, TaskID: s.Status.Task,
		Draining: s.Draining, Added: s.Spec.Added,
	}
}

// Slot is a worker as pool sees it: its last reported status, and the claim that
// was sent to it. Only the worker itself is up to date.
type Slot struct {
	Spec api.WorkerSpec
	PID  *actor.PID

	// Reported is set once the worker has reported. Before that it may not exist
	// yet, and the library does not allow messages to an actor that is being
	// spawned.
	Reported    bool
	Status      WorkerStatus
	since       time.Time
	used        time.Time    // when its last task ended; zero: never
	Seq         uint64       // of the last claim sent to it
	Job         *Job         // the claim that is not known to be over
	ReservedFor *Job         // what it is reserved for: a session that comes from another worker
	Asking      []*actor.PID // other requests for that session

	Draining bool     // it takes no more tasks
	Removal  *Removal // it is being removed; nil: it stays

	in     *list.List // the list of free workers that it is in
	at     *list.Element
	Holder string // the account whose session it counts for

	Shared *SharedBrowser // the browser that it shares; nil: it has its own
	last   string         // the account whose task it was sent last
}

// WorkerStatus is what a worker reports to pool. Pool ignores a status that does
// not know of pool's last claim.
type WorkerStatus struct {
	Worker    string
	Seq       uint64
	State     api.State
	Ready     bool // a claim would begin at once
	Claimable bool
	Session   string
	Holder    string
	Task      string
	Account   string
	Drained   bool // it has stopped for good: nothing runs and nothing is being saved
}

// Removal is the state of a worker's removal.
type Removal struct {
	Asked   []*actor.PID
	Until   time.Time
	Timer   *time.Timer // the end of its grace
	Erasing bool        // its record is being removed
}
