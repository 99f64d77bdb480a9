package lang

import (
	"fmt"
	"slices"
	"strings"
)

// description names elements by what a person perceives of them. All that it says has
// to be true of an element.
type description struct {
	texts    [descriptionTexts]*Text // by the order of describing
	selector *Selector
	within   *Selector
	or       []Selector
	exact    bool
	nth      *int
	visible  *bool
}

// The fields of a description that are texts, in the order in which they are told.
const (
	byRole = iota
	byName
	byText
	byLabel
	byPlaceholder
	byTestID
	hasText
	descriptionTexts
)

var describing = [descriptionTexts]string{"role", "name", "text", "label", "placeholder", "testId", "hasText"}

// pointing are the fields of which a description needs one.
var pointing = []string{"role", "text", "label", "placeholder", "testId", "selector", "or"}

const (
	// maxDescribed bounds the parts of one selector: each is a look at the page.
	maxDescribed = 50
	// MaxNth is the highest place in a list of matches.
	MaxNth = 1_000_000
)

// Describes reports whether an object is meant as a selector, and not as another
// object that may stand at its place.
func Describes(n *Node) bool {
	return n.IsObject() && slices.ContainsFunc(pointing, func(name string) bool { return n.Field(name) != nil })
}

// SelectorSchema is the schema of a selector, a string or an object.
func SelectorSchema() string {
	text := func(doc string) string { return `{"type":"string","minLength":1,"description":"` + doc + `"}` }
	selector := func(doc string) string { return `{"description":"` + doc + `",` + selectorRef[1:] }
	props := []string{
		`"role":{"enum":["` + strings.Join(Roles, `","`) + `"],"description":"The ARIA role, native or explicit."}`,
		`"name":` + text("With role: a part of the accessible name."),
		`"text":` + text("A part of the text. Alone it means the innermost elements with it."),
		`"label":` + text("A part of the label of a control."),
		`"placeholder":` + text("A part of the placeholder."),
		`"testId":` + text("The whole value of data-testid, data-test-id, data-test, data-cy or data-qa."),
		`"selector":` + selector("CSS, XPath or a saved element."),
		`"exact":{"type":"boolean","default":false,"description":"Whether texts must be the same as a whole, in upper and lower case too."}`,
		`"nth":{"type":"integer","minimum":` + fmt.Sprint(-MaxNth) + `,"maximum":` + fmt.Sprint(MaxNth) + `,"description":"One of several matches: 0 is the first, -1 the last."}`,
		`"visible":{"type":"boolean","description":"Only matches that can be seen, or only those that cannot."}`,
		`"within":` + selector("Where to look."),
		`"hasText":` + text("A text that the element has in it."),
		`"or":{"type":"array","items":` + selectorRef + `,"minItems":1,"maxItems":20,"description":"Alternatives: the first that matches is taken."}`,
	}
	some := make([]string, len(pointing))
	for i, name := range pointing {
		some[i] = `{"required":["` + name + `"]}`
	}
	role := strings.Replace(props[0], `{"enum"`, `{"anyOf":[{"enum"`, 1)
	props[0] = strings.Replace(role, `],"description"`, `]},{"type":"string","pattern":"\\$\\{"}],"description"`, 1)
	return `{"anyOf":[{"type":"string","minLength":1},{"type":"object","additionalProperties":false,"properties":{` + strings.Join(props, ",") + `},"anyOf":[` + strings.Join(some, ",") + `]}]}`
}

// selectorRef stands for the schema of a selector where it is used.
const selectorRef = `{"$ref":"#/$defs/selector"}`

func readDescription(d *Decoder, n *Node) *description {
	v := new(description)
	var name *Node
	members := []Member{
		Field("selector", func(f *Node) { v.selector = readInner(d, f) }),
		Field("within", func(f *Node) { v.within = readInner(d, f) }),
		Field("or", func(f *Node) { v.or = readAlternatives(d, f) }),
		Field("exact", func(f *Node) { v.exact = BoolShape.Read(d, f) }),
		Field("nth", func(f *Node) {
			at := IntShape("a place in the list of matches", -MaxNth, MaxNth).Read(d, f)
			v.nth = &at
		}),
		Field("visible", func(f *Node) { yes := BoolShape.Read(d, f); v.visible = &yes }),
	}
	for i, field := range describing {
		members = append(members, Field(field, func(f *Node) {
			if i == byName {
				name = f
			}
			if len(f.Text) > maxSelector {
				d.Fault(f, "want %s of at most %d bytes, not %d", withArticle(field), maxSelector, len(f.Text))
			}
			t := NonEmptyShape(field).Read(d, f)
			v.texts[i] = &t
			if i == byRole && f.IsString() && t.Fixed() {
				checkRole(d, f)
			}
		}))
	}
	d.ReadObject(n, "a selector", members...)
	if !slices.ContainsFunc(pointing, func(name string) bool { f := n.Field(name); return f != nil && !f.IsNull() }) {
		d.Fault(n, `want one of role, text, label, placeholder, testId, selector and "or" in a selector, such as {"role": "button", "name": "Save"}`)
	}
	if name != nil && v.texts[byRole] == nil {
		d.Fault(name, `name goes with role, such as {"role": "button", "name": "Save"}; for any element with a text want text`)
	}
	if many := v.parts(); many > maxDescribed {
		d.Fault(n, "want a selector of at most %d parts, not %d", maxDescribed, many)
	}
	return v
}

