package lang

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// description names elements by what a person perceives of them. All that it says has
// to be true of an element.
type description struct {
	texts    [descriptionTexts]*wording // by the order of describing
	selector *Selector
	within   *Selector
	has      *Selector
	hasNot   *Selector
	or       []Selector
	exact    bool
	nth      *int
	visible  *bool
	level    int
	states   map[string]string // true, false or mixed, by the fields of states
}

// The fields of a description that are texts, in the order in which they are told.
const (
	byRole = iota
	byName
	byText
	byLabel
	byPlaceholder
	byTestID
	byAlt
	byTitle
	byDescription
	hasText
	hasNotText
	descriptionTexts
)

var describing = [descriptionTexts]string{"role", "name", "text", "label", "placeholder", "testId", "alt", "title", "description", "hasText", "hasNotText"}

// states are the fields that go with roles, in the order in which they are told.
var states = []struct {
	name  string
	mixed bool
	doc   string
	roles []string
}{
	{"checked", true, "With role: whether it is checked.", strings.Fields("checkbox menuitemcheckbox menuitemradio option radio switch treeitem")},
	{"pressed", true, "With role: whether it is pressed.", []string{"button"}},
	{"expanded", false, "With role: whether it says that it is open, or that it is closed.", strings.Fields("application button checkbox columnheader combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio row rowheader switch tab treeitem")},
	{"selected", false, "With role: whether it is selected.", strings.Fields("columnheader gridcell option row rowheader tab treeitem")},
}

var rolesWithLevel = strings.Fields("heading listitem row treeitem")

// pointing are the fields of which a description needs one.
var pointing = []string{"role", "text", "label", "placeholder", "alt", "title", "testId", "selector", "or"}

const (
	// maxDescribed bounds the parts of one selector: each is a look at the page.
	maxDescribed = 50
	// MaxNth is the highest place in a list of matches.
	MaxNth   = 1_000_000
	maxLevel = 1000
)

// Describes reports whether an object is meant as a selector, and not as another
// object that may stand at its place.
func Describes(n *Node) bool {
	return n.IsObject() && slices.ContainsFunc(pointing, func(name string) bool { return n.Field(name) != nil })
}

// SelectorSchema is the schema of a selector, a string or an object.
func SelectorSchema() string {
	text := func(doc string) string { return `{"description":"` + doc + `","$ref":"#/$defs/wording"}` }
	selector := func(doc string) string { return `{"description":"` + doc + `",` + selectorRef[1:] }
	props := []string{
		`"role":{"enum":["` + strings.Join(Roles, `","`) + `"],"description":"The ARIA role, native or explicit."}`,
		`"name":` + text("With role: a part of the accessible name."),
		`"text":` + text("A part of the text. Alone it means the innermost elements with it."),
		`"label":` + text("A part of the label of a control."),
		`"placeholder":` + text("A part of the placeholder."),
		`"testId":` + text("The whole value of data-testid, data-test-id, data-test, data-cy or data-qa."),
		`"alt":` + text("A part of the alternative text of a picture."),
		`"title":` + text("A part of the title attribute."),
		`"description":` + text("With role: a part of the accessible description."),
		`"selector":` + selector("CSS, XPath or a saved element."),
		`"exact":{"type":"boolean","default":false,"description":"Whether texts must be the same as a whole, in upper and lower case too."}`,
		`"nth":{"type":"integer","minimum":` + fmt.Sprint(-MaxNth) + `,"maximum":` + fmt.Sprint(MaxNth) + `,"description":"One of several matches: 0 is the first, -1 the last."}`,
		`"visible":{"type":"boolean","description":"Only matches that can be seen, or only those that cannot."}`,
		`"within":` + selector("Where to look."),
		`"hasText":` + text("A text that the element has in it."),
		`"hasNotText":` + text("A text that the element does not have in it."),
		`"has":` + selector("What the element has in it: looked for below it."),
		`"hasNot":` + selector("What the element does not have in it."),
		fmt.Sprintf(`"level":{"type":"integer","minimum":1,"maximum":%d,"description":"With role: the level of a heading, an item or a row."}`, maxLevel),
		`"or":{"type":"array","items":` + selectorRef + `,"minItems":1,"maxItems":20,"description":"Alternatives: the first that matches is taken."}`,
	}
	for _, st := range states {
		kind := `"type":"boolean"`
		if st.mixed {
			kind = `"anyOf":[{"type":"boolean"},{"enum":["mixed"]}]`
		}
		props = append(props, `"`+st.name+`":{`+kind+`,"description":"`+st.doc+`"}`)
	}
	some := make([]string, len(pointing))
	for i, name := range pointing {
		some[i] = `{"required":["` + name + `"]}`
	}
	role := strings.Replace(props[0], `{"enum"`, `{"anyOf":[{"enum"`, 1)
	props[0] = strings.Replace(role, `],"description"`, `]},{"type":"string","pattern":"\\$\\{"}],"description"`, 1)
	return `{"anyOf":[{"type":"string","minLength":1},{"type":"object","additionalProperties":false,"properties":{` + strings.Join(props, ",") + `},"anyOf":[` + strings.Join(some, ",") + `]}]}`
}

// WordingSchema is the schema of a text of a selector.
func WordingSchema() string {
	return `{"anyOf":[{"type":"string","minLength":1},{"type":"object","additionalProperties":false,"required":["regex"],"properties":{` +
		`"regex":{"type":"string","minLength":1,"description":"An RE2 expression."},"flags":{"type":"string","pattern":"^[imsu]*$","description":"i: in any case, m: ^ and $ at lines, s: a dot is a line break, too."}}}]}`
}

