package answer

import (
	"encoding/json"
	"io"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/engine/lang"
)

// Pending is the answer about a task that still runs.
type Pending struct {
	Success   bool           `json:"success"`
	Status    api.TaskStatus `json:"status"`
	SessionID string         `json:"sessionId,omitempty"`
	Queued    bool           `json:"queued,omitempty"`   // it waits in the queue
	Position  int            `json:"position,omitempty"` // there; 1 is next
	Estimate  int64          `json:"estimate,omitempty"` // about how long it is until it begins, in milliseconds
	Attempts  int            `json:"attempts,omitempty"` // that it has had
}

// OfPoll is the body of a poll.
func OfPoll(p *api.Polled) any {
	x := p.Executed
	if p.Status == api.TaskPending {
		session := ""
		if x != nil {
			session = x.SessionID
		}
		w := Pending{Status: p.Status, SessionID: session}
		if q := p.Queued; q != nil {
			w.Queued, w.Position, w.Estimate, w.Attempts = true, q.Position, engine.Millis(q.Estimate), q.Attempts
		}
		return w
	}
	_, a := OfTask(x)
	a.Status = api.TaskFailed
	if p.Status == api.TaskComplete && a.Code == "" {
		// The list ran to its end: what failed on the way stands in errors.
		a.Status, a.Success = api.TaskComplete, true
	}
	return a
}

// Task is the answer about a task that has run. The order of the fields is
// the order on the wire.
type Task struct {
	Success     bool                `json:"success"`
	Status      api.TaskStatus      `json:"status,omitempty"` // only of an asynchronous task
	Error       string              `json:"error,omitempty"`
	Code        engine.Code         `json:"code,omitempty"`
	Retryable   *bool               `json:"retryable,omitempty"`
	ActionIndex *int                `json:"actionIndex,omitempty"`
	ActionPath  string              `json:"actionPath,omitempty"`
	Flow        string              `json:"flow,omitempty"` // that the action is in
	Iteration   *int                `json:"iteration,omitempty"`
	Iterations  []int               `json:"iterations,omitempty"`
	Action      json.RawMessage     `json:"action,omitempty"`
	TaskID      string              `json:"taskId"`
	WorkerID    string              `json:"workerId"`
	WorkerName  string              `json:"workerName"`
	Timeout     int64               `json:"timeout,omitempty"`
	Data        json.RawMessage     `json:"data"`
	LastResult  json.RawMessage     `json:"lastResult,omitempty"`
	Duration    int64               `json:"duration"`
	SessionID   string              `json:"sessionId,omitempty"`
	Restored    bool                `json:"restored,omitempty"`
	Errors      []Failure           `json:"errors,omitempty"`
	Warnings    []engine.Warning    `json:"warnings,omitempty"`
	Steps       []engine.StepReport `json:"steps,omitempty"`
	Truncated   *engine.Truncated   `json:"truncated,omitempty"`
	Dialogs     []engine.Dialog     `json:"dialogs,omitempty"`
	Downloads   []engine.Downloaded `json:"downloads,omitempty"`
	Pictures    []string            `json:"pictures,omitempty"`
	Traffic     *engine.Traffic     `json:"traffic,omitempty"`
	Page        *engine.Shown       `json:"page,omitempty"`
	Hint        string              `json:"hint,omitempty"` // what can be done about the error
	Trace       string              `json:"trace,omitempty"`
	Evidence    *engine.Evidence    `json:"evidence,omitempty"`
	Collected   *engine.Collected   `json:"collected,omitempty"`
	HAR         json.RawMessage     `json:"har,omitempty"`
	HARFile     string              `json:"harFile,omitempty"`
}

// Failure is one failed action in an answer.
type Failure struct {
	ActionIndex int             `json:"actionIndex"`
	ActionPath  string          `json:"actionPath"`
	Flow        string          `json:"flow,omitempty"` // that the action is in
	Iteration   *int            `json:"iteration,omitempty"`
	Iterations  []int           `json:"iterations,omitempty"`
	Action      json.RawMessage `json:"action,omitempty"`
	Error       string          `json:"error"`
	Code        engine.Code     `json:"code"`
	Tolerated   bool            `json:"tolerated,omitempty"` // the list says that it may fail
	Hint        string          `json:"hint,omitempty"`      // what can be done about it
}

