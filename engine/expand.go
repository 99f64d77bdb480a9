package engine

import (
	"encoding/json"
	"regexp"
	"strings"
)

// keyPattern is what keys of the caches look like.
const keyPattern = `[A-Za-z_][A-Za-z0-9_.-]*`

var (
	keyOnly     = regexp.MustCompile(`^` + keyPattern + `$`)
	reference   = regexp.MustCompile(`^\$(` + keyPattern + `)(?:\s+([\s\S]+))?$`)
	placeholder = regexp.MustCompile(`^\$\{(` + keyPattern + `)\}`)
)

// Text is a string of a request: ${key} stands in it for a value of the data
// cache, and $$ for one dollar sign. A lone $ is itself. What was put in is not
// read again.
type Text struct {
	source string
	parts  []part // nil: the source is the text
}

// part is a piece of a Text: literal, or the key of a value.
type part struct {
	literal string
	key     string
	secret  bool // the key is the name of a secret
}

func parseText(s string) Text { return parseTextWith(s, false) }

// parseTextWith reads a text, and with secrets also ${secret:NAME} in it.
func parseTextWith(s string, secrets bool) Text {
	t := Text{source: s}
	if !strings.Contains(s, "$$") && !strings.Contains(s, "${") {
		return t
	}
	var lit strings.Builder
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "$$"):
			lit.WriteByte('$')
			i += 2
		case strings.HasPrefix(s[i:], "${"):
			m := placeholder.FindStringSubmatch(s[i:])
			secret := false
			if m == nil && secrets {
				m = secretMark.FindStringSubmatch(s[i:])
				secret = m != nil
			}
			if m == nil {
				lit.WriteByte('$')
				i++
				continue
			}
			if lit.Len() > 0 {
				t.parts = append(t.parts, part{literal: lit.String()})
				lit.Reset()
			}
			t.parts = append(t.parts, part{key: m[1], secret: secret})
			i += len(m[0])
		default:
			lit.WriteByte(s[i])
			i++
		}
	}
	if lit.Len() > 0 || len(t.parts) == 0 {
		t.parts = append(t.parts, part{literal: lit.String()})
	}
	return t
}

// Fixed reports whether the text is the same whatever the cache holds.
func (t Text) Fixed() bool {
	for _, p := range t.parts {
		if p.key != "" {
			return false
		}
	}
	return true
}

// keys adds the keys that the text reads.
func (t Text) keys(to map[string]bool) {
	for _, p := range t.parts {
		if p.key != "" && !p.secret {
			to[p.key] = true
		}
	}
}

// Expand fills in the values. A key without one is a problem.
func (t Text) Expand(c *Cache) (string, error) {
	return t.expand(c, func(key string) (string, error) {
		return "", Problemf(CodeInvalidValue, "${%s} has no value: nothing was saved under %q", key, key)
	})
}

// ExpandScript fills in the values of a script. A key without one stays as it
// is: it may be part of a template literal.
func (t Text) ExpandScript(c *Cache) (string, error) {
	return t.expand(c, func(key string) (string, error) { return "${" + key + "}", nil })
}

func (t Text) expand(c *Cache, missing func(string) (string, error)) (string, error) {
	if t.parts == nil {
		return t.source, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.key == "" {
			b.WriteString(p.literal)
			continue
		}
		v, ok := c.Get(p.key)
		if !ok {
			s, err := missing(p.key)
			if err != nil {
				return "", err
			}
			b.WriteString(s)
			continue
		}
		s := asText(v)
		if b.Len()+len(s) > MaxResult {
			return "", tooLong(t.source)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// asText is a value as it is put into a string: a string raw, all else as JSON.
func asText(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// Selector names elements: CSS, XPath, or a saved element with a selector below
// it.
type Selector struct {
	source string
	ref    string // key of a saved element, or "this"
	text   Text   // empty for a reference alone
}

func parseSelector(s string) Selector {
	if !strings.HasPrefix(s, "$") {
		return Selector{source: s, text: parseText(s)}
	}
	if m := reference.FindStringSubmatch(s); m != nil {
		return Selector{source: s, ref: m[1], text: parseText(strings.TrimSpace(m[2]))}
	}
	return Selector{source: s, text: parseText(s)}
}

func (s Selector) String() string { return s.source }

// keys adds the keys of the data cache that the selector reads, and with a $ in
// front that of the element it begins with.
func (s Selector) keys(to map[string]bool) {
	s.text.keys(to)
	if s.ref != "" {
		to["$"+s.ref] = true
	}
}

// target is a selector as the page script takes it.
type target struct {
	Kind string `json:"k,omitempty"`
	Sel  string `json:"s,omitempty"`
	Ref  string `json:"r,omitempty"`
	As   string `json:"a"` // how the client wrote it, for people
}

// target fills in the selector.
func (s Selector) target(c *Cache) (target, error) {
	text, err := s.text.Expand(c)
	if err != nil {
		return target{}, err
	}
	t := target{Ref: s.ref, Sel: text, As: short(text, maxSelector)}
	if s.ref != "" {
		t.As = strings.TrimSpace("$" + s.ref + " " + t.As)
	}
	if text == "" {
		if s.ref == "" {
			return target{}, Problemf(CodeInvalidValue, "selector %q is empty once its values are filled in", s.source)
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
