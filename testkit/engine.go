package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"troupe/engine"
)

// Engine is an engine that follows scripts. Its methods may be called at any
// time from any goroutine.
type Engine struct {
	// Default gives the script of a task that has none of its own. Set it
	// before the actors start; nil: the zero script.
	Default func(Call) Script
	// LaunchTakes is how long each browser needs to start. Set it before the
	// actors start, or with SetLaunchTakes.
	LaunchTakes time.Duration
	// Backend runs the scripted browsers as real ones; nil: they are fake. Set it
	// before the actors start.
	Backend *Backend

	mu            sync.Mutex
	scripts       map[string]Script
	browsers      map[string]*Browser // the last of each worker
	open          map[*Browser]bool
	launches      map[string]int
	failing       map[string]int
	resets        map[string][]Reset
	saves         map[string][]Save
	restores      map[string]error
	diesRestoring map[string]int
	memory        map[string]int64
	memoryReads   map[string]int
	warmed        map[string]int
	viewers       map[string]int
	unresponsive  map[string]bool
	playing       map[string]bool // by task
	plays         []Played

	faultsMu sync.Mutex
	faults   []string
}

// Played is one task that was played.
type Played struct {
	Worker string
	Task   string
	Began  time.Time
	Ended  time.Time
}

// NewEngine returns an engine without any scripts.
func NewEngine() *Engine {
	return &Engine{
		scripts: map[string]Script{}, browsers: map[string]*Browser{}, open: map[*Browser]bool{}, launches: map[string]int{},
		failing: map[string]int{}, resets: map[string][]Reset{}, saves: map[string][]Save{}, restores: map[string]error{}, diesRestoring: map[string]int{},
		playing: map[string]bool{}, memory: map[string]int64{}, memoryReads: map[string]int{}, warmed: map[string]int{}, viewers: map[string]int{}, unresponsive: map[string]bool{},
	}
}

// Script sets how the task with this id goes.
func (e *Engine) Script(task string, s Script) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.scripts[task] = s
}

// FailLaunches makes the next n launches of a worker's browser fail.
func (e *Engine) FailLaunches(worker string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing[worker] = n
}

// SetLaunchTakes sets how long each browser needs to start from now on.
func (e *Engine) SetLaunchTakes(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.LaunchTakes = d
}

// OnReset sets how the next resets of a worker go, in this order.
func (e *Engine) OnReset(worker string, r ...Reset) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resets[worker] = append(e.resets[worker], r...)
}

// OnSave sets how the state of the worker's browser is read the next times, in
// this order.
func (e *Engine) OnSave(worker string, s ...Save) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.saves[worker] = append(e.saves[worker], s...)
}

// FailRestores makes every restoring of a session on the worker fail.
func (e *Engine) FailRestores(worker string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.restores[worker] = err
}

// DieRestoring lets the next n browsers of the worker die when a session's state
// is put into them.
func (e *Engine) DieRestoring(worker string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.diesRestoring[worker] = n
}

// SetMemory sets how many bytes the worker's browsers take from now on.
func (e *Engine) SetMemory(worker string, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memory[worker] = bytes
}

// MemoryReads returns how often the memory of the worker's browsers was read.
func (e *Engine) MemoryReads(worker string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.memoryReads[worker]
}

// Warmed returns how often the worker's browsers were told that no task waits.
func (e *Engine) Warmed(worker string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.warmed[worker]
}

// SetUnresponsive says whether the worker's browsers let checks wait from now on, as
// one does whose process was stopped.
func (e *Engine) SetUnresponsive(worker string, unresponsive bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unresponsive[worker] = unresponsive
	for b := range e.open {
		if b.worker == worker {
			b.body.stop(unresponsive)
		}
	}
}

// Kill ends the worker's browser as a crash does. It reports whether there was
// one.
func (e *Engine) Kill(worker string) bool {
	e.mu.Lock()
	b := e.browsers[worker]
	e.mu.Unlock()
	return b != nil && b.Kill()
}

// Open returns how many browsers are open.
func (e *Engine) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open)
}

// Launches returns how often a browser was started for the worker, successful
// or not.
func (e *Engine) Launches(worker string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.launches[worker]
}

// Playing reports whether a task is being played now.
func (e *Engine) Playing(task string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.playing[task]
}

// Plays returns what has been played so far, in the order of the ends.
func (e *Engine) Plays() []Played {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.plays)
}

// Faults returns in which ways browsers were misused.
func (e *Engine) Faults() []string {
	e.faultsMu.Lock()
	defer e.faultsMu.Unlock()
	return slices.Clone(e.faults)
}

func (e *Engine) fault(format string, args ...any) {
	e.faultsMu.Lock()
	defer e.faultsMu.Unlock()
	e.faults = append(e.faults, fmt.Sprintf(format, args...))
}

var errScripted = errors.New("the script says that it fails")

// Launch is part of [engine.Engine].
func (e *Engine) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	e.mu.Lock()
	e.launches[worker]++
	fails := e.failing[worker] > 0
	if fails {
		e.failing[worker]--
	}
	takes := e.LaunchTakes
	e.mu.Unlock()
	if err := pause(ctx, takes); err != nil {
		return nil, err
	}
	if fails {
		return nil, errScripted
	}
	b := &Browser{engine: e, worker: worker}
	if e.Backend == nil {
		b.body = &fakeBrowser{end: make(chan struct{})}
	} else {
		var err error
		if b.body, err = e.Backend.launch(ctx, worker, e.fault); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[b], e.browsers[worker] = true, b
	if e.unresponsive[worker] {
		b.body.stop(true)
	}
	return b, nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