// OfTask tells the end of a task, with the status of the answer.
func OfTask(x *api.Executed) (int, *Task) {
	o := x.Outcome
	a := &Task{
		TaskID: x.TaskID, WorkerID: x.WorkerID, WorkerName: x.WorkerName, SessionID: x.SessionID,
		Data: o.Data, LastResult: o.Last, Duration: engine.Millis(o.Duration),
		Restored: o.Restored, Warnings: o.Warnings, Steps: o.Steps, Truncated: o.Truncated, Dialogs: o.Dialogs, Downloads: o.Downloads, Pictures: o.Pictures, Traffic: o.Traffic, Page: o.Page,
		Trace: o.Trace, Evidence: o.Evidence, Collected: o.Collected, HAR: o.HAR, HARFile: o.HARFile,
	}
	if n, large := outcome.TooLarge(o); large {
		a.Data, a.LastResult, a.Steps = nil, nil, nil
		return a.fail(engine.CodePayloadTooLarge, outcome.TooLargeText(n))
	}
	switch o.End {
	case engine.EndCompleted:
		a.Success = len(o.Failures) == 0
		a.Errors = failures(o.Failures)
		return fasthttp.StatusOK, a
	case engine.EndStopped:
		return a.stop(o, engine.CodeInternal)
	case engine.EndTimeout:
		a.Timeout = engine.Millis(x.Timeout)
		a.Errors = failures(o.Failures)
		return a.fail(engine.CodeTaskTimeout, "")
	case engine.EndCrashed:
		return a.stop(o, engine.CodeBrowserCrashed)
	case engine.EndInterrupted:
		return a.stop(o, engine.CodeInterrupted)
	case engine.EndCancelled:
		return a.stop(o, engine.CodeCancelled)
	case engine.EndLost:
		return a.stop(o, engine.CodeWorkerLost)
	default:
		return a.fail(engine.CodeInternal, "")
	}
}

// WriteTask writes what a client would get for a task as indented JSON, and reports
// whether the task has succeeded.
func WriteTask(w io.Writer, x *api.Executed) (success bool, err error) {
	var body any
	if x.Refusal != nil {
		body = RefuseBy(x.Refusal)
	} else {
		_, a := OfTask(x)
		body, success = a, !outcome.Failed(x.Outcome)
	}
	return success, WriteIndented(w, body)
}

// WriteFaults writes the answer to a request that could not be read.
func WriteFaults(w io.Writer, faults []lang.Fault) error {
	return WriteIndented(w, RefuseInvalid(faults...))
}

func WriteIndented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// fail makes the answer that of an error.
func (a *Task) fail(c engine.Code, text string) (int, *Task) {
	row := InfoOf(c)
	if text == "" {
		text = row.Text
	}
	a.Success, a.Error, a.Code, a.Retryable = false, text, row.Code, &row.Retryable
	return row.Status, a
}

// stop makes the answer that of a task which ended before its list did. The
// action that stopped it is the last that failed; where none did, code says why
// it ended. Actions that had failed earlier are listed beside it.
func (a *Task) stop(o *engine.Outcome, code engine.Code) (int, *Task) {
	status, _ := a.fail(code, "")
	n := len(o.Failures)
	if n == 0 {
		return status, a
	}
	last := &o.Failures[n-1]
	if o.End == engine.EndStopped || last.Code == code {
		if last.Text != "" {
			a.Error, a.Hint = last.Text, last.Hint()
		}
		a.Code, a.Retryable = last.Code, new(bool) // something of it has run, whatever the code is elsewhere
		if last.Index < 0 {                        // nothing of it has run
			a.Errors = failures(o.Failures[:n-1])
			return fasthttp.StatusOK, a
		}
		a.ActionIndex, a.ActionPath, a.Flow, a.Iteration, a.Iterations, a.Action = &last.Index, last.Path, last.Flow, last.Iteration, last.Iterations, last.Action
		status, n = fasthttp.StatusOK, n-1
	}
	a.Errors = failures(o.Failures[:n])
	return status, a
}

// failures lists failed actions.
func failures(all []engine.Failure) []Failure {
	var out []Failure
	for _, f := range all {
		out = append(out, Failure{f.Index, f.Path, f.Flow, f.Iteration, f.Iterations, f.Action, f.Text, f.Code, f.Tolerated, f.Hint()})
	}
	return out
}
