package api

import (
	"encoding/json"
	"time"

	"troupe/engine"
)

// BatchState is how far a batch is.
type BatchState string

// The states of a batch.
const (
	BatchReceiving BatchState = "receiving" // its items come in: clients do not see it
	BatchRunning   BatchState = "running"
	BatchPaused    BatchState = "paused"
	BatchCancelled BatchState = "cancelled"
	BatchEnded     BatchState = "ended"
)

// BatchRef says which item of which batch a task is for.
type BatchRef struct {
	Batch string `json:"batch"`
	Item  int    `json:"item"`
	Round int    `json:"round,omitempty"` // how often failed items were sent again before
}

// CreateBatch asks for a batch without items. Only [ReadyBatch] lets it begin.
type CreateBatch struct {
	Account Account         `json:"Account"`
	Name    string          `json:"Name"`   // empty: none
	Key     string          `json:"Key"`    // that makes the request safe to repeat; empty: none
	Task    *engine.Task    `json:"Task"`   // see [engine.ParseTemplate]
	Notify  []engine.Notify `json:"Notify"` // told of its end

	Schedule *ScheduleRef `json:"Schedule"` // that it is a run of; nil: none
}

// AddBatchItems brings further items of a batch. The node that is asked writes them.
type AddBatchItems struct {
	Account Account           `json:"Account"`
	ID      string            `json:"ID"`
	From    int               `json:"From"`   // how many came before
	Before  int64             `json:"Before"` // and how many bytes
	Items   []json.RawMessage `json:"Items"`
}

// ReserveBatchItems says that further items of a batch are about to be written. Reply:
// [Batched].
type ReserveBatchItems struct {
	Account Account `json:"Account"`
	ID      string  `json:"ID"`
	From    int     `json:"From"`
	Before  int64   `json:"Before"`
	Items   int     `json:"Items"`
	Bytes   int64   `json:"Bytes"`
}

// BatchChange is what is to become of a batch.
type BatchChange string

// The changes of a batch.
const (
	BatchReady  BatchChange = "ready"  // it has all its items, and may begin
	BatchDrop   BatchChange = "drop"   // its items did not all come
	BatchPause  BatchChange = "pause"  // no more of its tasks begin
	BatchResume BatchChange = "resume" // they do again
	BatchCancel BatchChange = "cancel" // for good, and those that run are cancelled
	BatchRetry  BatchChange = "retry"  // its failed items are played again
)

// ChangeBatch asks for a change of a batch.
type ChangeBatch struct {
	Account Account     `json:"Account"`
	ID      string      `json:"ID"`
	Change  BatchChange `json:"Change"`
	// Of several nodes, with [BatchReady]: how many items were sent, and how many bytes. The
	// node that orders the queue may not have counted them all.
	Items int   `json:"Items"`
	Bytes int64 `json:"Bytes"`
}

// GetBatch asks how far a batch is. With a Wait the answer comes when it has ended, or
// when the wait is over.
type GetBatch struct {
	Account Account       `json:"Account"`
	ID      string        `json:"ID"`
	Wait    time.Duration `json:"Wait"`
	// Bare asks without examples of failures: no results are loaded then.
	Bare bool `json:"Bare,omitempty"`
}

// Batched answers the messages about one batch.
type Batched struct {
	Batch   *Batch   `json:"Batch"`
	Found   bool     `json:"Found"` // an earlier request with the key has made it
	Refusal *Refusal `json:"Refusal"`
}

// ListBatches asks for a part of an account's batches, the newest first.
type ListBatches struct {
	Account Account `json:"Account"`
	After   string  `json:"After"` // the last batch of the part before; empty: the first part
	Most    int     `json:"Most"`
}

// BatchesListed answers [ListBatches].
type BatchesListed struct {
	Batches []Batch `json:"Batches"`
	Next    string  `json:"Next"` // empty: there are no more
	// Unreadable are the identifiers of those that the service's key does not open.
	Unreadable []string `json:"Unreadable,omitempty"`
	Refusal    *Refusal `json:"Refusal"`
}

// Batch is a batch as its account sees it.
type Batch struct {
	ID      string        `json:"ID"`
	Name    string        `json:"Name"`
	State   BatchState    `json:"State"`
	Created time.Time     `json:"Created"`
	Ended   time.Time     `json:"Ended"`   // zero: it has not
	Expires time.Time     `json:"Expires"` // zero: it has not ended
	Items   int           `json:"Items"`
	Waiting int           `json:"Waiting"`
	Running int           `json:"Running"`
	Done    int           `json:"Done"` // their tasks completed
	Failed  int           `json:"Failed"`
	Dropped int           `json:"Dropped"` // items of a cancelled batch that did not begin
	Rate    float64       `json:"Rate"`    // items a minute, of the last minute
	Left    time.Duration `json:"Left"`    // until it ends at that rate; zero: unknown
	// Failures are the codes that items failed with, the most frequent first.
	Failures []BatchFailure `json:"Failures"`
	Held     engine.Code    `json:"Held"`  // why no more items begin now; empty: they do
	Round    int            `json:"Round"` // how often failed items were sent again
	// Sites are those of the token that made it; none: any.
	Sites []string `json:"Sites,omitempty"`
}

