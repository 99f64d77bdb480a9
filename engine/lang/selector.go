package lang

import (
	"slices"
	"strings"
)

// Selector names elements: CSS, XPath, a saved element or a reference of a snapshot, with
// a selector below it or without, or what a person perceives of them.
type Selector struct {
	source string
	ref    string // key of a saved element, "this", or a reference such as "@e5"
	text   Text   // empty for a reference alone
	by     *description
}

func parseSelector(s string) Selector {
	if m := numbered.FindStringSubmatch(s); m != nil {
		return Selector{source: s, ref: m[1], text: ParseText(strings.TrimSpace(m[2]))}
	}
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

// Keys adds the keys of the data cache that the selector reads, with a $ in front that
// of the element it begins with, and the reference of a snapshot as it is.
func (s Selector) Keys(to map[string]bool) {
	if s.by != nil {
		s.by.keys(to)
		return
	}
	s.text.Keys(to)
	switch {
	case IsReference(s.ref):
		to[s.ref] = true
	case s.ref != "":
		to["$"+s.ref] = true
	}
}

// IsReference reports whether a key is a reference of a snapshot, such as "@e5".
func IsReference(key string) bool { return strings.HasPrefix(key, "@") }

// Reference is the reference that the selector begins with, and what is below it; empty
// for none.
func (s Selector) Reference() (ref, below string) {
	if s.by != nil || !IsReference(s.ref) {
		return "", ""
	}
	return s.ref, s.text.String()
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
	for _, part := range []*Target{d.Selector, d.Within, d.Has, d.HasNot} {
		if part != nil && part.Uses(key) {
			return true
		}
	}
	return slices.ContainsFunc(d.Or, func(o Target) bool { return o.Uses(key) })
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
		name := s.ref
		if !IsReference(s.ref) {
			if own, ok := values.(Elements); ok && s.ref != "this" {
				t.Ref = own.ElementKey(s.ref)
			}
			name = "$" + name
		}
		t.As = strings.TrimSpace(name + " " + t.As)
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
