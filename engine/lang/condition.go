package lang

import (
	"slices"
	"strconv"
	"strings"
)

// MaxConditionParts bounds the parts of one condition: each may be a look at the page.
const MaxConditionParts = 100

// Condition is what if, while, until and assert decide by. One of its forms is set:
// see conditionForms.
type Condition struct {
	Form     *ConditionForm
	Selector *Selector
	Property Text
	Cached   string
	Name     Text   // of a cookie
	Operator string // empty: it only has to be there
	Value    Text
	Parts    []Condition // of all, any and not
}

// ConditionForm is one way to write a condition. The table of the documents, the
// schema and the decoder come from it.
type ConditionForm struct {
	Field  string // whose presence makes an object one of this form
	Words  string // for people
	Holds  string // when it is true, for people
	Schema string // of the whole condition
	read   func(d *Decoder, n *Node, c *Condition)
}

const (
	operandSchema = `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"null"}]}`
	// ConditionRef is the schema of a condition in that of something else.
	ConditionRef     = `{"$ref":"#/$defs/condition"}`
	comparisonSchema = `{"type":"array","prefixItems":[{"$ref":"#/$defs/operator"},` + operandSchema + `],"minItems":1,"maxItems":2}`
)

// conditionForms are filled in by init: conditions may stand in conditions.
var conditionForms []*ConditionForm

func init() {
	conditionForms = []*ConditionForm{
		{"", "selector", "an element matches; the selector can be an object", SelectorShape.Schema, nil},
		{"selector", "{selector, property, operator, value}", "a property of the first element that matches compares so; for an unknown property, or without a match, the property is empty",
			`{"type":"object","required":["selector","property","operator"],"additionalProperties":false,"properties":{"selector":` + SelectorShape.Schema + `,"property":{"type":"string","minLength":1},"operator":{"$ref":"#/$defs/operator"},"value":` + operandSchema + `}}`, nil},
		{"cached", "{cached, operator, value}", "a value of the data cache compares so",
			`{"type":"object","required":["cached","operator"],"additionalProperties":false,"properties":{"cached":{"type":"string"},"operator":{"$ref":"#/$defs/operator"},"value":` + operandSchema + `}}`, nil},
		{"visible", `{"visible": selector}`, "an element that matches can be seen", oneField("visible", SelectorShape.Schema),
			func(d *Decoder, n *Node, c *Condition) { c.setSelector(d, n) }},
		{"count", `{"count": [selector, operator, number]}`, "the number of elements that match compares so",
			oneField("count", `{"type":"array","prefixItems":[`+SelectorShape.Schema+`,{"$ref":"#/$defs/operator"},`+operandSchema+`],"minItems":3,"maxItems":3}`), readCount},
		{"url", `{"url": [operator, text]}`, "the address of the current tab compares so", oneField("url", comparisonSchema), readOwnComparison},
		{"title", `{"title": [operator, text]}`, "the title of the current tab's page compares so", oneField("title", comparisonSchema), readOwnComparison},
		{"cookie", `{"cookie": [name, operator, text]}`, "the value of a cookie that the browser sends to the page's address compares so",
			oneField("cookie", `{"type":"array","prefixItems":[{"type":"string","minLength":1},{"$ref":"#/$defs/operator"},`+operandSchema+`],"minItems":2,"maxItems":3}`), readCookieComparison},
		{"failure", `{"failure": [operator, code]}`, "the code of the action that failed last in this task compares so, a failure that `try` or `retry` has caught included; before the first failure it is empty", oneField("failure", comparisonSchema), readOwnComparison},
		{"all", `{"all": [condition, …]}`, "all of the conditions are true; the first that is false ends the look", oneField("all", `{"type":"array","items":`+ConditionRef+`,"minItems":1}`), readParts},
		{"any", `{"any": [condition, …]}`, "one of the conditions is true; the first that is true ends the look", oneField("any", `{"type":"array","items":`+ConditionRef+`,"minItems":1}`), readParts},
		{"not", `{"not": condition}`, "the condition is false", oneField("not", ConditionRef),
			func(d *Decoder, n *Node, c *Condition) { c.Parts = []Condition{readAnyCondition(d, n)} }},
	}
}

