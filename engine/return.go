package engine

import (
	"context"

	"troupe/engine/lang"
)

// returned is what a task is to give.
type returned struct{ value lang.Template }

func (v returned) Keys(to map[string]bool) { v.value.Keys(to) }

func (v returned) asks() bool { return v.value.Asks() }

var _ = define(Action[returned]{
	Name: "return", Group: "Control flow",
	Doc: "Ends the list, also from inside other actions, and makes a value the task's `data`. In a [stored flow](../flows.md) it ends the flow, and the value is the result of `run`. Values are written as for `set`: `${key}` alone is a saved value, and functions can be in the place of values. " +
		"Responses of `waitForResponse` are still waited for, but not in `data`.",
	Value: lang.Shape[returned]{
		Words: lang.TemplateShape.Words, Schema: valueRef,
		Read: func(d *lang.Decoder, n *lang.Node) returned { return returned{lang.TemplateShape.Read(d, n)} },
	},
	Result:  "the value",
	Example: `{"return":{"shop":"Troupe","pages":[1,2],"first":{"$number":" 1 "}}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v returned) (Result, error) {
		value, err := r.make(ctx, s, v.value)
		if err != nil {
			return nil, err
		}
		r.returned = value
		return value, errReturn
	},
})
