package testkit

import (
	"context"
	"encoding/json"

	"troupe/engine"
)

// Noop is an engine whose browsers do nothing and keep nothing, to measure what
// everything around a browser costs.
type Noop struct {
	// Outcome is how each task ends; nil: completed, with nothing to tell.
	Outcome *engine.Outcome
}

// Launch is part of [engine.Engine].
func (h *Noop) Launch(context.Context, string) (engine.Instance, error) {
	if h.Outcome == nil {
		return noopBrowser{&engine.Outcome{End: engine.EndCompleted}}, nil
	}
	return noopBrowser{h.Outcome}, nil
}

type noopBrowser struct{ outcome *engine.Outcome }

func (b noopBrowser) Play(context.Context, *engine.Task, engine.TaskEnv) *engine.Outcome {
	return b.outcome
}

func (noopBrowser) Save(context.Context) (json.RawMessage, error) {
	return json.RawMessage("{}"), nil
}

func (noopBrowser) Restore(context.Context, json.RawMessage) error { return nil }
func (noopBrowser) Reset(context.Context) error                    { return nil }
func (noopBrowser) Check(context.Context) error                    { return nil }
func (noopBrowser) Memory() int64                                  { return 0 }
func (noopBrowser) Gone() <-chan struct{}                          { return nil }
func (noopBrowser) Close()                                         {}