// ConditionForms are all ways to write a condition.
func ConditionForms() []*ConditionForm { return slices.Clone(conditionForms) }

// oneField is the schema of an object with one field.
func oneField(name, schema string) string {
	return `{"type":"object","required":["` + name + `"],"additionalProperties":false,"properties":{"` + name + `":` + schema + `}}`
}

// ConditionSchema is the schema of all forms.
func ConditionSchema() string {
	all := make([]string, len(conditionForms))
	for i, f := range conditionForms {
		all[i] = f.Schema
	}
	return `{"anyOf":[` + strings.Join(all, ",") + `]}`
}

// ConditionShape is a condition in the value of an action.
var ConditionShape = Shape[Condition]{Words: "condition", Schema: ConditionRef, Read: readCondition}

// readCondition reads a condition with all that is in it.
func readCondition(d *Decoder, n *Node) Condition {
	c := readAnyCondition(d, n)
	if many := c.count(); many > MaxConditionParts {
		d.Fault(n, "want a condition of at most %d parts, not %d", MaxConditionParts, many)
	}
	return c
}

func readAnyCondition(d *Decoder, n *Node) (c Condition) {
	if n.IsString() || describesElement(n) {
		c.Form = conditionForms[0]
		c.setSelector(d, n)
		return c
	}
	given := map[string]*Node{}
	members := []Member{}
	for _, name := range conditionFields() {
		members = append(members, Field(name, func(f *Node) { given[name] = f }))
	}
	if !d.ReadObject(n, "a condition", members...) {
		return c
	}
	var forms []string
	for _, f := range conditionForms {
		if f.read != nil && given[f.Field] != nil {
			forms = append(forms, f.Field)
			c.Form = f
		}
	}
	switch {
	case len(forms) == 0:
		readElementOrValue(d, n, given, &c)
	case len(given) > 1:
		d.Fault(n, "want %s alone in a condition: all and any join several", forms[0])
	default:
		c.Form.read(d, given[forms[0]], &c)
	}
	return c
}

// describesElement reports whether an object is the description of an element, and not
// one of the other forms of a condition.
func describesElement(n *Node) bool {
	if !Describes(n) || comparesTitle(n) {
		return false
	}
	if n.Field("selector") == nil {
		return true
	}
	visible := n.Field("visible")
	return len(n.Fields) > 1 && (visible == nil || visible.Kind == 't' || visible.Kind == 'f') && !slices.ContainsFunc(n.Fields, func(f *Node) bool {
		return f.Key != "selector" && f.Key != "visible" && slices.Contains(conditionFields(), f.Key)
	})
}

// comparesTitle reports whether an object has the form for the title of the page. An element
// that only the attribute of that name describes is written {"visible": {"title": …}} there.
func comparesTitle(n *Node) bool {
	return n.Field("title") != nil && !slices.ContainsFunc(pointing, func(name string) bool { return name != "title" && n.Field(name) != nil })
}

// conditionFields are the fields that a condition can have.
func conditionFields() []string {
	names := []string{"selector", "property", "cached", "operator", "value"}
	for _, f := range conditionForms {
		if f.read != nil {
			names = append(names, f.Field)
		}
	}
	return names
}

