package browser

import (
	"context"
	"fmt"
	"slices"
)

// SetSize gives every tab, and those that come, a visible area of this size.
func (c *Context) SetSize(ctx context.Context, width, height int) error {
	c.mu.Lock()
	c.width, c.height = width, height
	tabs := slices.Clone(c.tabs)
	c.mu.Unlock()
	var sent []*pending
	for _, t := range tabs {
		sent = append(sent, t.sendSize(width, height))
	}
	for _, p := range sent {
		if err := p.wait(ctx, nil); err != nil {
			return fmt.Errorf("setting the size of the page: %w", err)
		}
	}
	return nil
}

// Size is the visible area of the context's tabs.
func (c *Context) Size() (int, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.width, c.height
}
