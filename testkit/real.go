package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"troupe/engine"
)

// Backend is a real engine below the scripted one: what the script says happens
// in real browsers, and in real time.
//
// Each browser of the scripted engine is one of the real engine. A task waits in
// it for as long as its script takes, and ends as the real one does. Browsers are
// really cleaned, saved, restored and checked; the script's delays and failures
// come on top. A browser that crashes is killed, and one that is deaf is stopped.
// For that the engine's instances have a method PID() int; one without it is
// closed instead of killed.
//
// So a test with fake time can run once more with real browsers.
type Backend struct {
	Engine engine.Engine
	// Trace gives a task that leaves a trace of this name in the browser, and whose
	// result is an array of the traces that it found. It runs at the start of each
	// task, for [Result]. See [Tracing].
	Trace func(name string) *engine.Task
}

// realBrowser is a browser of the backend.
type realBrowser struct {
	engine.Instance
	backend *Backend
	fault   func(format string, args ...any)
}

func (f *Backend) launch(ctx context.Context, worker string, fault func(string, ...any)) (backendBrowser, error) {
	in, err := f.Engine.Launch(ctx, worker)
	if err != nil {
		return nil, fmt.Errorf("launch the browser below: %w", err)
	}
	return &realBrowser{Instance: in, backend: f, fault: fault}, nil
}

func (b *realBrowser) visit(ctx context.Context, st engine.TaskEnv) (before []string, restored bool, _ *engine.Outcome) {
	out := b.Play(ctx, b.backend.Trace(st.TaskID), silentEnv(st))
	switch {
	case out.End != engine.EndCompleted:
		return nil, out.Restored, out
	case len(out.Failures) > 0: // or a test that wants the task completed would miss it
		stopped := *out
		stopped.End = engine.EndStopped
		return nil, out.Restored, &stopped
	}
	if err := json.Unmarshal(out.Data, &before); err != nil {
		b.fault("the result of Trace is %s: %v", out.Data, err)
	}
	return before, out.Restored, nil
}

func (b *realBrowser) last(ctx context.Context, st engine.TaskEnv, until time.Time) engine.End {
	wait, err := engine.Parse(fmt.Appendf(nil, `{"actions":[{"wait":%d}]}`, max(time.Until(until), 0).Milliseconds()+1), nil)
	if err != nil {
		b.fault("wait until %v: %v", until, err)
		return engine.EndStopped
	}
	return b.Play(ctx, wait, silentEnv(st)).End
}

// silentEnv is the environment for a task in the real browser: its steps are
// reported to nobody.
func silentEnv(st engine.TaskEnv) engine.TaskEnv {
	return engine.TaskEnv{Account: st.Account, Plan: st.Plan, TaskID: st.TaskID}
}

func (b *realBrowser) reset(ctx context.Context) error                   { return b.Reset(ctx) }
func (b *realBrowser) warm()                                             { b.Warm() }
func (b *realBrowser) save(ctx context.Context) (json.RawMessage, error) { return b.Save(ctx) }
func (b *realBrowser) restore(ctx context.Context, s json.RawMessage) error {
	return b.Restore(ctx, s, nil)
}
func (b *realBrowser) check(ctx context.Context) error { return b.Check(ctx) }
func (b *realBrowser) memory() int64                   { return b.Memory() }
func (b *realBrowser) gone() <-chan struct{}           { return b.Gone() }
func (b *realBrowser) close()                          { b.Close() }

func (b *realBrowser) kill() {
	if !b.signal(syscall.SIGKILL) {
		b.Close()
	}
	select {
	case <-b.Gone():
	case <-time.After(soon):
		b.fault("a browser was killed and is not gone after %v", soon)
		b.Close()
	}
}

func (b *realBrowser) stop(unresponsive bool) {
	sig := syscall.SIGCONT
	if unresponsive {
		sig = syscall.SIGSTOP
	}
	if !b.signal(sig) {
		b.fault("a browser cannot be stopped: it does not say which process it is")
	}
}

// signal sends a signal to the browser's process. It reports whether there is
// one; one that has ended meanwhile needs no signal.
func (b *realBrowser) signal(sig syscall.Signal) bool {
	in, ok := b.Instance.(interface{ PID() int })
	if !ok {
		return false
	}
	select {
	case <-b.Gone():
	default:
		if err := syscall.Kill(in.PID(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			b.fault("signal %v: %v", sig, err)
		}
	}
	return true
}
