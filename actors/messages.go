// Package actors decides who does what when: which account may run a task,
// which worker plays it, what a session keeps, when something waits, and what
// happens when a browser dies. Its messages are plain data and can cross a
// process.
package actors

import (
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
	TaskID  string
	Account Account
	Task    *engine.Task
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
	Cause   string
}

// Cancelled answers [Cancel]: whether there was such a task to end.
type Cancelled struct{ Found bool }

// ListWorkers asks for the workers that an account may see. Reply: [Workers].
type ListWorkers struct{ Account Account }

// Workers answers [ListWorkers], in the order of their names.
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

// Drain asks for a stop: no new tasks, running ones may end until the deadline
// and are then interrupted. Reply: [Drained], when no task runs any more.
type Drain struct{ Grace time.Duration }

// Drained answers [Drain].
type Drained struct{ Interrupted int }

// Refusal says why a task was not run.
type Refusal struct {
	Code       engine.Code
	Text       string
	RetryAfter time.Duration // zero where trying again is no use
	Position   int           // place in the queue when the waiter gave up; 1 is next, zero: did not wait
}

func (r *Refusal) Error() string { return r.Text }
