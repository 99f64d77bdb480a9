package engine

import (
	"context"

	"troupe/engine/lang"
)

type branch struct {
	cond        lang.Condition
	then, other []Step
}

// Keys adds what the condition reads. The lists add their own as they run.
func (b branch) Keys(to map[string]bool) { b.cond.Keys(to) }

func (b branch) condition() *lang.Condition { return &b.cond }

func (b branch) lists() [][]Step { return [][]Step{b.then, b.other} }

var _ = define(Action[branch]{
	Name: "if", Group: "Control flow",
	Doc: "Runs one of two lists of actions. The condition is a selector (true if there is such an element now), a property of an element, a value of the data cache, or another of the conditions. " +
		"It is checked once, without waiting; a missing element or value is empty and not equal to anything.",
	Value: lang.Shape[branch]{
		Words: "{condition, then, else}", Schema: `{"type":"object","required":["condition","then"],"additionalProperties":false,"properties":{"condition":` + lang.ConditionRef + `,"then":{"$ref":"#/$defs/actions"},"else":{"$ref":"#/$defs/actions"}}}`,
	},
	Decode: func(d *decoder, n *lang.Node) (b branch) {
		s, was := d.step, d.inBranch
		var then, other *lang.Node
		has := false
		ok := d.ReadObject(n, "if",
			lang.Field("condition", func(f *lang.Node) { has = true; b.cond = lang.ConditionShape.Read(&d.Decoder, f) }),
			lang.Field("then", func(f *lang.Node) { then = f }),
			lang.Field("else", func(f *lang.Node) { other = f }),
		)
		if !ok {
			return b
		}
		if !has {
			d.Fault(n, "want a condition: a selector, {selector, property, operator, value}, {cached, operator, value} or another of the conditions")
		}
		d.inBranch = true
		if then == nil {
			d.Fault(n, "want then, the actions to run when the condition is true")
		} else {
			b.then = d.readSteps(then, s.Path+"/if/then/", s.Index)
		}
		if other != nil {
			b.other = d.readSteps(other, s.Path+"/if/else/", s.Index)
		}
		d.inBranch = was
		return b
	},
	Unbounded: true,
	Result:    "the last result of the list that ran, or `{\"success\":true}`",
	Example:   `{"if":{"condition":"#login","then":[{"click":"#login"}],"else":[{"getText":"h1"}]}}`, Page: "/login",
	Run: func(ctx context.Context, r *Run, s *Step, v branch) (Result, error) {
		is, err := decider{r, s}.decide(ctx, &v.cond)
		if err != nil {
			return nil, err
		}
		if is.yes {
			return r.list(ctx, v.then)
		}
		return r.list(ctx, v.other)
	},
})
