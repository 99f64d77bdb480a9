package http

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// profileTurns lets the requests of this node for one profile wait in a line, so that
// they do not claim workers only to find the profile used.
type profileTurns struct {
	mu  sync.Mutex
	all map[string]*profileTurn
}

type profileTurn struct {
	users int
	held  chan struct{} // has room for the one whose turn it is; the others wait in order
}

// enter waits for the turn until ctx ends.
func (t *profileTurns) enter(ctx context.Context, profile string) (leave func(), ok bool) {
	t.mu.Lock()
	if t.all == nil {
		t.all = map[string]*profileTurn{}
	}
	of := t.all[profile]
	if of == nil {
		of = &profileTurn{held: make(chan struct{}, 1)}
		t.all[profile] = of
	}
	of.users++
	t.mu.Unlock()
	out := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.users--; of.users == 0 {
			delete(t.all, profile)
		}
	}
	select {
	case of.held <- struct{}{}:
		return func() { <-of.held; out() }, true
	default:
	}
	select {
	case of.held <- struct{}{}:
		return func() { <-of.held; out() }, true
	case <-ctx.Done():
		out()
		return nil, false
	}
}

// refusedBefore is the refusal of a request that reached no worker, nil for other errors.
func refusedBefore(err error) (no *api.Refusal) {
	errors.As(err, &no)
	return no
}

// inTurn runs a request. One that saves a profile waits until no other task does, as long
// as the request may wait for a worker, and tries again where another node was faster.
func inTurn[T any](ctx context.Context, s *Server, m *api.Execute, run func(context.Context, *api.Execute) (*T, error), refusal func(*T) *api.Refusal) (*T, error) {
	p := m.Task.Profile
	if !p.Waits() || m.Task.Queue != nil || s.cfg.Profiles == nil { // the queue has it wait for its turn
		return run(ctx, m)
	}
	until, cancel := context.WithTimeout(ctx, m.Task.QueueTimeout)
	defer cancel()
	busy := func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return api.Refuse(engine.CodeProfileBusy, "")
	}
	if m.Idempotency.Key == "" { // a repeated one gets the answer of the one that runs
		leave, ok := s.profileTurns.enter(until, m.Account.ID+"/"+p.Name)
		if !ok {
			return nil, busy()
		}
		defer leave()
	}
	for first := true; ; first = false {
		if m.Task.QueueTimeout == 0 && m.Idempotency.Key == "" {
			if used, err := s.cfg.Profiles.Used(ctx, m.Account.ID, p.Name); err != nil || used {
				if err == nil {
					err = busy()
				}
				return nil, err
			}
		}
		if m.Task.QueueTimeout > 0 && m.Idempotency.Key == "" {
			err := s.cfg.Profiles.Free(until, m.Account.ID, p.Name)
			if errors.Is(err, persistence.ErrProfileBusy) {
				return nil, busy()
			}
			if err != nil {
				return nil, err
			}
		}
		if !first {
			again := *m
			again.TaskID = actors.NewTaskID(time.Now())
			m = &again
		}
		x, err := run(ctx, m)
		if err != nil || until.Err() != nil {
			return x, err
		}
		if no := refusal(x); no == nil || no.Code != engine.CodeProfileBusy || m.Idempotency.Key != "" {
			return x, nil
		}
	}
}
