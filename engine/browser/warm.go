package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Warm lets the blank tab's process do once what every first page needs: make our
// world, and compile the page script and its most frequent calls. The process
// stays when the tab leaves its blank page, so the next task's first page finds
// that done. With actions it also warms what aims and fills.
//
// A tab may still be on its way to its blank page, and the first call be meant for what
// it shows before that.
func (c *Context) Warm(ctx context.Context, withActions bool) error {
	for _, t := range c.Tabs() {
		err := t.warm(ctx, withActions)
		for errors.Is(err, ErrNewDocument) && ctx.Err() == nil {
			err = t.warm(ctx, withActions)
		}
		if err != nil {
			return fmt.Errorf("warming a tab: %w", err)
		}
	}
	return nil
}

func (t *Tab) warm(ctx context.Context, withActions bool) error {
	err := t.Script.evaluate(ctx, object+".run('rehearse',{})", nil)
	if err == nil && withActions {
		_, err = t.Script.rehearseActions(ctx)
	}
	return err
}

// rehearseActions says how many parts of it went well.
func (ps *PageScript) rehearseActions(ctx context.Context) (well int, err error) {
	at, err := ps.enter(ctx)
	if err != nil {
		return 0, err
	}
	ps.give(at, actions)
	err = ps.evaluate(ctx, strings.TrimSpace(rehearseActionsJS), &well)
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
