package engine

import (
	"context"
	"fmt"

	"troupe/engine/lang"
)

// choice is a value of selectOption: a text, or a number for by: index.
type choice struct {
	text  lang.Text
	index *int
}

func (c choice) Keys(to map[string]bool) { c.text.Keys(to) }

var _ = define(Action[lang.Pair[lang.Selector, choice]]{
	Name: "selectOption", Group: "Interaction",
	Doc: "Selects an option of a select element, or of the one that a label belongs to, by its value, text or 0-based index, with `input` and `change` events. In a select with `multiple` it adds the option to the selection. If the page restores its selection or changes it, a warning says what is selected. The action waits for a missing option up to its time, because a request may still bring it; `options.timeout` shortens that.",
	Value: lang.PairShape(lang.SelectorShape, lang.Shape[choice]{
		Words: "value", Schema: `{"anyOf":[{"type":"string"},{"type":"number"}]}`,
		Read: func(d *lang.Decoder, n *lang.Node) choice {
			switch n.Kind {
			case '"':
				return choice{text: lang.ParseText(n.Text)}
			case '0':
				i := int(n.Number)
				if float64(i) != n.Number {
					return choice{text: lang.ParseText(fmt.Sprint(n.Number))}
				}
				return choice{text: lang.ParseText(fmt.Sprint(i)), index: &i}
			}
			d.Fault(n, "want the value, text or index of an option, not %s", n.TypeName())
			return choice{}
		},
	}),
	Opts:    []Opt{opt("by", lang.EnumShape("what to select by", "value", "text", "index"), "Default: `value`.")},
	Example: `{"selectOption":["#topic","An order"],"options":{"by":"text"}}`, Page: "/contact",
	Keys: func(v lang.Pair[lang.Selector, choice], to map[string]bool) {
		v.A.Keys(to)
		v.B.Keys(to)
	},
	Check: func(d *decoder, n *lang.Node, s *Step, v lang.Pair[lang.Selector, choice]) {
		if own(s, "by", "value") != "index" {
			return
		}
		if v.B.index == nil && v.B.text.Fixed() || v.B.index != nil && *v.B.index < 0 {
			d.Fault(n.Elements[1], "want the 0-based index of an option, a whole number, for by: index")
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Pair[lang.Selector, choice]) (Result, error) {
		value, err := v.B.text.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		r.page.input = sentAct
		c, err := r.page.find("select", v.A, map[string]any{"by": own(s, "by", "value"), "value": value})
		if err != nil {
			return nil, err
		}
		res, err := r.page.call(ctx, s, c)
		r.page.input = sentAct
		return res, err
	},
})
