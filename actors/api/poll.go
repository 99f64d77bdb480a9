package api

import "time"

// Poll asks what has become of an asynchronous task. With a Wait the answer
// comes when the task has ended, or when the wait is over.
type Poll struct {
	TaskID  string        `json:"TaskID"`
	Account Account       `json:"Account"`
	Wait    time.Duration `json:"Wait"`
	// Bare asks how far the task is, without its outcome: that is not loaded then.
	Bare bool `json:"Bare,omitempty"`
}

func (*Poll) reply(*Polled) {}

// Polled answers [Poll].
type Polled struct {
	Status  TaskStatus `json:"Status"`
	Refusal *Refusal   `json:"Refusal"` // task_not_found: the account has no such task
	// Node is the other node that has the task; the reply has no outcome then.
	// Empty: this node.
	Node string `json:"Node"`
	// Executed is all that is known of the task: its worker and session from
	// the beginning, its outcome when it has ended.
	Executed *Executed `json:"Executed"`
	// Queued is where a task waits in the queue; nil: it does not.
	Queued *QueuePlace `json:"Queued"`
	// Bare says that the outcome was left out, as the poll asked for.
	Bare bool `json:"Bare,omitempty"`
}

// QueuePlace is where a task waits in the queue.
type QueuePlace struct {
	Position int `json:"Position"` // 1 is next, as far as is known
	// Estimate is about how long it is until the task begins; zero: unknown.
	Estimate time.Duration `json:"Estimate"`
	Attempts int           `json:"Attempts"` // that it has had
}

// TaskStatus is how far an asynchronous task is.
type TaskStatus string

// The states of an asynchronous task.
const (
	TaskPending  TaskStatus = "pending"
	TaskComplete TaskStatus = "complete" // its list ran to the end, whatever failed on the way
	TaskFailed   TaskStatus = "failed"   // anything else: the outcome's End says what
)

// maxWait bounds how long another node waits with its answer about a task.
const maxWait = 2 * time.Minute

var _ = define(definition[Poll, Polled]{
	number: 4, reply: 5,
	takes:  func(m *Poll) time.Duration { return min(m.Wait, maxWait) },
	failed: func(_ *Poll, no *Refusal) *Polled { return &Polled{Refusal: no} },
	task: &taskDefinition[Poll, Polled]{
		id:     func(m *Poll) string { return m.TaskID },
		found:  func(p *Polled) bool { return !p.Refusal.NotFound() },
		at:     func(p *Polled) string { return p.Node },
		record: func(m *Poll) *Poll { return m },
		lost:   func(p *Polled) *Polled { return p },
	},
})

func (p *Polled) Refused() *Refusal { return p.Refusal }

// WithoutOutcome is the answer to a poll that asks for no more.
func (p *Polled) WithoutOutcome() *Polled {
	if p.Refusal != nil || p.Status == TaskPending || p.Executed == nil {
		return p
	}
	bare := *p
	bare.Executed, bare.Bare = p.Executed.With(nil), true
	return &bare
}

// Answers reports whether an answer has what a poll asks for: another node may send anything.
func (m *Poll) Answers(p *Polled) bool { return m.Bare || !p.Bare }