func checkRole(d *Decoder, n *Node) {
	if !slices.Contains(Roles, strings.ToLower(strings.TrimSpace(n.Text))) {
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
	for _, s := range []*Selector{v.selector, v.within} {
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
			t.Keys(to)
		}
	}
	for _, s := range v.inner() {
		s.Keys(to)
	}
}

// described is a description as the page script takes it.
type described struct {
	Role        string   `json:"role,omitempty"`
	Name        string   `json:"name,omitempty"`
	Text        string   `json:"text,omitempty"`
	Label       string   `json:"label,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	TestID      string   `json:"testId,omitempty"`
	HasText     string   `json:"hasText,omitempty"`
	Selector    *Target  `json:"selector,omitempty"`
	Within      *Target  `json:"within,omitempty"`
	Or          []Target `json:"or,omitempty"`
	Exact       bool     `json:"exact,omitempty"`
	Nth         *int     `json:"nth,omitempty"`
	Visible     *bool    `json:"visible,omitempty"`
}

// fill makes a description of what text and inner give for its parts.
func (v *description) fill(text func(i int, t Text) (string, error), inner func(s *Selector) (Target, error)) (*described, error) {
	out := &described{Exact: v.exact, Nth: v.nth, Visible: v.visible}
	for i, to := range []*string{&out.Role, &out.Name, &out.Text, &out.Label, &out.Placeholder, &out.TestID, &out.HasText} {
		if v.texts[i] == nil {
			continue
		}
		s, err := text(i, *v.texts[i])
		if err != nil {
			return nil, err
		}
		*to = s
	}
	for _, part := range []struct {
		from *Selector
		to   **Target
	}{{v.selector, &out.Selector}, {v.within, &out.Within}} {
		if part.from == nil {
			continue
		}
		t, err := inner(part.from)
		if err != nil {
			return nil, err
		}
		*part.to = &t
	}
	for i := range v.or {
		t, err := inner(&v.or[i])
		if err != nil {
			return nil, err
		}
		out.Or = append(out.Or, t)
	}
	return out, nil
}

// target fills in the values.
func (v *description) target(values Values) (Target, error) {
	out, err := v.fill(func(i int, t Text) (string, error) {
		s, err := t.Expand(values)
		if err == nil && strings.TrimSpace(s) == "" {
			err = invalid("%s %q is empty once its values are filled in", describing[i], t.String())
		}
		return s, err
	}, func(s *Selector) (Target, error) { return s.Target(values) })
	if err != nil {
		return Target{}, err
	}
	if out.Role = strings.ToLower(strings.TrimSpace(out.Role)); out.Role != "" && !slices.Contains(Roles, out.Role) {
		return Target{}, invalid("%q is no role of WAI-ARIA", Short(out.Role, 100))
	}
	return Target{Kind: "by", Sel: out, As: out.words()}, nil
}

// words is the description as the client wrote it, for people.
func (v *description) words() string {
	out, _ := v.fill(
		func(_ int, t Text) (string, error) { return t.String(), nil },
		func(s *Selector) (Target, error) { return Target{As: s.String()}, nil })
	return out.words()
}

// maxWords bounds how long a description is in messages.
const maxWords = 300

// words is the description for people: button 'Save' in form.
func (d *described) words() string {
	var b []string
	add := func(format string, args ...any) { b = append(b, fmt.Sprintf(format, args...)) }
	quoted := func(s string) string { return "'" + Short(s, 100) + "'" }
	switch {
	case d.Role != "" && d.Name != "":
		add("%s %s", d.Role, quoted(d.Name))
	case d.Role != "":
		add("%s", d.Role)
	}
	for _, f := range [][2]string{{"text", d.Text}, {"label", d.Label}, {"placeholder", d.Placeholder}, {"testId", d.TestID}} {
		if f[1] != "" {
			add("%s %s", f[0], quoted(f[1]))
		}
	}
	if d.Selector != nil {
		add("%s", d.Selector.As)
	}
	if d.HasText != "" {
		add("with the text %s", quoted(d.HasText))
	}
	if d.Visible != nil {
		add("%s", map[bool]string{true: "that is visible", false: "that is hidden"}[*d.Visible])
	}
	if d.Nth != nil {
		add("(nth %d)", *d.Nth)
	}
	if d.Within != nil {
		add("in %s", d.Within.As)
	}
	for i, o := range d.Or {
		if i > 0 || len(b) > 0 {
			add("or")
		}
		add("%s", o.As)
	}
	return Short(strings.Join(b, " "), maxWords)
}
