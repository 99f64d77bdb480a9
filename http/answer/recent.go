package answer

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/actors/view"
	"troupe/engine"
	"troupe/persistence"
)

// DefaultRecent is how many tasks a list has where nobody says.
const DefaultRecent = 20

// TaskRunning is the status of a task that has not ended, where the others have
// that of [api.TaskStatus].
const TaskRunning = "running"

// TaskQueued is the status of a task that waits in the queue.
const TaskQueued = "queued"

// RecentTask is how far a task is, or how it ended. The order of the fields is
// the order on the wire.
type RecentTask struct {
	TaskID     string              `json:"taskId"`
	Status     string              `json:"status"` // queued, running, complete, failed
	Async      bool                `json:"async"`
	WorkerID   string              `json:"workerId"`
	WorkerName string              `json:"workerName"`
	SessionID  string              `json:"sessionId,omitempty"`
	Started    string              `json:"startedAt"` // empty while it waits in the queue
	Position   int                 `json:"position,omitempty"`
	Ended      string              `json:"endedAt,omitempty"`
	Duration   *int64              `json:"duration,omitempty"`
	Actions    int                 `json:"actions"`
	Played     int                 `json:"stepsEnded"`
	Failed     int                 `json:"failed"`
	Code       engine.Code         `json:"code,omitempty"`
	Error      string              `json:"error,omitempty"`
	Steps      []engine.StepReport `json:"steps,omitempty"`
	Left       int                 `json:"stepsLeftOut,omitempty"`
	Pictures   []string            `json:"pictures,omitempty"`
	Errors     []Failure           `json:"errors,omitempty"`
	Trace      string              `json:"trace,omitempty"`
	Evidence   *engine.Evidence    `json:"evidence,omitempty"`
	Account    string              `json:"account,omitempty"`  // only for an operator
	Schedule   *RunOf              `json:"schedule,omitempty"` // that it is a run of
	Label      string              `json:"label,omitempty"`
	Metadata   engine.Metadata     `json:"metadata,omitempty"`
}

// RecentOf is what an account may know of a task: of another's, to an
// operator, what is known of any task by the metrics.
func RecentOf(t *view.TaskProgress, account persistence.Account) RecentTask {
	r := RecentTask{
		TaskID: t.ID, Status: TaskRunning, Async: t.Async, WorkerID: t.Worker, WorkerName: t.WorkerName, SessionID: t.Session,
		Started: t.Began.UTC().Format(time.RFC3339Nano), Actions: t.Actions, Played: t.Played, Failed: t.Failed,
		Steps: t.Steps, Left: t.Left, Pictures: t.Pictures,
		Label: t.Label, Metadata: t.Metadata,
	}
	if t.Schedule != nil {
		r.Schedule = &RunOf{t.Schedule.Schedule, timeText(t.Schedule.Planned)}
	}
	if account.Operator {
		r.Account = persistence.AccountName(t.Account)
	}
	if t.Outcome == nil {
		return r
	}
	_, a := OfTask(&api.Executed{TaskID: t.ID, Outcome: t.Outcome, Timeout: t.Timeout})
	r.Ended, r.Duration, r.Code = t.Ended.UTC().Format(time.RFC3339Nano), &a.Duration, outcome.Code(t.Outcome)
	r.Status = string(outcome.Counted(outcome.Polled(t.Outcome.End), r.Code))
	if t.Account == account.ID {
		if f := outcome.Failure(t.Outcome); a.Error == "" && f != nil {
			a.Error = f.Text
		}
		r.Error, r.Errors, r.Trace, r.Evidence = a.Error, failures(t.Outcome.Failures), a.Trace, a.Evidence
	} else {
		r.SessionID = "" // with it and a token of the account, the session can be continued
	}
	return r
}

func RecentsOf(all []view.TaskProgress, account persistence.Account) []RecentTask {
	list := make([]RecentTask, len(all))
	for i := range all {
		list[i] = RecentOf(&all[i], account)
	}
	return list
}
