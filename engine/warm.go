package engine

import (
	"context"
	"time"

	"troupe/engine/browser"
)

// coldContext is a new context in which nothing was done yet. What its first page needs is
// made ready while nobody waits: it takes a tenth of the processor time of a short task, and
// a task that waits would wait for it, too.
type coldContext struct {
	withActions bool       // also what aims and fills: the task before did
	done        chan error // how that went; nil: it has not begun
}

// warming bounds what is made ready ahead. A busy machine takes long for it.
const warming = 15 * time.Second

// Warm lets the blank page do what the next task's first page needs.
func (in *instance) Warm() {
	in.mu.Lock()
	c, cold := in.tabs, in.cold
	begins := cold != nil && cold.done == nil
	if begins {
		cold.done = make(chan error, 1)
	}
	in.mu.Unlock()
	if !begins {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), warming)
		defer cancel()
		cold.done <- c.Warm(ctx, cold.withActions)
	}()
}

// warmed waits for what Warm has begun. A new context that is not fit for a task is
// replaced.
func (in *instance) warmed(ctx context.Context) error {
	in.mu.Lock()
	c, cold := in.tabs, in.cold
	in.cold = nil
	in.mu.Unlock()
	if cold == nil {
		return nil
	}
	var err error
	if cold.done != nil {
		select {
		case err = <-cold.done:
		case <-ctx.Done(): // the task is told so when it plays
		}
	}
	if err == nil && !c.Crashed() || in.dead() {
		return nil
	}
	in.engine.Log.Debug().Err(err).Msg("browser context replaced: nothing can be done in it")
	return in.replaceFor(ctx, c)
}

// replaceFor puts a new context in the place of one for a task that waits. A task that is
// cancelled now is told so when it plays: nothing is broken.
func (in *instance) replaceFor(ctx context.Context, old *browser.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replacing)
	defer cancel()
	err := in.replace(ctx, old)
	in.mu.Lock()
	in.cold = nil
	in.mu.Unlock()
	return err
}
