package engine

import (
	"context"
	"encoding/json"
	"strconv"

	"troupe/engine/lang"
)

// condition is one of: an element exists; a property of an element compares; a
// value of the data cache compares.
type condition struct {
	selector *lang.Selector
	property lang.Text
	cached   string
	operator string
	value    lang.Text
}

type branch struct {
	cond        condition
	then, other []Step
}

// Keys adds what the condition reads. The lists add their own as they run.
func (b branch) Keys(to map[string]bool) {
	if b.cond.selector != nil {
		b.cond.selector.Keys(to)
		b.cond.property.Keys(to)
	}
	if b.cond.cached != "" {
		to[b.cond.cached] = true
	}
	b.cond.value.Keys(to)
}

const conditionSchema = `{"anyOf":[{"type":"string","minLength":1},` +
	`{"type":"object","required":["selector","property","operator"],"additionalProperties":false,"properties":{"selector":{"type":"string","minLength":1},"property":{"type":"string","minLength":1},"operator":{"$ref":"#/$defs/operator"},"value":{"type":["string","number","boolean","null"]}}},` +
	`{"type":"object","required":["cached","operator"],"additionalProperties":false,"properties":{"cached":{"type":"string"},"operator":{"$ref":"#/$defs/operator"},"value":{"type":["string","number","boolean","null"]}}}]}`

var _ = define(Action[branch]{
	Name: "if", Group: "Control flow",
	Doc: "Runs one of two lists of actions. The condition is a selector (true if there is such an element now), `{selector, property, operator, value}` for a property of an element, or `{cached, operator, value}` for a value in the data cache. " +
		"Operators: `==`, `!=`, `>`, `<`, `>=`, `<=`, `contains`, `notContains`, `matches` (RE2, or `/re/flags`), `empty`, `notEmpty`. If both sides read as numbers, they are compared as numbers. The condition is checked once, without waiting; a missing element or value is empty and not equal to anything.",
	Value: lang.Shape[branch]{
		Words: "{condition, then, else}", Schema: `{"type":"object","required":["condition","then"],"additionalProperties":false,"properties":{"condition":` + conditionSchema + `,"then":{"$ref":"#/$defs/actions"},"else":{"$ref":"#/$defs/actions"}}}`,
	},
	Decode: func(d *decoder, n *lang.Node) (b branch) {
		s, was := d.step, d.inBranch
		var then, other *lang.Node
		has := false
		ok := d.ReadObject(n, "if",
			lang.Field("condition", func(f *lang.Node) { has = true; b.cond = readCondition(&d.Decoder, f) }),
			lang.Field("then", func(f *lang.Node) { then = f }),
			lang.Field("else", func(f *lang.Node) { other = f }),
		)
		if !ok {
			return b
		}
		if !has {
			d.Fault(n, "want a condition: a selector, {selector, property, operator, value} or {cached, operator, value}")
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
		yes, err := r.decide(ctx, s, v.cond)
		if err != nil {
			return nil, err
		}
		if yes {
			return r.list(ctx, v.then)
		}
		return r.list(ctx, v.other)
	},
})

func readCondition(d *lang.Decoder, n *lang.Node) (c condition) {
	if n.IsString() {
		s := lang.SelectorShape.Read(d, n)
		return condition{selector: &s}
	}
	var selector, property, cached, operator, value *lang.Node
	to := func(p **lang.Node) func(*lang.Node) { return func(f *lang.Node) { *p = f } }
	if !d.ReadObject(n, "a condition",
		lang.Field("selector", to(&selector)), lang.Field("property", to(&property)), lang.Field("cached", to(&cached)), lang.Field("operator", to(&operator)), lang.Field("value", to(&value)),
	) {
		return c
	}
	switch {
	case selector != nil && cached != nil:
		d.Fault(n, "want selector or cached in a condition, not both")
	case selector != nil:
		s := lang.SelectorShape.Read(d, selector)
		c.selector = &s
		if property == nil {
			d.Fault(n, `want property, the name of a property of the element such as "value" or "textContent"`)
		} else {
			c.property = lang.NonEmptyShape("property").Read(d, property)
		}
	case cached != nil:
		c.cached = lang.KeyShape.Read(d, cached)
		if property != nil {
			d.Fault(property, "property goes with selector, not with cached")
		}
	default:
		d.Fault(n, "want selector or cached in a condition")
	}
	if operator == nil {
		d.Fault(n, "want an operator in a condition")
		return c
	}
	c.operator = lang.EnumShape("an operator", lang.Operators...).Read(d, operator)
	unary := c.operator == "empty" || c.operator == "notEmpty"
	switch {
	case value == nil && !unary && n.Field("value") == nil:
		d.Fault(n, "want a value to compare with: only empty and notEmpty need none")
	case value != nil:
		c.value = readOperand(d, value)
	}
	if c.operator == "matches" && c.value.Fixed() {
		re, _ := c.value.Expand(nil)
		if err := lang.CheckPattern(re); err != nil && value != nil {
			d.Fault(value, "%q is no RE2 expression: %v", lang.Short(re, 100), err)
		}
	}
	return c
}

// readOperand reads what a condition compares with, as a text.
func readOperand(d *lang.Decoder, n *lang.Node) lang.Text {
	switch n.Kind {
	case '"':
		return lang.ParseText(n.Text)
	case '0':
		return lang.Literal(strconv.FormatFloat(n.Number, 'f', -1, 64))
	case 't':
		return lang.Literal("true")
	case 'f':
		return lang.Literal("false")
	}
	d.Fault(n, "want a string, a number or a boolean to compare with, not %s", n.TypeName())
	return lang.Text{}
}

// decide looks once.
func (r *Run) decide(ctx context.Context, s *Step, c condition) (bool, error) {
	if c.selector != nil {
		// Looking is bounded although the lists are not.
		var cancel context.CancelFunc
		ctx, cancel = r.bound(ctx, s)
		defer cancel()
		if c.operator == "" {
			var yes bool
			err := r.page.ask(ctx, s, "exists", *c.selector, nil, &yes)
			return yes, err
		}
	}
	want, err := c.value.Expand(r.cache)
	if err != nil {
		return false, err
	}
	var have json.RawMessage
	if c.selector != nil {
		name, err := c.property.Expand(r.cache)
		if err != nil {
			return false, err
		}
		if have, err = r.property(ctx, s, *c.selector, name); err != nil {
			return false, err
		}
	} else {
		have, _ = r.cache.Get(c.cached)
	}
	return lang.Compare(have, c.operator, want)
}

// property is a property of the first match, null without one.
func (r *Run) property(ctx context.Context, s *Step, v lang.Selector, name string) (json.RawMessage, error) {
	var p struct {
		Known bool            `json:"known"`
		Value json.RawMessage `json:"value"`
	}
	if err := r.page.ask(ctx, s, "property", v, map[string]any{"name": name}, &p); err != nil || p.Known {
		return p.Value, err
	}
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return nil, err
	}
	return t.PageProperty(ctx, name)
}
