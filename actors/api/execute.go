package api

import (
	"time"

	"troupe/engine"
)

// Idempotency makes a request safe to repeat. Requests of one account that
// carry the same key are one request: it is played once, and each of them gets
// its answer.
type Idempotency struct {
	Key string `json:"Key"` // empty: none
	// Digest stands for the request's content. The same key with other content
	// is refused with idempotency_mismatch.
	Digest []byte `json:"Digest"`
}

// Elsewhere is in the refusal of a task that may roam: another node is said to
// have a worker for it. A task that is refused there, too, is sent again with
// its Place.
type Elsewhere struct {
	Node  string `json:"Node"`
	Place Place  `json:"Place"`
}

// Place is what a task keeps of its waiting while it tries its luck elsewhere.
// Its fields are for the pool that has given it.
type Place struct {
	Until   time.Time `json:"Until"` // it waits no longer
	Arrival uint64    `json:"Arrival"`
	Turn    uint64    `json:"Turn"`
	Refused string    `json:"Refused"` // the node that had nothing free after all
}

// Execute asks for a task to be played. It crosses to another node inside of a
// message that brings the task's source and files.
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
	Forwardable bool `json:"Roams"`
	// Away: the node takes no more tasks, and this one is for the workers of others
	// alone.
	RemoteOnly bool `json:"-"`
	// Guest: it comes from a node where it waits, and so hardly waits here.
	Forwarded bool `json:"Guest"`
	// Moved: its session was restored on another worker than the one that the task
	// names, and is found by its identifier alone. See [Restore].
	SessionMoved bool `json:"Moved"`
	// BeginCheck names what is asked before anything is played; 0: nothing.
	BeginCheck uint64 `json:"-"`
	// Place is what a task brings back that was refused elsewhere.
	Place Place `json:"Place"`
}

// Target is the worker that the task is for; empty: any, or its session's.
func (x *Execute) Target() string {
	if x.SessionMoved {
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

func (*Execute) reply(*Executed) {}

var (
	_ = define(definition[Execute, Executed]{failed: func(m *Execute, no *Refusal) *Executed { return m.Refused(0, no) }})
	_ = number[Executed](2)
	_ = number[Started](3) // where the task is asynchronous
)

// Refused is the reply to a task that is not played.
func (x *Execute) Refused(timeout time.Duration, no *Refusal) *Executed {
	return &Executed{TaskID: x.TaskID, Timeout: timeout, Refusal: no}
}
