package actors

import (
	"context"
	"time"
)

// watch follows a browser to its end, and asks it now and then whether it is
// well. What it finds is said to the worker.
//
// A process that was stopped, or that hangs, closes nothing: without the
// asking, a worker would stay online with a browser that answers no task.
func (b *browser) watch(n *nodeParts, say func(any)) {
	every := n.cfg.Browser.CheckEvery
	var tick <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-b.inst.Gone():
			say(&browserGone{browser: b})
			return
		case <-b.ctx.Done():
			return
		case <-tick:
			b.check(n, say)
		}
	}
}

// check asks the browser once. One that does not answer is closed, which is
// news to whoever plays on it and to watch.
func (b *browser) check(n *nodeParts, say func(any)) {
	ctx, cancel := context.WithTimeout(b.ctx, n.cfg.Browser.CheckTimeout)
	defer cancel()
	var memory int64
	err := n.bounded(ctx, func() (err error) {
		memory, err = b.inst.Check(ctx)
		return err
	}, func() {})
	if err != nil {
		select {
		case <-b.ctx.Done():
		case <-b.inst.Gone():
		default:
			n.log.Error().Err(err).Str("worker", b.worker).Msg("browser closed: it does not answer")
			b.inst.Close()
		}
		return
	}
	most := n.cfg.Browser.RenewMemory
	heavy := most > 0 && memory >= most
	b.heavy.Store(heavy)
	if heavy {
		n.log.Info().Str("worker", b.worker).Int64("bytes", memory).Msg("browser takes much memory: it is replaced when nothing uses it")
		say(&renew{browser: b, heavy: true})
	}
}

// due reports whether the browser is to be replaced instead of cleaned. One
// that is large from its start would be no smaller after it.
func (b *browser) due(c BrowserConfig) bool {
	return c.RenewTasks > 0 && b.tasks >= c.RenewTasks ||
		c.RenewAge > 0 && time.Since(b.upSince) >= c.RenewAge ||
		b.heavy.Load() && b.tasks > 0
}
