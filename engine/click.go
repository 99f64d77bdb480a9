package engine

import (
	"context"

	"troupe/engine/browser"
)

var _ = define(Action[Selector]{
	Name: "click", Group: "Interaction",
	Doc: "Clicks an element with the pointer, at a point of it that can be seen, once it is visible, enabled and not moving. " +
		"If another element still covers it after a second, the click goes through the DOM instead (its event is not trusted then), with a warning that names what covers it; `force: false` makes that a failure.",
	Value:   selectorShape,
	Opts:    []Opt{opt("force", boolShape, "Whether a covered element is clicked through the DOM. Default: true.")},
	Example: `{"click":"#buy"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v Selector) (Result, error) {
		return nil, r.click(ctx, s, v, own(s, "force", true))
	},
})

// spot is where input for an element must go, or what covers it.
type spot struct {
	browser.Point
	Covered string `json:"covered"`
}

// click clicks an element as a person would, or through the DOM where that is
// allowed and the only way.
func (r *Run) click(ctx context.Context, s *Step, v Selector, force bool) error {
	var p spot
	if err := r.ask(ctx, s, "point", v, map[string]any{"force": force}, &p); err != nil {
		return err
	}
	if p.Covered != "" {
		r.warn("%q is covered by %s: clicked through the DOM", v.String(), p.Covered)
		err := r.ask(ctx, s, "clickByScript", v, nil, nil)
		r.input = true
		return err
	}
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return err
	}
	r.input = true
	return t.Click(ctx, p.Point)
}
