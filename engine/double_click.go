package engine

import (
	"context"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "doubleClick", Group: "Interaction",
	Doc:     "Clicks an element twice in quick succession, as `click` does with `count: 2`: the page gets two `click` events and a `dblclick`.",
	Value:   lang.SelectorShape,
	Opts:    clickOpts,
	Example: `{"doubleClick":"#next"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		return nil, r.pointer.click(ctx, s, v, browser.Clicking{Times: 2})
	},
})
