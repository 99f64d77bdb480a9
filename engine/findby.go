package engine

import (
	"maps"

	"troupe/engine/lang"
)

var _ = define(Action[lang.Text]{
	Name: "findByText", Group: "Finding elements",
	Doc:   "Finds the innermost element with this text, ignoring case and white space (a `<br>` and the borders of blocks count as white space), and waits for it like `find`. With `exact: false` the element's text only has to contain it. Of several matches it takes the first visible one. It takes a hidden one only if no visible one appears within half a second after input.",
	Value: lang.NonEmptyShape("text"),
	Opts: []Opt{
		opt("selector", lang.SelectorShape, "Only elements that match this selector."),
		opt("exact", lang.BoolShape, "Whether the whole text must be the same. Default: true."),
	},
	Finds:   true,
	Example: `{"findByText":"oak lamp","options":{"selector":"h3","save":"lamp"}}`,
	Read: func(r *Run, s *Step, v lang.Text) (Call, error) {
		text, err := v.Expand(r.cache)
		if err != nil {
			return Call{}, err
		}
		more := map[string]any{"text": text, "exact": own(s, "exact", true)}
		if sel, ok := s.Options.own["selector"]; ok {
			t, err := sel.(lang.Selector).Target(r.cache)
			if err != nil {
				return Call{}, err
			}
			more["t"] = t
		}
		maps.Copy(more, r.saveElement(s))
		return Call{Fn: "byText", Arg: more}, nil
	},
})

var _ = define(Action[lang.Pair[lang.Text, lang.Text]]{
	Name: "findByAttribute", Group: "Finding elements",
	Doc:     "Finds the first element with an attribute that contains a value, or equals it with `exact: true`, and waits for it like `find`.",
	Value:   lang.PairShape(lang.NonEmptyShape("attribute"), lang.TextShape("value")),
	Opts:    []Opt{opt("exact", lang.BoolShape, "Whether the whole value must be the same. Default: false.")},
	Finds:   true,
	Example: `{"findByAttribute":["href","/product/"],"options":{"save":"first"}}`,
	Keys: func(v lang.Pair[lang.Text, lang.Text], to map[string]bool) {
		v.A.Keys(to)
		v.B.Keys(to)
	},
	Read: func(r *Run, s *Step, v lang.Pair[lang.Text, lang.Text]) (Call, error) {
		name, err := v.A.Expand(r.cache)
		if err != nil {
			return Call{}, err
		}
		value, err := v.B.Expand(r.cache)
		if err != nil {
			return Call{}, err
		}
		more := map[string]any{"name": name, "value": value, "exact": own(s, "exact", false)}
		maps.Copy(more, r.saveElement(s))
		return Call{Fn: "byAttribute", Arg: more}, nil
	},
})
