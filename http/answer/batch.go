package answer

import (
	"encoding/json"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
)

// Batch is a batch in an answer. The order of the fields is the order on the wire.
type Batch struct {
	BatchID  string         `json:"batchId"`
	Name     string         `json:"name,omitempty"`
	Status   api.BatchState `json:"status"`
	Created  string         `json:"createdAt"`
	Ended    string         `json:"endedAt,omitempty"`
	Expires  string         `json:"expiresAt,omitempty"`
	Items    int            `json:"items"`
	Waiting  int            `json:"waiting"`
	Running  int            `json:"running"`
	Complete int            `json:"complete"`
	Failed   int            `json:"failed"`
	Dropped  int            `json:"dropped,omitempty"`  // items of a cancelled batch that did not begin
	Rate     float64        `json:"rate"`               // items a minute, of the last minute
	TimeLeft int64          `json:"timeLeft,omitempty"` // milliseconds until the end at that rate
	Held     engine.Code    `json:"held,omitempty"`     // why no more items begin now
	Retries  int            `json:"retries,omitempty"`  // how often failed items were sent again
	Failures []BatchFailure `json:"failures,omitempty"`
	Sites    []string       `json:"sites,omitempty"` // of the token that made it; missing: any
}

// BatchFailure is a code that items of a batch failed with, and an example.
type BatchFailure struct {
	Code    engine.Code   `json:"code"`
	Count   int           `json:"count"`
	Example *BatchExample `json:"example,omitempty"`
}

// BatchExample is an item that failed.
type BatchExample struct {
	Index      int              `json:"index"`
	TaskID     string           `json:"taskId"`
	Error      string           `json:"error,omitempty"`
	ActionPath string           `json:"actionPath,omitempty"`
	Pictures   []string         `json:"pictures,omitempty"`
	Evidence   *engine.Evidence `json:"evidence,omitempty"`
}

// BatchItem is a line of the results of a batch.
type BatchItem struct {
	BatchID  string          `json:"batchId"`
	Index    int             `json:"index"`
	Item     json.RawMessage `json:"item"`
	TaskID   string          `json:"taskId"`
	Status   api.TaskStatus  `json:"status"`
	Code     engine.Code     `json:"code,omitempty"`
	Ended    string          `json:"endedAt"`
	Attempts int             `json:"attempts"`
	Cursor   string          `json:"cursor"`
	Result   any             `json:"result"` // as of get-result; null: it is not kept any more
}

// OfBatch tells how far a batch is.
func OfBatch(b *api.Batch) *Batch {
	a := &Batch{
		BatchID: b.ID, Name: b.Name, Status: b.State, Created: timeText(b.Created), Ended: timeText(b.Ended), Expires: timeText(b.Expires),
		Items: b.Items, Waiting: b.Waiting, Running: b.Running, Complete: b.Done, Failed: b.Failed, Dropped: b.Dropped,
		Rate: float64(int(b.Rate*10)) / 10, TimeLeft: engine.Millis(b.Left), Held: b.Held, Retries: b.Round, Sites: b.Sites,
	}
	for _, f := range b.Failures {
		one := BatchFailure{Code: f.Code, Count: f.Count}
		if f.Task != "" {
			one.Example = &BatchExample{Index: f.Item, TaskID: f.Task}
			if f.Polled != nil {
				if t, ok := OfPoll(f.Polled).(*Task); ok {
					one.Example.Error, one.Example.ActionPath, one.Example.Pictures, one.Example.Evidence = t.Error, t.ActionPath, t.Pictures, t.Evidence
					if f := outcome.Failure(f.Polled.Executed.Outcome); t.Error == "" && f != nil {
						one.Example.Error, one.Example.ActionPath = f.Text, f.Path
					}
				}
			}
		}
		a.Failures = append(a.Failures, one)
	}
	return a
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// OfBatchItem is a line of the results of a batch.
func OfBatchItem(batch string, it *api.BatchItem) *BatchItem {
	a := &BatchItem{
		BatchID: batch,
		Index:   it.Index, Item: it.Item, TaskID: it.Task, Status: it.Status, Code: it.Code, Ended: timeText(it.Ended), Attempts: it.Attempts, Cursor: it.Cursor,
	}
	if it.Polled != nil {
		a.Result = OfPoll(it.Polled)
	}
	return a
}
