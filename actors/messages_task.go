package actors

import (
	"time"

	"troupe/engine"
)

// Idempotency makes a request safe to repeat. Requests of one account that
// carry the same key are one request: it is played once, and each of them gets
// its answer.
type Idempotency struct {
	Key string // empty: none
	// Digest stands for the request's content. The same key with other content
	// is refused with idempotency_mismatch.
	Digest []byte
}

// Started answers [Node.Start]: a refusal, or what plays the task. A task that
// was started is on disk.
type Started struct {
	TaskID     string
	WorkerID   string
	WorkerName string
	SessionID  string        // set when the task leaves a session reserved
	Timeout    time.Duration // the task's time as the plan allows it
	Refusal    *Refusal

	taken bool // another node has begun a task with its key
}

// Poll asks what has become of an asynchronous task. With a Wait the answer
// comes when the task has ended, or when the wait is over. Reply: [Polled].
type Poll struct {
	TaskID  string
	Account Account
	Wait    time.Duration
}

// Polled answers [Poll].
type Polled struct {
	Status  TaskStatus
	Refusal *Refusal // task_not_found: the account has no such task
	// Node is the one that has the task, where that is another; nothing is said
	// of the outcome then. Empty: this node.
	Node string
	// Executed is all that is known of the task: its worker and session from
	// the beginning, its outcome when it has ended.
	Executed *Executed
}

// TaskStatus is how far an asynchronous task is.
type TaskStatus string

// The states of an asynchronous task.
const (
	TaskPending  TaskStatus = "pending"
	TaskComplete TaskStatus = "complete" // its list ran to the end, whatever failed on the way
	TaskFailed   TaskStatus = "failed"   // anything else: the outcome's End says what
)

// Follow asks for the steps of an asynchronous task that ended after the step
// number After. With a Wait the answer comes when there is one, or when the task
// has ended, or when the wait is over. Whoever asks again with the number of the
// last step they have got misses none. Reply: [Followed].
type Follow struct {
	TaskID  string
	Account Account
	After   int // 0: from the first
	Wait    time.Duration
}

// Followed answers [Follow]. Steps are kept for a short time after the task's
// end, and not without limit: a gap in the numbers is what was dropped.
type Followed struct {
	Status  TaskStatus
	Refusal *Refusal
	Node    string // as in [Polled]
	Steps   []TaskStep
}

// TaskStep is a step of a task with its number, counted from 1.
type TaskStep struct {
	Seq  int
	Step engine.StepReport
}
