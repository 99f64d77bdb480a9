package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"troupe/engine/lang"
)

const (
	// maxSchemaParts bounds the schemas in a schema, and maxSchemaDepth how deep they are in
	// one another.
	maxSchemaParts = 500
	maxSchemaDepth = 12
)

// schemaWanted is a JSON Schema whose leaves say where they are.
type schemaWanted struct {
	raw  []byte
	root *schemaPart
}

func (v schemaWanted) Keys(to map[string]bool) { v.root.keys(to) }

// schemaPart is one schema of it.
type schemaPart struct {
	kind           string // of JSON Schema's types, but not null
	null           bool   // or null
	field          *field // nil: the element at hand
	fields         []schemaField
	items          *schemaPart
	format         string
	decimal, order string
	hasField       bool
}

type schemaField struct {
	name     string
	part     *schemaPart
	required bool
}

func (p *schemaPart) keys(to map[string]bool) {
	if p == nil {
		return
	}
	if p.field != nil {
		p.field.sel.Keys(to)
		if p.field.attr != nil {
			p.field.attr.Keys(to)
		}
	}
	p.items.keys(to)
	for _, f := range p.fields {
		f.part.keys(to)
	}
}

var _ = define(Action[schemaWanted]{
	Name: "extract", Group: "Data extraction",
	Doc: "Returns data of the page in the shape of a JSON Schema: typed, and checked by it. Each leaf says by `x-select` where its text is: a selector, or `[selector, attribute]`. " +
		"On an array `x-select` finds the rows, and on an object the element in which its fields are. `$this` is that element.\n\n" +
		"- Numbers are read out of texts: `€49.00` becomes 49. Where a text such as `1,234` can be read in two ways, the language of the page (`lang`) decides, or `x-decimal` (`.` or `,`).\n" +
		"- Dates (`\"format\": \"date\"`, `date-time` or `time`) become those of ISO 8601. `x-dateOrder` (`dmy`, `mdy` or `ymd`) says how to read `03/04/2026`.\n" +
		"- Booleans are texts such as yes and no, true and false, on and off, 1 and 0. They are also the state of a checkbox, and whether an attribute is there.\n" +
		"- Addresses are absolute, with `\"format\": \"uri\"` and in attributes such as `href`.\n" +
		"- A missing element gives null if the type allows that, for instance `[\"number\", \"null\"]`. Otherwise its property is left out.\n\n" +
		"The action waits for what is `required`, and else for the first match. A value that does not fit is a failure that names its path, such as `/items/3/price`.\n\n" +
		"The schema may use `type`, `properties`, `required`, `items`, `enum`, `const`, `format`, `pattern`, `minLength`, `maxLength`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`, `minItems`, `maxItems`, `uniqueItems` and `additionalProperties`, and texts for people.",
	Value: lang.Shape[schemaWanted]{
		Words: "JSON Schema with x-select", Schema: `{"type":"object","properties":{"type":{"anyOf":[{"type":"string"},{"type":"array"}]},"x-select":` + selectSchema + `},"required":["type"]}`,
		Read: func(d *lang.Decoder, n *lang.Node) schemaWanted {
			parts, wrong := 0, d.Wrong()
			v := schemaWanted{root: readSchema(d, n, 0, &parts, false)}
			if d.Wrong() > wrong {
				return v
			}
			v.raw = n.Raw
			if _, err := v.compile(nil); err != nil {
				d.Fault(n, "want a JSON Schema: %s", lang.Short(lastLine(err.Error()), 300))
			}
			return v
		},
	},
	Result:  "the value, in the shape of the schema",
	Example: `{"extract":{"type":"object","properties":{"title":{"type":"string","x-select":"h1"},"products":{"type":"array","x-select":".product","items":{"type":"object","properties":{"name":{"type":"string","x-select":"h3"},"link":{"type":"string","format":"uri","x-select":["a","href"]}}}}},"required":["title"]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v schemaWanted) (Result, error) {
		schema, err := v.root.forPage(r.cache)
		if err != nil {
			return nil, err
		}
		got, err := r.page.call(ctx, s, Call{Fn: "records", Arg: map[string]any{"schema": schema}})
		if err != nil {
			return nil, err
		}
		compiled, err := v.compile(&r.captures.matching)
		if err != nil {
			return nil, fmt.Errorf("compiling the schema: %w", err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(got)))
		if err != nil {
			return nil, fmt.Errorf("reading the page's answer: %w", err)
		}
		if err := compiled.Validate(value); err != nil {
			return nil, Problemf(CodeInvalidValue, "%s", misfit(err))
		}
		return got, nil
	},
})

const selectSchema = `{"anyOf":[{"$ref":"#/$defs/selector"},{"type":"array","prefixItems":[{"$ref":"#/$defs/selector"},{"type":"string","minLength":1}],"minItems":2,"maxItems":2}]}`

var (
	schemaTypes   = []string{"object", "array", "string", "number", "integer", "boolean"}
	schemaFormats = []string{"date", "date-time", "time", "uri", "email"}
	schemaWords   = []string{"type", "x-select", "properties", "required", "items", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minItems", "maxItems", "uniqueItems", "additionalProperties", "x-decimal", "x-dateOrder", "title", "description", "examples", "$schema", "$comment"}
)

// readSchema reads a schema, with those in it: of a row where it is that of an array's
// items.
func readSchema(d *lang.Decoder, n *lang.Node, depth int, parts *int, row bool) *schemaPart {
	p := &schemaPart{}
	if !n.IsObject() {
		d.Fault(n, `want a JSON Schema, an object such as {"type":"string","x-select":"h1"}, not %s`, n.TypeName())
		return p
	}
	if *parts++; *parts > maxSchemaParts || depth > maxSchemaDepth {
		if *parts == maxSchemaParts+1 || depth > maxSchemaDepth {
			d.Fault(n, "want at most %d schemas in one, %d deep", maxSchemaParts, maxSchemaDepth)
		}
		return p
	}
	wrong := d.Wrong()
	if p.readType(d, n); d.Wrong() > wrong {
		return p
	}
	for _, f := range n.Fields {
		switch f.Key {
		case "x-select":
			p.field, p.hasField = readSelect(d, f), true
		case "properties":
			if p.kind != "object" || !f.IsObject() {
				d.Fault(f, "want properties as an object, in a schema of the type object")
				continue
			}
			for _, m := range f.Fields {
				p.fields = append(p.fields, schemaField{name: m.Key, part: readSchema(d, m, depth+1, parts, false)})
			}
		case "items":
			if p.kind != "array" {
				d.Fault(f, "want items in a schema of the type array, not %q", p.kind)
				continue
			}
			p.items = readSchema(d, f, depth+1, parts, true)
		case "format":
			if p.format = lang.EnumShape("a format", schemaFormats...).Read(d, f); p.kind != "string" {
				d.Fault(f, "want a format in a schema of the type string, not %q", p.kind)
			}
		case "x-decimal":
			p.decimal = lang.EnumShape("the sign before decimals", ".", ",").Read(d, f)
		case "x-dateOrder":
			p.order = lang.EnumShape("the order of a date", "dmy", "mdy", "ymd").Read(d, f)
		case "pattern":
			if err := lang.CheckPattern(f.Text); f.IsString() && err != nil {
				d.Fault(f, "pattern %q is no RE2 expression: %s", lang.Short(f.Text, 100), err)
			}
		default:
			if !slices.Contains(schemaWords, f.Key) {
				d.Fault(f, "extract does not know %q in a schema%s", f.Key, d.DidYouMean(f.Key, func() []string { return schemaWords }))
			}
		}
	}
	p.readRequired(d, n.Field("required"))
	p.checkPlaces(d, n, row)
	return p
}

func (p *schemaPart) readType(d *lang.Decoder, n *lang.Node) {
	t := n.Field("type")
	if t == nil {
		d.Fault(n, "want a type, one of %s", strings.Join(schemaTypes, ", "))
		return
	}
	if t.IsArray() {
		for _, e := range t.Elements {
			if e.IsString() && e.Text == "null" {
				p.null = true
			} else if p.kind == "" {
				p.kind = lang.EnumShape("a type", schemaTypes...).Read(d, e)
			} else {
				d.Fault(t, `want one type, or [type, "null"]`)
			}
		}
		if p.kind == "" {
			d.Fault(t, `want one type, or [type, "null"]`)
		}
		return
	}
	p.kind = lang.EnumShape("a type", schemaTypes...).Read(d, t)
}

func readSelect(d *lang.Decoder, n *lang.Node) *field {
	f := &field{}
	switch {
	case n.IsArray():
		p := lang.PairShape(lang.SelectorShape, lang.NonEmptyShape("attribute")).Read(d, n)
		f.sel, f.attr = p.A, &p.B
	case n.IsString(), n.IsObject():
		f.sel = lang.SelectorShape.Read(d, n)
	default:
		d.Fault(n, "want a selector or [selector, attribute], not %s", n.TypeName())
	}
	return f
}

func (p *schemaPart) readRequired(d *lang.Decoder, n *lang.Node) {
	if n == nil {
		return
	}
	if !n.IsArray() {
		d.Fault(n, "want the names of required properties, an array, not %s", n.TypeName())
		return
	}
	for _, e := range n.Elements {
		i := slices.IndexFunc(p.fields, func(f schemaField) bool { return e.IsString() && f.name == e.Text })
		if i < 0 {
			d.Fault(e, "want the name of a property that is there")
			continue
		}
		p.fields[i].required = true
	}
}

// checkPlaces reports a schema that does not say where its value is.
func (p *schemaPart) checkPlaces(d *lang.Decoder, n *lang.Node, row bool) {
	switch {
	case p.kind == "array" && !p.hasField:
		d.Fault(n, `want "x-select" on an array: the selector of its rows`)
	case p.kind == "array" && p.items == nil:
		d.Fault(n, "want items on an array: the schema of a row")
	case p.kind == "array" && p.field.attr != nil, p.kind == "object" && p.hasField && p.field.attr != nil:
		d.Fault(n, `want a selector for "x-select" of an %s: only leaves have attributes`, p.kind)
	case p.kind == "object" && len(p.fields) == 0:
		d.Fault(n, "want properties on an object")
	case p.kind != "" && p.kind != "object" && p.kind != "array" && !p.hasField && !row:
		d.Fault(n, `want "x-select": the selector of this value`)
	}
}

// pagePart is a schema as the page script takes it.
type pagePart struct {
	Kind    string       `json:"k"`
	Null    bool         `json:"null,omitempty"`
	Field   *fieldTarget `json:"f,omitempty"`
	Fields  []any        `json:"r,omitempty"`
	Items   *pagePart    `json:"i,omitempty"`
	Format  string       `json:"format,omitempty"`
	Decimal string       `json:"decimal,omitempty"`
	Order   string       `json:"order,omitempty"`
}

func (p *schemaPart) forPage(c *Cache) (*pagePart, error) {
	out := &pagePart{Kind: p.kind, Null: p.null, Format: p.format, Decimal: p.decimal, Order: p.order}
	if p.field != nil {
		t, err := p.field.target(c)
		if err != nil {
			return nil, err
		}
		out.Field = &t
	}
	if p.items != nil {
		items, err := p.items.forPage(c)
		if err != nil {
			return nil, err
		}
		out.Items = items
	}
	for _, f := range p.fields {
		inner, err := f.part.forPage(c)
		if err != nil {
			return nil, err
		}
		out.Fields = append(out.Fields, []any{f.name, inner, f.required})
	}
	return out, nil
}

// compile makes the schema one that checks values. With a run's matching, its patterns
// take no longer than that allows.
func (v schemaWanted) compile(m *matching) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(v.raw)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // it has nothing to load
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(s)
		if err != nil || m == nil {
			return re, err
		}
		return timedPattern{re, m.timed(func(text string) (bool, error) { return re.MatchString(text), nil })}, nil
	})
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// timedPattern is a pattern within the time of a run.
type timedPattern struct {
	*regexp.Regexp
	matches func(string) bool
}

func (p timedPattern) MatchString(s string) bool { return p.matches(s) }

// misfit says where a value does not fit its schema, and why.
func misfit(err error) string {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return err.Error()
	}
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	path := ""
	for _, p := range e.InstanceLocation {
		path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p)
	}
	_, why, _ := strings.Cut(lastLine(e.Error()), "': ")
	return fmt.Sprintf("Wrong value at %s: %s", map[bool]string{true: "/"}[path == ""]+path, lang.Short(why, 300))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
