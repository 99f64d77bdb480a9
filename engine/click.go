package engine

import (
	"context"
	"time"

	"troupe/engine/browser"
)

var _ = define(Action[Selector]{
	Name: "click", Group: "Interaction",
	Doc: "Clicks an element with the pointer, at a point of it that can be seen, once it is visible, enabled and not moving. " +
		"If another element still covers it after a second, the click goes through the DOM instead (its event is not trusted then), with a warning that names what covers it; `force: false` makes that a failure.",
	Value: selectorShape,
	Opts: []Opt{
		opt("count", intShape("how many times", 1, 3), "How many times to click in quick succession: 2 is a double click. Default: 1."),
		opt("force", boolShape, "Whether a covered element is clicked through the DOM. Default: true."),
	},
	Example: `{"click":"#next"}`,
	Run: func(ctx context.Context, r *Run, s *Step, v Selector) (Result, error) {
		times := own(s, "count", 1)
		return nil, r.clickAt(ctx, s, v, func() (p spot, err error) {
			return p, r.ask(ctx, s, "point", v, map[string]any{"force": own(s, "force", true), "guard": true, "times": times}, &p)
		}, func(t *browser.Tab, ctx context.Context, p browser.Point) error { return t.ClickTimes(ctx, p, times) })
	},
})

// spot is where input for an element must go, or what covers it.
type spot struct {
	browser.Point
	Covered string `json:"covered"`
	Done    bool   `json:"done"` // nothing needs to be clicked
}

// clickAt clicks where look says, or through the DOM where that is allowed and
// the only way. A page that moves between the look and the click is looked at
// again: the page script keeps a click that would hit something else from it.
func (r *Run) clickAt(ctx context.Context, s *Step, v Selector, look func() (spot, error), press func(*browser.Tab, context.Context, browser.Point) error) error {
	for {
		p, err := look()
		if err != nil || p.Done {
			return err
		}
		r.input = sentAct
		if p.Covered != "" {
			r.warn("%q is covered by %s: clicked through the DOM", v.String(), p.Covered)
			err := r.ask(ctx, s, "clickByScript", v, map[string]any{"times": own(s, "count", 1)}, nil)
			r.input = sentAct
			return err
		}
		t, err := r.tabs.Tab(ctx)
		if err != nil {
			return err
		}
		t.Aim()
		if err := press(t, ctx, p.Point); err != nil || t.Hit(ctx) {
			return err
		}
		if time.Now().After(r.deadline) {
			return Problemf(CodeTimeout, "Element %q moved away from under the pointer again and again for %dms", v.String(), Millis(r.limit))
		}
	}
}
