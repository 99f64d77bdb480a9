package actors

import (
	"context"
	"time"
)

// monitor follows a browser until it ends. It checks regularly whether the
// browser answers, and how much memory it takes, and reports to the worker.
//
// A process that is stopped or hangs closes nothing. Without the check, a worker
// would stay online with a browser that answers no task.
func (b *browser) monitor(n *nodeParts, report func(any)) {
	cfg := n.cfg.Browser
	check, end := every(cfg.CheckEvery)
	defer end()
	memoryEvery := cfg.MemoryEvery
	if cfg.RenewMemory <= 0 {
		memoryEvery = -1
	}
	memory, end := every(memoryEvery)
	defer end()
	for {
		select {
		case <-b.inst.Gone():
			report(&browserGone{browser: b})
			return
		case <-b.ctx.Done():
			return
		case <-check:
			b.check(n)
		case <-memory:
			b.checkMemory(n, report)
		}
	}
}

// every returns a ticker's channel; none when the time is negative.
func every(d time.Duration) (tick <-chan time.Time, end func()) {
	if d < 0 {
		return nil, func() {}
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// check asks the browser once whether it answers. A browser that does not is
// closed, which ends the task on it and its monitor.
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

// checkMemory reads the browser's memory once.
func (b *browser) checkMemory(n *nodeParts, report func(any)) {
	memory := b.inst.Memory()
	heavy := memory >= n.cfg.Browser.RenewMemory
	b.heavy.Store(heavy)
	if heavy {
		n.log.Info().Str("worker", b.worker).Int64("bytes", memory).Msg("browser takes much memory: it is replaced when nothing uses it")
		report(&renew{browser: b, heavy: true})
	}
}

// due reports whether the browser is to be replaced instead of cleaned. A browser
// that is large from its start would not get smaller.
func (b *browser) due(c BrowserConfig) bool {
	return c.RenewTasks > 0 && b.tasks >= c.RenewTasks ||
		c.RenewAge > 0 && time.Since(b.upSince) >= c.RenewAge ||
		b.heavy.Load() && b.tasks > 0
}
