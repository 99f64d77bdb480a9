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

// Browser is one scripted browser.
type Browser struct {
	engine *Engine
	worker string
	body   backendBrowser
	killed sync.Once
	using  atomic.Int32 // Play and Reset must not meet

	turn sync.Mutex // of SaveProfile: others wait for it

	mu      sync.Mutex
	profile json.RawMessage // what the session's profile had when it was put in
	visits  []string        // tasks since then
}

// Worker returns the worker that the browser belongs to.
func (b *Browser) Worker() string { return b.worker }

// Play is part of [engine.Instance].
func (b *Browser) Play(ctx context.Context, t *engine.Task, st engine.TaskEnv) *engine.Outcome {
	b.turn.Lock()
	end := b.use("played")
	b.turn.Unlock()
	defer end()
	call := Call{Browser: b, Task: t, Env: st}
	e := b.engine
	e.mu.Lock()
	s, ok := e.scripts[st.TaskID]
	delete(e.scripts, st.TaskID)
	e.playing[st.TaskID] = true
	e.mu.Unlock()
	if !ok && e.Default != nil {
		s = e.Default(call)
	}
	if s.Hang {
		ctx = context.WithoutCancel(ctx)
	}
	began := time.Now()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.playing, st.TaskID)
		e.plays = append(e.plays, Played{Worker: b.worker, Task: st.TaskID, Began: began, Ended: time.Now()})
	}()
	b.visited(st)
	before, restored, out := b.body.visit(ctx, st)
	if out == nil {
		out = s.play(ctx, call, began, before)
	}
	if out != nil && restored && !out.Restored {
		copied := *out
		copied.Restored, out = true, &copied
	}
	return out
}

// visited puts the task's profile in, and counts the task.
func (b *Browser) visited(st engine.TaskEnv) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if st.Profile != nil {
		b.profile, b.visits, st.Profile.Loaded = st.Profile.State, nil, true
	}
	b.visits = append(b.visits, st.TaskID)
}

// SaveProfile is part of [engine.Instance]: a profile of [Visits].
func (b *Browser) SaveProfile(context.Context) (*engine.SavedProfile, error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.using.Load() != 0 {
		return nil, errScripted
	}
	select {
	case <-b.Gone():
		return nil, errScripted
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	had, err := TasksOf(b.profile)
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(visits{[]string{}, append(had, b.visits...)})
	return &engine.SavedProfile{State: state}, err
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
	b.turn.Lock()
	end := b.use("reset")
	b.turn.Unlock()
	defer end()
	e := b.engine
	e.mu.Lock()
	var r Reset
	if next := e.resets[b.worker]; len(next) > 0 {
		r, e.resets[b.worker] = next[0], next[1:]
	}
	e.mu.Unlock()
	if r.Hang {
		<-b.Gone()
		return errScripted
	}
	if err := pause(ctx, r.Takes); err != nil {
		return err
	}
	if r.Until != nil {
		select {
		case <-r.Until:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errors.Join(b.body.reset(ctx), r.Err)
}

// Warm is part of [engine.Instance].
func (b *Browser) Warm() {
	defer b.use("warmed")()
	b.engine.mu.Lock()
	b.engine.warmed[b.worker]++
	b.engine.mu.Unlock()
	b.body.warm()
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
	state, err := b.body.save(ctx)
	return state, errors.Join(err, r.Err)
}

// Restore is part of [engine.Instance].
func (b *Browser) Restore(ctx context.Context, state, profile json.RawMessage) error {
	b.engine.mu.Lock()
	err := b.engine.restores[b.worker]
	dies := b.engine.diesRestoring[b.worker] > 0
	if dies {
		b.engine.diesRestoring[b.worker]--
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
	b.profile, b.visits = profile, nil
	b.mu.Unlock()
	if state == nil {
		return nil
	}
	return b.body.restore(ctx, state)
}

// Check is part of [engine.Instance].
func (b *Browser) Check(ctx context.Context) error { return b.body.check(ctx) }

// Memory is part of [engine.Instance].
func (b *Browser) Memory() int64 {
	b.engine.mu.Lock()
	b.engine.memoryReads[b.worker]++
	bytes, ok := b.engine.memory[b.worker]
	b.engine.mu.Unlock()
	if !ok {
		return b.body.memory()
	}
	return bytes
}

// Gone is part of [engine.Instance].
func (b *Browser) Gone() <-chan struct{} { return b.body.gone() }

// Kill ends the browser as a crash does. It reports whether it lived.
func (b *Browser) Kill() (lived bool) {
	select {
	case <-b.Gone():
		return false
	default:
	}
	b.killed.Do(func() { lived = true })
	b.body.kill()
	return lived
}

// Close is part of [engine.Instance].
func (b *Browser) Close() {
	b.body.close()
	b.engine.mu.Lock()
	defer b.engine.mu.Unlock()
	delete(b.engine.open, b)
}
