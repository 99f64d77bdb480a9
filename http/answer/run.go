package answer

import (
	"encoding/json"

	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
)

// Run is a run in a list. The order of the fields is the order on the wire.
type Run struct {
	RunID    string           `json:"runId"` // the taskId of its task
	State    string           `json:"state"` // complete, failed
	Code     engine.Code      `json:"code,omitempty"`
	Error    string           `json:"error,omitempty"`
	Path     string           `json:"actionPath,omitempty"` // of the action that failed
	Label    string           `json:"label,omitempty"`
	Metadata engine.Metadata  `json:"metadata,omitempty"`
	Origin   api.Origin       `json:"origin"`
	Token    string           `json:"token,omitempty"` // its identifier
	Batch    string           `json:"batchId,omitempty"`
	Item     *int             `json:"item,omitempty"`
	Schedule *RunOf           `json:"schedule,omitempty"`
	Again    string           `json:"again,omitempty"` // the run that it repeats
	Async    bool             `json:"async"`
	First    string           `json:"firstAddress,omitempty"`
	Page     *RunPage         `json:"page,omitempty"`
	Actions  int              `json:"actions"`
	Ended    int              `json:"stepsEnded"`
	Failed   int              `json:"failed"`
	Attempts int              `json:"attempts"`
	AskedAt  string           `json:"askedAt"`
	Started  string           `json:"startedAt,omitempty"`
	EndedAt  string           `json:"endedAt"`
	Waited   int64            `json:"waited"`   // milliseconds
	Duration int64            `json:"duration"` // milliseconds
	WorkerID string           `json:"workerId,omitempty"`
	Worker   string           `json:"workerName,omitempty"`
	Session  string           `json:"sessionId,omitempty"`
	Bytes    int              `json:"resultBytes"`
	Until    string           `json:"resultUntil,omitempty"`
	Kept     bool             `json:"resultKept,omitempty"` // a copy of it is kept with the run
	Pictures []string         `json:"pictures,omitempty"`
	Trace    string           `json:"trace,omitempty"`
	Evidence *engine.Evidence `json:"evidence,omitempty"`
}

// RunPage is the page that a run showed at its end.
type RunPage struct {
	URL    string `json:"url"`
	Title  string `json:"title,omitempty"`
	Status int    `json:"status,omitempty"`
}

// WholeRun is a run by itself.
type WholeRun struct {
	Run
	Request json.RawMessage `json:"request,omitempty"` // with its secrets masked
	Bytes   int             `json:"requestBytes,omitempty"`
	Masked  []string        `json:"masked,omitempty"` // fields of the request
	Files   int             `json:"files,omitempty"`  // that came with it
	Result  json.RawMessage `json:"result,omitempty"` // where a copy is kept
}

// OfRun describes a run.
func OfRun(r *runs.Run) Run {
	a := Run{
		RunID: r.ID, State: string(r.State), Code: r.Code, Error: r.Error, Path: r.At, Label: r.Label, Metadata: r.Metadata, Origin: r.Origin, Token: r.Token, Again: r.Again, Async: r.Async,
		Actions: r.Actions, Ended: r.Done, Failed: r.Failed, Attempts: max(r.Attempts, 1), AskedAt: timeText(r.Asked), Started: timeText(r.Began), EndedAt: timeText(r.Ended),
		Waited: engine.Millis(r.Waited()), Duration: engine.Millis(r.Ran), WorkerID: r.WorkerID, Worker: r.WorkerName, Session: r.Session, Bytes: r.Result, Until: timeText(r.Until), Kept: r.Kept,
		Pictures: r.Pictures, Trace: r.Trace, Evidence: r.Evidence,
	}
	if r.Began.IsZero() {
		a.Attempts = r.Attempts
	}
	if r.Batch != nil {
		a.Batch, a.Item = r.Batch.Batch, &r.Batch.Item
	}
	if r.Schedule != nil {
		a.Schedule = &RunOf{r.Schedule.Schedule, timeText(r.Schedule.Planned)}
	}
	if v := r.Visited; v != nil {
		if a.First = v.First; v.URL != "" {
			a.Page = &RunPage{v.URL, v.Title, v.Status}
		}
	}
	return a
}

// OfWholeRun describes a run with its request.
func OfWholeRun(r *runs.Run, result json.RawMessage) WholeRun {
	return WholeRun{OfRun(r), r.Request, r.RequestBytes, r.Masked, r.Uploads, result}
}

// RunCount is how many runs of an hour have ended alike.
type RunCount struct {
	Hour     string      `json:"hour"`
	State    string      `json:"state"`
	Code     engine.Code `json:"code,omitempty"`
	Runs     int         `json:"runs"`
	Duration int64       `json:"duration"` // of all together, in milliseconds
}

// RunCounts describes counts.
func RunCounts(all []runs.Count) []RunCount {
	list := make([]RunCount, len(all))
	for i, c := range all {
		list[i] = RunCount{timeText(c.Hour), string(c.State), c.Code, c.Runs, engine.Millis(c.Ran)}
	}
	return list
}
