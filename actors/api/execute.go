package api

import (
	"bytes"
	"fmt"
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

// MaxRepeats bounds how many repeated requests of one account wait for answers at a node: each
// holds a connection, and goes on when its client has left.
const MaxRepeats = 256

// RefuseRepeat refuses one more.
func RefuseRepeat() *Refusal {
	return Refuse(engine.CodeTooManyWaiting, fmt.Sprintf("%d repeated requests of this account already do", MaxRepeats))
}

// KeyAnswer is what the record of a key says: one of Executed and Started.
type KeyAnswer struct {
	TaskID   string // that was begun
	Digest   []byte
	Executed *Executed
	Started  *Started
	Lost     bool // it was found lost with its node just now
}

// Is reports whether the record is of the request, and not of another one with its key.
func (a *KeyAnswer) Is(m *Execute) bool { return bytes.Equal(a.Digest, m.Idempotency.Digest) }

// ForwardTo is in the refusal of a forwardable task: another node may have a
// worker for it. If that node refuses the task too, it is sent again with its
// Place.
type ForwardTo struct {
	Node  string `json:"Node"`
	Place Place  `json:"Place"`
}

// Place is the task's place in the queue while the task tries another node. Its
// fields are for the pool that issued it.
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
	// Asked is when the request came, or since when a task of the queue may begin; zero: unknown.
	Asked time.Time `json:"Asked"`
	// Trace is the trace context that the task belongs to; empty: none.
	Trace string `json:"Trace"`
	// Idempotency lets the client repeat the request. A task with a key is not
	// cancelled when its client goes away.
	Idempotency Idempotency `json:"Idempotency"`

	// Forwardable allows a refusal that names another node when no worker is free:
	// see [ForwardTo]. Tasks with a worker, a session or a key are not forwardable.
	Forwardable bool `json:"Roams"`
	// RemoteOnly tells that the node takes no more tasks: only workers of other
	// nodes may run this one.
	RemoteOnly bool `json:"-"`
	// Forwarded tells that the task comes from a node where it waits, and so hardly
	// waits here.
	Forwarded bool `json:"Guest"`
	// SessionMoved tells that the session was restored on another worker than the
	// task names, and is found by its identifier alone. See [Restore].
	SessionMoved bool `json:"Moved"`
	// BeginCheck is the number of the function to ask before the task begins; 0:
	// none.
	BeginCheck uint64 `json:"-"`
	// Attach is the number of the client that plays the task, in the place of its list; 0: none does.
	Attach uint64 `json:"-"`
	// FromQueue tells that the task has waited in the queue.
	FromQueue bool `json:"-"`
	// Batch is the item that the task is for; nil: it belongs to no batch.
	Batch *BatchRef `json:"-"`
	// OnDisk tells that its record is in the queue: it is added if the queue has not found it.
	OnDisk bool `json:"-"`
	// Schedule is the run that the task is; nil: it is none.
	Schedule *ScheduleRef `json:"Schedule,omitempty"`
	// By says who has sent the request.
	By Sender `json:"By,omitzero"`
	// Place is what a task brings back that was refused elsewhere.
	Place Place `json:"Place"`
}

// Sender says who has sent a request for a task, for the history of runs.
type Sender struct {
	Token  string `json:"Token,omitempty"`  // its identifier; empty: none, or unknown
	Origin Origin `json:"Origin,omitempty"` // empty: [OriginRequest]
	Again  string `json:"Again,omitempty"`  // the task that it repeats
}

// Origin is where a task comes from.
type Origin string

// The origins.
const (
	OriginRequest  Origin = "request"
	OriginMCP      Origin = "mcp" // a tool of a model
	OriginBatch    Origin = "batch"
	OriginSchedule Origin = "schedule"
)

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

// With is the answer with an outcome.
func (x *Executed) With(out *engine.Outcome) *Executed {
	copied := *x
	copied.Outcome = out
	return &copied
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

// Started answers the start of an asynchronous task: a refusal, or the worker
// that runs it. A started task is on disk.
type Started struct {
	TaskID     string        `json:"TaskID"`
	WorkerID   string        `json:"WorkerID"`
	WorkerName string        `json:"WorkerName"`
	SessionID  string        `json:"SessionID"` // set when the task leaves a session reserved
	Timeout    time.Duration `json:"Timeout"`   // the task's time as the plan allows it
	Refusal    *Refusal      `json:"Refusal"`

	// Queued is where the task waits if it was queued: no worker has it then.
	Queued *QueuePlace `json:"Queued,omitempty"`

	KeyTaken bool `json:"-"` // another node has begun a task with its key
}

// Account is the account that a message is sent for.
type Account struct {
	ID   string      `json:"ID"`
	Plan engine.Plan `json:"Plan"`
}

func (e *Executed) Refused() *Refusal { return e.Refusal }
func (s *Started) Refused() *Refusal  { return s.Refusal }
