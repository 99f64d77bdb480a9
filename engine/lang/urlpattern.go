package lang

import (
	"errors"
	"regexp"
	"strings"
)

var slashed = regexp.MustCompile(`^/(.+)/([a-zA-Z]*)$`)

// URLPattern matches addresses: by a part of them, by an expression, or by either.
type URLPattern struct {
	part string   // empty: none
	re   *pattern // nil: none
}

// Steps estimates how large the expression is: zero without one.
func (p URLPattern) Steps() int {
	if p.re == nil {
		return 0
	}
	return p.re.steps
}

// Match reports whether an address matches. It fails where the steps times the bytes
// of the address are more than most, for that would take too long.
func (p URLPattern) Match(url string, most int64) (bool, error) {
	switch {
	case p.part != "" && strings.Contains(url, p.part):
		return true, nil
	case p.re == nil:
		return false, nil
	}
	return p.re.match(url, most)
}

// ReadURLPattern reads a part of an address, an expression, or /expression/flags.
func ReadURLPattern(s string) (p URLPattern, err error) {
	if m := slashed.FindStringSubmatch(s); m != nil && !looksLikePath(m[2]) {
		flags := ""
		for _, f := range m[2] {
			switch f {
			case 'i', 's', 'm':
				flags += string(f)
			case 'g', 'u', 'y', 'd', 'v': // mean nothing here
			default:
				return p, invalid("pattern %q has an unknown flag %q: want i, m or s", Short(s, 100), string(f))
			}
		}
		re := m[1]
		if flags != "" {
			re = "(?" + flags + ")" + re
		}
		if p.re, err = readPattern(re); err != nil {
			return p, invalid("pattern %q is no RE2 expression: %v", Short(s, 100), err)
		}
		return p, nil
	}
	if len(s) > maxPattern {
		return p, invalid("pattern %q is too long: it has %d bytes, and %d are the limit", Short(s, 100), len(s), maxPattern)
	}
	if regexp.QuoteMeta(s) != s { // else it is no other expression
		if p.re, err = readPattern(s); errors.Is(err, errSteps) {
			return p, invalid("pattern %q is too large: %v", Short(s, 100), err)
		}
	}
	p.part = s
	return p, nil
}

// looksLikePath tells "/api/users" from "/re/flags": what follows the last slash
// would have to be flags, each once.
func looksLikePath(flags string) bool {
	for _, f := range flags {
		if !strings.ContainsRune("dgimsuvy", f) || strings.Count(flags, string(f)) > 1 {
			return true
		}
	}
	return false
}

// URLPatternShape is a pattern of an address, or of another text, in the value of an
// action.
var URLPatternShape = Shape[Text]{
	Words: "pattern", Schema: NonEmptyShape("pattern").Schema,
	Read: func(d *Decoder, n *Node) Text {
		t := NonEmptyShape("pattern").Read(d, n)
		if t.Fixed() {
			text, _ := t.Expand(nil)
			if _, err := ReadURLPattern(text); err != nil {
				d.Fault(n, "%s", err)
			}
		}
		return t
	},
}
