package engine

import (
	"context"

	"troupe/engine/lang"
)

var _ = define(leaveBy("break", "Ends the nearest `while`, `until` or `forEach` around it.", errBreak,
	`{"while":{"condition":"h1","do":[{"getText":"h1","options":{"push":"titles"}},{"break":true}]}}`))

var _ = define(leaveBy("continue", "Ends the iteration of the nearest `while`, `until` or `forEach` around it. The loop goes on with the next one.", errContinue,
	`{"while":{"condition":"#next","max":2,"do":[{"click":"#next"},{"continue":true},{"wait":1000}]}}`))

// leaveBy is an action that ends a list by an error.
func leaveBy(name, doc string, by error, example string) Action[struct{}] {
	return Action[struct{}]{
		Name: name, Group: "Control flow",
		Doc:     doc + " An `if`, `retry` or `try` in that loop can hold it. A `loop` cannot: it runs all its iterations.",
		Value:   lang.TrueShape,
		Instant: true,
		Example: example,
		Check: func(d *decoder, n *lang.Node, s *Step, _ struct{}) {
			if !d.leavable {
				d.Fault(n, "%s needs a while, until or forEach around it, and no loop between", name)
			}
		},
		Run: func(context.Context, *Run, *Step, struct{}) (Result, error) { return nil, by },
	}
}
