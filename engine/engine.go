package engine

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// An Engine starts browsers. The actors know browsers only through it, so tests
// can use a scripted engine instead of Chromium.
type Engine interface {
	// Launch starts a browser for one worker and returns when it answers.
	// The browser lives until Close, not until ctx ends: ctx bounds the start.
	Launch(ctx context.Context, worker string) (Instance, error)
}

// An Instance is one running browser. Play, Reset and Close may each be called
// from any goroutine; Play and Reset never run at the same time.
type Instance interface {
	// Play runs the task to its end. It never returns nil. When ctx ends the
	// outcome's End says why (see [EndOf]): a deadline is a timeout, anything
	// else a cancellation. A browser that dies gives EndCrashed at once.
	Play(ctx context.Context, t *Task, st TaskEnv) *Outcome

	// Reset makes the browser as clean as a new one for the next task. It is
	// not called between tasks of one session. After an error the instance
	// must be closed.
	Reset(ctx context.Context) error

	// Warm says that no task waits. The browser takes the time to make ready what the
	// first page of the next task needs. It returns at once, and Play waits until that is
	// done. It may be called whenever nothing plays and nothing is reset, or never.
	Warm()

	// Save returns what a session needs to continue in another browser, and
	// Restore puts it back, with what only the session's profile keeps; either may be
	// nil. Tabs are loaded again only by the next Play.
	Save(ctx context.Context) (json.RawMessage, error)
	Restore(ctx context.Context, state, profile json.RawMessage) error

	// SaveProfile returns what a profile keeps of a session, databases included. While a
	// task plays it fails, and a Play or Reset that comes meanwhile waits for it.
	SaveProfile(ctx context.Context) (*SavedProfile, error)

	// Check asks the browser itself, not a page, whether it answers. It may be
	// called at any time, Play and Reset included. An error means that there was
	// no answer before ctx ended.
	Check(ctx context.Context) error

	// Memory returns how many bytes the browser uses with all its processes, or
	// zero if that is unknown. It may be called at any time, and takes some
	// milliseconds of processor time.
	Memory() int64

	// Gone is closed when the browser has died or was closed.
	Gone() <-chan struct{}

	// Close ends the browser with every process and folder it owns. It is
	// safe to call more than once.
	Close()
}

// TaskEnv is the environment of a task: what it shares with earlier tasks of its
// session, where its files go, and who observes its steps.
type TaskEnv struct {
	// Cache is the data cache: nil for an empty one that ends with the task.
	Cache *Cache
	// Account names the owner of the files that the task makes.
	Account string
	// Plan is the owner's plan, for metrics and for the bounds of files. Whether the
	// plan allows the task was decided before.
	Plan Plan
	// TaskID is the task's identifier, for logs and files.
	TaskID string
	// Asked is when the request for the task arrived, or since when a task of the queue may
	// begin; zero: unknown.
	Asked time.Time
	// Queued tells that the task has waited in the queue.
	Queued bool
	// Trace is the parent of the task's spans (W3C trace context); empty: none.
	Trace string
	// Secrets are those of the account. All of them are masked in whatever the
	// task gives, also those that an earlier task of the session has typed.
	Secrets []Secret
	// Profile is what browsers keep of sites; nil: the task uses none.
	Profile *ProfileState
	// Client plays the task in the place of its list; nil: the list is played.
	Client Client
	// Files are those of the session that the client uses; nil: it has none.
	Files SessionFiles
	// SaveFile keeps a picture or a download and returns its URL.
	SaveFile SaveFile
	// OnStep, if set, is called with each step as it ends, in order. It must not
	// block.
	OnStep func(StepReport)
	// Measure, if set, is also called with each step as it ends, but without
	// notes, so that it costs the task nothing. It must not block.
	Measure func(StepReport)
}

// SaveFile stores what r gives under an unguessable name and returns its URL.
// File.Inline says that a browser may display it.
type SaveFile func(ctx context.Context, f File, r io.Reader) (url string, err error)

// SecretsOf gives the secrets of an account.
type SecretsOf func(ctx context.Context, account string) ([]Secret, error)

// File describes a file that a task made.
type File struct {
	Account     string `mask:"own"`
	Plan        Plan   `mask:"own"` // of the account, which says how much it may keep
	Name        string // a label, never a path
	ContentType string `mask:"own"`
	Inline      bool   // made by the service itself, so safe to show
}

// Upload is a file that came with a request.
type Upload struct {
	Name string `json:"Name"`
	Type string `json:"Type"`
	Path string `json:"Path"` // where the edge has put its bytes, until the task has ended
	Size int64  `json:"Size"`
}

// Millis is a duration as requests and answers spell it.
func Millis(d time.Duration) int64 { return d.Milliseconds() }
