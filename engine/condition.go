package engine

import (
	"strconv"
	"strings"

	"troupe/engine/lang"
)

// maxParts bounds the parts of one condition: each may be a look at the page.
const maxParts = 100

// condition is what if, while, until and assert decide by. One of its forms is set:
// see conditionForms.
type condition struct {
	form     *conditionForm
	selector *lang.Selector
	property lang.Text
	cached   string
	name     lang.Text // of a cookie
	operator string    // empty: it only has to be there
	value    lang.Text
	parts    []condition // of all, any and not
}

// conditionForm is one way to write a condition. The table of the documents, the
// schema and the decoder come from it.
type conditionForm struct {
	field  string // whose presence makes an object one of this form
	words  string // for people
	holds  string // when it is true, for people
	schema string // of the whole condition
	read   func(d *lang.Decoder, n *lang.Node, c *condition)
}

const (
	operandSchema    = `{"type":["string","number","boolean","null"]}`
	conditionRef     = `{"$ref":"#/$defs/condition"}`
	comparisonSchema = `{"type":"array","prefixItems":[{"$ref":"#/$defs/operator"},` + operandSchema + `],"items":false,"minItems":1}`
)

// conditionForms are filled in by init: conditions may stand in conditions.
var conditionForms []*conditionForm

func init() {
	conditionForms = []*conditionForm{
		{"", "selector", "an element matches", lang.SelectorShape.Schema, nil},
		{"selector", "{selector, property, operator, value}", "a property of the first element that matches compares so; for an unknown property, or without a match, the property is empty",
			`{"type":"object","required":["selector","property","operator"],"additionalProperties":false,"properties":{"selector":{"type":"string","minLength":1},"property":{"type":"string","minLength":1},"operator":{"$ref":"#/$defs/operator"},"value":` + operandSchema + `}}`, nil},
		{"cached", "{cached, operator, value}", "a value of the data cache compares so",
			`{"type":"object","required":["cached","operator"],"additionalProperties":false,"properties":{"cached":{"type":"string"},"operator":{"$ref":"#/$defs/operator"},"value":` + operandSchema + `}}`, nil},
		{"visible", `{"visible": selector}`, "an element that matches can be seen", oneField("visible", lang.SelectorShape.Schema),
			func(d *lang.Decoder, n *lang.Node, c *condition) { c.setSelector(d, n) }},
		{"count", `{"count": [selector, operator, number]}`, "the number of elements that match compares so",
			oneField("count", `{"type":"array","prefixItems":[`+lang.SelectorShape.Schema+`,{"$ref":"#/$defs/operator"},`+operandSchema+`],"items":false,"minItems":3}`), readCount},
		{"url", `{"url": [operator, text]}`, "the address of the current tab compares so", oneField("url", comparisonSchema), readOwnComparison},
		{"title", `{"title": [operator, text]}`, "the title of the current tab's page compares so", oneField("title", comparisonSchema), readOwnComparison},
		{"cookie", `{"cookie": [name, operator, text]}`, "the value of a cookie that the browser sends to the page's address compares so",
			oneField("cookie", `{"type":"array","prefixItems":[{"type":"string","minLength":1},{"$ref":"#/$defs/operator"},`+operandSchema+`],"items":false,"minItems":2}`), readCookieComparison},
		{"failure", `{"failure": [operator, code]}`, "the code of the action that failed last in this task compares so, a failure that `try` or `retry` has caught included; before the first failure it is empty", oneField("failure", comparisonSchema), readOwnComparison},
		{"all", `{"all": [condition, …]}`, "all of the conditions are true; the first that is false ends the look", oneField("all", `{"type":"array","items":`+conditionRef+`,"minItems":1}`), readParts},
		{"any", `{"any": [condition, …]}`, "one of the conditions is true; the first that is true ends the look", oneField("any", `{"type":"array","items":`+conditionRef+`,"minItems":1}`), readParts},
		{"not", `{"not": condition}`, "the condition is false", oneField("not", conditionRef),
			func(d *lang.Decoder, n *lang.Node, c *condition) { c.parts = []condition{readAnyCondition(d, n)} }},
	}
}

