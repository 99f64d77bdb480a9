package testkit

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Account returns an account of a plan.
func Account(id string, plan engine.Plan) api.Account { return api.Account{ID: id, Plan: plan} }

// Pro returns an account that may do everything.
func Pro(id string) api.Account { return Account(id, engine.Pro) }

// An Option changes a task.
type Option func(*engine.Task)

// Task returns a task of one step, changed by the options.
func Task(opts ...Option) *engine.Task {
	t := &engine.Task{Steps: make([]engine.Step, 1), Timeout: engine.DefaultTimeout}
	for _, o := range opts {
		o(t)
	}
	return t
}

// On names the worker.
func On(worker string) Option { return func(t *engine.Task) { t.WorkerID = worker } }

// Within sets the task's timeout.
func Within(d time.Duration) Option { return func(t *engine.Task) { t.Timeout = d } }

// Waiting lets the task wait for a worker.
func Waiting(d time.Duration) Option { return func(t *engine.Task) { t.QueueTimeout = d } }

// Empty takes the steps away.
func Empty() Option { return func(t *engine.Task) { t.Steps = nil } }

// Async makes the task an asynchronous one.
func Async() Option { return func(t *engine.Task) { t.Async = true } }

// Preserve reserves the worker after the task.
func Preserve() Option { return inSession(func(s *engine.Session) { s.Preserve = true }) }

// Continue names the session that the task is part of.
func Continue(id string) Option { return inSession(func(s *engine.Session) { s.ID = id }) }

// Close ends the session after the task.
func Close(id string) Option {
	return inSession(func(s *engine.Session) { s.ID, s.Close = id, true })
}

// Override takes over a reserved worker.
func Override() Option { return inSession(func(s *engine.Session) { s.Override = true }) }

// Lasting sets the session's timeout.
func Lasting(d time.Duration) Option { return inSession(func(s *engine.Session) { s.Timeout = d }) }

func inSession(f func(*engine.Session)) Option {
	return func(t *engine.Task) {
		if t.Session == nil {
			t.Session = &engine.Session{}
		}
		f(t.Session)
	}
}
