package testkit

import (
	"context"
	"strings"
	"time"

	"troupe/engine"
)

// Screencast is part of [engine.Screencaster]. A picture of a fake browser says
// which tasks have left a trace in it; a browser of a backend shows its page.
//
// It goes on after a Reset, which an engine must not do: the actors must not rely
// on its end.
func (b *Browser) Screencast(ctx context.Context, v engine.ScreencastOptions) <-chan []byte {
	if s, ok := b.body.(*realBrowser); ok {
		if below := engine.ScreencasterOf(s.Instance); below != nil {
			return below.Screencast(ctx, v)
		}
	}
	shown := make(chan []byte, 1)
	b.engine.watched(b.worker, 1)
	go func() {
		defer b.engine.watched(b.worker, -1)
		defer close(shown)
		tick := time.NewTicker(v.Every)
		defer tick.Stop()
		for {
			select {
			case <-shown:
			default:
			}
			shown <- b.picture()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			case <-b.Gone():
				return
			}
		}
	}()
	return shown
}

func (b *Browser) picture() []byte {
	i, ok := b.body.(*fakeBrowser)
	if !ok {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return []byte(strings.Join(i.traces, " "))
}

// watched counts the watchers of a worker's browsers.
func (e *Engine) watched(worker string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.viewers[worker] += n
}

// Viewers returns how many screencasts of the worker's browsers are open.
func (e *Engine) Viewers(worker string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.viewers[worker]
}