// oneField is the schema of an object with one field.
func oneField(name, schema string) string {
	return `{"type":"object","required":["` + name + `"],"additionalProperties":false,"properties":{"` + name + `":` + schema + `}}`
}

// conditionSchema is the schema of all forms.
func conditionSchema() string {
	all := make([]string, len(conditionForms))
	for i, f := range conditionForms {
		all[i] = f.schema
	}
	return `{"anyOf":[` + strings.Join(all, ",") + `]}`
}

// conditionShape is a condition in the value of an action.
var conditionShape = lang.Shape[condition]{Words: "condition", Schema: conditionRef, Read: readCondition}

// readCondition reads a condition with all that is in it.
func readCondition(d *lang.Decoder, n *lang.Node) condition {
	c := readAnyCondition(d, n)
	if many := c.count(); many > maxParts {
		d.Fault(n, "want a condition of at most %d parts, not %d", maxParts, many)
	}
	return c
}

func readAnyCondition(d *lang.Decoder, n *lang.Node) (c condition) {
	if n.IsString() {
		c.form = conditionForms[0]
		c.setSelector(d, n)
		return c
	}
	given := map[string]*lang.Node{}
	members := []lang.Member{}
	for _, name := range conditionFields() {
		members = append(members, lang.Field(name, func(f *lang.Node) { given[name] = f }))
	}
	if !d.ReadObject(n, "a condition", members...) {
		return c
	}
	var forms []string
	for _, f := range conditionForms {
		if f.read != nil && given[f.field] != nil {
			forms = append(forms, f.field)
			c.form = f
		}
	}
	switch {
	case len(forms) == 0:
		readElementOrValue(d, n, given, &c)
	case len(given) > 1:
		d.Fault(n, "want %s alone in a condition: all and any join several", forms[0])
	default:
		c.form.read(d, given[forms[0]], &c)
	}
	return c
}

// conditionFields are the fields that a condition can have.
func conditionFields() []string {
	names := []string{"selector", "property", "cached", "operator", "value"}
	for _, f := range conditionForms {
		if f.read != nil {
			names = append(names, f.field)
		}
	}
	return names
}

// readElementOrValue reads the forms that have several fields.
func readElementOrValue(d *lang.Decoder, n *lang.Node, given map[string]*lang.Node, c *condition) {
	selector, cached, property := given["selector"], given["cached"], given["property"]
	switch {
	case selector != nil && cached != nil:
		d.Fault(n, "want selector or cached in a condition, not both")
	case selector != nil:
		c.form = conditionForms[1]
		c.setSelector(d, selector)
		if property == nil {
			d.Fault(n, `want property, the name of a property of the element such as "value" or "textContent"`)
		} else {
			c.property = lang.NonEmptyShape("property").Read(d, property)
		}
	case cached != nil:
		c.form = conditionForms[2]
		c.cached = lang.KeyShape.Read(d, cached)
		if property != nil {
			d.Fault(property, "property goes with selector, not with cached")
		}
	default:
		d.Fault(n, "want selector or cached in a condition, or one of visible, count, url, title, cookie, failure, all, any and not")
	}
	if given["operator"] == nil {
		d.Fault(n, "want an operator in a condition")
		return
	}
	readOperator(d, given["operator"], c)
	readValue(d, n, given["value"], n.Field("value") != nil, c)
}

func readOperator(d *lang.Decoder, n *lang.Node, c *condition) {
	c.operator = lang.EnumShape("an operator", lang.Operators...).Read(d, n)
}

