package engine

import (
	"context"

	"troupe/engine/lang"
)

// assertion is a condition that must be true.
type assertion struct{ cond lang.Condition }

func (a assertion) Keys(to map[string]bool) { a.cond.Keys(to) }

func (a assertion) condition() *lang.Condition { return &a.cond }

var _ = define(Action[assertion]{
	Name: "assert", Group: "Control flow",
	Doc: "Stops the task with `assertion_failed` if a condition is not true, and says what was found. It looks once: use `waitForElement` before it to wait. " +
		"It stops the task whatever `config.continueOnError` says, also from inside other actions; a `try` or `retry` around it catches it. With `continueOnError: true` in its own options it fails like any other action.",
	Value: lang.Shape[assertion]{
		Words: lang.ConditionShape.Words, Schema: lang.ConditionShape.Schema,
		Read: func(d *lang.Decoder, n *lang.Node) assertion { return assertion{lang.ConditionShape.Read(d, n)} },
	},
	Ends:    true,
	Example: `{"assert":{"all":[{"title":["contains","Demo Shop"]},{"count":[".product",">=",10]}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v assertion) (Result, error) {
		is, err := decider{r, s}.judge(ctx, &v.cond)
		if err != nil || is.yes {
			return nil, err
		}
		return nil, Problemf(CodeAssertionFailed, "The assertion failed: %s", decider{r, s}.tells(is))
	},
})
