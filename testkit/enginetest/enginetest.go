// Package enginetest has tests of what [engine.Engine] promises. An author of an
// engine runs them, as the service does for its own:
//
//	func TestEngine(t *testing.T) {
//		enginetest.Run(t, enginetest.Options{Start: func(t *testing.T) engine.Engine { return mine.New() }})
//	}
//
// The store's tests are in persistence/storetest.
package enginetest

import (
	"context"
	"testing"
	"time"

	"troupe/engine"
)

// Options is what the tests need of the engine.
type Options struct {
	// Start gives an engine that is the test's own.
	Start func(t *testing.T) engine.Engine
	// Short gives a task that ends soon and well, and Long one that goes on for
	// a minute if nobody ends it. Nil: the task of one step that does nothing
	// for a moment, and for a minute.
	Short, Long func(t *testing.T) *engine.Task
	// Kill ends the instance as a crash does. Nil: crashes are not tested.
	Kill func(t *testing.T, in engine.Instance)
	// Mark is a task that leaves something behind in the browser, and Marked
	// reports by its outcome whether a later task has found that. Nil: Reset,
	// Save and Restore are only called.
	Mark   func(t *testing.T) *engine.Task
	Marked func(t *testing.T, out *engine.Outcome) bool
}

// slow is longer than anything should take that is to happen soon.
const slow = 20 * time.Second

// Run checks an engine.
func Run(t *testing.T, o Options) {
	if o.Short == nil {
		o.Short = func(t *testing.T) *engine.Task { return Task(t, `{"actions":[{"wait":10}]}`) }
	}
	if o.Long == nil {
		o.Long = func(t *testing.T) *engine.Task { return Task(t, `{"actions":[{"wait":60000}],"timeout":90000}`) }
	}
	for _, c := range []struct {
		name string
		run  func(*probe)
	}{
		{"a launched browser answers", answers},
		{"a browser answers when it is asked, and not after its end", checks},
		{"a launch ends with its context", launchEnds},
		{"a task that runs to its end is completed", completes},
		{"a task ends with its context, which says how", endsOfContexts},
		{"a context that has ended plays nothing", endedContext},
		{"a browser outlives its tasks' contexts", outlives},
		{"a task ends when its browser dies", dies},
		{"a task ends when its browser is closed", closedUnder},
		{"gone is closed by close, which can be called again", closes},
		{"nothing of a browser is left to another", apart},
		{"after a reset nothing is left", resets},
		{"a browser that is told that no task waits plays the next one", warms},
		{"what was saved is put back in another browser", restores},
		{"what was not saved by this engine is refused", refuses},
		{"each step is told of in order", steps},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&probe{t, o, o.Start(t)}) })
	}
}

// Task parses a task.
func Task(t testing.TB, body string) *engine.Task {
	t.Helper()
	task, err := engine.Parse([]byte(body), nil)
	if err != nil {
		t.Fatalf("parse %s: %v", body, err)
	}
	return task
}

// probe is an engine with which failures end the test.
type probe struct {
	*testing.T
	o      Options
	engine engine.Engine
}

func (p *probe) launch() engine.Instance {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*slow)
	defer cancel()
	in, err := p.engine.Launch(ctx, "w1")
	if err != nil {
		p.Fatalf("launch: %v", err)
	}
	p.Cleanup(in.Close)
	return in
}

func (p *probe) play(ctx context.Context, in engine.Instance, t *engine.Task) *engine.Outcome {
	p.Helper()
	out := in.Play(ctx, t, engine.TaskEnv{TaskID: "task_1", Account: "anna"})
	if out == nil {
		p.Fatal("there is no outcome")
	}
	return out
}

func (p *probe) wantEnd(out *engine.Outcome, end engine.End) {
	p.Helper()
	if out.End != end {
		p.Fatalf("the task ended %s, want %s: %+v", out.End, end, out)
	}
}

// soon fails the test if f takes long.
func (p *probe) soon(what string, f func()) {
	p.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(slow):
		p.Fatalf("%s takes longer than %v", what, slow)
	}
}

func (p *probe) reset(in engine.Instance) {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*slow)
	defer cancel()
	if err := in.Reset(ctx); err != nil {
		p.Fatalf("reset: %v", err)
	}
}

func (p *probe) lives(in engine.Instance) {
	p.Helper()
	select {
	case <-in.Gone():
		p.Fatal("the browser is gone")
	default:
	}
}
