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

// browserGroups are the groups of workers that share browsers, by name.
type browserGroups struct {
	mu   sync.Mutex
	list map[string]*browserGroup
}

// browserGroup has the browsers of one group: one that takes new workers, and older
// ones that their workers leave one by one.
type browserGroup struct {
	starting sync.Mutex // one start at a time

	mu     sync.Mutex
	newest *sharedBrowser // nil: the next worker starts one
}

// sharedBrowser is one browser that is shared, while anybody uses it.
type sharedBrowser struct {
	browser *browser.Browser
	group   *browserGroup

	// These belong to group.mu.
	account string // that has used it last
	users   int    // now
	most    int    // users at one time so far
	came    int    // users so far
}

// worn reports whether the browser takes no more workers: each of its places was
// taken a second time. A renewed worker takes a new place. So no worker's browser
// becomes older than twice the age set for a browser of its own, and all workers
// leave one that has grown.
func (s *sharedBrowser) worn() bool { return s.came >= 2*s.most }

// memory is a user's part of what the browser takes.
func (s *sharedBrowser) memory() int64 {
	s.group.mu.Lock()
	users := int64(max(s.users, 1))
	s.group.mu.Unlock()
	return s.browser.Memory() / users
}

// of returns the group with a name.
func (g *browserGroups) of(name string) *browserGroup {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.list == nil {
		g.list = map[string]*browserGroup{}
	}
	if g.list[name] == nil {
		g.list[name] = new(browserGroup)
	}
	return g.list[name]
}

// enter returns the browser of the group that takes new workers, and starts one if
// there is none. The caller must call leave in the end.
func (g *browserGroup) enter(ctx context.Context, o browser.Options) (*sharedBrowser, error) {
	g.starting.Lock()
	defer g.starting.Unlock()
	if s := g.join(); s != nil {
		return s, nil
	}
	b, err := browser.Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.newest = &sharedBrowser{browser: b, group: g}
	g.mu.Unlock()
	if s := g.join(); s != nil {
		return s, nil
	}
	b.Close()
	return nil, browser.ErrGone
}

// join adds a user to the browser that takes new workers, if there is one.
func (g *browserGroup) join() *sharedBrowser {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.newest
	if s == nil || ended(s.browser) || s.came > 0 && s.worn() {
		return nil
	}
	s.came++
	s.users++
	s.most = max(s.most, s.users)
	return s
}

// leave takes a user off the browser, and closes it after the last one or when it
// has died.
func (s *sharedBrowser) leave() {
	s.group.mu.Lock()
	s.users--
	last := s.users == 0 || ended(s.browser)
	if last && s.group.newest == s {
		s.group.newest = nil
	}
	s.group.mu.Unlock()
	if last {
		s.browser.Close()
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
	*sharedBrowser
	once sync.Once
	gone chan struct{} // closed when the browser has died or the worker has left
	left chan struct{} // closed when the worker leaves
}

func newTenant(s *sharedBrowser) *tenant {
	t := &tenant{sharedBrowser: s, gone: make(chan struct{}), left: make(chan struct{})}
	go func() {
		defer close(t.gone)
		select {
		case <-s.browser.Gone():
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
			if err != nil {
				t.browser.Close()
			} else if t.browser.WipeClipboard(ctx) != nil { // the others go on in it
				t.used(unclean)
			}
			cancel()
		}
		t.leave()
		close(t.left)
	})
	<-t.gone
}

// forAccount prepares a shared browser for a task. Another account may have used
// it last and be gone from it without a reset: its clipboard goes, too.
func (in *instance) forAccount(ctx context.Context, account string) error {
	if in.tenant == nil {
		return nil
	}
	s := in.tenant.sharedBrowser
	s.group.mu.Lock()
	same := s.account == account || s.account == ""
	s.group.mu.Unlock()
	if !same {
		ctx, cancel := context.WithTimeout(ctx, disposeTime)
		defer cancel()
		if err := in.browser.WipeClipboard(ctx); err != nil {
			return err
		}
	}
	s.used(account)
	return nil
}

// unclean is no account's name: the next worker has to clean up first.
const unclean = "\x00"

func (s *sharedBrowser) used(account string) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	s.account = account
}

// launchShared gives a worker a context in its group's browser. One that ends
// while it is entered has ended for the others; a new one is started then.
func (in *instance) launchShared(ctx context.Context, name string, o browser.Options) error {
	err := in.joinShared(ctx, name, o)
	if errors.Is(err, browser.ErrGone) && ctx.Err() == nil {
		err = in.joinShared(ctx, name, o)
	}
	if err != nil {
		return fmt.Errorf("entering the shared browser: %w", err)
	}
	return nil
}

func (in *instance) joinShared(ctx context.Context, name string, o browser.Options) error {
	if in.door != nil {
		in.proxy = in.door.Addr()
	}
	s, err := in.engine.groups.of(name).enter(ctx, o)
	if err != nil {
		return err
	}
	t, b := newTenant(s), s.browser
	c, err := in.newContext(ctx, b)
	if err == nil {
		err = c.Warm(ctx, false)
	}
	if errors.Is(err, browser.ErrGone) { // the next task must know it, too
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
