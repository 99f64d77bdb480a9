package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/target"
)

// NewTab opens a blank tab and makes it the current one. On a busy machine Chromium's process
// of a page may die while the page is made: nothing was in it, so it is made anew.
func (c *Context) NewTab(ctx context.Context) (*Tab, error) {
	for try := 1; ; try++ {
		t, err := c.openTab(ctx)
		if err == nil || t == nil || !t.Crashed() || try == newTabTries {
			return t, err
		}
		if err := t.bury(ctx); err != nil {
			return nil, err
		}
	}
}

// bury closes a tab whose page has died, and waits until it is no tab any more.
func (t *Tab) bury(ctx context.Context) error {
	if err := t.context.b.closeTab(t.id).wait(ctx, nil); err != nil {
		return fmt.Errorf("closing a tab that died: %w", err)
	}
	select {
	case <-t.closed:
		return nil
	case <-t.context.gone:
		return ErrGone
	case <-ctx.Done():
		return fmt.Errorf("closing a tab that died: %w", context.Cause(ctx))
	}
}

// newTabTries is how often a tab is opened that dies before it is ready.
const newTabTries = 3

// openTab opens a blank tab. One that is returned with an error was not ready.
func (c *Context) openTab(ctx context.Context) (*Tab, error) {
	if err := c.awaitExpected(ctx); err != nil { // which of them is ours could not be told
		return nil, err
	}
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.asked--
		c.mu.Unlock()
	}()
	var made target.CreateTargetResult
	err := c.b.root.call(ctx, target.CommandCreateTarget, target.CreateTargetParams{URL: blank, BrowserContextID: c.id}, &made)
	if err != nil {
		return nil, fmt.Errorf("opening a tab: %w", err)
	}
	// The browser attaches on its own; its word may come before or after the
	// answer.
	for {
		c.mu.Lock()
		for _, t := range c.tabs {
			if t.id == made.TargetID {
				c.raise(t)
				c.mu.Unlock()
				t.own()
				if err := t.ready.wait(ctx, nil); err != nil {
					return t, fmt.Errorf("setting up a tab: %w", err)
				}
				return t, nil
			}
		}
		changed, err := c.changed, c.err
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("opening a tab: %w", context.Cause(ctx))
		}
	}
}