// readElementOrValue reads the forms that have several fields.
func readElementOrValue(d *Decoder, n *Node, given map[string]*Node, c *Condition) {
	selector, cached, property := given["selector"], given["cached"], given["property"]
	switch {
	case selector != nil && cached != nil:
		d.Fault(n, "want selector or cached in a condition, not both")
	case selector != nil:
		c.Form = conditionForms[1]
		c.setSelector(d, selector)
		if property == nil {
			d.Fault(n, `want property, the name of a property of the element such as "value" or "textContent"`)
		} else {
			c.Property = NonEmptyShape("property").Read(d, property)
		}
	case cached != nil:
		c.Form = conditionForms[2]
		c.Cached = KeyShape.Read(d, cached)
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

func readOperator(d *Decoder, n *Node, c *Condition) {
	c.Operator = EnumShape("an operator", Operators...).Read(d, n)
}

// readValue reads what a condition compares with. Null counts as sent: there it is
// the empty text.
func readValue(d *Decoder, n, value *Node, sent bool, c *Condition) {
	unary := c.Operator == "empty" || c.Operator == "notEmpty"
	switch {
	case value == nil && !unary && !sent:
		d.Fault(n, "want a value to compare with: only empty and notEmpty need none")
	case value != nil:
		c.Value = readOperand(d, value)
	}
	if c.Operator == "matches" && c.Value.Fixed() {
		re, _ := c.Value.Expand(nil)
		if err := CheckPattern(re); err != nil && value != nil {
			d.Fault(value, "%q is no RE2 expression: %v", Short(re, 100), err)
		}
	}
}

// readOperand reads what a condition compares with, as a text.
func readOperand(d *Decoder, n *Node) Text {
	switch n.Kind {
	case '"':
		return ParseText(n.Text)
	case '0':
		return Literal(strconv.FormatFloat(n.Number, 'f', -1, 64))
	case 't':
		return Literal("true")
	case 'f':
		return Literal("false")
	}
	d.Fault(n, "want a string, a number or a boolean to compare with, not %s", n.TypeName())
	return Text{}
}

// readTuple reads an operator and a value at the end of an array, behind so many
// other parts.
func readTuple(d *Decoder, n *Node, before int, words string, c *Condition) bool {
	if !n.IsArray() || len(n.Elements) < before+1 || len(n.Elements) > before+2 {
		d.Fault(n, "want %s, not %s", words, n.TypeName())
		return false
	}
	readOperator(d, n.Elements[before], c)
	var value *Node
	sent := len(n.Elements) == before+2
	if sent && !n.Elements[before+1].IsNull() {
		value = n.Elements[before+1]
	}
	readValue(d, n, value, sent, c)
	return true
}

func readOwnComparison(d *Decoder, n *Node, c *Condition) {
	readTuple(d, n, 0, "[operator, text]", c)
}

func readCookieComparison(d *Decoder, n *Node, c *Condition) {
	if readTuple(d, n, 1, "[name, operator, text]", c) {
		c.Name = NonEmptyShape("cookie name").Read(d, n.Elements[0])
	}
}

func readCount(d *Decoder, n *Node, c *Condition) {
	if readTuple(d, n, 1, "[selector, operator, number]", c) {
		c.setSelector(d, n.Elements[0])
	}
}

func readParts(d *Decoder, n *Node, c *Condition) {
	if !n.IsArray() || len(n.Elements) == 0 {
		d.Fault(n, "want an array of conditions, not %s", n.TypeName())
		return
	}
	for _, e := range n.Elements {
		c.Parts = append(c.Parts, readAnyCondition(d, e))
	}
}

func (c *Condition) setSelector(d *Decoder, n *Node) {
	s := SelectorShape.Read(d, n)
	c.Selector = &s
}

// count counts the condition and those in it.
func (c *Condition) count() int {
	n := 1
	for i := range c.Parts {
		n += c.Parts[i].count()
	}
	return n
}

// Keys adds what the condition reads.
func (c *Condition) Keys(to map[string]bool) {
	if c.Selector != nil {
		c.Selector.Keys(to)
	}
	c.Property.Keys(to)
	c.Name.Keys(to)
	c.Value.Keys(to)
	if c.Cached != "" {
		to[c.Cached] = true
	}
	for i := range c.Parts {
		c.Parts[i].Keys(to)
	}
}

// Optional adds the keys that the condition looks at and that may be missing.
func (c *Condition) Optional(to map[string]bool) {
	if c.Cached != "" {
		to[c.Cached] = true
	}
	for i := range c.Parts {
		c.Parts[i].Optional(to)
	}
}

// Looks reports whether the condition asks the browser.
func (c *Condition) Looks() bool {
	if c.Selector != nil {
		return true
	}
	if c.Form != nil {
		switch c.Form.Field {
		case "url", "title", "cookie":
			return true
		}
	}
	for i := range c.Parts {
		if c.Parts[i].Looks() {
			return true
		}
	}
	return false
}
