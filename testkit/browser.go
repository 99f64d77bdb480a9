package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"troupe/engine"
)

// Browser is one scripted browser. All that it keeps is which tasks it has
// played since it was clean.
type Browser struct {
	engine *Engine
	worker string
	gone   chan struct{}
	once   sync.Once
	using  atomic.Int32 // Play and Reset must not meet

	mu       sync.Mutex
	traces   []string
	restored bool // no task has been played since a session's state was put back
}

// Worker returns the worker that the browser belongs to.
func (b *Browser) Worker() string { return b.worker }

// Play is part of [engine.Instance].
func (b *Browser) Play(ctx context.Context, t *engine.Task, st engine.Stage) *engine.Outcome {
	defer b.use("played")()
	b.mu.Lock()
	before := b.traces
	b.traces = append(b.traces[:len(b.traces):len(b.traces)], st.TaskID)
	restored := b.restored
	b.restored = false
	b.mu.Unlock()
	call := Call{Browser: b, Task: t, Stage: st}
	e := b.engine
	e.mu.Lock()
	s, ok := e.scripts[st.TaskID]
	delete(e.scripts, st.TaskID)
	e.mu.Unlock()
	if !ok && e.Default != nil {
		s = e.Default(call)
	}
	began := time.Now()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.plays = append(e.plays, Played{Worker: b.worker, Task: st.TaskID, Began: began, Ended: time.Now()})
	}()
	out := s.play(ctx, call, before)
	if out != nil && restored {
		copied := *out
		copied.Restored, out = true, &copied
	}
	return out
}

// use notes that the browser is in use and returns what ends that.
func (b *Browser) use(how string) func() {
	if b.using.Add(1) != 1 {
		b.engine.fault("a browser of %s was %s while it was in use", b.worker, how)
	}
	return func() { b.using.Add(-1) }
}

// Reset is part of [engine.Instance].
func (b *Browser) Reset(ctx context.Context) error {
	defer b.use("reset")()
	e := b.engine
	e.mu.Lock()
	var r Reset
	if next := e.resets[b.worker]; len(next) > 0 {
		r, e.resets[b.worker] = next[0], next[1:]
	}
	e.mu.Unlock()
	if r.Hang {
		<-b.gone
		return errScripted
	}
	if err := pause(ctx, r.Takes); err != nil {
		return err
	}
	b.mu.Lock()
	b.traces, b.restored = nil, false
	b.mu.Unlock()
	return r.Err
}

// Save is part of [engine.Instance].
func (b *Browser) Save(ctx context.Context) (json.RawMessage, error) {
	e := b.engine
	e.mu.Lock()
	var r Save
	if next := e.saves[b.worker]; len(next) > 0 {
		r, e.saves[b.worker] = next[0], next[1:]
	}
	e.mu.Unlock()
	if err := pause(ctx, r.Takes); err != nil {
		return nil, err
	}
	select {
	case <-b.gone:
		return nil, errScripted
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	state, err := json.Marshal(b.traces)
	return state, errors.Join(err, r.Err)
}

// Restore is part of [engine.Instance].
func (b *Browser) Restore(_ context.Context, state json.RawMessage) error {
	b.engine.mu.Lock()
	err := b.engine.restores[b.worker]
	dies := b.engine.dying[b.worker] > 0
	if dies {
		b.engine.dying[b.worker]--
	}
	b.engine.mu.Unlock()
	if dies {
		b.Kill()
		return errScripted
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restored = true
	return json.Unmarshal(state, &b.traces)
}

// Check is part of [engine.Instance].
func (b *Browser) Check(ctx context.Context) error {
	e := b.engine
	e.mu.Lock()
	deaf := e.deaf[b.worker]
	e.mu.Unlock()
	if deaf {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.gone:
		}
	}
	select {
	case <-b.gone:
		return errScripted
	default:
		return nil
	}
}

// Memory is part of [engine.Instance].
func (b *Browser) Memory() int64 {
	b.engine.mu.Lock()
	defer b.engine.mu.Unlock()
	return b.engine.memory[b.worker]
}

// Gone is part of [engine.Instance].
func (b *Browser) Gone() <-chan struct{} { return b.gone }

// Kill ends the browser as a crash does. It reports whether it lived.
func (b *Browser) Kill() (lived bool) {
	b.once.Do(func() {
		lived = true
		close(b.gone)
	})
	return lived
}

// Close is part of [engine.Instance].
func (b *Browser) Close() {
	b.Kill()
	b.engine.mu.Lock()
	defer b.engine.mu.Unlock()
	delete(b.engine.open, b)
}
