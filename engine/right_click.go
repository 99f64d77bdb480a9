package engine

import (
	"context"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "rightClick", Group: "Interaction",
	Doc: "Clicks an element with the secondary button: the page gets `contextmenu` and `auxclick`. It waits and aims as `click` does. " +
		"A menu that the page draws can be clicked afterwards. The browser's own menu does not appear.",
	Value:   lang.SelectorShape,
	Opts:    clickOpts,
	Example: `{"rightClick":"#next"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		return nil, r.pointer.click(ctx, s, v, browser.Clicking{Times: 1, Button: browser.RightButton})
	},
})
