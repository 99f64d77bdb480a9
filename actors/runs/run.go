package runs

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// Prefix is how the keys of runs begin.
const Prefix = "run/"

var (
	_ = sealed.Register(sealed.Kind{Prefix: Prefix, Holds: "runs of the history"})
	_ = owned.Register(owned.Kind{Prefix: Prefix, By: owned.Key})
)

// Bounds of what a record has, in bytes.
const (
	maxError    = 1 << 10
	maxRequest  = 16 << 10 // larger requests are not kept
	maxPictures = 20
)

// Run is the record of a run. Its identifier is that of its task, so that what is written
// twice is one record.
type Run struct {
	ID       string           `json:"id"`
	Account  string           `json:"account"`
	State    api.TaskStatus   `json:"state"` // pending: it has not ended, and no list has it
	Code     engine.Code      `json:"code,omitempty"`
	Label    string           `json:"label,omitempty"`
	Metadata engine.Metadata  `json:"metadata,omitempty"`
	Origin   api.Origin       `json:"origin"`
	Token    string           `json:"token,omitempty"` // the identifier of that which the request had
	Batch    *api.BatchRef    `json:"batch,omitempty"`
	Schedule *api.ScheduleRef `json:"schedule,omitempty"`
	Async    bool             `json:"async,omitempty"`
	Again    string           `json:"again,omitempty"` // the run that this one repeats

	Visited  *engine.Visited `json:"visited,omitempty"`
	Error    string          `json:"error,omitempty"`  // the text of the failure that Code is about
	At       string          `json:"at,omitempty"`     // the path of its action
	Actions  int             `json:"actions"`          // of the list itself
	Done     int             `json:"done"`             // steps that ended
	Failed   int             `json:"failed,omitempty"` // of them
	Attempts int             `json:"attempts,omitempty"`

	Asked time.Time     `json:"asked"` // when the request came
	Began time.Time     `json:"began,omitzero"`
	Ended time.Time     `json:"ended,omitzero"`
	Ran   time.Duration `json:"ran,omitempty"` // how long it had a browser, in its last attempt

	WorkerID   string `json:"workerId,omitempty"`
	WorkerName string `json:"workerName,omitempty"`
	Node       string `json:"node,omitempty"`
	Session    string `json:"session,omitempty"`

	Result int `json:"result,omitempty"` // its bytes
	// KeepResult tells that the client wants a copy of the result kept with the run, and Kept
	// that there is one.
	KeepResult bool             `json:"keepResult,omitempty"`
	Kept       bool             `json:"kept,omitempty"`
	Plan       engine.Plan      `json:"plan,omitempty"`       // of the account: bounds copies of results
	Until      time.Time        `json:"resultUntil,omitzero"` // until when get-result has it; zero: it was in the answer
	Pictures   []string         `json:"pictures,omitempty"`
	Trace      string           `json:"trace,omitempty"`
	Evidence   *engine.Evidence `json:"evidence,omitempty"`

	Request      json.RawMessage `json:"request,omitempty"` // with its secrets masked; nil: it was too large, or is not known
	RequestBytes int             `json:"requestBytes,omitempty"`
	Masked       []string        `json:"masked,omitempty"` // the paths of the fields of it that are masked
	Uploads      int             `json:"uploads,omitempty"`
	Item         bool            `json:"item,omitempty"` // its values of the batch's item are not in the request

	masked bool            // the request is
	data   json.RawMessage // the result
	summed bool            // what it adds to the sums of its day is written
}

// Of is the record of a task that has not ended.
func Of(x *api.Execute, node string) *Run {
	r := &Run{
		ID: x.TaskID, Account: x.Account.ID, State: api.TaskPending, Label: x.Task.Label, Metadata: x.Task.Metadata, KeepResult: x.Task.KeepResult, Plan: x.Account.Plan, Origin: x.By.Origin, Token: x.By.Token, Again: x.By.Again,
		Batch: x.Batch, Schedule: x.Schedule, Async: x.Task.Async, Actions: x.Task.Actions(), Asked: x.Asked, Node: node, Uploads: len(x.Task.Files),
	}
	r.settle()
	r.requests(x.Task.Source())
	return r
}

