package engine

import "troupe/engine/lang"

// field is where one field of a record comes from: the text or an attribute of
// a child, or of the container itself.
type field struct {
	name string
	sel  lang.Selector
	attr *lang.Text
}

type extraction struct {
	from   lang.Selector
	fields []field
}

func (e extraction) Keys(to map[string]bool) {
	e.from.Keys(to)
	for _, f := range e.fields {
		f.sel.Keys(to)
		if f.attr != nil {
			f.attr.Keys(to)
		}
	}
}

const fieldMapSchema = `{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#/$defs/selector"},{"type":"array","prefixItems":[{"$ref":"#/$defs/selector"},{"type":"string","minLength":1}],"minItems":2,"maxItems":2}]}}`

// fieldMapShape is an object of fields, in the order they were sent.
var fieldMapShape = lang.Shape[[]field]{
	Words: "fieldMap", Schema: fieldMapSchema,
	Read: func(d *lang.Decoder, n *lang.Node) []field {
		if !n.IsObject() {
			d.Fault(n, `want a field map, an object such as {"title":"h3","link":["a","href"]}, not %s`, n.TypeName())
			return nil
		}
		if len(n.Fields) == 0 {
			d.Fault(n, "want a field map with at least one field")
		}
		var out []field
		for _, m := range n.Fields {
			f := field{name: m.Key}
			if m.IsArray() {
				p := lang.PairShape(lang.SelectorShape, lang.NonEmptyShape("attribute")).Read(d, m)
				f.sel, f.attr = p.A, &p.B
			} else if m.IsString() || m.IsObject() {
				f.sel = lang.SelectorShape.Read(d, m)
			} else {
				d.Fault(m, "want a selector or [selector, attribute], not %s", m.TypeName())
			}
			out = append(out, f)
		}
		return out
	},
}

var _ = define(Action[extraction]{
	Name: "extractAll", Group: "Data extraction",
	Doc: "Returns one record for each element that matches. A field is the text of the first match of a selector inside the element, or with `[selector, attribute]` one of its attributes; " +
		"`$this` is the element itself. Missing fields are null. The action waits for the first match up to its time; without one it returns an empty array. " +
		"Give the field map as the second part of the value, or as `options.fieldMap` if the value is only a selector.",
	Value: lang.Shape[extraction]{
		Words: "[selector, fieldMap], or selector with options.fieldMap", Schema: `{"anyOf":[` + lang.SelectorShape.Schema + `,{"type":"array","prefixItems":[` + lang.SelectorShape.Schema + `,` + fieldMapSchema + `],"minItems":2,"maxItems":2}]}`,
		Read: func(d *lang.Decoder, n *lang.Node) extraction {
			if n.IsString() || n.IsObject() {
				return extraction{from: lang.SelectorShape.Read(d, n)}
			}
			p := lang.PairShape(lang.SelectorShape, fieldMapShape).Read(d, n)
			return extraction{from: p.A, fields: p.B}
		},
	},
	Opts: []Opt{
		opt("limit", lang.IntShape("number", 0, maxRecords), "The most records to return."),
		opt("absolute", lang.BoolShape, "Whether addresses in `href`, `src`, `action`, `cite`, `data`, `poster` and `formaction` are made absolute. Default: false."),
		opt("fieldMap", fieldMapShape, "The field map, if the value is only a selector."),
	},
	Result:  "array of objects",
	Example: `{"extractAll":[".product",{"title":"h3","link":["a","href"]}],"options":{"limit":3}}`,
	Check: func(d *decoder, n *lang.Node, s *Step, v extraction) {
		given := s.Options.own["fieldMap"] != nil
		switch {
		case v.fields == nil && !given:
			d.Fault(n, "want [selector, fieldMap], or options.fieldMap beside the selector")
		case v.fields != nil && given:
			d.Fault(n, "want the field map once: in the value or in options.fieldMap")
		case given:
			v.fields = own[[]field](s, "fieldMap", nil)
			s.value = v
		}
	},
	Read: func(r *Run, s *Step, v extraction) (Call, error) {
		fields := make([]any, 0, len(v.fields))
		for _, f := range v.fields {
			t, err := f.target(r.cache)
			if err != nil {
				return Call{}, err
			}
			fields = append(fields, []any{f.name, t})
		}
		more := map[string]any{"fields": fields}
		if limit, ok := s.Options.own["limit"]; ok {
			more["limit"] = limit
		}
		if own(s, "absolute", false) {
			more["absolute"] = true
		}
		return r.page.find("extract", v.from, more)
	},
})

// maxRecords bounds options.limit.
const maxRecords = 1_000_000

// fieldTarget is a field as the page script takes it.
type fieldTarget struct {
	lang.Target
	Name *string `json:"name,omitempty"`
}

func (f field) target(c *Cache) (fieldTarget, error) {
	t, err := f.sel.Target(c)
	if err != nil {
		return fieldTarget{}, err
	}
	out := fieldTarget{Target: t}
	if f.attr != nil {
		name, err := f.attr.Expand(c)
		if err != nil {
			return fieldTarget{}, err
		}
		out.Name = &name
	}
	return out, nil
}
