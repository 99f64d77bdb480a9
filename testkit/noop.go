package testkit

import (
	"context"
	"encoding/json"
	"time"

	"troupe/engine"
)

// Noop is an engine whose browsers do nothing and keep nothing, to measure what
// everything around a browser costs.
type Noop struct {
	// Outcome is how each task ends; nil: completed, with nothing to tell.
	Outcome *engine.Outcome
	// Takes is how long a task takes, without use of a processor.
	Takes time.Duration
}

// Launch is part of [engine.Engine].
func (h *Noop) Launch(context.Context, string) (engine.Instance, error) {
	if h.Outcome == nil {
		return noopBrowser{&engine.Outcome{End: engine.EndCompleted}, h.Takes}, nil
	}
	return noopBrowser{h.Outcome, h.Takes}, nil
}

type noopBrowser struct {
	outcome *engine.Outcome
	takes   time.Duration
}

func (b noopBrowser) Play(ctx context.Context, _ *engine.Task, _ engine.TaskEnv) *engine.Outcome {
	if b.takes > 0 {
		select {
		case <-time.After(b.takes):
		case <-ctx.Done():
			return &engine.Outcome{End: engine.EndOf(ctx)}
		}
	}
	return b.outcome
}

func (noopBrowser) Save(context.Context) (json.RawMessage, error) {
	return json.RawMessage("{}"), nil
}

func (noopBrowser) SaveProfile(context.Context) (*engine.SavedProfile, error) {
	return &engine.SavedProfile{State: json.RawMessage("{}")}, nil
}

func (noopBrowser) Restore(context.Context, json.RawMessage, json.RawMessage) error { return nil }
func (noopBrowser) Reset(context.Context) error                                     { return nil }
func (noopBrowser) Warm()                                                           {}
func (noopBrowser) Check(context.Context) error                                     { return nil }
func (noopBrowser) Memory() int64                                                   { return 0 }
func (noopBrowser) Gone() <-chan struct{}                                           { return nil }
func (noopBrowser) Close()                                                          {}
