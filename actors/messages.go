package actors

import (
	"time"

	"troupe/engine"
)

// Account is on whose behalf a message is sent.
type Account struct {
	ID   string      `json:"ID"`
	Plan engine.Plan `json:"Plan"`
}

// Execute asks for a task to be played. Reply: [Executed].
type Execute struct {
	TaskID  string       `json:"TaskID"` // see NewTaskID; empty: the node makes one
	Account Account      `json:"Account"`
	Task    *engine.Task `json:"Task"`
	// Asked is when the request came; zero: nobody says.
	Asked time.Time `json:"Asked"`
	// Trace is the trace context that the task belongs to; empty: none.
	Trace string `json:"Trace"`
	// Idempotency lets the client repeat the request. A task with a key is not
	// cancelled when its client goes away.
	Idempotency Idempotency `json:"Idempotency"`

	// Roams: where no worker of the node is free, the answer may be a refusal that
	// tells where there is one: see [Elsewhere]. Tasks that name a worker or a
	// session do not roam, and neither do those with a key.
	Roams bool `json:"Roams"`
	// Away: the node takes no more tasks, and this one is for the workers of others
	// alone.
	Away bool `json:"-"`
	// Guest: it comes from a node where it waits, and so hardly waits here.
	Guest bool `json:"Guest"`
	// Moved: its session was restored on another worker than the one that the task
	// names, and is found by its identifier alone. See [Restore].
	Moved bool `json:"Moved"`
	// asks is what is asked before anything is played, see [Node.ExecuteIf]; 0: nothing.
	asks uint64
	// Place is what a task brings back that was refused elsewhere.
	Place Place `json:"Place"`
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
	TaskID     string          `json:"TaskID"`
	WorkerID   string          `json:"WorkerID"`
	WorkerName string          `json:"WorkerName"`
	SessionID  string          `json:"SessionID"` // set when the request leaves a session reserved
	Timeout    time.Duration   `json:"Timeout"`   // the task's time as the plan allows it
	Refusal    *Refusal        `json:"Refusal"`
	Outcome    *engine.Outcome `json:"Outcome"` // nil with a refusal
}

// Cancel asks for a waiting or running task to end. Reply: [Cancelled].
type Cancel struct {
	TaskID  string  `json:"TaskID"`
	Account Account `json:"Account"`
	Cause   Cause   `json:"Cause"`
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
type Cancelled struct {
	Found bool `json:"Found"`
}

// ListWorkers asks for the workers that an account may see. Reply: [Workers].
type ListWorkers struct {
	Account Account `json:"Account"`
}

// Workers answers [ListWorkers] and [SurveyWorkers]: those of the configuration,
// then the others as they were added.
type Workers struct {
	Workers []WorkerInfo `json:"Workers"`
}

// WorkerInfo is what others may know of a worker.
type WorkerInfo struct {
	ID      string    `json:"ID"`
	Name    string    `json:"Name"`
	State   State     `json:"State"`
	Since   time.Time `json:"Since"`
	Owner   string    `json:"Owner"`   // account, or empty for the shared pool
	Session string    `json:"Session"` // only for the account that holds it
	TaskID  string    `json:"TaskID"`  // only for the account that runs it
	// Draining: it takes no more tasks. It is drained when it is offline, too.
	Draining bool `json:"Draining"`
	// Added: it was added to the node while this ran, or an earlier one of the
	// same store. The others came with the configuration.
	Added bool `json:"Added"`
	// Account is whose session or task it has. Only the operator is told.
	Account string `json:"Account"`
	// Node is where it is, where there are several. Only the operator is told.
	Node string `json:"Node"`
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
	Draining bool `json:"Draining"`
	Workers  int  `json:"Workers"`
	Online   int  `json:"Online"`
	Reserved int  `json:"Reserved"`
	Busy     int  `json:"Busy"`
	Offline  int  `json:"Offline"`
	Waiting  int  `json:"Waiting"`  // requests that wait for a worker
	Abroad   int  `json:"Abroad"`   // workers with a browser on other nodes that take tasks
	Sessions int  `json:"Sessions"` // that hold a worker
}

// Ready reports whether a request has a chance: at least one worker has a
// browser, here or on another node, and the node is not about to stop.
func (s Status) Ready() bool { return !s.Draining && (s.Workers > s.Offline || s.Abroad > 0) }

// Refusal says why a task was not run.
type Refusal struct {
	Code       engine.Code   `json:"Code"`
	Text       string        `json:"Text"`
	RetryAfter time.Duration `json:"RetryAfter"` // zero where trying again is no use
	Position   int           `json:"Position"`   // place in the queue when the waiter gave up; 1 is next, zero: did not wait
	Elsewhere  *Elsewhere    `json:"Elsewhere"`  // another node may have a worker; only where the request may roam
}

func (r *Refusal) Error() string { return r.Text }
