package engine

import (
	"context"

	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "focus", Group: "Interaction",
	Doc:     "Gives an element the focus, so that keys go to it: `type`, `press` with `null` and `paste` with `null` use it then. A label gives it to its control. If the element does not take the focus, a warning says what has it.",
	Value:   lang.SelectorShape,
	Example: `{"focus":"#q"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		err := r.page.focusTold(ctx, v, func() error { return r.page.ask(ctx, s, "focus", v, map[string]any{}, nil) })
		r.page.input = sentAct
		return nil, err
	},
})
