package engine

import (
	"maps"
)

var _ = define(Action[Text]{
	Name: "findByText", Group: "Finding elements",
	Doc:   "Finds the innermost element whose text is the one given, in upper or lower case and with any white space (a `<br>` and the borders of blocks are white space too), and waits for it as `find` does. With `exact: false` its text need only contain it. Of several the first that can be seen is taken, and a hidden one only where none comes within half a second after input.",
	Value: nonEmpty("text"),
	Opts: []Opt{
		opt("selector", selectorShape, "Only elements that match this selector."),
		opt("exact", boolShape, "Whether the whole text must be the same. Default: true."),
	},
	Finds:   true,
	Example: `{"findByText":"oak lamp","options":{"selector":"h3","save":"lamp"}}`,
	Read: func(r *Run, s *Step, v Text) (Call, error) {
		text, err := v.Expand(r.cache)
		if err != nil {
			return Call{}, err
		}
		more := map[string]any{"text": text, "exact": own(s, "exact", true)}
		if sel, ok := s.Options.own["selector"]; ok {
			t, err := sel.(Selector).target(r.cache)
			if err != nil {
				return Call{}, err
			}
			more["t"] = t
		}
		maps.Copy(more, r.saveElement(s))
		return Call{Fn: "byText", Arg: more}, nil
	},
})

var _ = define(Action[Pair[Text, Text]]{
	Name: "findByAttribute", Group: "Finding elements",
	Doc:     "Finds the first element with an attribute that contains a value, or with `exact: true` is that value, and waits for it as `find` does.",
	Value:   pairShape(nonEmpty("attribute"), textShape("value")),
	Opts:    []Opt{opt("exact", boolShape, "Whether the whole value must be the same. Default: false.")},
	Finds:   true,
	Example: `{"findByAttribute":["href","/product/"],"options":{"save":"first"}}`,
	Keys: func(v Pair[Text, Text], to map[string]bool) {
		v.A.keys(to)
		v.B.keys(to)
	},
	Read: func(r *Run, s *Step, v Pair[Text, Text]) (Call, error) {
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
