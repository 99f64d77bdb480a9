package answer

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Queued is the answer to a task that waits in the queue. The order of the fields is
// the order on the wire.
type Queued struct {
	Success  bool   `json:"success"`
	Async    bool   `json:"async"`
	TaskID   string `json:"taskId"`
	Status   string `json:"status"` // queued; of a repeated request also pending, complete, failed
	Position int    `json:"position"`
	Estimate int64  `json:"estimate,omitempty"`
	// Of a repeated request whose task has failed.
	Code  engine.Code `json:"code,omitempty"`
	Error string      `json:"error,omitempty"`
}

// OfQueued tells that a task is in the queue.
func OfQueued(x *api.Started) Queued {
	return Queued{Success: true, Async: true, TaskID: x.TaskID, Status: TaskQueued, Position: x.Queued.Position, Estimate: engine.Millis(x.Queued.Estimate)}
}

// QueuedTask is a task in a list of queued ones.
type QueuedTask struct {
	TaskID   string      `json:"taskId"`
	Status   string      `json:"status"` // queued, complete, failed
	Code     engine.Code `json:"code,omitempty"`
	Queued   string      `json:"queuedAt,omitempty"`
	Starts   string      `json:"startAfter,omitempty"` // where that is to come
	Ended    string      `json:"endedAt,omitempty"`
	Priority *int        `json:"priority,omitempty"`
	Attempts int         `json:"attempts"` // that it has had

	Label    string          `json:"label,omitempty"` // of one that waits
	Metadata engine.Metadata `json:"metadata,omitempty"`
}

// QueuedTasks are the tasks of a part of a list.
func QueuedTasks(all []api.QueuedTask, now time.Time) []QueuedTask {
	list := make([]QueuedTask, 0, len(all))
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	for _, t := range all {
		q := QueuedTask{TaskID: t.ID, Status: string(t.Status), Code: t.Code, Attempts: t.Attempts, Label: t.Label, Metadata: t.Metadata}
		if t.Ended.IsZero() {
			q.Status, q.Queued, q.Priority = TaskQueued, text(t.Queued), &t.Priority
			if t.Starts.After(now) {
				q.Starts = text(t.Starts)
			}
		} else {
			q.Ended = text(t.Ended)
		}
		list = append(list, q)
	}
	return list
}
