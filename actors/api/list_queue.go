package api

import (
	"time"

	"troupe/engine"
)

// QueueList is which of an account's queued tasks are listed.
type QueueList string

// The lists of queued tasks.
const (
	ListWaiting QueueList = "queued" // in the order of their places
	ListEnded   QueueList = "ended"  // in the order of their ends
	ListDead    QueueList = "dead"   // those of them that can be sent again
)

// ListQueue asks for a part of a list of an account's queued tasks.
type ListQueue struct {
	Account Account   `json:"Account"`
	List    QueueList `json:"List"`
	After   string    `json:"After"` // the cursor of the part before; empty: the first part
	Most    int       `json:"Most"`
}

// QueueListed answers [ListQueue].
type QueueListed struct {
	Tasks   []QueuedTask `json:"Tasks"`
	Next    string       `json:"Next"` // the cursor of the next part; empty: there is none
	Refusal *Refusal     `json:"Refusal"`
	// Unreadable are the identifiers of those in this part that the service's key does not open.
	Unreadable []string `json:"Unreadable,omitempty"`
}

// QueuedTask is a queued task in a list.
type QueuedTask struct {
	ID       string      `json:"ID"`
	Status   TaskStatus  `json:"Status"`
	Code     engine.Code `json:"Code"`
	Queued   time.Time   `json:"Queued"` // zero where it has ended
	Starts   time.Time   `json:"Starts"` // zero where it has ended
	Ended    time.Time   `json:"Ended"`  // zero where it waits or runs
	Priority int         `json:"Priority"`
	Attempts int         `json:"Attempts"`

	Label    string          `json:"Label,omitempty"` // of one that waits
	Metadata engine.Metadata `json:"Metadata,omitempty"`
}

func (*ListQueue) reply(*QueueListed) {}

// SendAgain queues a task again that failed for good, under a new identifier.
type SendAgain struct {
	TaskID  string  `json:"TaskID"`
	Account Account `json:"Account"`
	// Sites are those of the token that asks; none: any. The task has to be bound to them.
	Sites []string `json:"Sites,omitempty"`
	By    Sender   `json:"By,omitzero"`
}

func (*SendAgain) reply(*Started) {}

var (
	_ = define(definition[ListQueue, QueueListed]{failed: func(_ *ListQueue, no *Refusal) *QueueListed { return &QueueListed{Refusal: no} }})
	_ = define(definition[SendAgain, Started]{number: 50, reply: 3, queue: true, takes: func(*SendAgain) time.Duration { return WriteTimeout }, failed: func(m *SendAgain, no *Refusal) *Started { return &Started{TaskID: m.TaskID, Refusal: no} }})
)

func (q *QueueListed) Refused() *Refusal { return q.Refusal }

// QueueNumbers are the queue and the batches in numbers.
type QueueNumbers struct {
	Oldest  time.Duration // since the task may begin that has waited longest for it
	Batches BatchNumbers
}

// BatchNumbers are batches that have not ended, by what they do.
type BatchNumbers struct {
	Running, Paused int
	Held            int           // of the running ones, those of which no more items begin because of a limit
	HeldFor         time.Duration // how long that is so of the one of which it is so longest
}
