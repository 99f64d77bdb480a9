package testkit

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"troupe/engine"
)

// Script says how one task goes. The zero script ends at once with the default
// result, see [Result].
type Script struct {
	Takes   time.Duration
	Outcome *engine.Outcome // at the end; nil: completed with the default result
	Crash   bool            // the browser dies at the end
	Panic   any             // at the end, if not nil
	Hang    bool            // does not heed its context: only the browser's end ends it
	// Do, when set, is played instead of all of the above.
	Do func(ctx context.Context, c Call) *engine.Outcome
	// Steps are reported while the task runs, evenly over its time.
	Steps int
}

// Call is what a script is played on.
type Call struct {
	Browser *Browser
	Task    *engine.Task
	Env     engine.TaskEnv
}

// Result is the default result of a task.
type Result struct {
	Task   string   `json:"task"`
	Before []string `json:"before"` // tasks whose traces the browser still had
}

// ResultOf reads the default result.
func ResultOf(out *engine.Outcome) (Result, error) {
	var r Result
	return r, json.Unmarshal(out.Data, &r)
}

// Reset says how a browser is cleaned.
type Reset struct {
	Takes time.Duration
	Until <-chan struct{} // it goes on until this is closed
	Err   error
	Hang  bool // does not heed its context
}

// Save says how a session's state is read from its browser.
type Save struct {
	Takes time.Duration
	Err   error
}

func (s Script) play(ctx context.Context, c Call, began time.Time, before []string) *engine.Outcome {
	if s.Do != nil {
		return s.Do(ctx, c)
	}
	end := engine.EndCompleted
	for i := range s.Steps {
		end = s.until(ctx, c, began.Add(s.Takes*time.Duration(i+1)/time.Duration(s.Steps+1)))
		if end != engine.EndCompleted {
			break
		}
		report := engine.StepReport{Path: strconv.Itoa(i), Action: "scripted", Success: true}
		for _, tell := range []func(engine.StepReport){c.Env.OnStep, c.Env.Measure} {
			if tell != nil {
				tell(report)
			}
		}
	}
	if end == engine.EndCompleted {
		end = s.until(ctx, c, began.Add(s.Takes))
	}
	if end == engine.EndCompleted {
		switch {
		case s.Panic != nil:
			panic(s.Panic)
		case s.Crash:
			c.Browser.Kill()
			end = engine.EndCrashed
		case s.Outcome != nil:
			return s.Outcome
		}
	}
	out := &engine.Outcome{End: end, Duration: time.Since(began)}
	if end == engine.EndCompleted {
		out.Data, _ = json.Marshal(Result{Task: c.Env.TaskID, Before: before})
	}
	return out
}

// until lets time pass, and says how the task ends if it ends before.
func (s Script) until(ctx context.Context, c Call, at time.Time) engine.End {
	if s.Hang {
		at = time.Now().Add(endless)
	}
	return c.Browser.body.last(ctx, c.Env, at)
}

// endless is longer than any task is waited for.
const endless = 24 * time.Hour / 2