// settle fills in what follows from the rest.
func (r *Run) settle() {
	switch {
	case r.Batch != nil:
		r.Origin, r.Item = api.OriginBatch, true
	case r.Schedule != nil:
		r.Origin = api.OriginSchedule
	case r.Origin == "":
		r.Origin = api.OriginRequest
	}
	if r.Asked.IsZero() {
		r.Asked = Made(r.ID)
	}
}

// requests keeps the request, if it is not too large. It is masked when the record is written.
func (r *Run) requests(source []byte) {
	if r.RequestBytes = len(source); len(source) <= maxRequest {
		r.Request = source
	}
}

// On says where the run was.
func (r *Run) On(x *api.Executed) {
	r.WorkerID, r.WorkerName, r.Session = x.WorkerID, x.WorkerName, x.SessionID
}

// Ends says how the run has ended.
func (r *Run) Ends(out *engine.Outcome, at time.Time) {
	r.Code, r.Ended, r.Ran = outcome.Code(out), at, out.Duration
	r.State = outcome.Counted(outcome.Polled(out.End), r.Code)
	if f := outcome.Failure(out); f != nil {
		r.Error, r.At = lang.Short(f.Text, maxError), f.Path
	}
	r.Visited, r.Done, r.Failed, r.Result = out.Visited(), out.Done, len(out.Failures), len(out.Data)
	r.data = out.Data
	r.Pictures, r.Trace, r.Evidence = out.Pictures[:min(len(out.Pictures), maxPictures)], out.Trace, out.Evidence
	if r.Began.IsZero() && out.Duration > 0 {
		r.Began = at.Add(-out.Duration)
	}
}

// Time is when the run was asked for, by which it is listed. A task of a batch has its name
// before the queue gets it.
func (r *Run) Time() time.Time {
	if m := Made(r.ID); !m.IsZero() && !r.Asked.Truncate(time.Second).Equal(m) {
		return m
	}
	return r.Asked
}

// Waited is how long the run had no worker.
func (r *Run) Waited() time.Duration {
	if r.Began.IsZero() {
		return max(r.Ended.Sub(r.Asked), 0)
	}
	return max(r.Began.Sub(r.Asked), 0)
}

// made finds the second in which a task was named, in its identifier.
var made = regexp.MustCompile(`^task_[0-9a-f]{16}_([0-9]{1,12})`)

// Made is when a task was named; zero: its identifier does not say it.
func Made(id string) time.Time {
	m := made.FindStringSubmatch(id)
	if m == nil {
		return time.Time{}
	}
	s, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// Key is where the record of a run is. The newest is first.
func Key(account, id string) string { return Prefix + account + "/" + timePart(Made(id)) + "/" + id }

// timePart is how keys spell a second.
func timePart(t time.Time) string {
	s := int64(0)
	if !t.IsZero() {
		s = min(max(t.Unix(), 0), math.MaxUint32)
	}
	return fmt.Sprintf("%08x", math.MaxUint32-s)
}

// idIn is the identifier in a key.
func idIn(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// secondOf is the second in a cursor.
func secondOf(cursor string) int64 {
	s, err := strconv.ParseUint(cursor[:min(len(cursor), 8)], 16, 32)
	if err != nil {
		return 0
	}
	return math.MaxUint32 - int64(s)
}

// Read reads what the record has of a request from a task as it is kept in the queue.
func (r *Run) Read(task []byte) {
	var w struct {
		Source json.RawMessage   `json:"source"`
		Files  []json.RawMessage `json:"files"`
	}
	var said struct {
		Label    string            `json:"label"`
		Metadata engine.Metadata   `json:"metadata"`
		Actions  []json.RawMessage `json:"actions"`
		Keep     bool              `json:"keepResult"`
	}
	if json.Unmarshal(task, &w) != nil || json.Unmarshal(w.Source, &said) != nil {
		return // it was checked when it came
	}
	r.Label, r.Metadata, r.Actions, r.Uploads = said.Label, engine.ShortMetadata(said.Metadata), len(said.Actions), len(w.Files)
	r.KeepResult = said.Keep
	r.requests(w.Source)
}
