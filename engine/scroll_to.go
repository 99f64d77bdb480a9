package engine

import (
	"context"

	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "scrollTo", Group: "Scrolling",
	Doc:     "Scrolls an element into view, in everything that scrolls around it. The element needs no size, as the mark at the end of an endless list has none. Actions that need an element do this by themselves; this one makes a page load what it loads only when it is seen.",
	Value:   lang.SelectorShape,
	Opts:    []Opt{opt("block", lang.EnumShape("where the element comes to stand", "start", "center", "end", "nearest"), "Where in the view the element comes to stand. Default: `center`.")},
	Example: `{"scrollTo":"footer"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		err := r.page.ask(ctx, s, "scrollTo", v, map[string]any{"block": own(s, "block", "center")}, nil)
		r.page.script = true
		return nil, err
	},
})