// selectorRef stands for the schema of a selector where it is used.
const selectorRef = `{"$ref":"#/$defs/selector"}`

func readDescription(d *Decoder, n *Node) *description {
	v := new(description)
	withRole := map[string]*Node{} // what needs a role
	members := []Member{
		Field("selector", func(f *Node) { v.selector = readInner(d, f) }),
		Field("within", func(f *Node) { v.within = readInner(d, f) }),
		Field("has", func(f *Node) { v.has = readInner(d, f) }),
		Field("hasNot", func(f *Node) { v.hasNot = readInner(d, f) }),
		Field("or", func(f *Node) { v.or = readAlternatives(d, f) }),
		Field("exact", func(f *Node) { v.exact = BoolShape.Read(d, f) }),
		Field("nth", func(f *Node) {
			at := IntShape("a place in the list of matches", -MaxNth, MaxNth).Read(d, f)
			v.nth = &at
		}),
		Field("visible", func(f *Node) { yes := BoolShape.Read(d, f); v.visible = &yes }),
		Field("level", func(f *Node) {
			withRole[f.Key] = f
			v.level = IntShape("a level", 1, maxLevel).Read(d, f)
		}),
	}
	for _, st := range states {
		members = append(members, Field(st.name, func(f *Node) {
			withRole[f.Key] = f
			if v.states == nil {
				v.states = map[string]string{}
			}
			if st.mixed && f.IsString() && f.Text == "mixed" {
				v.states[st.name] = "mixed"
				return
			}
			if st.mixed && f.Kind != 't' && f.Kind != 'f' {
				d.Fault(f, `want true, false or "mixed", not %s`, f.Describe())
				return
			}
			v.states[st.name] = strconv.FormatBool(BoolShape.Read(d, f))
		}))
	}
	for i, field := range describing {
		members = append(members, Field(field, func(f *Node) {
			if i == byName || i == byDescription {
				withRole[f.Key] = f
			}
			if len(f.Text) > maxSelector {
				d.Fault(f, "want %s of at most %d bytes, not %d", withArticle(field), maxSelector, len(f.Text))
			}
			v.texts[i] = readWording(d, f, field)
			if i == byRole && f.IsString() && v.texts[i].text.Fixed() {
				checkRole(d, f)
			}
		}))
	}
	d.ReadObject(n, "a selector", members...)
	if !slices.ContainsFunc(pointing, func(name string) bool { f := n.Field(name); return f != nil && !f.IsNull() }) {
		d.Fault(n, `want one of role, text, label, placeholder, alt, title, testId, selector and "or" in a selector, such as {"role": "button", "name": "Save"}`)
	}
	checkWithRole(d, v.texts[byRole], withRole)
	if many := v.parts(); many > maxDescribed {
		d.Fault(n, "want a selector of at most %d parts, not %d", maxDescribed, many)
	}
	return v
}

// checkWithRole makes a fault of each field that needs a role, and has none or one that
// cannot have it.
func checkWithRole(d *Decoder, role *wording, fields map[string]*Node) {
	may := map[string][]string{"level": rolesWithLevel}
	example := map[string]string{"name": `{"role": "button", "name": "Save"}`, "description": `{"role": "button", "description": "Cannot be undone"}`, "level": `{"role": "heading", "level": 2}`}
	for _, st := range states {
		may[st.name], example[st.name] = st.roles, `{"role": "`+st.roles[0]+`", "`+st.name+`": true}`
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		switch roles := may[field]; {
		case role == nil && field == "name":
			d.Fault(fields[field], `name goes with role, such as %s; for any element with a text want text`, example[field])
		case role == nil:
			d.Fault(fields[field], `%s goes with role, such as %s`, field, example[field])
		case roles != nil && role.text.Fixed() && slices.Contains(Roles, normalRole(role.text.String())) && !slices.Contains(roles, normalRole(role.text.String())):
			d.Fault(fields[field], `%s goes with the roles %s, not with %s`, field, strings.Join(roles, ", "), normalRole(role.text.String()))
		}
	}
}

func normalRole(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func checkRole(d *Decoder, n *Node) {
	if !slices.Contains(Roles, normalRole(n.Text)) {
		d.Fault(n, "want a role of WAI-ARIA such as button, link or textbox, not %q%s", n.Text, d.DidYouMean(n.Text, func() []string { return Roles }))
	}
}

func readInner(d *Decoder, n *Node) *Selector {
	s := SelectorShape.Read(d, n)
	return &s
}

func readAlternatives(d *Decoder, n *Node) (all []Selector) {
	if !n.IsArray() || len(n.Elements) == 0 || len(n.Elements) > 20 {
		d.Fault(n, "want an array of 1 to 20 selectors, not %s", n.TypeName())
		return nil
	}
	for _, e := range n.Elements {
		all = append(all, SelectorShape.Read(d, e))
	}
	return all
}

// inner are the selectors in a description.
func (v *description) inner() (all []*Selector) {
	for _, s := range []*Selector{v.selector, v.within, v.has, v.hasNot} {
		if s != nil {
			all = append(all, s)
		}
	}
	for i := range v.or {
		all = append(all, &v.or[i])
	}
	return all
}

func (v *description) parts() int {
	n := 1
	for _, s := range v.inner() {
		if s.by != nil {
			n += s.by.parts()
		} else {
			n++
		}
	}
	return n
}

func (v *description) keys(to map[string]bool) {
	for _, t := range v.texts {
		if t != nil {
			t.text.Keys(to)
		}
	}
	for _, s := range v.inner() {
		s.Keys(to)
	}
}
