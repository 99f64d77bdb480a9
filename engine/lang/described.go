package lang

import (
	"fmt"
	"slices"
	"strings"
)

// described is a description as the page script takes it.
type described struct {
	Role        string   `json:"role,omitempty"`
	Name        string   `json:"name,omitempty"`
	Text        string   `json:"text,omitempty"`
	Label       string   `json:"label,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	TestID      string   `json:"testId,omitempty"`
	Alt         string   `json:"alt,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	HasText     string   `json:"hasText,omitempty"`
	HasNotText  string   `json:"hasNotText,omitempty"`
	Selector    *Target  `json:"selector,omitempty"`
	Within      *Target  `json:"within,omitempty"`
	Has         *Target  `json:"has,omitempty"`
	HasNot      *Target  `json:"hasNot,omitempty"`
	Or          []Target `json:"or,omitempty"`
	Exact       bool     `json:"exact,omitempty"`
	Nth         *int     `json:"nth,omitempty"`
	Visible     *bool    `json:"visible,omitempty"`
	Level       int      `json:"level,omitempty"`

	States      map[string]string   `json:"states,omitempty"`
	Expressions map[string]*Program `json:"re,omitempty"` // in the place of texts, by their fields
}

// fill makes a description of what text and inner give for its parts.
func (v *description) fill(text func(i int, w *wording) (string, *Program, error), inner func(s *Selector) (Target, error)) (*described, error) {
	out := &described{Exact: v.exact, Nth: v.nth, Visible: v.visible, Level: v.level, States: v.states}
	for i, to := range []*string{&out.Role, &out.Name, &out.Text, &out.Label, &out.Placeholder, &out.TestID, &out.Alt, &out.Title, &out.Description, &out.HasText, &out.HasNotText} {
		if v.texts[i] == nil {
			continue
		}
		s, program, err := text(i, v.texts[i])
		if err != nil {
			return nil, err
		}
		if program == nil {
			*to = s
			continue
		}
		if out.Expressions == nil {
			out.Expressions = map[string]*Program{}
		}
		out.Expressions[describing[i]] = program
	}
	for _, part := range []struct {
		from *Selector
		to   **Target
	}{{v.selector, &out.Selector}, {v.within, &out.Within}, {v.has, &out.Has}, {v.hasNot, &out.HasNot}} {
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
	out, err := v.fill(func(i int, w *wording) (string, *Program, error) {
		s, err := w.text.Expand(values)
		if err == nil && strings.TrimSpace(s) == "" {
			err = invalid("%s %q is empty once its values are filled in", describing[i], w.String())
		}
		if err != nil || !w.expression {
			return s, nil, err
		}
		p, err := CompileExpression(s, w.flags)
		if err != nil {
			return "", nil, invalid("%s %q is no regular expression of RE2: %v", describing[i], Short(w.String(), 100), err)
		}
		return "", p, nil
	}, func(s *Selector) (Target, error) { return s.Target(values) })
	if err != nil {
		return Target{}, err
	}
	if out.Role = normalRole(out.Role); out.Role != "" && !slices.Contains(Roles, out.Role) {
		return Target{}, invalid("%q is no role of WAI-ARIA", Short(out.Role, 100))
	}
	return Target{Kind: "by", Sel: out, As: out.words()}, nil
}

// words is the description as the client wrote it, for people.
func (v *description) words() string {
	out, _ := v.fill(
		func(_ int, w *wording) (string, *Program, error) {
			if w.expression {
				return "", &Program{As: w.String()}, nil
			}
			return w.String(), nil, nil
		},
		func(s *Selector) (Target, error) { return Target{As: s.String()}, nil })
	return out.words()
}

// maxWords bounds how long a description is in messages.
const maxWords = 300

// words is the description for people: button 'Save' in form.
func (d *described) words() string {
	var b []string
	add := func(format string, args ...any) { b = append(b, fmt.Sprintf(format, args...)) }
	said := func(i int, s string) string {
		if p := d.Expressions[describing[i]]; p != nil {
			return Short(p.As, 100)
		}
		if s == "" {
			return ""
		}
		return "'" + Short(s, 100) + "'"
	}
	switch name := said(byName, d.Name); {
	case d.Role != "" && name != "":
		add("%s %s", d.Role, name)
	case d.Role != "":
		add("%s", d.Role)
	}
	if d.Level != 0 {
		add("of level %d", d.Level)
	}
	for _, st := range states {
		switch d.States[st.name] {
		case "true":
			add("that is %s", st.name)
		case "false":
			add("that is not %s", st.name)
		case "mixed":
			add("that is %s in part", st.name)
		}
	}
	for _, f := range []struct {
		i    int
		text string
	}{{byText, d.Text}, {byLabel, d.Label}, {byPlaceholder, d.Placeholder}, {byTestID, d.TestID}, {byAlt, d.Alt}, {byTitle, d.Title}, {byDescription, d.Description}} {
		if s := said(f.i, f.text); s != "" {
			add("%s %s", describing[f.i], s)
		}
	}
	if d.Selector != nil {
		add("%s", d.Selector.As)
	}
	if s := said(hasText, d.HasText); s != "" {
		add("with the text %s", s)
	}
	if s := said(hasNotText, d.HasNotText); s != "" {
		add("without the text %s", s)
	}
	if d.Has != nil {
		add("that has (%s)", d.Has.As)
	}
	if d.HasNot != nil {
		add("that does not have (%s)", d.HasNot.As)
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
