package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/engine"
)

// overrun is how much longer than its context an engine's call is waited for.
const overrun = time.Second

var errOverrun = errors.New("it goes on after its time was over")

// launch starts a browser when it is its turn.
func (n *nodeParts) launch(live context.Context, worker string) (engine.Instance, error) {
	back, err := n.launches.acquire(live)
	if err != nil {
		return nil, err
	}
	defer back()
	began := time.Now()
	ctx, cancel := context.WithTimeout(live, n.cfg.Browser.LaunchTimeout)
	defer cancel()
	var inst engine.Instance
	err = n.bounded(ctx, func() (err error) {
		inst, err = n.cfg.Engine.Launch(ctx, worker)
		return err
	}, func() {
		if inst != nil {
			inst.Close()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("launch a browser: %w", err)
	}
	n.launchTimes.Add(time.Since(began))
	return inst, nil
}

// bounded calls f. It stops waiting for it soon after ctx has ended, and then
// calls late when f returns at last. A panic of f is an error.
func (n *nodeParts) bounded(ctx context.Context, f func() error, late func()) error {
	done := make(chan error, 1)
	n.background.Go(func() { done <- protect(f) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	more := time.NewTimer(overrun)
	defer more.Stop()
	select {
	case err := <-done:
		return err
	case <-more.C:
		n.background.Go(func() {
			<-done
			late()
		})
		return errOverrun
	}
}

// restore puts the state of a session into a new browser.
func restore(ctx context.Context, n *nodeParts, inst engine.Instance, session *actor.PID) error {
	s, err := ask[sessionRecalled](ctx, n.system, session, &sessionRecall{})
	if err != nil {
		return fmt.Errorf("recall the session: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Browser.LaunchTimeout)
	defer cancel()
	of := n.sessions.profileOf(session)
	profile, err := of.newest(ctx)
	if err != nil { // what is not there must not be saved
		n.log.Error().Err(err).Msg("session restored without the databases of its profile")
		of.giveUp("what it has could not be read when the session's browser was replaced")
	}
	if s.State == nil && profile == nil {
		return nil
	}
	err = n.bounded(ctx, func() error { return inst.Restore(ctx, s.State, profile) }, func() {})
	if err != nil {
		return fmt.Errorf("put the session back: %w", err)
	}
	return nil
}

// protect turns a panic into an error.
func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
