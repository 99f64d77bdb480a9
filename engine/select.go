package engine

import (
	"context"
	"fmt"
	"strconv"

	"troupe/engine/lang"
)

// choice is a value of selectOption: a text, or a number for by: index.
type choice struct {
	text  lang.Text
	index *int
}

// choices is what selectOption selects: with list these and no others.
type choices struct {
	all  []choice
	list bool
}

func (c choices) Keys(to map[string]bool) {
	for _, one := range c.all {
		one.text.Keys(to)
	}
}

// mostChoices bounds a list of options.
const mostChoices = 1000

func readChoice(d *lang.Decoder, n *lang.Node) choice {
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
}

const choiceSchema = `{"type":"string"},{"type":"number"}`

var choicesShape = lang.Shape[choices]{
	Words: "value", Schema: `{"anyOf":[` + choiceSchema + `,{"type":"array","items":{"anyOf":[` + choiceSchema + `]},"maxItems":` + strconv.Itoa(mostChoices) + `}]}`,
	Read: func(d *lang.Decoder, n *lang.Node) (c choices) {
		if !n.IsArray() {
			if n.Kind != '"' && n.Kind != '0' {
				d.Fault(n, "want the value, text or index of an option, or an array of them, not %s", n.TypeName())
				return c
			}
			return choices{all: []choice{readChoice(d, n)}}
		}
		c.list = true
		if len(n.Elements) > mostChoices {
			d.Fault(n, "want at most %d options, not %d", mostChoices, len(n.Elements))
			return c
		}
		for _, e := range n.Elements {
			c.all = append(c.all, readChoice(d, e))
		}
		return c
	},
}

var _ = define(Action[lang.Pair[lang.Selector, choices]]{
	Name: "selectOption", Group: "Interaction",
	Doc: "Selects an option of a select element, or of the one that a label belongs to, by its value, text or 0-based index, with `input` and `change` events. In a select with `multiple` it adds the option to the selection; an array of options replaces the selection, and an empty one clears it. If the page restores its selection or changes it, a warning says what is selected. " +
		"The action waits for a missing option up to its time, because a request may still bring it; `options.timeout` shortens that. While it waits, it gives the select the focus and tells the page of a press, because some pages get their options then.",
	Value:   lang.PairShape(lang.SelectorShape, choicesShape),
	Opts:    []Opt{opt("by", lang.EnumShape("what to select by", "value", "text", "index"), "Default: `value`.")},
	Example: `{"selectOption":["#topic","An order"],"options":{"by":"text"}}`, Page: "/contact",
	Keys: func(v lang.Pair[lang.Selector, choices], to map[string]bool) {
		v.A.Keys(to)
		v.B.Keys(to)
	},
	Check: func(d *decoder, n *lang.Node, s *Step, v lang.Pair[lang.Selector, choices]) {
		if own(s, "by", "value") != "index" {
			return
		}
		for i, c := range v.B.all {
			if c.index == nil && c.text.Fixed() || c.index != nil && *c.index < 0 {
				at := n.Elements[1]
				if v.B.list {
					at = at.Elements[i]
				}
				d.Fault(at, "want the 0-based index of an option, a whole number, for by: index")
			}
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Pair[lang.Selector, choices]) (Result, error) {
		values := []string{}
		for _, c := range v.B.all {
			value, err := c.text.Expand(r.cache)
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		r.page.input = sentAct
		c, err := r.page.find("select", v.A, map[string]any{"by": own(s, "by", "value"), "values": values, "list": v.B.list})
		if err != nil {
			return nil, err
		}
		res, err := r.page.call(ctx, s, c)
		r.page.input = sentAct
		return res, err
	},
})
