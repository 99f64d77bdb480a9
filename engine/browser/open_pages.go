package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/target"
)

// OpenPages is how many pages the browser still has of the context: none after Close.
func (c *Context) OpenPages(ctx context.Context) (int, error) {
	var all struct {
		TargetInfos []struct {
			BrowserContextID string `json:"browserContextId"`
		} `json:"targetInfos"`
	}
	if err := c.b.root.call(ctx, target.CommandGetTargets, nil, &all); err != nil {
		return 0, fmt.Errorf("counting a context's pages: %w", err)
	}
	n := 0
	for _, t := range all.TargetInfos {
		if t.BrowserContextID == string(c.id) {
			n++
		}
	}
	return n, nil
}
