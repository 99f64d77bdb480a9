package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/engine/browser"
)

// Workers of one group share a browser: each has a context of its own in it,
// with its own cookies, storage and processes for its pages. That takes less
// memory than a browser each, and one crash takes all of them.

// disposeTime is how long a shared browser may take to let go of a context
// before it is ended for all who share it.
const disposeTime = 2 * time.Second

// berths are the browsers that are shared, by the names of their groups.
type berths struct {
	mu   sync.Mutex
	list map[string]*berth
}

// berth is the browser of a group, while anybody uses it.
type berth struct {
	starting sync.Mutex // one start at a time

	mu      sync.Mutex
	browser *browser.Browser
	users   int
}

func (g *berths) of(name string) *berth {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.list == nil {
		g.list = map[string]*berth{}
	}
	if g.list[name] == nil {
		g.list[name] = new(berth)
	}
	return g.list[name]
}

// enter returns the group's browser, started if it does not run, and what to
// call when it is needed no more.
func (g *berth) enter(ctx context.Context, o browser.Options) (*browser.Browser, func(), error) {
	g.starting.Lock()
	defer g.starting.Unlock()
	if b, leave := g.join(nil); b != nil {
		return b, leave, nil
	}
	started, err := browser.Launch(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	b, leave := g.join(started)
	if b == nil {
		started.Close()
		return nil, nil, browser.ErrGone
	}
	return b, leave, nil
}

// join adds a user to the browser that runs, or to one that was just started.
func (g *berth) join(started *browser.Browser) (*browser.Browser, func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if started != nil {
		g.browser, g.users = started, 0
	}
	b := g.browser
	if b == nil || ended(b) {
		return nil, nil
	}
	g.users++
	return b, func() { g.leave(b) }
}

// leave ends a browser that nobody uses any more, or that has died.
func (g *berth) leave(b *browser.Browser) {
	g.mu.Lock()
	last := ended(b)
	if g.browser == b {
		if g.users--; g.users == 0 {
			g.browser, last = nil, true
		}
	}
	g.mu.Unlock()
	if last {
		b.Close()
	}
}

// ended reports whether a browser, or a worker's place in one, is gone.
func ended(b interface{ Gone() <-chan struct{} }) bool {
	select {
	case <-b.Gone():
		return true
	default:
		return false
	}
}

// tenant is the place of one worker in a shared browser.
type tenant struct {
	browser *browser.Browser
	leave   func()
	once    sync.Once
	gone    chan struct{} // closed when the browser has died or the worker has left
	left    chan struct{} // closed when the worker leaves
}

func newTenant(b *browser.Browser, leave func()) *tenant {
	t := &tenant{browser: b, leave: leave, gone: make(chan struct{}), left: make(chan struct{})}
	go func() {
		defer close(t.gone)
		select {
		case <-b.Gone():
		case <-t.left:
		}
	}()
	return t
}

// end disposes of the worker's context, which ends the processes of its pages.
// A browser that does not manage that is ended as a whole.
func (t *tenant) end(c *browser.Context) {
	t.once.Do(func() {
		if c != nil && !ended(t.browser) {
			ctx, cancel := context.WithTimeout(context.Background(), disposeTime)
			err := c.Close(ctx)
			cancel()
			if err != nil {
				t.browser.Close()
			}
		}
		t.leave()
		close(t.left)
	})
	<-t.gone
}

// launchShared gives a worker a context in its group's browser. One that ends
// while it is entered has ended for the others; a new one is started then.
func (in *instance) launchShared(ctx context.Context, name string, o browser.Options) error {
	err := in.moveIn(ctx, name, o)
	if errors.Is(err, browser.ErrGone) && ctx.Err() == nil {
		err = in.moveIn(ctx, name, o)
	}
	if err != nil {
		return fmt.Errorf("entering the shared browser: %w", err)
	}
	return nil
}

func (in *instance) moveIn(ctx context.Context, name string, o browser.Options) error {
	if in.door != nil {
		in.proxy = in.door.Addr()
	}
	b, leave, err := in.engine.berths.of(name).enter(ctx, o)
	if err != nil {
		return err
	}
	t := newTenant(b, leave)
	c, err := b.NewContext(ctx, in.proxy)
	if err == nil {
		err = c.Warm(ctx)
	}
	if errors.Is(err, browser.ErrGone) { // whoever comes next is to know it, too
		select {
		case <-b.Gone():
		case <-ctx.Done():
		}
	}
	if err != nil {
		t.end(c)
		return err
	}
	in.browser, in.tenant, in.tabs = b, t, c
	return nil
}
