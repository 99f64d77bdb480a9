package engine

import (
	"context"
	"errors"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[struct{}]{
	Name: "back", Group: "Tabs and history",
	Doc:     "Goes back in the tab's history and waits like `open`. It fails at once if there is no page to go back to.",
	Value:   lang.TrueShape,
	Example: `{"if":{"condition":"#next","then":[{"click":"#next"},{"back":true}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		return nil, r.travel(ctx, s, -1, "back")
	},
})

var _ = define(Action[struct{}]{
	Name: "forward", Group: "Tabs and history",
	Doc:     "Goes forward in the tab's history, after `back`, and waits like `open`. It fails at once if there is no page to go forward to.",
	Value:   lang.TrueShape,
	Example: `{"if":{"condition":"#next","then":[{"click":"#next"},{"back":true},{"forward":true}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		return nil, r.travel(ctx, s, 1, "forward")
	},
})

// travel goes to another page of the current tab's history.
func (r *Run) travel(ctx context.Context, s *Step, by int64, where string) error {
	t, err := r.settledTab(ctx, s)
	if err != nil {
		return err
	}
	sctx, cancel := r.page.strict(ctx)
	defer cancel()
	address, err := t.Navigation.Go(sctx, by)
	switch {
	case errors.Is(err, browser.ErrNoHistory):
		return Problemf(CodeInvalidValue, "There is no page to go %s to: open and links make a history", where)
	case errors.Is(err, browser.ErrStays) && ctx.Err() == nil:
		return Problemf(CodeTimeout, "The tab did not go %s within %dms: the server has not answered, or the page keeps the tab", where, Millis(r.limit))
	case err != nil:
		return err
	}
	r.page.input, r.page.script = sentNothing, false
	return r.awaitLoad(ctx, s, t, address)
}

// settledTab is the current tab once what the last input began has begun: a page that
// is about to leave must not be asked to go elsewhere before.
func (r *Run) settledTab(ctx context.Context, s *Step) (*browser.Tab, error) {
	if r.page.input != sentNothing || r.page.script {
		if _, err := r.page.call(ctx, s, Call{Fn: "settled"}); err != nil {
			return nil, err
		}
	}
	return r.page.tab(ctx)
}
