package actors

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

// Started answers [Node.Start]: a refusal, or what plays the task. A task that
// was started is on disk.
type Started struct {
	TaskID     string        `json:"TaskID"`
	WorkerID   string        `json:"WorkerID"`
	WorkerName string        `json:"WorkerName"`
	SessionID  string        `json:"SessionID"` // set when the task leaves a session reserved
	Timeout    time.Duration `json:"Timeout"`   // the task's time as the plan allows it
	Refusal    *Refusal      `json:"Refusal"`

	taken bool // another node has begun a task with its key
}

// Poll asks what has become of an asynchronous task. With a Wait the answer
// comes when the task has ended, or when the wait is over. Reply: [Polled].
type Poll struct {
	TaskID  string        `json:"TaskID"`
	Account Account       `json:"Account"`
	Wait    time.Duration `json:"Wait"`
}

// Polled answers [Poll].
type Polled struct {
	Status  TaskStatus `json:"Status"`
	Refusal *Refusal   `json:"Refusal"` // task_not_found: the account has no such task
	// Node is the one that has the task, where that is another; nothing is said
	// of the outcome then. Empty: this node.
	Node string `json:"Node"`
	// Executed is all that is known of the task: its worker and session from
	// the beginning, its outcome when it has ended.
	Executed *Executed `json:"Executed"`
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
	TaskID  string        `json:"TaskID"`
	Account Account       `json:"Account"`
	After   int           `json:"After"` // 0: from the first
	Wait    time.Duration `json:"Wait"`
}

// Followed answers [Follow]. Steps are kept for a short time after the task's
// end, and not without limit: a gap in the numbers is what was dropped.
type Followed struct {
	Status  TaskStatus `json:"Status"`
	Refusal *Refusal   `json:"Refusal"`
	Node    string     `json:"Node"` // as in [Polled]
	Steps   []TaskStep `json:"Steps"`
}

// TaskStep is a step of a task with its number, counted from 1.
type TaskStep struct {
	Seq  int               `json:"Seq"`
	Step engine.StepReport `json:"Step"`
}
