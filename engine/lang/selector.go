package lang

import (
	"slices"
	"strings"
)

// Selector names elements: CSS, XPath, a saved element, with a selector below it or
// without, or what a person perceives of them.
type Selector struct {
	source string
	ref    string // key of a saved element, or "this"
	text   Text   // empty for a reference alone
	by     *description
}

func parseSelector(s string) Selector {
	if !strings.HasPrefix(s, "$") {
		return Selector{source: s, text: ParseText(s)}
	}
	if m := reference.FindStringSubmatch(s); m != nil {
		return Selector{source: s, ref: m[1], text: ParseText(strings.TrimSpace(m[2]))}
	}
	return Selector{source: s, text: ParseText(s)}
}

// String returns the selector as the client wrote it.
func (s Selector) String() string { return s.source }

// Keys adds the keys of the data cache that the selector reads, and with a $ in
// front that of the element it begins with.
func (s Selector) Keys(to map[string]bool) {
	if s.by != nil {
		s.by.keys(to)
		return
	}
	s.text.Keys(to)
	if s.ref != "" {
		to["$"+s.ref] = true
	}
}

// Elements are values with saved elements of their own: the page keeps one under
// another key than the request has.
type Elements interface{ ElementKey(key string) string }

// Target is a selector with its values filled in, as the page script takes it.
type Target struct {
	Kind string `json:"k,omitempty"` // css, xpath, by, or empty for a reference alone
	Sel  any    `json:"s,omitempty"` // a string, or a description
	Ref  string `json:"r,omitempty"`
	As   string `json:"a"` // how the client wrote it, for people
}

// Root is the key of the saved element that the target is looked for in; empty: the
// document.
func (t Target) Root() string {
	if d, ok := t.Sel.(*described); ok && d.Within != nil {
		return d.Within.Root()
	} else if ok && d.Selector != nil {
		return d.Selector.Root()
	}
	return t.Ref
}

// Uses reports whether the target, or one in it, begins with a saved element.
func (t Target) Uses(key string) bool {
	d, ok := t.Sel.(*described)
	if !ok {
		return t.Ref == key
	}
	return d.Selector != nil && d.Selector.Uses(key) || d.Within != nil && d.Within.Uses(key) || slices.ContainsFunc(d.Or, func(o Target) bool { return o.Uses(key) })
}

// Target fills in the values.
func (s Selector) Target(values Values) (Target, error) {
	if s.by != nil {
		return s.by.target(values)
	}
	text, err := s.text.Expand(values)
	if err != nil {
		return Target{}, err
	}
	t := Target{Ref: s.ref, As: Short(text, maxSelector)}
	if s.ref != "" {
		if own, ok := values.(Elements); ok && s.ref != "this" {
			t.Ref = own.ElementKey(s.ref)
		}
		t.As = strings.TrimSpace("$" + s.ref + " " + t.As)
	}
	if text == "" {
		if s.ref == "" {
			return Target{}, invalid("selector %q is empty once its values are filled in", s.source)
		}
		return t, nil
	}
	t.Kind, t.Sel = "css", text
	if isXPath(text) {
		t.Kind = "xpath"
	}
	return t, nil
}

// isXPath tells the two languages apart: no CSS selector begins with a slash,
// nor with a bracket or a dot before one.
func isXPath(s string) bool {
	for _, p := range []string{"/", "(/", "./", "../", "(./"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
