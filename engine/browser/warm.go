package browser

import (
	"context"
	"fmt"
	"strings"
)

// Warm lets the blank tab's process do once what every first page needs: make our
// world, and compile the page script and its most frequent calls. The process
// stays when the tab leaves its blank page, so the next task's first page finds
// that done. With hands it also warms what aims and fills.
func (c *Context) Warm(ctx context.Context, withHands bool) error {
	for _, t := range c.Tabs() {
		if err := t.Script.evaluate(ctx, object+".run('rehearse',{})", nil); err != nil {
			return fmt.Errorf("warming a tab: %w", err)
		}
		if !withHands {
			continue
		}
		if _, err := t.Script.rehearseHands(ctx); err != nil {
			return fmt.Errorf("warming a tab's hands: %w", err)
		}
	}
	return nil
}

// rehearseHands says how many parts of it went well.
func (ps *PageScript) rehearseHands(ctx context.Context) (well int, err error) {
	at, err := ps.enter(ctx)
	if err != nil {
		return 0, err
	}
	ps.give(at, hands)
	err = ps.evaluate(ctx, strings.TrimSpace(rehearseHandsJS), &well)
	return well, err
}

// Handled reports whether a task has aimed at something or filled it, so that the
// next one probably will.
func (c *Context) Handled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handled
}

func (c *Context) handles() {
	c.mu.Lock()
	c.handled = true
	c.mu.Unlock()
}
