package engine

import (
	"context"

	"troupe/engine/lang"
)

var _ = define(Action[float64]{
	Name: "scrollY", Group: "Scrolling",
	Doc:     "Scrolls the page by this many CSS pixels: down, or up if negative. A very large number reaches the end. If the page as a whole does not scroll, its largest scrollable area does.",
	Value:   lang.NumberShape("pixels", -maxScroll, maxScroll),
	Example: `{"scrollY":600}`,
	Run: func(ctx context.Context, r *Run, s *Step, v float64) (Result, error) {
		return r.page.call(ctx, s, Call{Fn: "scroll", Arg: map[string]any{"y": v}})
	},
})

var _ = define(Action[float64]{
	Name: "scrollX", Group: "Scrolling",
	Doc:     "Scrolls the page sideways by this many CSS pixels: to the right, or to the left if negative.",
	Value:   lang.NumberShape("pixels", -maxScroll, maxScroll),
	Example: `{"scrollX":200}`,
	Run: func(ctx context.Context, r *Run, s *Step, v float64) (Result, error) {
		return r.page.call(ctx, s, Call{Fn: "scroll", Arg: map[string]any{"x": v}})
	},
})

// maxScroll is more than any page has.
const maxScroll = 1e9
