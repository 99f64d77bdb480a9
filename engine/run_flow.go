package engine

import (
	"context"

	"troupe/engine/lang"
)

// flowCall is one use of a flow, with its actions as they are played there.
type flowCall struct {
	flow    *Flow
	given   []argument
	steps   []Step
	several bool
}

// argument is what a parameter is given.
type argument struct {
	to     *Parameter
	value  lang.Template
	secret string // the name of a secret, where the parameter is one
}

func (c flowCall) Keys(to map[string]bool) {
	for _, a := range c.given {
		a.value.Keys(to)
	}
}

var withShape = lang.Shape[struct{}]{Words: "{parameter: value, …}", Schema: `{"type":"object","additionalProperties":` + valueRef + `}`, Read: func(*lang.Decoder, *lang.Node) struct{} { return struct{}{} }}

var _ = define(Action[flowCall]{
	Name: "run", Group: "Control flow",
	Doc: "Runs a stored flow: a list of actions that has parameters. The value is the name of the [flow](../flows.md), for the newest version, or its name and a version as in `sign-in@3`. " +
		"`with` beside it has the parameters: `{\"run\":\"sign-in\",\"with\":{\"user\":\"ada\"}}`. A flow has a data cache of its own, with its parameters in it: neither reads what the other has saved. It works on the same tabs. " +
		"Its actions follow the task's `config`. `iframe` in the options is for those of them that have none.",
	Value: lang.Shape[flowCall]{Words: "name of a flow, or name@version", Schema: `{"type":"string","pattern":"^` + flowName + `(@[1-9][0-9]*)?$"}`},
	Beside: []Opt{
		opt("with", withShape, "The values of the flow's parameters, by name. Values are written as for `set`: `${key}` alone is a saved value, and functions can be in the place of values."),
	},
	Decode:    readFlowCall,
	Unbounded: true,
	Result:    "what the flow returns, or what would be the `data` of a task with its actions",
	Example:   `{"run":"sign-in","with":{"user":"ada","password":"demo"}}`, Page: "/login",
	Run: runFlow,
})

func readFlowCall(d *decoder, n *lang.Node) (c flowCall) {
	s := d.step
	var with *lang.Node
	for _, f := range d.beside {
		with = f
	}
	reference, ok := d.ReadString(n, "the name of a flow")
	if !ok {
		return c
	}
	name, version, ok := ParseFlowReference(reference)
	if !ok {
		d.Fault(n, "want the name of a flow, such as sign-in or sign-in@3, not %q", reference)
		return c
	}
	f := d.findFlow(n, name, version)
	if f == nil {
		return c
	}
	c.flow = f.Flow
	c.given = d.readArguments(n, with, f.Flow)
	c.steps, c.several = d.enterFlow(n, f, s)
	return c
}

// readArguments reads the values of parameters as far as they are known.
func (d *decoder) readArguments(n, with *lang.Node, f *Flow) (all []argument) {
	given := map[string]bool{}
	if with != nil && !with.IsNull() {
		if !with.IsObject() {
			d.Fault(with, `want the parameters by name, an object such as {"user":"ada"}, not %s`, with.TypeName())
			return nil
		}
		for _, v := range with.Fields {
			p := f.parameter(v.Key)
			if p == nil {
				d.Fault(v, "the flow %q has no parameter %q%s", f.Reference(), v.Key, d.DidYouMean(v.Key, f.parameterNames))
				continue
			}
			given[v.Key] = true
			if a, ok := d.readArgument(v, p); ok {
				all = append(all, a)
			} else if v.IsNull() {
				given[v.Key] = false // null is what many clients send for "not set"
			}
		}
	}
	for _, p := range f.Parameters {
		if p.Required && !given[p.Name] {
			at := n
			if with != nil {
				at = with
			}
			d.Fault(at, "the flow %q needs the parameter %q, %s", f.Reference(), p.Name, p.wants())
		}
	}
	return all
}

func (d *decoder) readArgument(n *lang.Node, p *Parameter) (a argument, ok bool) {
	switch {
	case n.IsNull():
		return a, false
	case p.Secret:
		t := lang.SecretTextShape("secret").Read(&d.Decoder, n)
		name, is := t.OneSecret()
		if !is && n.IsString() {
			d.Fault(n, "want a secret of the account for the parameter %q, %s, and nothing else", p.Name, "${secret:NAME}")
		}
		return argument{to: p, secret: name}, is
	}
	a = argument{to: p, value: lang.TemplateShape.Read(&d.Decoder, n)}
	if k := a.value.Kind(); k != 0 && !isOfType(k, p.Type) {
		d.Fault(n, "want %s for the parameter %q, not %s", typeWords[p.Type], p.Name, n.TypeName())
	}
	return a, true
}

// wants says what a parameter takes, for people.
func (p *Parameter) wants() string {
	if p.Secret {
		return "a secret of the account, ${secret:NAME}"
	}
	return typeWords[p.Type]
}

func runFlow(ctx context.Context, r *Run, s *Step, c flowCall) (Result, error) {
	scope, err := r.scopes.of(ctx, s, c)
	if err != nil {
		return nil, err
	}
	defer r.blocks.enter(s)()
	defer r.scopes.enter(scope)()
	if err := r.blocks.spend(1); err != nil {
		return nil, err
	}
	first := len(r.captures.list)
	res, err := r.list(ctx, c.steps)
	if leavesBy(err) == errReturn {
		res, err = r.returned, nil
	}
	if err != nil {
		r.captures.list = r.captures.list[:first] // nobody waits for them
		return nil, err
	}
	r.captures.collect(ctx, first)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if captured, any := r.captures.bodies(first, c.several); any && r.returned == nil {
		res = captured
	}
	r.captures.list = r.captures.list[:first]
	if of := c.flow.Result.Type; !isOfType(lang.KindOf(res), of) {
		return nil, Problemf(CodeInvalidValue, "the flow %q gave %s, but its result is %s", c.flow.Reference(), lang.KindName(lang.KindOf(res)), typeWords[of])
	}
	return res, nil
}
