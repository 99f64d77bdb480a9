package engine

import "context"

var _ = define(Action[Selector]{
	Name: "check", Group: "Interaction",
	Doc:     "Checks a checkbox, a radio button or a switch by clicking it, or its label when it is hidden itself; does nothing when it is checked already. `role=checkbox`, `radio`, `switch` and `menuitemcheckbox` with `aria-checked` work too.",
	Value:   selectorShape,
	Example: `{"check":"#terms"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v Selector) (Result, error) {
		return nil, r.check(ctx, s, v, true)
	},
})

var _ = define(Action[Selector]{
	Name: "uncheck", Group: "Interaction",
	Doc:     "Unchecks a checkbox or a switch by clicking it. A radio button cannot be unchecked.",
	Value:   selectorShape,
	Example: `{"uncheck":"#newsletter"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v Selector) (Result, error) {
		return nil, r.check(ctx, s, v, false)
	},
})

func (r *Run) check(ctx context.Context, s *Step, v Selector, want bool) error {
	var p struct {
		spot
		Done bool `json:"done"`
	}
	if err := r.ask(ctx, s, "check", v, map[string]any{"want": want, "force": true}, &p); err != nil || p.Done {
		return err
	}
	r.input = true
	if p.Covered != "" {
		r.warn("%q is covered by %s: clicked through the DOM", v.String(), p.Covered)
		if err := r.ask(ctx, s, "clickByScript", v, nil, nil); err != nil {
			return err
		}
	} else {
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return err
		}
		if err := t.Click(ctx, p.Point); err != nil {
			return err
		}
	}
	// A framework may set the state a moment later, or undo it.
	return r.ask(ctx, s, "checked", v, map[string]any{"want": want}, nil)
}
