package actors

import (
	"context"
	"time"

	"troupe/engine"
)

// Account is on whose behalf a message is sent.
type Account struct {
	ID   string
	Plan engine.Plan
}

// Execute asks for a task to be played. Reply: [Executed].
type Execute struct {
	TaskID  string // see NewTaskID; empty: the node makes one
	Account Account
	Task    *engine.Task
	// Asked is when the request came; zero: nobody says.
	Asked time.Time
	// Trace is the trace context that the task belongs to; empty: none.
	Trace string
	// Idempotency lets the client repeat the request. A task with a key is not
	// cancelled when its client goes away.
	Idempotency Idempotency

	// Roams: where no worker of the node is free, the answer may be a refusal that
	// tells where there is one: see [Elsewhere]. Tasks that name a worker or a
	// session do not roam, and neither do those with a key.
	Roams bool
	// Away: the node takes no more tasks, and this one is for the workers of others
	// alone.
	Away bool `json:"-"`
	// Guest: it comes from a node where it waits, and so hardly waits here.
	Guest bool
	// Moved: its session was restored on another worker than the one that the task
	// names, and is found by its identifier alone. See [Restore].
	Moved bool
	// Begin is asked before anything is played; nil: it may. With an error nothing is.
	Begin func(ctx context.Context) error `json:"-"`
	// Place is what a task brings back that was refused elsewhere.
	Place Place
}

// worker is the one that the task is for; empty: any, or its session's.
func (x *Execute) worker() string {
	if x.Moved {
		return ""
	}
	return x.Task.WorkerID
}

// Executed answers [Execute]: a refusal, or how the task ended. The worker's
// and the session's fields are set as soon as a worker was claimed.
type Executed struct {
	TaskID     string
	WorkerID   string
	WorkerName string
	SessionID  string        // set when the request leaves a session reserved
	Timeout    time.Duration // the task's time as the plan allows it
	Refusal    *Refusal
	Outcome    *engine.Outcome // nil with a refusal
}

// Cancel asks for a waiting or running task to end. Reply: [Cancelled].
type Cancel struct {
	TaskID  string
	Account Account
	Cause   Cause
}

// Cause says why a task is to end before its time. Causes are words and not
// errors because they cross processes.
type Cause string

// The causes of a cancellation.
const (
	CauseClient Cause = "client" // the client went away
	CauseAsked  Cause = "asked"  // somebody asked for it
	CauseDrain  Cause = "drain"  // the service stops, or the worker is removed
	// CauseRemoved: the account was removed.
	CauseRemoved Cause = "removed"
	// CauseUnheld: it is of a session that another node may have by now.
	CauseUnheld Cause = "unheld"
)

// Err returns the cause as the error that the task's context ends with.
func (c Cause) Err() error {
	switch c {
	case CauseClient:
		return engine.ErrClientGone
	case CauseDrain, CauseUnheld:
		return engine.ErrDraining
	default:
		return engine.ErrCancelled
	}
}

// Cancelled answers [Cancel]: whether there was such a task to end.
type Cancelled struct{ Found bool }

// ListWorkers asks for the workers that an account may see. Reply: [Workers].
type ListWorkers struct{ Account Account }

// Workers answers [ListWorkers] and [SurveyWorkers]: those of the configuration,
// then the others as they were added.
type Workers struct{ Workers []WorkerInfo }

// WorkerInfo is what others may know of a worker.
type WorkerInfo struct {
	ID      string
	Name    string
	State   State
	Since   time.Time
	Owner   string // account, or empty for the shared pool
	Session string // only for the account that holds it
	TaskID  string // only for the account that runs it
	// Draining: it takes no more tasks. It is drained when it is offline, too.
	Draining bool
	// Added: it was added to the node while this ran, or an earlier one of the
	// same store. The others came with the configuration.
	Added bool
	// Account is whose session or task it has. Only the operator is told.
	Account string
	// Node is where it is, where there are several. Only the operator is told.
	Node string
}

// State is what a worker is doing.
type State string

// The states of a worker.
const (
	Online   State = "online"
	Reserved State = "reserved"
	Busy     State = "busy"
	Offline  State = "offline"
)

// Drain asks for a stop: no new tasks, running ones may end until the grace is
// over and are then interrupted. Reply: [Drained], when no task runs any more.
type Drain struct{ Grace time.Duration }

// Drained answers [Drain].
type Drained struct{ Interrupted int }

// Status is the node in numbers.
type Status struct {
	Draining bool
	Workers  int
	Online   int
	Reserved int
	Busy     int
	Offline  int
	Waiting  int // requests that wait for a worker
	Abroad   int // workers with a browser on other nodes that take tasks
	Sessions int // that hold a worker
}

// Ready reports whether a request has a chance: at least one worker has a
// browser, here or on another node, and the node is not about to stop.
func (s Status) Ready() bool { return !s.Draining && (s.Workers > s.Offline || s.Abroad > 0) }

// Refusal says why a task was not run.
type Refusal struct {
	Code       engine.Code
	Text       string
	RetryAfter time.Duration // zero where trying again is no use
	Position   int           // place in the queue when the waiter gave up; 1 is next, zero: did not wait
	Elsewhere  *Elsewhere    // another node may have a worker; only where the request may roam
}

func (r *Refusal) Error() string { return r.Text }
