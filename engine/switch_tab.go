package engine

import (
	"context"
)

var _ = define(Action[tabChoice]{
	Name: "switchTab", Group: "Tabs and history",
	Doc: "Makes another tab the current one. The value is its index, or a pattern of its title or address. Tabs are counted from 0 in the order in which they were opened; -1 is the newest. " +
		"A pattern is a part of it, or a regular expression as in `waitForResponse`; of several tabs the newest is taken. It waits for a tab that is not open yet. Tabs that a page opens become the current one by themselves, also by a click with `Control` or `Shift`. So does a tab with a name that a link, a form or `window.open` uses again. A window that `window.open('', name)` takes without an address stays behind.",
	Value:   tabShape,
	Example: `{"switchTab":0}`,
	Run: func(ctx context.Context, r *Run, s *Step, v tabChoice) (Result, error) {
		t, err := v.await(ctx, r)
		if err != nil {
			return nil, err
		}
		r.page.input, r.page.script = sentNothing, false
		return nil, r.tabs.Switch(ctx, t)
	},
})
