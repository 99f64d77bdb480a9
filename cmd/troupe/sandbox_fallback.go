package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rs/zerolog"

	"troupe/cmd/troupe/doctor"
	"troupe/engine"
	"troupe/engine/browser"
)

// sandboxFallback starts browsers in their sandbox, and without it once it has
// seen that they start only so. One failed start is tried again, and once any
// browser has started in its sandbox, the fallback is never used.
type sandboxFallback struct {
	sandboxed, unsandboxed engine.Engine
	proved, gaveUp         atomic.Bool
	because                string // why it may be
	log                    zerolog.Logger
}

func (c *sandboxFallback) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	if c.gaveUp.Load() {
		return c.unsandboxed.Launch(ctx, worker)
	}
	in, err := c.sandboxed.Launch(ctx, worker)
	if err != nil && ctx.Err() == nil && !c.proved.Load() {
		in, err = c.sandboxed.Launch(ctx, worker)
	}
	if err == nil {
		c.proved.Store(true)
	}
	if err == nil || ctx.Err() != nil || c.proved.Load() || errors.As(err, new(*browser.FolderError)) { // a folder says nothing of the sandbox
		return in, err
	}
	in, bare := c.unsandboxed.Launch(ctx, worker)
	if bare != nil {
		return nil, err
	}
	if c.gaveUp.CompareAndSwap(false, true) {
		c.log.Warn().AnErr("sandbox", err).Msg("the browsers' sandbox does not work here: they run without it, because " + c.because +
			"; every page can do what the browser's user can. To have it, " + doctor.SandboxAdvice(err))
	}
	return in, nil
}