// readValue reads what a condition compares with. Null counts as sent: there it is
// the empty text.
func readValue(d *lang.Decoder, n, value *lang.Node, sent bool, c *condition) {
	unary := c.operator == "empty" || c.operator == "notEmpty"
	switch {
	case value == nil && !unary && !sent:
		d.Fault(n, "want a value to compare with: only empty and notEmpty need none")
	case value != nil:
		c.value = readOperand(d, value)
	}
	if c.operator == "matches" && c.value.Fixed() {
		re, _ := c.value.Expand(nil)
		if err := lang.CheckPattern(re); err != nil && value != nil {
			d.Fault(value, "%q is no RE2 expression: %v", lang.Short(re, 100), err)
		}
	}
}

// readOperand reads what a condition compares with, as a text.
func readOperand(d *lang.Decoder, n *lang.Node) lang.Text {
	switch n.Kind {
	case '"':
		return lang.ParseText(n.Text)
	case '0':
		return lang.Literal(strconv.FormatFloat(n.Number, 'f', -1, 64))
	case 't':
		return lang.Literal("true")
	case 'f':
		return lang.Literal("false")
	}
	d.Fault(n, "want a string, a number or a boolean to compare with, not %s", n.TypeName())
	return lang.Text{}
}

// readTuple reads an operator and a value at the end of an array, behind so many
// other parts.
func readTuple(d *lang.Decoder, n *lang.Node, before int, words string, c *condition) bool {
	if !n.IsArray() || len(n.Elements) < before+1 || len(n.Elements) > before+2 {
		d.Fault(n, "want %s, not %s", words, n.TypeName())
		return false
	}
	readOperator(d, n.Elements[before], c)
	var value *lang.Node
	sent := len(n.Elements) == before+2
	if sent && !n.Elements[before+1].IsNull() {
		value = n.Elements[before+1]
	}
	readValue(d, n, value, sent, c)
	return true
}

func readOwnComparison(d *lang.Decoder, n *lang.Node, c *condition) {
	readTuple(d, n, 0, "[operator, text]", c)
}

func readCookieComparison(d *lang.Decoder, n *lang.Node, c *condition) {
	if readTuple(d, n, 1, "[name, operator, text]", c) {
		c.name = lang.NonEmptyShape("cookie name").Read(d, n.Elements[0])
	}
}

func readCount(d *lang.Decoder, n *lang.Node, c *condition) {
	if readTuple(d, n, 1, "[selector, operator, number]", c) {
		c.setSelector(d, n.Elements[0])
	}
}

func readParts(d *lang.Decoder, n *lang.Node, c *condition) {
	if !n.IsArray() || len(n.Elements) == 0 {
		d.Fault(n, "want an array of conditions, not %s", n.TypeName())
		return
	}
	for _, e := range n.Elements {
		c.parts = append(c.parts, readAnyCondition(d, e))
	}
}

func (c *condition) setSelector(d *lang.Decoder, n *lang.Node) {
	s := lang.SelectorShape.Read(d, n)
	c.selector = &s
}

// count counts the condition and those in it.
func (c *condition) count() int {
	n := 1
	for i := range c.parts {
		n += c.parts[i].count()
	}
	return n
}

// Keys adds what the condition reads.
func (c *condition) Keys(to map[string]bool) {
	if c.selector != nil {
		c.selector.Keys(to)
	}
	c.property.Keys(to)
	c.name.Keys(to)
	c.value.Keys(to)
	if c.cached != "" {
		to[c.cached] = true
	}
	for i := range c.parts {
		c.parts[i].Keys(to)
	}
}

// optional adds the keys that the condition looks at and that may be missing.
func (c *condition) optional(to map[string]bool) {
	if c.cached != "" {
		to[c.cached] = true
	}
	for i := range c.parts {
		c.parts[i].optional(to)
	}
}

// looks reports whether the condition asks the browser.
func (c *condition) looks() bool {
	if c.selector != nil {
		return true
	}
	if c.form != nil {
		switch c.form.field {
		case "url", "title", "cookie":
			return true
		}
	}
	for i := range c.parts {
		if c.parts[i].looks() {
			return true
		}
	}
	return false
}
