package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// End says how a task ended.
type End string

// The ends of a task.
const (
	EndCompleted   End = "completed" // the list ran to its end, whatever failed on the way
	EndStopped     End = "stopped"   // an action failed and the list was to stop
	EndTimeout     End = "timeout"   // the task's time was over
	EndCancelled   End = "cancelled" // nobody wants the answer any more
	EndCrashed     End = "crashed"   // the browser died
	EndInterrupted End = "interrupted"
	EndLost        End = "lost" // its node went away; nobody knows how far it was
)

// Causes of the end of a task's context, beside its deadline: see [EndOf].
var (
	ErrClientGone = errors.New("the client went away")
	ErrDraining   = errors.New("the service is stopping")
	ErrCancelled  = errors.New("the task was cancelled")
)

// EndOf returns how a task ends whose context has ended.
func EndOf(ctx context.Context) End {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		return EndTimeout
	case errors.Is(cause, ErrDraining):
		return EndInterrupted
	default:
		return EndCancelled
	}
}

// Outcome is the result of a task. It is plain data: it is stored for asynchronous
// tasks and crosses processes.
type Outcome struct {
	End       End             `json:"end" mask:"own"`
	Data      json.RawMessage `json:"data,omitempty"`              // the task's result, null when the last action failed; what there was so far where the list did not come to its end
	Last      json.RawMessage `json:"last,omitempty"`              // the last action's result, where Data holds captured responses
	Duration  time.Duration   `json:"duration"`                    // from the start of the first action
	Failures  []Failure       `json:"failures,omitempty"`          // in the order they happened
	Failed    Code            `json:"failed,omitempty" mask:"own"` // of the first failure that the list did not tolerate, also where Failures have no room for it; empty: there is none, or an earlier release has played the task
	Warnings  []Warning       `json:"warnings,omitempty"`
	Steps     []StepReport    `json:"steps,omitempty"`               // only with config.trace
	Truncated *Truncated      `json:"truncated,omitempty"`           // nil where nothing was left out
	Dialogs   []Dialog        `json:"dialogs,omitempty"`             // that pages opened
	Downloads []Downloaded    `json:"downloads,omitempty"`           // that pages sent
	Pictures  []string        `json:"pictures,omitempty" mask:"own"` // where those of screenshot can be fetched
	Traffic   *Traffic        `json:"traffic,omitempty"`
	Trace     string          `json:"trace,omitempty" mask:"own"` // where the file of a full trace can be fetched
	Evidence  *Evidence       `json:"evidence,omitempty"`
	Collected *Collected      `json:"collected,omitempty"`
	HAR       json.RawMessage `json:"har,omitempty"`                // nil: there is none, or it is a file
	HARFile   string          `json:"harFile,omitempty" mask:"own"` // where it can be fetched
	Page      *Shown          `json:"page,omitempty"`               // that the task leaves behind; nil: there is none, or an earlier release has played the task
	Restored  bool            `json:"restored,omitempty"`
	First     string          `json:"first,omitempty"` // the address that it opened first, cut
	Done      int             `json:"done,omitempty"`  // steps that ended, also those that failed
}

// Failure is a failed action.
type Failure struct {
	Code      Code   `json:"code" mask:"own"`
	Text      string `json:"error"`
	Index     int    `json:"actionIndex"`               // position in the top-level list
	Path      string `json:"actionPath" mask:"own"`     // such as "3" or "3/loop/do/1"
	Flow      string `json:"flow,omitempty" mask:"own"` // the stored flow that the action is in, with its version
	Iteration *int   `json:"iteration,omitempty"`
	// Iterations are those of the loops in one another, outermost first; nil for
	// one loop alone.
	Iterations []int           `json:"iterations,omitempty"`
	Action     json.RawMessage `json:"action" mask:"own"` // as the client sent it; with its strings cut where the action had failed before
	// Tolerated tells that the list says that this may fail, by more than
	// config.continueOnError: see [blocks.tolerates].
	Tolerated bool `json:"tolerated,omitempty"`
}

func (f *Failure) Error() string { return f.Text }

// Warning is something the client should know about an action that succeeded.
type Warning struct {
	Path    string `json:"actionPath" mask:"own"`
	Message string `json:"message"`
}

// StepReport says how one action ended.
type StepReport struct {
	Path        string          `json:"actionPath" mask:"own"`
	Flow        string          `json:"flow,omitempty" mask:"own"` // the stored flow that the action is in, with its version
	Iteration   *int            `json:"iteration,omitempty"`
	Iterations  []int           `json:"iterations,omitempty"` // of loops in one another, outermost first
	Action      string          `json:"action" mask:"own"`
	Success     bool            `json:"success"`
	Millis      float64         `json:"durationMs"`
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes int             `json:"resultBytes,omitempty"` // of a result that was left out
	Error       string          `json:"error,omitempty"`
	Code        Code            `json:"code,omitempty" mask:"own"`
	// Selectors are those that stand for the references that the action has used, for as
	// long as the page is built alike.
	Selectors map[string]DurableSelector `json:"selectors,omitempty"`
	Notes     []string                   `json:"notes,omitempty"` // dialogs answered, downloads kept, status of a page
}

// Problem is the error that actions return: a code for programs and a sentence
// for people.
type Problem struct {
	Code Code
	Text string
}

func (p *Problem) Error() string { return p.Text }

// Problemf makes a [Problem].
func Problemf(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Text: fmt.Sprintf(format, args...)}
}
