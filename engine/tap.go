package engine

import (
	"context"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "tap", Group: "Interaction",
	Doc:   "Touches an element with one finger: the page gets `touchstart`, `touchend` and pointer events of the type `touch`, and then `click` unless it prevents that. It waits and aims as `click` does.",
	Value: lang.SelectorShape,
	Opts: []Opt{
		opt("force", lang.BoolShape, "Whether a covered element is clicked through the DOM. Default: true."),
		opt("at", placeShape, "Where in the element to touch: CSS pixels from its left and its upper edge. Default: a point of it that can be seen, mostly its middle."),
	},
	Example: `{"tap":"#next"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		return nil, r.pointer.click(ctx, s, v, browser.Clicking{Times: 1, Touch: true})
	},
})
