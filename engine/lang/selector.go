package lang

import (
	"strings"
)

// Selector names elements: CSS, XPath, or a saved element, with a selector below it
// or without.
type Selector struct {
	source string
	ref    string // key of a saved element, or "this"
	text   Text   // empty for a reference alone
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
	Kind string `json:"k,omitempty"`
	Sel  string `json:"s,omitempty"`
	Ref  string `json:"r,omitempty"`
	As   string `json:"a"` // how the client wrote it, for people
}

// Target fills in the values.
func (s Selector) Target(values Values) (Target, error) {
	text, err := s.text.Expand(values)
	if err != nil {
		return Target{}, err
	}
	t := Target{Ref: s.ref, Sel: text, As: Short(text, maxSelector)}
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
	t.Kind = "css"
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
