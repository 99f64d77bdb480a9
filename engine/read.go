package engine

import "troupe/engine/lang"

var _ = define(Action[lang.Selector]{
	Name: "getText", Group: "Data extraction",
	Doc: "Returns the text of an element with everything in it, trimmed. It is the `textContent`: `<br>` and the ends of blocks add no space, and hidden parts count. " +
		"With `visible: true` it returns the text that a person reads. That leaves out what is hidden, transparent or only for screen readers. It includes shadow roots, content of style sheets, a new line for each block and `<br>`, and the values of fields except passwords.",
	Value:   lang.SelectorShape,
	Opts:    []Opt{opt("visible", lang.BoolShape, "Whether to return only the text that a person reads. Default: false.")},
	Result:  "string",
	Example: `{"getText":"h1"}`,
	Read: func(r *Run, s *Step, v lang.Selector) (Call, error) {
		return r.page.find(map[bool]string{true: "shown", false: "text"}[own(s, "visible", false)], v, nil)
	},
})

var _ = define(Action[lang.Selector]{
	Name: "getHTML", Group: "Data extraction",
	Doc:     "Returns the inner HTML of an element.",
	Value:   lang.SelectorShape,
	Result:  "string",
	Example: `{"getHTML":"main"}`,
	Read:    func(r *Run, s *Step, v lang.Selector) (Call, error) { return r.page.find("html", v, nil) },
})

var _ = define(Action[lang.Pair[lang.Selector, lang.Text]]{
	Name: "getAttribute", Group: "Data extraction",
	Doc:     "Returns an attribute of an element, or null if the element does not have it.",
	Value:   lang.PairShape(lang.SelectorShape, lang.NonEmptyShape("attribute")),
	Result:  "string or null",
	Example: `{"getAttribute":["a.link","href"]}`,
	Keys:    pairKeys,
	Read: func(r *Run, s *Step, v lang.Pair[lang.Selector, lang.Text]) (Call, error) {
		name, err := v.B.Expand(r.cache)
		if err != nil {
			return Call{}, err
		}
		return r.page.find("attr", v.A, map[string]any{"name": name})
	},
})

var _ = define(Action[lang.Selector]{
	Name: "getValue", Group: "Data extraction",
	Doc:     "Returns the current value of an input, textarea or select, or of the one that a label belongs to; for a select with `multiple`, an array.",
	Value:   lang.SelectorShape,
	Result:  "string or array of strings",
	Example: `{"getValue":"#q"}`,
	Read:    func(r *Run, s *Step, v lang.Selector) (Call, error) { return r.page.find("value", v, nil) },
})
