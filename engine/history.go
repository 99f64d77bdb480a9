package engine

import (
	"context"

	"troupe/engine/lang"
)

var _ = define(Action[struct{}]{
	Name: "back", Group: "Tabs and history",
	Doc:     "Goes back in the tab's history and waits like `open`. It fails at once if there is no page to go back to.",
	Value:   lang.TrueShape,
	Opts:    []Opt{waitUntil, statusOption},
	Check:   watchesIdle[struct{}],
	Result:  arrivedResult,
	Example: `{"if":{"condition":"#next","then":[{"click":"#next"},{"back":true}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		return r.navigation.travel(ctx, s, -1, "back")
	},
})

var _ = define(Action[struct{}]{
	Name: "forward", Group: "Tabs and history",
	Doc:     "Goes forward in the tab's history, after `back`, and waits like `open`. It fails at once if there is no page to go forward to.",
	Value:   lang.TrueShape,
	Opts:    []Opt{waitUntil, statusOption},
	Check:   watchesIdle[struct{}],
	Result:  arrivedResult,
	Example: `{"if":{"condition":"#next","then":[{"click":"#next"},{"back":true},{"forward":true}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		return r.navigation.travel(ctx, s, 1, "forward")
	},
})
