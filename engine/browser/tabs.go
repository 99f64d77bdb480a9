package browser

import (
	"context"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// TabInfo is an open tab as a task sees it.
type TabInfo struct {
	Tab     *Tab
	URL     string
	Title   string
	Current bool
}

// List describes the open tabs in the order in which they were opened.
func (c *Context) List(ctx context.Context) ([]TabInfo, error) {
	var all struct {
		TargetInfos []struct {
			ID    target.ID `json:"targetId"`
			Title string    `json:"title"`
			URL   string    `json:"url"`
		} `json:"targetInfos"`
	}
	if err := c.b.root.call(ctx, target.CommandGetTargets, nil, &all); err != nil {
		return nil, fmt.Errorf("listing the tabs: %w", err)
	}
	var list []TabInfo
	tabs := c.Tabs()
	for i, t := range tabs {
		one := TabInfo{Tab: t, Current: i == len(tabs)-1}
		for _, info := range all.TargetInfos {
			if info.ID == t.id {
				one.URL, one.Title = info.URL, info.Title
			}
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b TabInfo) int { return a.Tab.number - b.Tab.number })
	return list, nil
}

// Switch makes a tab the current one.
func (c *Context) Switch(ctx context.Context, t *Tab) error {
	c.mu.Lock()
	c.raise(t)
	c.mu.Unlock()
	if err := t.s.call(ctx, page.CommandBringToFront, nil, nil); err != nil {
		return fmt.Errorf("bringing a tab to the front: %w", err)
	}
	return nil
}

// CloseTab closes a tab and returns when it is closed or has had its time. The tab that
// was the current one before becomes the current one.
func (c *Context) CloseTab(ctx context.Context, t *Tab) {
	closing := c.b.closeTab(t.id)
	c.lost(t)
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	_ = closing.wait(ctx, nil) // one that closed itself meanwhile is closed too
	c.rezone(ctx)
}
