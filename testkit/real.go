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

// Footing is a real engine for a scripted one to stand on: what the script says
// then happens in real browsers, and in real time.
//
// Each browser that the scripted engine starts is one of the real engine's. A
// task really waits in it for as long as its script takes, and ends as the real
// one lets it end. Browsers are really cleaned, saved, restored, asked and
// weighed; delays and failures that the script has for that come on top. One
// that is to crash is killed, and one that is to be deaf is stopped: for that
// the engine's instances have a method PID() int, which gives the process. One
// without it is closed instead of killed.
//
// So what is tested with fake time and without browsers can be tested once more
// with those that it is for.
type Backend struct {
	Engine engine.Engine
	// Trace gives a task that leaves a trace of this name in the browser, and
	// whose result is an array of those that others had left there before. It is
	// played at the start of each task, for [Result]. See [Tracing].
	Trace func(name string) *engine.Task
}

// standing is the body of a browser that is one.
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
	case len(out.Failures) > 0: // whoever wants the task completed is to hear of it
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

// below is the stage for what is really played: nobody is to hear of its steps.
func silentEnv(st engine.TaskEnv) engine.TaskEnv {
	return engine.TaskEnv{Account: st.Account, Plan: st.Plan, TaskID: st.TaskID}
}

func (b *realBrowser) reset(ctx context.Context) error                   { return b.Reset(ctx) }
func (b *realBrowser) save(ctx context.Context) (json.RawMessage, error) { return b.Save(ctx) }
func (b *realBrowser) restore(ctx context.Context, s json.RawMessage) error {
	return b.Restore(ctx, s)
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

func (b *realBrowser) stop(deaf bool) {
	sig := syscall.SIGCONT
	if deaf {
		sig = syscall.SIGSTOP
	}
	if !b.signal(sig) {
		b.fault("a browser cannot be stopped: it does not say which process it is")
	}
}

// signal reports whether there is a process to send it to. One that has ended
// meanwhile needs none.
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
