package engine

import (
	"context"
	"encoding/json"
	"strconv"
)

// condition is one of: an element exists; a property of an element compares; a
// value of the data cache compares.
type condition struct {
	selector *Selector
	property Text
	cached   string
	operator string
	value    Text
}

type branch struct {
	cond        condition
	then, other []Step
}

// keys adds what the condition reads; its lists are looked at as they run.
func (b branch) keys(to map[string]bool) {
	if b.cond.selector != nil {
		b.cond.selector.keys(to)
		b.cond.property.keys(to)
	}
	if b.cond.cached != "" {
		to[b.cond.cached] = true
	}
	b.cond.value.keys(to)
}

const conditionSchema = `{"anyOf":[{"type":"string","minLength":1},` +
	`{"type":"object","required":["selector","property","operator"],"additionalProperties":false,"properties":{"selector":{"type":"string","minLength":1},"property":{"type":"string","minLength":1},"operator":{"$ref":"#/$defs/operator"},"value":{"type":["string","number","boolean","null"]}}},` +
	`{"type":"object","required":["cached","operator"],"additionalProperties":false,"properties":{"cached":{"type":"string"},"operator":{"$ref":"#/$defs/operator"},"value":{"type":["string","number","boolean","null"]}}}]}`

var _ = define(Action[branch]{
	Name: "if", Group: "Control flow",
	Doc: "Runs one list or the other. The condition is a selector (true if there is such an element now), `{selector, property, operator, value}` about a property of an element, or `{cached, operator, value}` about a value of the data cache. " +
		"Operators: `==`, `!=`, `>`, `<`, `>=`, `<=`, `contains`, `notContains`, `matches` (RE2, or `/re/flags`), `empty`, `notEmpty`. Both sides are compared as numbers when both read as numbers. It looks once and never waits; what is missing is empty and unequal to everything.",
	Value: Shape[branch]{
		Words: "{condition, then, else}", Schema: `{"type":"object","required":["condition","then"],"additionalProperties":false,"properties":{"condition":` + conditionSchema + `,"then":{"$ref":"#/$defs/actions"},"else":{"$ref":"#/$defs/actions"}}}`,
		read: func(d *decoder, n *node) (b branch) {
			s, was := d.step, d.inBranch
			var then, other *node
			has := false
			ok := d.readMembers(n, "if", []member{
				{"condition", func(f *node) { has = true; b.cond = d.readCondition(f) }},
				{"then", func(f *node) { then = f }},
				{"else", func(f *node) { other = f }},
			})
			if !ok {
				return b
			}
			if !has {
				d.fault(n, "want a condition: a selector, {selector, property, operator, value} or {cached, operator, value}")
			}
			d.inBranch = true
			if then == nil {
				d.fault(n, "want then, the actions to run when the condition is true")
			} else {
				b.then = d.readSteps(then, s.Path+"/if/then/", s.Index)
			}
			if other != nil {
				b.other = d.readSteps(other, s.Path+"/if/else/", s.Index)
			}
			d.inBranch = was
			return b
		},
	},
	Unbounded: true,
	Result:    "the last result of the list that ran, else `{\"success\":true}`",
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

func (d *decoder) readCondition(n *node) (c condition) {
	if n.isString() {
		s := selectorShape.read(d, n)
		return condition{selector: &s}
	}
	var selector, property, cached, operator, value *node
	to := func(p **node) func(*node) { return func(f *node) { *p = f } }
	if !d.readMembers(n, "a condition", []member{
		{"selector", to(&selector)}, {"property", to(&property)}, {"cached", to(&cached)}, {"operator", to(&operator)}, {"value", to(&value)},
	}) {
		return c
	}
	switch {
	case selector != nil && cached != nil:
		d.fault(n, "want selector or cached in a condition, not both")
	case selector != nil:
		s := selectorShape.read(d, selector)
		c.selector = &s
		if property == nil {
			d.fault(n, `want property, the name of a property of the element such as "value" or "textContent"`)
		} else {
			c.property = nonEmpty("property").read(d, property)
		}
	case cached != nil:
		c.cached = keyShape.read(d, cached)
		if property != nil {
			d.fault(property, "property goes with selector, not with cached")
		}
	default:
		d.fault(n, "want selector or cached in a condition")
	}
	if operator == nil {
		d.fault(n, "want an operator in a condition")
		return c
	}
	c.operator = enumShape("an operator", operators...).read(d, operator)
	unary := c.operator == "empty" || c.operator == "notEmpty"
	switch {
	case value == nil && !unary && n.field("value") == nil:
		d.fault(n, "want a value to compare with: only empty and notEmpty need none")
	case value != nil:
		c.value = d.readOperand(value)
	}
	if c.operator == "matches" && c.value.Fixed() {
		re, _ := c.value.Expand(nil)
		if _, err := readPattern(re); err != nil && value != nil {
			d.fault(value, "%q is no RE2 expression: %v", short(re, 100), err)
		}
	}
	return c
}

// readOperand reads what a condition compares with, as a text.
func (d *decoder) readOperand(n *node) Text {
	switch n.kind {
	case '"':
		return parseText(n.str)
	case '0':
		return Text{source: strconv.FormatFloat(n.num, 'f', -1, 64)}
	case 't':
		return Text{source: "true"}
	case 'f':
		return Text{source: "false"}
	}
	d.fault(n, "want a string, a number or a boolean to compare with, not %s", n.isA())
	return Text{}
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
			err := r.ask(ctx, s, "exists", *c.selector, nil, &yes)
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
	return compare(have, c.operator, want)
}

// property is a property of the first match, null without one.
func (r *Run) property(ctx context.Context, s *Step, v Selector, name string) (json.RawMessage, error) {
	var p struct {
		Known bool            `json:"known"`
		Value json.RawMessage `json:"value"`
	}
	if err := r.ask(ctx, s, "property", v, map[string]any{"name": name}, &p); err != nil || p.Known {
		return p.Value, err
	}
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return nil, err
	}
	return t.PageProperty(ctx, name)
}
