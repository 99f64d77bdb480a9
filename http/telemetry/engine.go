package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/engine/scarce"
)

// Why a browser had to be started in the place of another one.
const (
	crashed  = "crashed"  // it died
	replaced = "replaced" // it was closed: for its age, with a drained worker, or because it could not be made clean
	notUp    = "not_up"   // it could not be started
)

// Engine stands before an engine and counts what goes through.
func (m *Metrics) Engine(e engine.Engine) engine.Engine {
	return &counted{Engine: e, metrics: m, last: map[string]*life{}}
}

type counted struct {
	engine.Engine
	metrics *Metrics

	mu   sync.Mutex
	last map[string]*life // by worker
}

func (c *counted) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	c.mu.Lock()
	before := c.last[worker]
	c.mu.Unlock()
	if before != nil {
		c.metrics.restarts.WithLabelValues(before.end()).Inc()
	}
	in, err := c.Engine.Launch(ctx, worker)
	if scarce.Note("start a browser", err) != nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) { // else nobody wants it any more
			c.begun(worker, &life{how: notUp})
		}
		return nil, err
	}
	l := &life{gone: in.Gone()}
	c.begun(worker, l)
	return &instance{Instance: in, metrics: c.metrics, life: l}, nil
}

func (c *counted) begun(worker string, l *life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[worker] = l
}

// life is what became of a browser. The next one may be started before this one
// was cancelled.
type life struct {
	gone <-chan struct{}

	mu  sync.Mutex
	how string // empty: not known yet
}

// end returns how the browser ended, or is about to.
func (l *life) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.how == "" {
		l.how = replaced
		select {
		case <-l.gone: // and nobody has closed it
			l.how = crashed
		default:
		}
	}
	return l.how
}

// died notes that a task has seen the end of the browser, or of its page.
func (l *life) died() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.how == "" {
		l.how = crashed
	}
}

type instance struct {
	engine.Instance
	metrics *Metrics
	life    *life
}

// Unwrap lets what else the instance can do be found.
func (in *instance) Unwrap() engine.Instance { return in.Instance }

func (in *instance) Close() {
	in.life.end() // looks before it is gone anyway
	in.Instance.Close()
}

func (in *instance) Play(ctx context.Context, task *engine.Task, st engine.TaskEnv) *engine.Outcome {
	began, m, measure := time.Now(), in.metrics, st.Measure
	if !st.Asked.IsZero() {
		waited := max(began.Sub(st.Asked), 0).Seconds() // a clock may have been put back
		m.wait.Observe(waited)
		if st.Queued {
			m.queuedWait.Observe(waited)
		}
	}
	st.Measure = func(s engine.StepReport) {
		if measure != nil {
			measure(s)
		}
		m.actions.WithLabelValues(s.Action).Observe(s.Millis / 1000)
		if s.Code != "" {
			m.actionErrors.WithLabelValues(s.Action, string(s.Code)).Inc()
		}
	}
	out := in.Instance.Play(ctx, task, st)
	end := "none" // a fault of the engine's
	if out != nil {
		if end = string(out.End); out.End == engine.EndCompleted && outcome.Failed(out) {
			end = endFailed
		}
	}
	if end == string(engine.EndCrashed) {
		in.life.died()
	}
	m.left(task, out)
	m.tasks.WithLabelValues(end, planOf(st.Plan)).Inc()
	m.duration.WithLabelValues(end).Observe(time.Since(began).Seconds())
	return out
}

// endFailed is the end of a task whose list ran to its end and that has failed all the same.
const endFailed = "failed"

// planOf bounds the values of a label.
func planOf(p engine.Plan) string {
	if _, err := engine.ParsePlan(string(p)); err != nil {
		return "unknown"
	}
	return string(p)
}
