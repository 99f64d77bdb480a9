package engine

import (
	"encoding/json"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// Defaults and bounds of a request's times.
const (
	DefaultTimeout        = 30 * time.Second
	DefaultActionTimeout  = 10 * time.Second
	DefaultSessionTimeout = 5 * time.Minute
	MinSessionTimeout     = time.Minute
	MaxSessionTimeout     = 30 * time.Minute
	MaxQueueTimeout       = 2 * time.Minute
)

// Task is a decoded and valid request. It crosses processes as the bytes it was
// parsed from: see MarshalJSON.
type Task struct {
	Steps        []Step
	WorkerID     string
	Timeout      time.Duration // as asked for; the plan may lower it
	QueueTimeout time.Duration
	Config       Config
	Session      *Session // nil when the request says nothing of sessions
	Async        bool
	Queue        *Queue   // nil: it is not queued
	Notify       []Notify // told of its end
	Profile      *Profile // nil: none
	Label        string   // for people, in lists; empty: none
	Metadata     Metadata // of the client; nil: none
	KeepResult   bool     // a copy of the result is kept with the run
	Files        []Upload

	source           []byte
	item             json.RawMessage // of a batch; nil: there is none
	items            bool            // it is the task of a batch: it reads the fields of an item
	bound            []string        // sites that its pages may be from, beside those of its config; nil: any
	flows            []StoredFlow    // that its actions run
	network          bool            // an action looks at requests
	reads            bool            // an action reads downloads
	warnings         []lang.Fault    // of its reading; see [Task.Review]
	lasting          bool            // its config has what a session keeps for its later tasks
	severalResponses bool            // its responses are a list, however many they are
	asText           bool            // it has no steps: see [Task.AsText]
	actions          int             // of a task that is kept as text
}

// Config is the part of a request that holds for all its actions.
type Config struct {
	ActionTimeout   time.Duration
	ContinueOnError bool
	Trace           bool
	FullTrace       bool // Trace, and a file that shows each step
	OnFailure       OnFailure
	Collect         Collect
	HAR             *HAR // nil: none
	RefuseDownloads bool
	RefuseUploads   bool
	Sites           []string  // that pages may be from; none: any
	Isolation       Isolation // at least; empty: the operator's

	dialogs []dialogRule
	around  browser.Surroundings

	requests *requestConfig // nil: it says nothing of them
	proxy    *string        // that pages are reached through; empty: none; nil: it says nothing of it
}

// Session is the session part of a request.
type Session struct {
	Preserve bool
	ID       string
	Close    bool
	Timeout  time.Duration // zero when the request does not say
	Override bool
	Label    string // for lists; empty: as it was
	Save     bool   // its profile is saved after the task
	Attach   bool   // clients are to attach to it: its browser must be its own
}

// used reports whether the request asks anything of a session: a time alone
// does not.
func (s *Session) used() bool {
	return s != nil && (s.Preserve || s.ID != "" || s.Close || s.Override)
}

// Keeps reports whether the task's session, if it has one, outlives the task.
func (t *Task) Keeps() bool {
	return t.Session != nil && !t.Session.Close && (t.Session.Preserve || t.Session.ID != "" || t.Session.Override)
}

// Counts reports whether the task counts against the plan's daily number: a
// request that only starts or closes a session does not.
func (t *Task) Counts() bool { return t.Actions() > 0 }

// SetsUp reports whether a task without actions has to be played all the same: it leaves a
// session whose later tasks find what it says of pages, or may not leave its sites.
func (t *Task) SetsUp() bool {
	return t.Actions() == 0 && t.Keeps() && (t.lasting || len(t.bound) > 0)
}

// Source is the JSON that the task was parsed from.
func (t *Task) Source() []byte { return t.source }

// Flows are the stored flows that the task runs, each version once.
func (t *Task) Flows() FlowList { return t.flows }

// wire is how a task crosses a process: what it was parsed from, and where its
// files are.
type wire struct {
	Source json.RawMessage `json:"source"`
	Files  []Upload        `json:"files,omitempty"`
	Flows  FlowList        `json:"flows,omitempty"`
	Item   json.RawMessage `json:"item,omitempty"`
	Sites  []string        `json:"sites,omitempty"` // see [Task.Within]
}

// MarshalJSON gives the bytes the task was parsed from, with its files and flows.
func (t *Task) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{Source: t.source, Files: t.Files, Flows: t.flows, Item: t.item, Sites: t.bound})
}

// UnmarshalJSON parses the task again.
func (t *Task) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	d := newDecoder(w.Files, w.Flows)
	d.items = true // what it has and reads was looked at when it came
	parsed, err := parse(w.Source, d)
	if err != nil {
		return err
	}
	*t = *parsed
	t.item, t.bound = w.Item, w.Sites
	return nil
}
