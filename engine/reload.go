package engine

import (
	"context"
	"errors"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[struct{}]{
	Name: "reload", Group: "Tabs and history",
	Doc:     "Loads the current page anew and waits like `open`. A page that is the answer to a form is asked for with the form's data again.",
	Value:   lang.TrueShape,
	Opts:    []Opt{opt("ignoreCache", lang.BoolShape, "Whether to fetch everything anew that the browser has in its cache. Default: false."), waitUntil, statusOption},
	Check:   watchesIdle[struct{}],
	Result:  arrivedResult,
	Example: `{"reload":true}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		t, err := r.navigation.settledTab(ctx, s)
		if err != nil {
			return nil, err
		}
		sctx, cancel := r.page.strict(ctx)
		defer cancel()
		address, err := t.Navigation.Address(sctx)
		if err != nil {
			return nil, err
		}
		err = t.Navigation.Reload(sctx, own(s, "ignoreCache", false))
		switch {
		case errors.Is(err, browser.ErrStays):
			return nil, Problemf(CodeTimeout, "The page %s did not begin to arrive within %dms", address, Millis(r.limit))
		case err != nil:
			return nil, err
		}
		r.page.input, r.page.script = sentNothing, false
		return r.navigation.awaitLoad(ctx, s, t, address, address)
	},
})
