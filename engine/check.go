package engine

import (
	"context"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[lang.Selector]{
	Name: "check", Group: "Interaction",
	Doc:     "Checks a checkbox, radio button or switch by clicking it, or its label if the input itself is hidden. Does nothing if it is already checked. Also works for the roles `checkbox`, `radio`, `switch`, `menuitemcheckbox` and `treeitem` with `aria-checked`, and for a text in the control or its label. A warning says if the menu has closed with the click, so that its state cannot be seen.",
	Value:   lang.SelectorShape,
	Example: `{"check":"#urgent"}`, Page: "/contact",
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		return nil, r.check(ctx, s, v, true)
	},
})

var _ = define(Action[lang.Selector]{
	Name: "uncheck", Group: "Interaction",
	Doc:     "Unchecks a checkbox or a switch by clicking it. A radio button cannot be unchecked.",
	Value:   lang.SelectorShape,
	Example: `{"uncheck":"#urgent"}`, Page: "/contact",
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Selector) (Result, error) {
		return nil, r.check(ctx, s, v, false)
	},
})

func (r *Run) check(ctx context.Context, s *Step, v lang.Selector, want bool) error {
	clicked := false
	err := r.pointer.clickAt(ctx, s, v, browser.Clicking{}, func(again bool) (p spot, err error) {
		p, err = r.pointer.aim(ctx, s, "check", v, map[string]any{"want": want, "force": true, "guard": true, "again": again})
		clicked = !p.Done
		return p, err
	}, (*browser.Input).Click)
	if err != nil || !clicked {
		return err
	}
	// A framework may set the state a moment later, or undo it.
	return r.page.ask(ctx, s, "checked", v, map[string]any{"want": want}, nil)
}
