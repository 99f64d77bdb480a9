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

// berth is where a group's browsers are: one that takes who comes, and others that
// are left one by one.
type berth struct {
	starting sync.Mutex // one start at a time

	mu     sync.Mutex
	newest *lodging // nil: the next who comes starts one
}

// lodging is one browser that is shared, while anybody uses it.
type lodging struct {
	browser *browser.Browser
	berth   *berth

	// These belong to berth.mu.
	account string // that has used it last
	users   int    // now
	most    int    // at one time so far
	came    int    // all that ever came
}

// worn reports whether a browser takes no more: each of its places has been taken
// anew once. Workers come anew when they are renewed, so nobody's browser becomes
// older than twice what was set for a worker's own, and one that has grown is left
// by all who renew because of it.
func (s *lodging) worn() bool { return s.came >= 2*s.most }

// memory is a user's part of what the browser takes.
func (s *lodging) memory() int64 {
	s.berth.mu.Lock()
	users := int64(max(s.users, 1))
	s.berth.mu.Unlock()
	return s.browser.Memory() / users
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

// enter returns the browser of the group that takes who comes, started if there is
// none. Whoever needs it no more must call leave.
func (g *berth) enter(ctx context.Context, o browser.Options) (*lodging, error) {
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
	g.newest = &lodging{browser: b, berth: g}
	g.mu.Unlock()
	if s := g.join(); s != nil {
		return s, nil
	}
	b.Close()
	return nil, browser.ErrGone
}

// join adds a user to the browser that takes who comes, if there is one.
func (g *berth) join() *lodging {
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

// leave ends a browser that nobody uses any more, or that has died.
func (s *lodging) leave() {
	s.berth.mu.Lock()
	s.users--
	last := s.users == 0 || ended(s.browser)
	if last && s.berth.newest == s {
		s.berth.newest = nil
	}
	s.berth.mu.Unlock()
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
	*lodging
	once sync.Once
	gone chan struct{} // closed when the browser has died or the worker has left
	left chan struct{} // closed when the worker leaves
}

func newTenant(s *lodging) *tenant {
	t := &tenant{lodging: s, gone: make(chan struct{}), left: make(chan struct{})}
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
	s := in.tenant.lodging
	s.berth.mu.Lock()
	same := s.account == account || s.account == ""
	s.berth.mu.Unlock()
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

// unclean is no account's name: who comes next has to clean up first.
const unclean = "\x00"

func (s *lodging) used(account string) {
	s.berth.mu.Lock()
	defer s.berth.mu.Unlock()
	s.account = account
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
	s, err := in.engine.berths.of(name).enter(ctx, o)
	if err != nil {
		return err
	}
	t, b := newTenant(s), s.browser
	c, err := in.newContext(ctx, b)
	if err == nil {
		err = c.Warm(ctx, false)
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
