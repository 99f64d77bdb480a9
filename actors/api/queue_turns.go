package api

import (
	"time"

	"troupe/engine"
	"troupe/persistence"
)

// In a cluster one node orders the queue. It hands turns to all nodes, and each tells it
// what it has room for and what becomes of its turns.

// QueueTurn is the turn of a task.
type QueueTurn struct {
	Task string `json:"task"`
	Key  string `json:"key"`  // of its record in the queue
	Turn uint64 `json:"turn"` // grows with each turn that is handed out
}

// QueueTurns hands turns to a node. Reply: [QueueTurnsTaken].
type QueueTurns struct {
	Epoch  uint64      `json:"epoch"` // of the node that orders the queue
	Boot   string      `json:"boot"`  // the process that they are for
	Wanted bool        `json:"wanted"`
	Turns  []QueueTurn `json:"turns"`
	Cancel []Cancel    `json:"cancel"` // tasks that it has
}

// QueueTurnsTaken answers [QueueTurns].
type QueueTurnsTaken struct {
	OK bool `json:"ok"` // false: they were for another process, or from one that orders the queue no more
}

// QueueChange is what has become of a turn.
type QueueChange string

// The changes of a turn.
const (
	TurnBegan   QueueChange = "began"
	TurnRefused QueueChange = "refused" // it has not begun, and will not
	TurnGone    QueueChange = "gone"    // its records say that it is over
	TurnPlayed  QueueChange = "played"  // its worker is free
	TurnEnded   QueueChange = "ended"   // its end is written
	TurnMoved   QueueChange = "moved"   // it waits again, at another place
)

// QueueEvent reports what became of a turn.
type QueueEvent struct {
	Seq    uint64      `json:"seq"`
	Turn   QueueTurn   `json:"turn"`
	Change QueueChange `json:"change"`
	// Refusal is why it was refused; Key and Bytes are where it waits again, and its size.
	Refusal *Refusal `json:"refusal,omitempty"`
	Key     string   `json:"key,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
}

// QueueReport tells the node that orders the queue how a node stands to it. Reply:
// [QueueReported].
type QueueReport struct {
	Node   string       `json:"node"`
	Boot   string       `json:"boot"`
	Room   int          `json:"room"` // workers that queued tasks may have at once
	Got    uint64       `json:"got"`  // the last turn that has arrived
	Has    []string     `json:"has"`  // tasks that it has
	Events []QueueEvent `json:"events"`
}

// QueueReported answers [QueueReport].
type QueueReported struct {
	Epoch  uint64 `json:"epoch"` // zero: the node does not order the queue
	Wanted bool   `json:"wanted"`
}

// QueueBegin asks whether a task may begin whose beginning is written down. Reply:
// [QueueBegins].
type QueueBegin struct {
	Task string `json:"task"`
	Turn uint64 `json:"turn"`
	Node string `json:"node"`
	Boot string `json:"boot"`
}

// QueueBegins answers [QueueBegin].
type QueueBegins struct {
	Asked bool `json:"asked"` // false: the node does not order the queue
	OK    bool `json:"ok"`
}

func (*QueueTurns) reply(*QueueTurnsTaken) {}
func (*QueueReport) reply(*QueueReported)  {}
func (*QueueBegin) reply(*QueueBegins)     {}

var (
	_ = define(definition[QueueTurns, QueueTurnsTaken]{number: 44, reply: 45, failed: func(*QueueTurns, *Refusal) *QueueTurnsTaken { return &QueueTurnsTaken{} }})
	_ = define(definition[QueueReport, QueueReported]{number: 46, reply: 47, failed: func(*QueueReport, *Refusal) *QueueReported { return &QueueReported{} }})
	_ = define(definition[QueueBegin, QueueBegins]{number: 48, reply: 49, failed: func(*QueueBegin, *Refusal) *QueueBegins { return &QueueBegins{} }})
)

// QueueTimeout bounds a question about the queue between two nodes.
const QueueTimeout = 2 * time.Second

// QueuePatience bounds how long a request waits for a node to order the queue.
const QueuePatience = persistence.Patience

// NobodyOrders is the refusal while no node orders the queue: nothing is written.
func NobodyOrders() *Refusal {
	no := Refuse(engine.CodeNoQuorum, "")
	no.Text = "No node orders the queue now: one takes it over within 15 seconds"
	return no
}

// NotOrderedHere is that of a node which does not order the queue, or stops: another one
// may.
func NotOrderedHere() *Refusal {
	no := NobodyOrders()
	no.ForwardTo = &ForwardTo{}
	return no
}
