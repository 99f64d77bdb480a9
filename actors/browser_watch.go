package actors

import (
	"context"
	"time"
)

// watch follows a browser to its end, asks it now and then whether it is well,
// and looks at its memory. What it finds is said to the worker.
//
// A process that was stopped, or that hangs, closes nothing: without the
// asking, a worker would stay online with a browser that answers no task.
func (b *browser) monitor(n *nodeParts, say func(any)) {
	cfg := n.cfg.Browser
	check, end := every(cfg.CheckEvery)
	defer end()
	weighEvery := cfg.MemoryEvery
	if cfg.RenewMemory <= 0 {
		weighEvery = -1
	}
	weigh, end := every(weighEvery)
	defer end()
	for {
		select {
		case <-b.inst.Gone():
			say(&browserGone{browser: b})
			return
		case <-b.ctx.Done():
			return
		case <-check:
			b.check(n)
		case <-weigh:
			b.checkMemory(n, say)
		}
	}
}

// every ticks; not at all when the time is negative.
func every(d time.Duration) (tick <-chan time.Time, end func()) {
	if d < 0 {
		return nil, func() {}
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// check asks the browser once. One that does not answer is closed, which is
// news to whoever plays on it and to watch.
func (b *browser) check(n *nodeParts) {
	ctx, cancel := context.WithTimeout(b.ctx, n.cfg.Browser.CheckTimeout)
	defer cancel()
	err := n.bounded(ctx, func() error { return b.inst.Check(ctx) }, func() {})
	if err == nil {
		return
	}
	select {
	case <-b.ctx.Done():
	case <-b.inst.Gone():
	default:
		n.log.Error().Err(err).Str("worker", b.worker).Msg("browser closed: it does not answer")
		b.inst.Close()
	}
}

// weigh looks at the browser's memory once.
func (b *browser) checkMemory(n *nodeParts, say func(any)) {
	memory := b.inst.Memory()
	heavy := memory >= n.cfg.Browser.RenewMemory
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
