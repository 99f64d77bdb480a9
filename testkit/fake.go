package testkit

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"troupe/engine"
)

// backendBrowser is what a scripted browser runs on: a fake browser or a real
// one.
type backendBrowser interface {
	// visit looks which tasks have left a trace and leaves one. A nil outcome
	// means that the task may go on.
	visit(ctx context.Context, st engine.TaskEnv) (before []string, restored bool, out *engine.Outcome)
	// last goes on with the task until then, and says how it ends.
	last(ctx context.Context, st engine.TaskEnv, until time.Time) engine.End
	reset(ctx context.Context) error
	warm()
	save(ctx context.Context) (json.RawMessage, error)
	restore(ctx context.Context, state json.RawMessage) error
	check(ctx context.Context) error
	memory() int64
	gone() <-chan struct{}
	close()
	kill()          // returns when gone is closed
	stop(deaf bool) // stops the process, or lets it go on
}

// fakeBrowser is a browser without a process. It only remembers which tasks ran
// in it since it was clean.
type fakeBrowser struct {
	end  chan struct{}
	once sync.Once

	mu           sync.Mutex
	traces       []string
	restored     bool // no task has been played since a session's state was put back
	unresponsive bool
}

// visit returns which tasks have left a trace, and leaves one. A nil outcome
// means that the task may go on.
func (b *fakeBrowser) visit(_ context.Context, st engine.TaskEnv) (before []string, restored bool, _ *engine.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, restored = b.traces, b.restored
	b.traces, b.restored = append(before[:len(before):len(before)], st.TaskID), false
	return before, restored, nil
}

// last continues the task until the time, and says how it ends.
func (b *fakeBrowser) last(ctx context.Context, _ engine.TaskEnv, until time.Time) engine.End {
	left := time.Until(until)
	if left <= 0 {
		// No timer: two goroutines of one bubble that receive from timers which are due
		// already crash the race detector of Go 1.26.
		select {
		case <-ctx.Done():
			return engine.EndOf(ctx)
		case <-b.end:
			return engine.EndCrashed
		default:
			return engine.EndCompleted
		}
	}
	over := time.NewTimer(left)
	defer over.Stop()
	select {
	case <-over.C:
		return engine.EndCompleted
	case <-ctx.Done():
		return engine.EndOf(ctx)
	case <-b.end:
		return engine.EndCrashed
	}
}

func (b *fakeBrowser) reset(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.traces, b.restored = nil, false
	return nil
}

func (b *fakeBrowser) warm() {}

func (b *fakeBrowser) save(context.Context) (json.RawMessage, error) {
	select {
	case <-b.end:
		return nil, errScripted
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return json.Marshal(b.traces)
}

func (b *fakeBrowser) restore(_ context.Context, state json.RawMessage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restored = true
	return json.Unmarshal(state, &b.traces)
}

func (b *fakeBrowser) check(ctx context.Context) error {
	b.mu.Lock()
	unresponsive := b.unresponsive
	b.mu.Unlock()
	if unresponsive {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.end:
		}
	}
	select {
	case <-b.end:
		return errScripted
	default:
		return nil
	}
}

func (b *fakeBrowser) memory() int64         { return 0 }
func (b *fakeBrowser) gone() <-chan struct{} { return b.end }
func (b *fakeBrowser) kill()                 { b.once.Do(func() { close(b.end) }) }
func (b *fakeBrowser) close()                { b.kill() }

func (b *fakeBrowser) stop(unresponsive bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unresponsive = unresponsive
}
