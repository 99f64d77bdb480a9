package engine

import (
	"context"

	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "hover", Group: "Interaction",
	Doc:     "Moves the pointer over an element, so that `mouseenter`, `mouseover` and `mousemove` fire and `:hover` applies. If the element moves away from the pointer, the action moves the pointer aside and tries once more. If another element stays in front, the pointer goes there, with a warning.",
	Value:   lang.SelectorShape,
	Example: `{"hover":"a.link"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		p, err := r.pointer.hoverSpot(ctx, s, v)
		if err != nil {
			return nil, err
		}
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return nil, err
		}
		r.page.input = sentAct
		// Two moves: a pointer that is already there would not move at all.
		return nil, t.Input.Move(ctx, p.Near(), p.Point)
	},
})