// BatchFailure is a code that items failed with, and one of them.
type BatchFailure struct {
	Code  engine.Code `json:"Code"`
	Count int         `json:"Count"`
	Item  int         `json:"Item"`
	Task  string      `json:"Task"`
	// Polled is the result of that one, as far as [outcome.Example] leaves it; nil: it is not
	// kept any more, or was not asked for.
	Polled *Polled `json:"Polled"`
}

// BatchOrder is an order of the items of a batch in a list.
type BatchOrder string

// The orders of items.
const (
	OrderEnded  BatchOrder = "ended"  // as they ended
	OrderItems  BatchOrder = "items"  // their own, up to the first one that has not ended
	OrderFailed BatchOrder = "failed" // their own, those that failed
	// OrderDropped is their own order, those of a cancelled batch that did not begin. The
	// node that is asked reads them.
	OrderDropped BatchOrder = "dropped"
)

// ListBatchItems asks for a part of the items of a batch that have ended.
type ListBatchItems struct {
	Account Account    `json:"Account"`
	ID      string     `json:"ID"`
	Order   BatchOrder `json:"Order"`
	After   string     `json:"After"` // the cursor of an item; empty: the first part
	Most    int        `json:"Most"`
}

// ListBatchEnds is [ListBatchItems] for the node that orders the queue: its answer is
// without items and results. The node that is asked reads them.
type ListBatchEnds ListBatchItems

// BatchItemsListed answers [ListBatchItems].
type BatchItemsListed struct {
	Items   []BatchItem `json:"Items"`
	Next    string      `json:"Next"` // where the next part begins, also where there are none yet
	More    bool        `json:"More"` // there is a next part now
	Refusal *Refusal    `json:"Refusal"`
}

// BatchItem is an item that has ended.
type BatchItem struct {
	Index    int             `json:"Index"` // the first one is 0
	Item     json.RawMessage `json:"Item"`  // nil: it cannot be read any more
	Task     string          `json:"Task"`
	Status   TaskStatus      `json:"Status"`
	Code     engine.Code     `json:"Code"`
	Ended    time.Time       `json:"Ended"`
	Attempts int             `json:"Attempts"`
	Cursor   string          `json:"Cursor"`
	Polled   *Polled         `json:"Polled"` // its result; nil: it is not kept any more
}

func (*CreateBatch) reply(*Batched)             {}
func (*AddBatchItems) reply(*Batched)           {}
func (*ReserveBatchItems) reply(*Batched)       {}
func (*ChangeBatch) reply(*Batched)             {}
func (*GetBatch) reply(*Batched)                {}
func (*ListBatches) reply(*BatchesListed)       {}
func (*ListBatchItems) reply(*BatchItemsListed) {}
func (*ListBatchEnds) reply(*BatchItemsListed)  {}

// Refused is why nothing was done; nil: it was.
func (b *Batched) Refused() *Refusal          { return b.Refusal }
func (b *BatchesListed) Refused() *Refusal    { return b.Refusal }
func (b *BatchItemsListed) Refused() *Refusal { return b.Refusal }

func unbatched[M any](_ *M, no *Refusal) *Batched         { return &Batched{Refusal: no} }
func unlisted[M any](_ *M, no *Refusal) *BatchItemsListed { return &BatchItemsListed{Refusal: no} }
func always[M any](*M) bool                               { return true }
func briefly[M any](*M) time.Duration                     { return WriteTimeout }

// Batches belong to the node that orders the queue. What brings items and reads results is
// done by the node that is asked.
var (
	_ = define(definition[CreateBatch, Batched]{number: 51, reply: 52, queue: true, again: always[CreateBatch], takes: briefly[CreateBatch], failed: unbatched[CreateBatch]})
	_ = define(definition[AddBatchItems, Batched]{failed: unbatched[AddBatchItems]})
	_ = define(definition[ReserveBatchItems, Batched]{number: 53, reply: 52, queue: true, again: always[ReserveBatchItems], failed: unbatched[ReserveBatchItems]})
	_ = define(definition[ChangeBatch, Batched]{
		number: 54, reply: 52, queue: true, takes: briefly[ChangeBatch], failed: unbatched[ChangeBatch],
		again: func(m *ChangeBatch) bool { return m.Change != BatchRetry }, // a second time is another round
	})
	_ = define(definition[GetBatch, Batched]{
		number: 55, reply: 52, queue: true, again: always[GetBatch], failed: unbatched[GetBatch],
		takes: func(m *GetBatch) time.Duration { return min(m.Wait, maxWait) },
	})
	_ = define(definition[ListBatches, BatchesListed]{
		number: 56, reply: 57, queue: true, again: always[ListBatches],
		failed: func(_ *ListBatches, no *Refusal) *BatchesListed { return &BatchesListed{Refusal: no} },
	})
	_ = define(definition[ListBatchItems, BatchItemsListed]{failed: unlisted[ListBatchItems]})
	_ = define(definition[ListBatchEnds, BatchItemsListed]{number: 58, reply: 59, queue: true, again: always[ListBatchEnds], failed: unlisted[ListBatchEnds]})
)
