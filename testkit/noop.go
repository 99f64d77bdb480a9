package testkit

import (
	"context"
	"encoding/json"

	"troupe/engine"
)

// Hollow is an engine of browsers that do and keep nothing: for measuring what
// everything around a browser costs.
type Hollow struct {
	// Outcome is how each task ends; nil: completed, with nothing to tell.
	Outcome *engine.Outcome
}

// Launch is part of [engine.Engine].
func (h *Hollow) Launch(context.Context, string) (engine.Instance, error) {
	if h.Outcome == nil {
		return hollowBrowser{&engine.Outcome{End: engine.EndCompleted}}, nil
	}
	return hollowBrowser{h.Outcome}, nil
}

type hollowBrowser struct{ outcome *engine.Outcome }

func (b hollowBrowser) Play(context.Context, *engine.Task, engine.TaskEnv) *engine.Outcome {
	return b.outcome
}

func (hollowBrowser) Save(context.Context) (json.RawMessage, error) {
	return json.RawMessage("{}"), nil
}

func (hollowBrowser) Restore(context.Context, json.RawMessage) error { return nil }
func (hollowBrowser) Reset(context.Context) error                    { return nil }
func (hollowBrowser) Check(context.Context) error                    { return nil }
func (hollowBrowser) Memory() int64                                  { return 0 }
func (hollowBrowser) Gone() <-chan struct{}                          { return nil }
func (hollowBrowser) Close()                                         {}
