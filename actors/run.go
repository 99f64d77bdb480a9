package actors

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/engine"
)

// errReplaced ends what still runs on a browser that is being closed.
var errReplaced = errors.New("the browser was replaced")

// run is one execution of one task, outside of the worker's mailbox. It is known
// by its address: messages of another run came too late.
type run struct {
	claim  *claim
	began  time.Time
	cancel context.CancelCauseFunc
	post   func(any) // to the worker

	mu     sync.Mutex
	over   bool
	saving bool // the task is over, and its session is being saved
	out    *engine.Outcome
	no     *api.Refusal  // why nothing of it was played
	bounds int           // how often they were set
	stuck  time.Duration // after the first of them
	alarm  *time.Timer   // for the first, then for the second

	last atomic.Bool // the worker stops after it
}

type (
	// ended says that a run has really stopped.
	ended struct {
		run *run
		how fsm.Ending
	}
	// late says that it should have.
	late struct {
		run   *run
		stuck bool
	}
)

// isLast says that the worker stops after the run.
func (r *run) isLast() {
	if r != nil {
		r.last.Store(true)
	}
}

// stop makes the run's context end.
func (r *run) stop(cause error) {
	if r != nil {
		r.cancel(cause)
	}
}

// bound sets how much longer the run may go on: until its client is answered
// without it, and until its browser is closed under it.
func (r *run) bound(overdue, stuck time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.unbind()
	r.stuck = stuck - overdue
	r.bounds++
	bounds := r.bounds
	r.alarm = time.AfterFunc(overdue, func() { r.passed(bounds, false) })
}

// passed tells the worker that the run has passed a bound, unless the bounds were
// set anew meanwhile.
func (r *run) passed(bounds int, stuck bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.bounds != bounds {
		return
	}
	r.post(&late{run: r, stuck: stuck})
	if !stuck {
		r.alarm = time.AfterFunc(r.stuck, func() { r.passed(bounds, true) })
	}
}

// finish says that nothing of the run goes on any more.
func (r *run) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.unbind()
}

func (r *run) unbind() {
	if r.alarm != nil {
		r.alarm.Stop()
	}
}

// notSaved is the warning to a client whose session could not be saved as it is.
const notSaved = "the session's state could not be saved: should its browser be restarted, it goes on from an earlier state"

// outcome is what came of the task so far.
func (r *run) outcome() *engine.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.saving {
		r.warn(notSaved)
	}
	return r.out
}

// refuse keeps why the task did not begin. The outcome is for readers of the
// feed.
func (r *run) refuse(no *api.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.no = no
	r.out = &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: no.Code, Text: no.Text}}}
}

// refusal is the answer to a task that did not begin; nil: it did, or ended otherwise.
func (r *run) refusal() *api.Refusal {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.no
}

// played keeps the outcome for the answer.
func (r *run) played(out *engine.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = out
}

// save says that the session is being saved, saved that this is over.
func (r *run) save() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saving = true
}

func (r *run) saved(ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.saving && !ok {
		r.warn(notSaved)
	}
	r.saving = false
}

// warnOf adds a warning to the outcome of a task that is over.
func (r *run) warnOf(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	saving := r.saving
	r.warn(message)
	r.saving = saving
}

// warn adds a warning to the outcome. The outcome itself belongs to the engine,
// and may be on its way to a client already.
func (r *run) warn(message string) {
	out := *r.out
	out.Warnings = append(out.Warnings[:len(out.Warnings):len(out.Warnings)], engine.Warning{Message: message})
	r.out, r.saving = &out, false
}

// begin starts the time of a run that had to wait for something else first, and
// may take so long then.
func (r *run) begin(ctx context.Context, most time.Duration, cfg BrowserConfig) {
	r.mu.Lock()
	r.began = time.Now()
	r.mu.Unlock()
	if ctx.Err() == nil {
		r.bound(most+cfg.AnswerMargin, most+cfg.StopMargin)
	}
	if ctx.Err() != nil { // told to stop in the meantime: that bound must hold
		r.bound(cfg.AnswerMargin, cfg.StopMargin)
	}
}

func (r *run) since() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began
}
