package engine

import (
	"context"
	"fmt"
)

// choice is a value of selectOption: a text, or a number for by: index.
type choice struct {
	text  Text
	index *int
}

func (c choice) keys(to map[string]bool) { c.text.keys(to) }

var _ = define(Action[Pair[Selector, choice]]{
	Name: "selectOption", Group: "Interaction",
	Doc: "Selects an option of a select element, by its value, its text or its 0-based index, with `input` and `change` events. In a select with `multiple` the option is added to what is selected. A warning says what is selected where the page puts back what it had, or makes something else of the choice. A missing option is waited for until the action's time is over, because a request may still bring it and nothing tells that none will; `options.timeout` shortens that wait.",
	Value: pairShape(selectorShape, Shape[choice]{
		Words: "value", Schema: `{"type":["string","number"]}`,
		read: func(d *decoder, n *node) choice {
			switch n.kind {
			case '"':
				return choice{text: parseText(n.str)}
			case '0':
				i := int(n.num)
				if float64(i) != n.num {
					return choice{text: parseText(fmt.Sprint(n.num))}
				}
				return choice{text: parseText(fmt.Sprint(i)), index: &i}
			}
			d.fault(n, "want the value, text or index of an option, not %s", n.isA())
			return choice{}
		},
	}),
	Opts:    []Opt{opt("by", enumShape("what to select by", "value", "text", "index"), "Default: `value`.")},
	Example: `{"selectOption":["#topic","An order"],"options":{"by":"text"}}`, Page: "/contact",
	Keys: func(v Pair[Selector, choice], to map[string]bool) {
		v.A.keys(to)
		v.B.keys(to)
	},
	Check: func(d *decoder, n *node, s *Step, v Pair[Selector, choice]) {
		if own(s, "by", "value") != "index" {
			return
		}
		if v.B.index == nil && v.B.text.Fixed() || v.B.index != nil && *v.B.index < 0 {
			d.fault(n.list[1], "want the 0-based index of an option, a whole number, for by: index")
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v Pair[Selector, choice]) (Result, error) {
		value, err := v.B.text.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		r.input = sentAct
		c, err := r.find("select", v.A, map[string]any{"by": own(s, "by", "value"), "value": value})
		if err != nil {
			return nil, err
		}
		res, err := r.call(ctx, s, c)
		r.input = sentAct
		return res, err
	},
})
